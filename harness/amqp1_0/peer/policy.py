"""Where the document allows several behaviours: one field per choice, with the section it comes from.

Choices without a section are places where the document is silent, such as most conditions of errors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from harness.amqp1_0.wire.performatives import AmqpError, ConnectionError_, LinkError, SessionError
from harness.amqp1_0.wire.types import Symbol
from harness.peers.policy import variants


class Level(Enum):
    """What a refusal ends."""

    LINK = "link"
    SESSION = "session"
    CONNECTION = "connection"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error condition and what is ended with it."""

    condition: Symbol
    level: Level = Level.CONNECTION


Ignored = Literal["ignore"]

TOLD: Final = (("product", "AMQP conformance reference peer"), ("version", "0.1.0"))


@dataclass(frozen=True, slots=True)
class Policy:
    """One legal way to serve AMQP 1.0. The default follows the letter where the letter decides."""

    # Headers and layers.
    header: Literal["waits", "at once"] = "waits"
    """2.2: whether the server waits for the client's header. One that does not wait must choose a layer."""
    layers: Literal["either", "sasl", "bare"] = "either"
    """2.2: which protocol ids are accepted first: 0 and 3, SASL only, or no security layer."""
    offered_id: Literal["amqp", "sasl"] = "amqp"
    """2.2: which of the acceptable protocol ids is offered to a client that is refused."""
    mechanisms: tuple[str, ...] = ("PLAIN", "ANONYMOUS", "EXTERNAL")
    """SASL mechanisms; PLAIN must be among them for our own clients."""

    # Opening and closing.
    open: Literal["answers", "first"] = "answers"
    """2.4.6: whether the open comes after the client's (OPEN_RCVD) or before (OPEN_SENT)."""
    refusal_before_open: Literal["open and close", "end"] = "open and close"
    """2.4.3: a connection refused before the server's open: open and close, or the end of the stream."""
    close_timeout: float = 3.0
    """2.4.3: seconds to wait for the client's close before the socket is closed."""
    half_close: bool = False
    """2.4.6: whether the stream ends right behind our close, while the client's is still read."""
    socket_close: Literal["fin", "rst", "left to the client"] = "fin"
    """2.4.6, END: how the socket is closed once both closes have been written, or who does it."""
    restart_notice: Literal["close", "silent"] = "close"
    """A restart is announced by a close, or is a crash."""

    # What the open says (2.7.1).
    container_id: str = "amqp-conformance-peer"
    """Nothing is said of its content."""
    max_frame_size: int | None = 65536
    """Octets of a frame we accept; None does not state it."""
    channel_max: int | None = 255
    """The highest channel we accept; None does not state it."""
    idle_time_out: int = 5000
    """Milliseconds that we require of the client; zero states none, and then none is acted on."""
    idle_threshold: int = 2
    """2.4.5: how many times the stated value the threshold is that we act on; half of it SHOULD be stated."""
    outgoing_locales: tuple[str, ...] = ()
    """en-US need not be named."""
    incoming_locales: tuple[str, ...] = ()
    """en-US need not be named."""
    offered_capabilities: str | tuple[str, ...] = ()
    """One may stand alone or in an array."""
    desired_capabilities: str | tuple[str, ...] = ()
    """One may stand alone or in an array."""
    properties: tuple[tuple[str, str], ...] = TOLD
    """Information by name; without any there is no map."""

    # How frames are written.
    descriptors: Literal["numbers", "symbols"] = "numbers"
    """2.7: the form of the descriptor of each performative."""
    absent_fields: Literal["left out", "null"] = "left out"
    """How absent fields at the end of a list are written."""
    extended_header: bytes = b""
    """2.3.2: what stands between frame header and body, to be ignored."""
    batching: Literal["together", "one by one"] = "together"
    """2.4.2: whether what is said at one time is written in one go."""
    outgoing_channel: Literal["lowest", "highest"] = "lowest"
    """2.5.1: the number of the channel of a session; RECOMMENDED is the lowest that is free."""

    # Keeping alive (2.4.5).
    keep_alive: Literal["empty frame", "flow"] = "empty frame"
    """What is sent in time: an empty frame, or a flow where there is a session."""
    keep_alive_at: float = 0.5
    """The share of the client's idle-time-out after which something is sent."""
    shortest_idle: int = 10
    """Milliseconds; a client that requires less is refused."""

    # Conditions of errors, and what may be ignored.
    malformed: Symbol = ConnectionError_.FRAMING_ERROR
    """2.3.1: SIZE or DOFF too small, DOFF beyond the frame."""
    foreign_type: Refusal | Ignored = Refusal(ConnectionError_.FRAMING_ERROR)
    """2.3.1: a type of frame that has no place in the layer: refused, or ignored as a whole."""
    undecodable: Symbol = AmqpError.DECODE_ERROR
    """2.3.2: a body that cannot be decoded."""
    undefined: Symbol = AmqpError.DECODE_ERROR
    """2.3.2: a performative that section 2.7 does not define."""
    header_again: Symbol = ConnectionError_.FRAMING_ERROR
    """A protocol header where a frame is due."""
    premature: Symbol = AmqpError.ILLEGAL_STATE
    """2.4.7: another frame than an open before the open."""
    premature_empty: Refusal | Ignored = Refusal(AmqpError.ILLEGAL_STATE)
    """2.4.7, 2.4.5: an empty frame before the open: refused, or ignored because it has no meaning."""
    open_on_channel: Symbol = ConnectionError_.FRAMING_ERROR
    """2.4.1: an open on another channel than 0, which is above what is agreed so far."""
    open_payload: Refusal | Ignored = "ignore"
    """2.3.2: octets behind an open, which defines no payload."""
    second_open: Refusal | Ignored = Refusal(AmqpError.NOT_ALLOWED)
    """2.4.7: figure 2.24 lists any frame as a legal receive in OPENED."""
    missing_field: Symbol = AmqpError.INVALID_FIELD
    """A mandatory field that is null or absent."""
    invalid_field: Refusal = Refusal(AmqpError.INVALID_FIELD)
    """2.8.15: a field of another type, or with a value outside its choices."""
    property_keys: Refusal | Ignored = Refusal(AmqpError.INVALID_FIELD)
    """2.8.13: a key of properties that is no symbol: refused, or properties are not looked into."""
    error_conditions: Literal["mandatory", "missing"] = "mandatory"
    """2.8.14: an error without its condition: refused, or taken for what it is."""
    small_frame_size: Refusal | Ignored = Refusal(AmqpError.INVALID_FIELD)
    """2.8.19: a max-frame-size below 512: refused, or taken for 512."""
    idle: Symbol = AmqpError.RESOURCE_LIMIT_EXCEEDED
    """2.4.5: the condition when our threshold is exceeded."""
    idle_too_short: Symbol = AmqpError.NOT_IMPLEMENTED
    """2.4.5: the condition when the client requires more than we support."""
    late: Symbol | Ignored = AmqpError.RESOURCE_LIMIT_EXCEEDED
    """2.4.5: the condition when we were too late for the client's threshold, or the next frame as ever."""
    unmapped_channel: Symbol = AmqpError.ILLEGAL_STATE
    """2.5: a frame for a session on a channel that has none."""
    channel_in_use: Symbol = AmqpError.NOT_ALLOWED
    """2.5.1: a begin on a channel that has a session."""

    # Sessions (2.5.6, 2.7.2).
    initial_outgoing_id: int = 0
    """2.5.6: the transfer-id to begin with, which is arbitrary."""
    incoming_window: int = 1 << 20
    """Transfers a session is ready to take; restated when half of them have come."""
    outgoing_window: Literal["constant", "what is left"] = "constant"
    """2.5.6: whether sending a transfer decrements the outgoing-window; settling lets it grow again."""
    handle_max: int | None = 255
    """The highest handle we accept; None does not state it."""
    handle_in_use: Refusal = Refusal(SessionError.HANDLE_IN_USE, Level.SESSION)
    """2.7.3: "immediate close" with what 2.8.17 defines as a session error: of the one or the other."""
    on_alarm: Literal["closes windows", "does nothing"] = "closes windows"
    """2.5.6: whether sessions close their incoming-window while no messages can be taken."""
    stray_link_state: Refusal | Ignored = Refusal(AmqpError.INVALID_FIELD, Level.SESSION)
    """2.7.4: the state of a link in a flow without a handle: refused, or not looked at."""

    # Links (2.6, 2.7.3).
    link_credit: int = 100
    """Messages a sender may have on its way."""
    credit_given: Literal["at half", "each"] = "at half"
    """2.6.9: when credit is restored: when half of it is used, or with each message."""
    initial_delivery_count: int = 0
    """2.6.7: where the delivery-count of our sending links begins, which is arbitrary."""
    available: Literal["told", "not told"] = "told"
    """2.7.4: whether flows of our sending links say how many messages wait."""
    max_message_size: int | None = 1 << 17
    """2.7.3: octets of a message we accept; None and zero impose no limit."""
    node_removed: Refusal = Refusal(AmqpError.RESOURCE_DELETED, Level.LINK)
    """2.6.5: the condition when somebody removes the node of a link; an operator intervenes (2.8.18)."""
    answer_too_large: Refusal = Refusal(AmqpError.FRAME_SIZE_TOO_SMALL, Level.SESSION)
    """2.8.15: an attach whose answer does not fit into a frame of the client: of the one or the other."""
    second_attach: Literal["steals", "is refused"] = "steals"
    """2.6.1: what becomes of an attach of a link that is active elsewhere: it can be stolen."""
    receiver_mode: Literal["as asked", "first"] = "as asked"
    """2.7.3: whether we support to settle second."""
    expiry: Literal["as asked", "with the session"] = "as asked"
    """2.6.3: whether a terminus outlives its session where that was asked for; what holds is reported."""

    # Resuming (2.6.13, 2.7.3).
    resuming: Literal["supported", "refused"] = "supported"
    """Whether links with unsettled deliveries can be resumed at all, or are refused as not-implemented."""
    recovering: Literal["supported", "refused"] = "supported"
    """2.6.3: whether a link is found by its name alone: it is possible, and no more."""
    only_ours: Literal["sent again", "dropped"] = "sent again"
    """2.6.13: what becomes of deliveries that only we as the sender consider unsettled."""
    resumed_payload: Literal["whole", "left out"] = "left out"
    """2.7.5: whether a resumed delivery carries its payload where the receiver has reached an outcome."""
    large_map: Literal["is cut", "ends the session"] = "is cut"
    """2.7.3: what becomes of an unsettled map that does not fit into a frame; it SHOULD be cut."""

    # Deliveries (2.6.12, 2.6.14, 2.7.5, 2.7.6).
    first_delivery_id: int = 0
    """The delivery-id to begin with on a session."""
    delivery_tag_size: int = 4
    """2.8.7: octets of our delivery-tags, at most 32."""
    fragment: int | None = None
    """2.6.14: octets of a message in one transfer; None fills the frames."""
    parts_repeat: bool = False
    """2.7.5: whether transfers behind the first say the delivery-id, tag and format again."""
    settled_on: Literal["the first", "the last"] = "the first"
    """2.7.5: which transfer of a delivery that is sent settled says so."""
    beyond_credit: Refusal | Ignored = Refusal(LinkError.TRANSFER_LIMIT_EXCEEDED, Level.LINK)
    """2.6.7: a transfer beyond the credit: the link is detached, or it is handled as any other."""
    interleaved: Refusal = Refusal(AmqpError.INVALID_FIELD, Level.LINK)
    """2.6.14: another delivery amid one on a link; 2.7.5 calls it an error without a name."""
    batchable: bool = False
    """2.7.5, 2.7.6: whether transfers and dispositions carry the hint."""
    outcomes: Literal["one by one", "gathered"] = "one by one"
    """2.7.6: whether each delivery has a disposition of its own, or several share one, a moment later."""
    last: Literal["given", "left out"] = "given"
    """2.7.6: whether a disposition of one delivery names it twice."""


