"""The rows of a connection: initiation, negotiation, heartbeats, closing (3.2)."""

from __future__ import annotations

from harness.amqp_fast.peer.events import (
    ConnectionState,
    Early,
    Malformed,
    NeverExpected,
    NothingHeard,
    PingDue,
    Undecodable,
)
from harness.amqp_fast.peer.refusals import (
    CLIENT_ACTIVE,
    CONNECTION,
    FRAMING,
    NOT_VALID_NOW,
    SYNTAX,
    VIRTUAL_PATH,
    close_connection,
    refuses,
)
from harness.amqp_fast.peer.turn import AnyTurn, Reply, Row, Turn
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import Initiation
from harness.amqp_fast.wire.vocabulary import GRAMMAR, OK, Connection
from harness.peers.events import HungUp, Restarting, Waited

_TOLD = (ConnectionState.CHALLENGED, ConnectionState.TUNED, ConnectionState.OPEN)
_NEGOTIATING = (ConnectionState.CHALLENGED, ConnectionState.TUNED)
_CLOSED = (ConnectionState.ANSWERED, ConnectionState.ENDING)
_ANY = tuple(each for each in ConnectionState if each is not ConnectionState.END)
FRAME_MAX_LEAST = 1024
"""The smallest largest frame (1023)."""


# -- initiation and log-in ---------------------------------------------------------------------------


def is_ours(turn: Turn[Initiation]) -> bool:
    """The client asks for this protocol, in a version that there is."""
    return turn.event.protocol_id == GRAMMAR.protocol_id and turn.event.version > 0


def challenge(turn: AnyTurn) -> Reply:
    """Ask who the client is, in the highest version that both know (838)."""
    known = turn.policy.server_version
    if isinstance(turn.event, Initiation):
        turn.connection.channel_max = min(turn.event.version, known)
    turn.connection.challenges -= 1
    return (Connection.Challenge(turn.connection.channel_max, "PLAIN"),)


def asks_on(turn: Turn[Connection.Response]) -> bool:
    """The server wants to hear it once more (363)."""
    return is_good(turn) and turn.connection.challenges > 0


def is_good(turn: Turn[Connection.Response]) -> bool:
    """Mechanism and credentials are right."""
    told = turn.event.responses
    login, password = (told.get(name, b"") for name in ("LOGIN", "PASSWORD"))
    known = {name.encode(): value.encode() for name, value in turn.peer.users.items()}
    return turn.event.mechanism == b"PLAIN" and login != b"" and known.get(login) == password


def let_in(turn: Turn[Connection.Response]) -> None:
    """Keep who it is."""
    turn.connection.user = turn.event.responses["LOGIN"].decode("utf-8", "replace")


def tune(turn: AnyTurn) -> Reply:
    """Tell the limits (1012)."""
    limits, policy = turn.peer.limits, turn.policy
    told = {"FRAME_MAX": limits.frame}
    if policy.limits_told == "all":
        told |= {
            "CHANNEL_MAX": limits.channels,
            "HANDLE_MAX": limits.handles,
            "HEARTBEAT": policy.heartbeat,
            "TXN_LIMIT": limits.transaction,
        }
    return (Connection.Tune(told),)


# -- tuning ------------------------------------------------------------------------------------------


def is_acceptable(turn: Turn[Connection.Tune]) -> bool:
    """What the client proposes is within what was proposed to it (1001, 1049)."""
    size = turn.event.options.get("FRAME_MAX", turn.peer.limits.frame)
    beat = turn.event.options.get("HEARTBEAT", 0)
    fits = isinstance(size, int) and FRAME_MAX_LEAST <= size <= turn.peer.limits.frame
    return fits and isinstance(beat, int) and beat >= 0


def adopt(turn: Turn[Connection.Tune]) -> None:
    """Take what the client proposes; of several the last one counts."""
    options = turn.event.options
    turn.connection.frame_max = options.get("FRAME_MAX", turn.connection.frame_max)
    if turn.policy.fast_pings == "as asked":
        turn.connection.interval = float(options.get("HEARTBEAT", turn.connection.interval))


