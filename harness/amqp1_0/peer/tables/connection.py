"""The connection: what is done in each state, what is wrong with frames, idleness, ends (2.3, 2.4, 2.7.1)."""

from collections.abc import Iterator

from harness.amqp1_0.peer.entities import Session
from harness.amqp1_0.peer.events import (
    ChannelOutOfRange,
    ConnectionState,
    EmptyFrame,
    Entered,
    ForeignType,
    HeaderReceived,
    Invalid,
    InvalidOpen,
    Malformed,
    Oversized,
    SaslState,
    SendingClose,
    SessionState,
    StreamEnded,
    TrafficDue,
    TrafficLate,
    Unacceptable,
    Undecodable,
    Undefined,
)
from harness.amqp1_0.peer.negotiation import NEGOTIATION
from harness.amqp1_0.peer.reading import keys_are_at_fault
from harness.amqp1_0.peer.refusals import UNSAID, our_open, refuse, refuse_by
from harness.amqp1_0.peer.states import (
    CLOSE_PIPE,
    CLOSE_RCVD,
    CLOSE_SENT,
    DISCARDING,
    END,
    HDR_EXCH,
    HDR_SENT,
    OC_PIPE,
    OPEN_PIPE,
    OPEN_RCVD,
    OPEN_SENT,
    OPENED,
    RECEIVED,
    SENT,
)
from harness.amqp1_0.peer.traffic import leave_all
from harness.amqp1_0.peer.turn import ConnectionRow as Row
from harness.amqp1_0.peer.turn import ConnectionTurn
from harness.amqp1_0.peer.windows import session_flow
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import MIN_MAX_FRAME_SIZE, empty_frame
from harness.amqp1_0.wire.performatives import AmqpError, Close, ConnectionError_, Open
from harness.peers.events import HungUp, Restarting, Silence, Waited
from harness.peers.rows import AnyRow, answering

FRAMING_ERROR = ConnectionError_.FRAMING_ERROR
BEFORE_OPEN = (HDR_EXCH, OPEN_SENT)
HEARING = (HDR_EXCH, OPEN_SENT, OPENED)
CLOSED_BY_US = (CLOSE_PIPE, OC_PIPE, CLOSE_SENT, DISCARDING)
EVERYWHERE = (*ConnectionState, *SaslState)


# -- what is done by itself ----------------------------------------------------------------------------


def open_comes_first(turn: ConnectionTurn[Entered]) -> bool:
    """Say whether the policy does not wait for the client's open."""
    return turn.policy.open == "first"


plain_close = answering((Close(),))


def ends_its_stream(turn: ConnectionTurn[Entered]) -> bool:
    return turn.policy.half_close


def leave_sessions(turn: ConnectionTurn[object]) -> None:
    """End all sessions: none outlives its connection."""
    leave_all(turn.peer, turn.connection)


def end_stream(turn: ConnectionTurn[object]) -> None:
    """Write nothing more; what the client sends is still read."""
    turn.connection.end_stream("fin")


def wait_for_close(turn: ConnectionTurn[object]) -> None:
    """Give the client a reasonable time to close."""
    turn.connection.wait(turn.policy.close_timeout)


def is_left_to_the_client(turn: ConnectionTurn[Entered]) -> bool:
    """Say whether both closes are written and the policy has the client close the socket."""
    left = turn.policy.socket_close == "left to the client"
    return left and isinstance(turn.event.by, (Close, SendingClose))


def close_socket(turn: ConnectionTurn[object]) -> None:
    """Close the socket: the way the policy chooses where both have been open."""
    connection = turn.connection
    reset = turn.policy.socket_close == "rst" and connection.partner is not None
    connection.end_stream("rst" if reset else "fin")


_close = Row("close", CLOSED_BY_US, Entered)
_BY_ITSELF = (
    Row("open: is sent first", (HDR_SENT, HDR_EXCH), Entered, open_comes_first, answer=our_open),
    Row("open: is answered", OPEN_RCVD, Entered, answer=our_open),
    Row("close: is answered", CLOSE_RCVD, Entered, answer=plain_close),
    _close("the stream ends behind ours", ends_its_stream, (leave_sessions, wait_for_close, end_stream)),
    _close("the client's is waited for", effects=(leave_sessions, wait_for_close)),
    Row("END: TCP Close is left to the client", END, Entered, is_left_to_the_client, (leave_sessions,)),
    Row("END: TCP Close", END, Entered, effects=(leave_sessions, close_socket)),
)


