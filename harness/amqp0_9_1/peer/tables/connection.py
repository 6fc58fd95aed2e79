"""The connection: the handshake, closing, heartbeats, and what is wrong with frames (2.2.4, 4.2)."""

from harness.amqp0_9_1.peer.events import (
    BadFrameEnd,
    ConnectionState,
    ContentOnChannelZero,
    HeartbeatDue,
    HeartbeatReceived,
    IllegalFieldName,
    Misplaced,
    OnChannelZero,
    OversizedFrame,
    Undecodable,
    UndefinedFrame,
    UnknownMethod,
)
from harness.amqp0_9_1.peer.handshake import CLOSED, EXPECT_OPEN, HANDSHAKE, NEGOTIATING, OPEN, open_ok
from harness.amqp0_9_1.peer.life import end_connection
from harness.amqp0_9_1.peer.refusals import close_in_silence, refuse, refuse_by
from harness.amqp0_9_1.peer.turn import ConnectionRow as Row
from harness.amqp0_9_1.peer.turn import ConnectionTurn
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import COMMAND_INVALID, CONNECTION_FORCED, FRAME_ERROR, Connection
from harness.peers.events import Event, HungUp, Restarting, Silence, Waited
from harness.peers.rows import answering

CLOSING = ConnectionState.CLOSING
CONDEMNED = ConnectionState.CONDEMNED
LINGERING = ConnectionState.LINGERING
TUNED = (EXPECT_OPEN, OPEN, CLOSING, CONDEMNED, LINGERING)

close_ok = answering(Connection.CloseOk())


def socket_is_left_to_the_client(turn: ConnectionTurn[Connection.Close]) -> bool:
    """Say whether the policy does not close the socket at once after Close-Ok."""
    return bool(turn.policy.linger)


def wait_for_the_client(turn: ConnectionTurn[Connection.Close]) -> None:
    """Leave closing the socket to the client for a while."""
    turn.connection.wait(turn.policy.linger)


def step_is_passed_over(turn: ConnectionTurn[Method]) -> bool:
    return turn.policy.step_left_out == "ignore"


def heartbeats_are_looked_at(turn: ConnectionTurn[HeartbeatReceived]) -> bool:
    """Say whether heartbeats were agreed upon, or the policy does not discard them all."""
    return bool(turn.connection.interval) or turn.policy.unagreed_heartbeats == "check"


def heartbeat_on_a_channel(turn: ConnectionTurn[HeartbeatReceived]) -> bool:
    return bool(turn.event.channel) and heartbeats_are_looked_at(turn)


def heartbeat_with_payload(turn: ConnectionTurn[HeartbeatReceived]) -> bool:
    return bool(turn.event.size) and heartbeats_are_looked_at(turn)


def heartbeat_is_valid(turn: ConnectionTurn[HeartbeatReceived]) -> bool:
    return not turn.event.channel and not turn.event.size


def send_heartbeat(turn: ConnectionTurn[HeartbeatDue]) -> None:
    turn.connection.send_heartbeat()


def is_known_here(turn: ConnectionTurn[Connection.Open]) -> bool:
    """Say whether the open connection is in this virtual host already and the policy confirms it again."""
    return turn.policy.open_again == "confirm" and turn.event.virtual_host == turn.host.name


def is_of_no_interest(turn: ConnectionTurn[Connection.Open]) -> bool:
    return turn.policy.open_again == "ignore"


def says_goodbye(turn: ConnectionTurn[Restarting]) -> bool:
    return turn.policy.restart_notice == "close"


def note_the_socket(turn: ConnectionTurn[HungUp]) -> None:
    """Log a socket that was closed without Close and Close-Ok, and where that was."""
    if turn.connection.closed is None and turn.connection.state is not LINGERING:
        turn.note(f"the client closed the socket amid {turn.connection.state.name}")