# -- open --------------------------------------------------------------------------------------------


def is_unknown(turn: Turn[Connection.Open]) -> bool:
    """No virtual host has the path, or not for this user."""
    path = turn.event.virtual_path
    barred = turn.connection.user in turn.peer.restricted and turn.peer.host(path) is not turn.peer.host(b"")
    return barred or (turn.peer.host(path) is None and turn.policy.unknown_path == "refuses")


def is_active(turn: Turn[Connection.Open]) -> bool:
    """The client is there already, on another connection."""
    return bool(_others(turn)) and turn.policy.active_client == "refuses the new"


def _others(turn: Turn[Connection.Open]) -> list[AnyTurn]:
    name = turn.event.client_name
    every = (each for each in turn.peer.open_connections() if each is not turn.connection)
    return [Turn(turn.peer, each, turn.event) for each in every if name and each.client_name == name]  # type: ignore[attr-defined, arg-type]


def drop_others(turn: Turn[Connection.Open]) -> None:
    """Close the client's other connection (1112)."""
    for other in _others(turn):
        refuses(CLIENT_ACTIVE, "this client has come again", CONNECTION)(other)


def enter(turn: Turn[Connection.Open]) -> None:
    """Give the connection its virtual host."""
    turn.connection.client_name = turn.event.client_name
    turn.connection.host = turn.peer.host(turn.event.virtual_path) or turn.peer.host(b"")


def confirmed(turn: Turn[Connection.Open]) -> Reply:
    """Confirm, where that is asked for (1104)."""
    tag = turn.event.confirm_tag
    return (Connection.Reply(tag, OK, words(turn)),) if tag else ()


def words(turn: AnyTurn) -> str:
    """Give the text of a good reply."""
    return "Ok" if turn.policy.reply_text == "words" else ""


# -- heartbeats --------------------------------------------------------------------------------------


def wants_answer(turn: Turn[Connection.Ping]) -> bool:
    """The client asks for a PING in return."""
    return turn.event.respond


def ping(_: AnyTurn) -> Reply:
    """Say a PING that asks for none."""
    return (Connection.Ping(),)


def hear(turn: AnyTurn) -> None:
    """Note that the client sends heartbeats."""
    turn.connection.pings = True


# -- ends --------------------------------------------------------------------------------------------


def close(turn: AnyTurn) -> Reply:
    """Say close."""
    return (Connection.Close(OK, words(turn)),)


def end(turn: AnyTurn) -> None:
    """End the stream."""
    turn.connection.end()


def end_if_both_do(turn: AnyTurn) -> None:
    """End the stream behind the answer, where the policy does not leave it to the initiator (1188)."""
    if turn.policy.ends_stream == "both":
        turn.connection.end()


def pause(turn: AnyTurn) -> None:
    """Leave who may be hostile alone for a while (1269)."""
    turn.connection.pause(turn.policy.pause)


def at_fault(turn: AnyTurn) -> Reply:
    """Say that the negotiation is over, where the policy says so; the end of the stream comes in any case."""
    if turn.policy.negotiation_fault == "end":
        return ()
    return (Connection.Close(NOT_VALID_NOW, "no"),)


def leave_at_once(turn: AnyTurn) -> bool:
    """Octets that are no frame end the stream without a word."""
    return turn.policy.malformed == "end"


def insist(turn: AnyTurn) -> Reply:
    """Say close again (1183)."""
    return (Connection.Close(OK, words(turn)),) if turn.policy.insists == "closes again" else ()


_INITIATION: Row[Initiation] = Row("initiation", ConnectionState.START, Initiation)
_RESPONSE: Row[Connection.Response] = Row("response", ConnectionState.CHALLENGED, Connection.Response)
_TUNE: Row[Connection.Tune] = Row("tune", ConnectionState.TUNED, Connection.Tune)
_OPEN: Row[Connection.Open] = Row("open", ConnectionState.TUNED, Connection.Open)
_PING: Row[Connection.Ping] = Row("ping", _TOLD, Connection.Ping)
_UNEXPECTED = (
    Connection.Response,
    Connection.Tune,
    Connection.Open,
    NeverExpected,
    Early,
    Malformed,
    Undecodable,
)
_FAULT = (close_connection, pause)