# -- the open ------------------------------------------------------------------------------------------


def on_another_channel(turn: ConnectionTurn[object]) -> bool:
    return bool(turn.channel)


def has_refused_payload(turn: ConnectionTurn[object]) -> bool:
    """Say whether octets follow the open and the policy does not ignore them."""
    return bool(turn.payload) and turn.policy.open_payload != "ignore"


def frame_size_is_too_small(turn: ConnectionTurn[Open]) -> bool:
    """Say whether max-frame-size is below 512 and is not taken for 512."""
    return turn.policy.small_frame_size != "ignore" and turn.event.max_frame_size < MIN_MAX_FRAME_SIZE


def has_a_bad_key(turn: ConnectionTurn[InvalidOpen]) -> bool:
    return keys_are_at_fault(turn.event)


def lacks_a_field(turn: ConnectionTurn[InvalidOpen]) -> bool:
    return turn.event.missing


_open = Row("open", BEFORE_OPEN, Open)
_open_before_open = Row("open", BEFORE_OPEN, InvalidOpen)
_OPEN = (
    _open(
        "refuses another channel than 0",
        on_another_channel,
        answer=refuse_by(lambda policy: policy.open_on_channel),
    ),
    _open("refuses a payload", has_refused_payload, answer=refuse_by(lambda policy: policy.open_payload)),
    _open(
        "refuses a max-frame-size below 512",
        frame_size_is_too_small,
        answer=refuse_by(lambda policy: policy.small_frame_size),
    ),
    _open_before_open(
        "refuses one that lacks a field", lacks_a_field, answer=refuse_by(lambda policy: policy.missing_field)
    ),
    _open_before_open(
        "refuses a key that is no symbol",
        has_a_bad_key,
        answer=refuse_by(lambda policy: policy.property_keys),
    ),
    _open_before_open("refuses an invalid field", answer=refuse_by(lambda policy: policy.invalid_field)),
    Row(
        "open: refuses a second one",
        OPENED,
        (Open, InvalidOpen),
        answer=refuse_by(lambda policy: policy.second_open),
    ),
)


# -- frames --------------------------------------------------------------------------------------------


def is_a_close(turn: ConnectionTurn[object]) -> bool:
    return isinstance(getattr(turn.event, "performative", turn.event), Close)


_refused_while_hearing: tuple[AnyRow, ...] = tuple(
    Row(f"frame: refuses {what}", HEARING, event, answer=refuse_by(choice))
    for what, event, choice in (
        ("a header that cannot be", Malformed, lambda policy: policy.malformed),
        ("a type of no place here", ForeignType, lambda policy: policy.foreign_type),
        ("a protocol header", HeaderReceived, lambda policy: policy.header_again),
        ("a body that cannot be decoded", Undecodable, lambda policy: policy.undecodable),
        ("an undefined performative", Undefined, lambda policy: policy.undefined),
    )
)
_FRAMES: tuple[AnyRow, ...] = (
    Row("frame: refuses a channel above ours", OPENED, ChannelOutOfRange, answer=refuse(FRAMING_ERROR)),
    Row("frame: refuses one larger than we accept", HEARING, Oversized, answer=refuse(FRAMING_ERROR)),
    *_refused_while_hearing,
    Row(
        "empty frame: before the open",
        BEFORE_OPEN,
        EmptyFrame,
        answer=refuse_by(lambda policy: policy.premature_empty),
    ),
    Row("empty frame: means nothing", OPENED, EmptyFrame),
    Row(
        "close: refuses one before the open",
        BEFORE_OPEN,
        (Close, Invalid),
        is_a_close,
        answer=refuse_by(lambda policy: policy.premature),
        next=END,
    ),
    Row("close: one with an invalid error is a close", OPENED, Invalid, next=CLOSE_RCVD),
)
_PREMATURE = (
    Row(
        "frame: refuses one before the open",
        BEFORE_OPEN,
        (Composite, Invalid, ChannelOutOfRange),
        answer=refuse_by(lambda policy: policy.premature),
    ),
    # Figure 2.23 has the open alone lead out of CLOSE_PIPE. A client that was refused may leave it out.
    Row("close: ends a connection refused before the open", CLOSE_PIPE, Close, next=END),
    Row(
        "close: an invalid one ends a connection we closed",
        CLOSED_BY_US,
        Invalid,
        is_a_close,
        next=END,
    ),
    Row(
        "close: all else behind ours is discarded",
        CLOSED_BY_US,
        (Composite, Unacceptable, EmptyFrame, HeaderReceived),
    ),
)


