"""Where the document allows several behaviours: one field per choice, with the reading it comes from.

Where a choice begins with a rule, the document contradicts itself or leaves a gap, and the reading of that
rule says what is made of it. Other choices are plain liberties (offers in Tune, a SHOULD, a way to close a
socket), or places where the document is silent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from harness.amqp0_9_1.wire.field_tables import Table
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    CHANNEL_ERROR,
    COMMAND_INVALID,
    CONTENT_TOO_LARGE,
    FRAME_ERROR,
    GRAMMAR,
    INVALID_PATH,
    NOT_ALLOWED,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    PRECONDITION_FAILED,
    RESOURCE_ERROR,
    SYNTAX_ERROR,
    UNEXPECTED_FRAME,
)
from harness.peers.policy import variants

_HARD = {each.value for each in GRAMMAR.constants if each.error_class == "hard-error"}
NAMES: Final = {each.value: each.name.upper().replace("-", "_") for each in GRAMMAR.constants}


class Level(Enum):
    """What an exception closes (4.8.1)."""

    CHANNEL = "channel"
    CONNECTION = "connection"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reply code and the level it is raised at; `level` None takes the constant's own class."""

    code: int
    at: Level | None = None

    @property
    def level(self) -> Level:
        """The level: as given, else connection for a hard error and channel for a soft one."""
        return self.at or (Level.CONNECTION if self.code in _HARD else Level.CHANNEL)


PRIORITIES: Final = "x-max-priority"
"""The argument of Declare that asks for a queue with priorities, where not every queue has them."""

Silent = Literal["silent"]