def _says(value: object) -> str:
    if isinstance(value, Refusal):
        return f"{value.condition} on the {value.level.value}"
    if isinstance(value, Symbol):
        return str(value)
    if isinstance(value, bytes):
        return f"{len(value)} octets"
    if isinstance(value, tuple):
        return f"({', '.join(value)})"
    return "not stated" if value is None else str(value)


_FRAMING: Final = ConnectionError_.FRAMING_ERROR
_OTHERS: Final[Mapping[str, Sequence[object]]] = {
    "mechanisms": [("PLAIN",)],
    "close_timeout": [1.0],
    "container_id": [""],
    "max_frame_size": [512, None],
    "channel_max": [0, 1, None],
    "idle_time_out": [0, 60_000],
    "idle_threshold": [3],
    "outgoing_locales": [("en-US",), ("de-DE", "en-US")],
    "incoming_locales": [("en-US", "de-DE")],
    "offered_capabilities": ["conformance:nothing", ("conformance:nothing",)],
    "desired_capabilities": ["conformance:nothing", ("conformance:nothing", "conformance:little")],
    "properties": [()],
    "extended_header": [b"\xff" * 4],
    "keep_alive_at": [0.2, 0.9],
    "shortest_idle": [0, 500],
    "malformed": [AmqpError.DECODE_ERROR],
    "foreign_type": ["ignore", Refusal(AmqpError.NOT_IMPLEMENTED)],
    "undecodable": [AmqpError.INVALID_FIELD, _FRAMING],
    "undefined": [AmqpError.NOT_IMPLEMENTED, AmqpError.NOT_ALLOWED],
    "header_again": [AmqpError.ILLEGAL_STATE],
    "premature": [AmqpError.NOT_ALLOWED, _FRAMING],
    "premature_empty": ["ignore"],
    "open_on_channel": [AmqpError.NOT_ALLOWED],
    "open_payload": [Refusal(_FRAMING)],
    "second_open": ["ignore", Refusal(AmqpError.ILLEGAL_STATE)],
    "missing_field": [AmqpError.DECODE_ERROR],
    "invalid_field": [
        Refusal(AmqpError.DECODE_ERROR),
        Refusal(AmqpError.INVALID_FIELD, Level.SESSION),
    ],
    "property_keys": ["ignore", Refusal(AmqpError.DECODE_ERROR)],
    "small_frame_size": ["ignore", Refusal(AmqpError.NOT_ALLOWED)],
    "idle": [ConnectionError_.CONNECTION_FORCED],
    "idle_too_short": [AmqpError.NOT_ALLOWED, AmqpError.INVALID_FIELD],
    "late": ["ignore", AmqpError.INTERNAL_ERROR],
    "unmapped_channel": [AmqpError.NOT_ALLOWED],
    "channel_in_use": [AmqpError.ILLEGAL_STATE],
    "initial_outgoing_id": [1, 1 << 31, (1 << 32) - 2],
    "incoming_window": [1, 4],
    "handle_max": [7, None],
    "handle_in_use": [Refusal(SessionError.HANDLE_IN_USE)],
    "stray_link_state": ["ignore"],
    "link_credit": [1, 2],
    "initial_delivery_count": [7, (1 << 32) - 2],
    "max_message_size": [0, None],
    "node_removed": [Refusal(LinkError.DETACH_FORCED, Level.LINK)],
    "answer_too_large": [Refusal(AmqpError.FRAME_SIZE_TOO_SMALL)],
    "first_delivery_id": [7, (1 << 32) - 2],
    "delivery_tag_size": [2, 32],
    "fragment": [64],
    "beyond_credit": ["ignore"],
    "interleaved": [
        Refusal(AmqpError.NOT_ALLOWED, Level.LINK),
        Refusal(AmqpError.INVALID_FIELD, Level.SESSION),
    ],
}

DEFAULT = Policy()
VARIANTS: Final = variants(DEFAULT, _OTHERS, _says)
"""Every single departure from the default policy, by a name that says which."""