ROWS = (
    _INITIATION("is answered", is_ours, answer=challenge, next=ConnectionState.CHALLENGED),
    _INITIATION("of another protocol ends the stream", effects=(end,), next=ConnectionState.END),
    _RESPONSE("is not enough", asks_on, answer=challenge),
    _RESPONSE("is accepted", is_good, (let_in,), tune, ConnectionState.TUNED),
    _RESPONSE("is refused", effects=_FAULT, answer=at_fault, next=ConnectionState.ENDING),
    _TUNE("is accepted", is_acceptable, (adopt,)),
    _TUNE("is refused", effects=(refuses(SYNTAX, "options beyond what was proposed", CONNECTION),)),
    _OPEN("of an unknown path is refused", is_unknown, (refuses(VIRTUAL_PATH, "no such path", CONNECTION),)),
    _OPEN("of an active client is refused", is_active, (refuses(CLIENT_ACTIVE, "is active", CONNECTION),)),
    _OPEN("is accepted", effects=(drop_others, enter), answer=confirmed, next=ConnectionState.OPEN),
    _PING("is answered", wants_answer, (hear,), ping),
    _PING("is heard", effects=(hear,)),
    Row("ping: is due", ConnectionState.OPEN, PingDue, answer=ping),
    Row(
        "ping: is missed",
        ConnectionState.OPEN,
        NothingHeard,
        effects=(refuses(NOT_VALID_NOW, "silence", CONNECTION),),
    ),
    Row(
        "close: is answered",
        _TOLD,
        Connection.Close,
        effects=(close_connection, end_if_both_do),
        answer=close,
        next=ConnectionState.ANSWERED,
    ),
    Row(
        "closing: ends with close",
        ConnectionState.CLOSING,
        Connection.Close,
        effects=(end,),
        next=ConnectionState.END,
    ),
    Row(
        "closing: ends with what is no frame",
        (ConnectionState.CLOSING, *_CLOSED),
        Malformed,
        effects=(end,),
        next=ConnectionState.END,
    ),
    Row("hang-up: ends all", _ANY, HungUp, effects=(close_connection, end), next=ConnectionState.END),
    Row("restart: ends all", _ANY, Restarting, effects=(close_connection, end), next=ConnectionState.END),
    Row("waited: ends the stream", _ANY, Waited, effects=(end,), next=ConnectionState.END),
    Row(
        "closing: insists",
        ConnectionState.CLOSING,
        (Command, NeverExpected, Early, Undecodable),
        answer=insist,
    ),
    Row(
        "malformed: ends the stream", ConnectionState.OPEN, Malformed, leave_at_once, (close_connection, end)
    ),
    Row(
        "malformed: is refused",
        ConnectionState.OPEN,
        Malformed,
        effects=(refuses(FRAMING, "no frame", CONNECTION),),
    ),
    Row(
        "undecodable: is refused",
        ConnectionState.OPEN,
        Undecodable,
        effects=(refuses(SYNTAX, "not as defined", CONNECTION),),
    ),
    Row(
        "never expected: is refused",
        ConnectionState.OPEN,
        NeverExpected,
        effects=(refuses(NOT_VALID_NOW, "only a server sends that", CONNECTION),),
    ),
    Row(
        "negotiation: ends for what is not expected",
        _NEGOTIATING,
        _UNEXPECTED,
        effects=_FAULT,
        answer=at_fault,
        next=ConnectionState.ENDING,
    ),
    Row(
        "open: again is refused",
        ConnectionState.OPEN,
        (Connection.Response, Connection.Tune, Connection.Open),
        effects=(refuses(NOT_VALID_NOW, "it is open", CONNECTION),),
    ),
)