_close = Row("connection.close", (*NEGOTIATING, OPEN), Connection.Close)
_CLOSE = (
    _close(
        "is answered, the socket left to the client",
        socket_is_left_to_the_client,
        (end_connection, wait_for_the_client),
        close_ok,
        LINGERING,
    ),
    _close("is answered", effects=(end_connection,), answer=close_ok, next=CLOSED),
    Row("connection.close: crossing ours is answered", CLOSING, Connection.Close, answer=close_ok),
    Row(
        "connection.close-ok: ends the connection",
        CLOSING,
        Connection.CloseOk,
        effects=(end_connection,),
        next=CLOSED,
    ),
)
_heartbeat = Row("heartbeat", OPEN, HeartbeatReceived)
_HEARTBEATS = (
    _heartbeat(
        "refuses one on a channel",
        heartbeat_on_a_channel,
        answer=refuse_by(lambda policy: policy.heartbeat_on_channel),
    ),
    _heartbeat("refuses one with a payload", heartbeat_with_payload, answer=refuse(FRAME_ERROR)),
    Row("heartbeat: is taken", (*NEGOTIATING, OPEN, CLOSING), HeartbeatReceived, heartbeat_is_valid),
    Row(
        "heartbeat: is sent twice an interval",
        (EXPECT_OPEN, OPEN, CLOSING, LINGERING),
        HeartbeatDue,
        effects=(send_heartbeat,),
    ),
    Row(
        "heartbeat: two intervals of silence end the connection",
        TUNED,
        Silence,
        effects=(end_connection,),
        next=CLOSED,
    ),
)
_FRAMES = (
    Row("frame: refuses one larger than agreed", OPEN, OversizedFrame, answer=refuse(FRAME_ERROR)),
    Row(
        "frame: refuses an undefined type",
        OPEN,
        UndefinedFrame,
        answer=refuse_by(lambda policy: policy.framing_error),
    ),
    Row("frame: refuses a bad end", OPEN, BadFrameEnd, answer=refuse_by(lambda policy: policy.framing_error)),
    Row(
        "frame: one that cannot be read while closing ends the connection",
        CLOSING,
        (OversizedFrame, UndefinedFrame, BadFrameEnd),
        effects=(end_connection,),
        next=CLOSED,
    ),
    Row("method: refuses the connection class on a channel", OPEN, Misplaced, answer=refuse(COMMAND_INVALID)),
    Row(
        "method: refuses other classes on channel zero",
        OPEN,
        OnChannelZero,
        answer=refuse_by(lambda policy: policy.channel_zero),
    ),
    Row(
        "content: refuses channel zero",
        OPEN,
        ContentOnChannelZero,
        answer=refuse_by(lambda policy: policy.content_on_zero),
    ),
    Row(
        "method: refuses one that does not exist",
        OPEN,
        UnknownMethod,
        answer=refuse_by(lambda policy: policy.unknown_method),
    ),
    Row(
        "method: refuses arguments of the connection class that cannot be read",
        OPEN,
        Undecodable,
        answer=refuse_by(lambda policy: policy.undecodable),
    ),
    Row(
        "method: refuses illegal field names in the connection class",
        OPEN,
        IllegalFieldName,
        answer=refuse_by(lambda policy: policy.illegal_field_name),
    ),
    Row("connection.open: the same again is confirmed", OPEN, Connection.Open, is_known_here, answer=open_ok),
    Row("connection.open: any other is passed over", OPEN, Connection.Open, is_of_no_interest),
    Row("connection: refuses a method out of sequence", OPEN, Method, answer=refuse(COMMAND_INVALID)),
)
_ENDS = (
    Row(
        "connection: hanging up ends it",
        tuple(ConnectionState),
        HungUp,
        effects=(note_the_socket, end_connection),
        next=CLOSED,
    ),
    Row("restart: connections are told", OPEN, Restarting, says_goodbye, answer=refuse(CONNECTION_FORCED)),
    Row(
        "restart: connections end", tuple(ConnectionState), Restarting, effects=(end_connection,), next=CLOSED
    ),
    Row(
        "connection: waiting is over",
        (CLOSING, CONDEMNED, LINGERING),
        Waited,
        effects=(end_connection,),
        next=CLOSED,
    ),
    Row("connection: closing hears only Close and Close-Ok", CLOSING, (Method, Event)),
    Row("connection: a step before its turn is passed over", NEGOTIATING, Method, step_is_passed_over),
    Row(
        "connection: anything else before it is open ends in silence",
        NEGOTIATING,
        (Method, Event),
        effects=(close_in_silence,),
    ),
)
CONNECTION = (*HANDSHAKE, *_CLOSE, *_HEARTBEATS, *_FRAMES, *_ENDS)