@dataclass(frozen=True, slots=True)
class Policy:
    """One legal way to serve AMQP 0-9-1. The default follows the letter where the letter decides."""

    type_change: Refusal = Refusal(PRECONDITION_FAILED)
    """0-9-1/exchange.declare.type.typed:
    Redeclaring an exchange with another type: 406 on the channel, or 530."""
    auto_delete_mismatch: Literal["ignore", "refuse"] = "ignore"
    """0-9-1/queue.declare.auto-delete.pre-existence:
    Redeclaring a queue with another auto-delete: not looked at, or 406."""
    unbind_failure: Level = Level.CONNECTION
    """0-9-1/queue.unbind.01: Where a failing Unbind raises its 404."""
    missing_binding: Literal["ok", "refuse"] = "ok"
    """0-9-1/queue.unbind.queue.must-exist: Unbinding what is not bound: Unbind-Ok, or 404."""
    default_unbind: Refusal | Literal["serve"] = "serve"
    """0-9-1/queue.unbind.exchange.default-exchange:
    Unbind of the default exchange: served, or refused with a code nobody names."""
    current_queue_unknown: Refusal = Refusal(NOT_FOUND)
    """0-9-1/queue.bind.queue.queue-known:
    A blank queue name before any Declare: 404, or 502 at either level."""
    rejected: Literal["hold", "dead-letter", "redeliver"] = "hold"
    """0-9-1/basic.reject.requeue.01:
    A requeued message only the rejecting channel could take: held back, dead-lettered, redelivered."""
    headers_instances: tuple[str, ...] = ("amq.headers", "amq.match")
    """0-9-1/exchange.required-instances: Names of the pre-declared headers exchange."""
    bad_content_header: int = FRAME_ERROR
    """0-9-1/prose/4.2.6.1.wrong-class-id-refused:
    A content header of another class, or not readable: 501 (4.2.6.1) or 505 (4.2.6)."""
    content_on_zero: int = CHANNEL_ERROR
    """A content frame on channel zero, where it belongs to no method: 504 (4.2.6.1) or 505 (4.2.6)."""
    heartbeat_on_channel: int = COMMAND_INVALID
    """0-9-1/prose/4.2.3.heartbeat-on-channel-refused:
    A heartbeat on another channel than zero: 503 (4.2.3) or 501 (4.2.7)."""
    unagreed_heartbeats: Literal["check", "discard"] = "check"
    """4.2.7: where no heartbeats were agreed upon, invalid ones are refused, or discarded like all others."""
    framing_error: Refusal | Silent = "silent"
    """0-9-1/prose/4.2.3.unknown-frame-type-fatal:
    Undefined frame type or bad frame-end: closed in silence (4.2.3), or Close with 501 (2.3.7)."""
    content_interrupted: Refusal | Literal["abort"] = Refusal(UNEXPECTED_FRAME)
    """0-9-1/prose/4.2.6.interrupted-content:
    A method amid a content: 505, or the content is dropped and the method served."""
    illegal_field_name: Refusal | Literal["accept"] = Refusal(SYNTAX_ERROR)
    """0-9-1/prose/4.2.5.5.field-names-validated:
    A field name outside the syntax of 4.2.5.5: 502, 503, or not looked at (a SHOULD)."""
    tune_zero: Literal["accept", "refuse"] = "accept"
    """0-9-1/connection.tune-ok.frame-max.upper-limit:
    Tune-Ok with zero against a limit: taken as our limit, or as higher than it."""
    frame_max_below_minimum: Literal["refuse", "raise"] = "refuse"
    """Silent document: Tune-Ok with less than frame-min-size: ends in silence, or 4096 counts as agreed."""
    consumer_tags: Literal["of the server", "of the channel"] = "of the server"
    """Tags are unique and local to a channel: counted for all channels together, or for each."""
    queue_names: Literal["never again", "free"] = "never again"
    """A name made is unique among queues: none ever given comes again, or the first that is free does."""
    channel_max_is: Literal["highest number", "count"] = "highest number"
    """0-9-1/prose/4.3.channel-max-meaning: What channel-max limits."""
    step_left_out: Literal["end", "ignore"] = "end"
    """2.2.4 says how to end upon an error, not that a method out of turn is one: the end, or no effect."""
    without_requeue: Literal["discard", "requeue"] = "discard"
    """Reject without requeue, which the field tells without a keyword: discarded, or requeued as well."""
    no_virtual_host: Refusal | Silent = Refusal(INVALID_PATH)
    """0-9-1/prose/2.2.4.unknown-virtual-host-refused:
    Open of an unknown virtual host: 402, 530, or closed in silence."""
    no_permission: Refusal | Silent = Refusal(NOT_ALLOWED)
    """0-9-1/connection.open.virtual-host.security:
    Open of a virtual host the user may not use: 530, or closed in silence."""
    open_again: Literal["refuse", "confirm", "ignore"] = "refuse"
    """3.1.2 forbids another virtual host: Open of the same one refused or confirmed, or any passed over."""
    contested_types: Literal["read", "refuse"] = "read"
    """0-9-1/prose/4.2.1.table-types-in-doubt:
    Values of the types that practice reads otherwise: read as the grammar says, or refused by 501."""
    passive_no_wait: Literal["refuse", "silence"] = "refuse"
    """0-9-1/queue.declare.passive.passive:
    Passive Declare with no-wait of something missing: 404, or no effect at all."""
    cancel_without_queue: Literal["answer", "silence"] = "answer"
    """0-9-1/basic.cancel.01: Cancel after the queue was deleted: Cancel-Ok, or ignored to the letter."""
    foreign_consumer_tag: Literal["refuse", "ignore"] = "refuse"
    """0-9-1/basic.consume.consumer-tag.02:
    Cancel of a tag of another channel: 530, or Cancel-Ok without effect."""
    extensions: Literal["unknown", "serve"] = "unknown"
    """Methods that 0-9-1 does not have: unknown, or served by the rows of the document that adds them."""
    recover_async: Literal["support", "refuse"] = "support"
    """0-9-1/basic.recover-async.01: Recover-Async, which a server MAY implement: supported, or 540."""
    unroutable_code: int = 312
    """0-9-1/basic.publish.mandatory.01:
    The reply code of a Return for mandatory, for which the document defines none."""
    predeclared_durable: bool = True
    """0-9-1/exchange.declare.exchange.reserved: Whether the pre-declared exchanges are marked durable."""
    name_limit: int = 127
    """0-9-1/prose/4.2.5.3.names-kept-whole:
    Longest name Declare accepts, in octets: 127 (assert) or 255 (short string)."""

    heartbeat: int = 60
    """Proposed in Tune, in seconds; zero for none."""
    frame_max: int = 131072
    """Proposed in Tune, in octets; zero for no limit."""
    channel_max: int = 2047
    """Proposed in Tune; zero for no limit."""
    sasl: Literal["initial response", "secure"] = "initial response"
    """What the client says is taken from Start-Ok if there, or always asked for with Secure."""
    mechanisms: tuple[str, ...] = ("PLAIN",)
    """The SASL mechanisms offered in Start; PLAIN must be among them for our own clients."""
    priority_levels: Literal[2, 10] = 2
    """0-9-1/basic.06 demands two, 0-9-1/basic.07 allows ten."""
    priorities: Literal["of every queue", "asked for"] = "of every queue"
    """Priorities are for queues that implement them: all, or those that are declared with PRIORITIES."""
    immediate: Literal["support", "refuse"] = "support"
    """0-9-1/basic.publish.immediate.01 is a SHOULD: supported, or 540."""
    redelivery_limit: int = 5
    """0-9-1/basic.deliver.01 is a SHOULD with an example: redeliveries before a message is dead-lettered."""
    pause_publishers_at: int | None = None
    """0-9-1/basic.03 is a MAY: length of a queue at which a publisher is sent Channel.Flow, in messages."""
    socket_close: Literal["fin", "rst"] = "fin"
    """How the socket is closed, which the document leaves to TCP."""
    silent_close_delay: float = 0.0
    """4.10.2 advises a pause of several seconds before a refused negotiation is closed."""
    overflow: Literal["deliver", "hold back"] = "deliver"
    """What comes in an overflow is delivered after it, or kept on disk until a restart (0-9-1/basic.02)."""
    content_too_large: int = CONTENT_TOO_LARGE
    """4.9 leaves limits open: a content beyond ours is too large (311), or there is no room for it (506)."""
    linger: float = 0.0
    """2.2.4 lets either side close the socket after Close-Ok: seconds we leave it to the client."""
    restart_notice: Literal["silent", "close"] = "silent"
    """A restart ends connections with the socket alone, or after a Close with 320."""
    unknown_method: int = NOT_IMPLEMENTED
    """Silent document: class and index of no method: 540, 503 or 501."""
    undecodable: int = FRAME_ERROR
    """501 is for frames that cannot be decoded, 502 for illegal values: the line is not drawn."""
    channel_zero: int = CHANNEL_ERROR
    """Silent document: a channel's method on channel zero: 504 (as 4.2.6.1 for content) or 503."""
    beyond_channel_max: int = CHANNEL_ERROR
    """2.3.3 says disconnect, without a code: 504 or 530."""
    blank_exchange: int | Literal["confirm"] = ACCESS_REFUSED
    """Declare of the blank exchange breaks default-access (403) and syntax (406), or finds it there."""
    unacknowledged_count_as_messages: bool = True
    """Silent document: whether if-empty spares a queue all of whose messages await acknowledgement."""
    counts_what_is_on_its_way: bool = True
    """Silent document: a message is in its queue when Publish was read, or when that was seen by a taker."""
    unacknowledged_count_as_deleted: bool = False
    """What awaits acknowledgement goes with its queue; Delete-Ok counts what is deleted, or what waited."""

    def levels(self, arguments: Table) -> int:
        """Count the levels of priority of a queue that is declared with these arguments."""
        plain = self.priorities == "asked for" and PRIORITIES not in arguments
        return 1 if plain else self.priority_levels