# -- time and ends -------------------------------------------------------------------------------------


def idle_is_too_short(turn: ConnectionTurn[Entered]) -> bool:
    partner = turn.connection.partner
    return partner is not None and 0 < (partner.idle_time_out or 0) < turn.policy.shortest_idle


def answers_for_being_late(turn: ConnectionTurn[TrafficLate]) -> bool:
    """Say whether the policy does not go on as if it had been in time."""
    return turn.policy.late != "ignore"


def _mapped(turn: ConnectionTurn[TrafficDue]) -> Iterator[Session]:
    return (each for each in turn.connection.sessions.values() if each.state is SessionState.MAPPED)


def a_flow_may_do(turn: ConnectionTurn[TrafficDue]) -> bool:
    return turn.policy.keep_alive == "flow" and any(_mapped(turn))


def send_flow(turn: ConnectionTurn[TrafficDue]) -> None:
    """Send a flow of the first session, without asking for anything."""
    session = next(_mapped(turn))
    turn.connection.say_on(session, session_flow(session, turn.policy))


empty = answering((empty_frame(),))


def says_goodbye(turn: ConnectionTurn[Restarting]) -> bool:
    return turn.policy.restart_notice == "close"


_TIME = (
    Row(
        "idle-time-out: refuses one too short",
        OPENED,
        Entered,
        idle_is_too_short,
        answer=refuse_by(lambda policy: policy.idle_too_short),
    ),
    Row(
        "idle-time-out: being late closes",
        OPENED,
        TrafficLate,
        answers_for_being_late,
        answer=refuse_by(lambda policy: policy.late),
    ),
    Row("idle-time-out: a flow is sent in time", OPENED, TrafficDue, a_flow_may_do, (send_flow,)),
    Row("idle-time-out: an empty frame is sent in time", OPENED, TrafficDue, answer=empty),
    Row(
        "idle: silence closes",
        (HDR_EXCH, OPEN_SENT, OPEN_PIPE, OPENED),
        Silence,
        answer=refuse_by(lambda policy: policy.idle),
    ),
    Row("idle: silence before our header ends it", UNSAID, Silence, next=END),
    Row("close: waiting for the client's is over", CLOSED_BY_US, Waited, next=END),
)
_ENDS = (
    Row("connection: hanging up ends it", EVERYWHERE, HungUp, next=END),
    Row(
        "stream: its end without a close is answered by ours",
        (HDR_EXCH, OPEN_SENT, OPENED),
        StreamEnded,
        answer=refuse(AmqpError.NOT_ALLOWED),
        next=END,
    ),
    Row("stream: its end behind both closes ends ours", END, StreamEnded, effects=(close_socket,)),
    Row("stream: its end ends the connection", EVERYWHERE, StreamEnded, next=END),
    Row(
        "restart: connections are told",
        (OPENED, OPEN_SENT, OPEN_PIPE),
        Restarting,
        says_goodbye,
        answer=refuse(ConnectionError_.CONNECTION_FORCED),
    ),
    Row("restart: connections end", EVERYWHERE, Restarting, next=END),
)
CONNECTION: tuple[AnyRow, ...] = (
    *NEGOTIATION,
    *SENT,
    *_BY_ITSELF,
    *_OPEN,
    *_FRAMES,
    *RECEIVED,
    *_PREMATURE,
    *_TIME,
    *_ENDS,
)