def says(value: object) -> str:
    """Put the value of a choice into words."""
    if isinstance(value, Refusal):
        return f"{value.code} on the {value.level.value}"
    if isinstance(value, Enum):
        return str(value.value)
    return " and ".join(value) if isinstance(value, tuple) else str(value)


OTHERS: Final[Mapping[str, Sequence[object]]] = {
    "type_change": [Refusal(NOT_ALLOWED)],
    "default_unbind": [Refusal(NOT_ALLOWED), Refusal(ACCESS_REFUSED)],
    "current_queue_unknown": [Refusal(SYNTAX_ERROR), Refusal(SYNTAX_ERROR, Level.CHANNEL)],
    "headers_instances": [("amq.headers",), ("amq.match",)],
    "bad_content_header": [UNEXPECTED_FRAME],
    "content_on_zero": [UNEXPECTED_FRAME],
    "heartbeat_on_channel": [FRAME_ERROR],
    "framing_error": [Refusal(FRAME_ERROR)],
    "content_interrupted": ["abort"],
    "illegal_field_name": [Refusal(COMMAND_INVALID), "accept"],
    "no_virtual_host": [Refusal(NOT_ALLOWED), "silent"],
    "no_permission": ["silent"],
    "unroutable_code": [NOT_FOUND],
    "name_limit": [255],
    "heartbeat": [0],
    "frame_max": [0, 4096],
    "channel_max": [0, 65535],
    "mechanisms": [("EXTERNAL", "ANONYMOUS", "AMQPLAIN", "PLAIN"), ("PLAIN", "RABBIT-CR-DEMO")],
    "redelivery_limit": [50],
    "pause_publishers_at": [200],
    "silent_close_delay": [3.0],
    "content_too_large": [RESOURCE_ERROR],
    "linger": [30.0],
    "unknown_method": [COMMAND_INVALID, FRAME_ERROR],
    "undecodable": [SYNTAX_ERROR],
    "channel_zero": [COMMAND_INVALID],
    "beyond_channel_max": [NOT_ALLOWED],
    "blank_exchange": [PRECONDITION_FAILED, "confirm"],
}
"""By choice the values that are legal beside the default, where its type does not list them."""

DEFAULT = Policy()
VARIANTS: Final = variants(DEFAULT, OTHERS, says)
"""Every single departure from the default policy, by a name that says which."""
