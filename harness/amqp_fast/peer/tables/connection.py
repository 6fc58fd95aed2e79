"""The rows of a connection beside its opening: heartbeats, ends (3.2.7, 3.2.9); also while it is opened."""

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
    CONNECTION,
    FRAMING,
    NOT_VALID_NOW,
    SYNTAX,
    close_connection,
    refuses,
)
from harness.amqp_fast.peer.turn import AnyTurn, Reply, Row, Turn
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.vocabulary import OK, Connection
from harness.peers.events import HungUp, Restarting, Waited

_TOLD = (ConnectionState.CHALLENGED, ConnectionState.TUNED, ConnectionState.OPEN)
_CLOSED = (ConnectionState.ANSWERED, ConnectionState.ENDING)
_ANY = tuple(each for each in ConnectionState if each is not ConnectionState.END)


def words(turn: AnyTurn) -> str:
    """Give the text of a good reply."""
    return "Ok" if turn.policy.reply_text == "words" else ""


# -- heartbeats --------------------------------------------------------------------------------------


def wants_answer(turn: Turn[Connection.Ping]) -> bool:
    """The client asks for a PING in return, or the server answers them all."""
    return turn.event.respond or turn.policy.pings_answered == "all"


def ping(_: AnyTurn) -> Reply:
    """Say a PING that asks for none."""
    return (Connection.Ping(),)


def hear(turn: AnyTurn) -> None:
    """Note that the client sends heartbeats."""
    turn.connection.pings = True
    turn.connection.asked = False


def asks_first(turn: AnyTurn) -> bool:
    """The server asks whether the client is there before it gives up (1134)."""
    return turn.policy.silence == "asks" and not turn.connection.asked


def ask(turn: AnyTurn) -> None:
    """Note that it has been asked."""
    turn.connection.asked = True


def ping_that_asks(_: AnyTurn) -> Reply:
    """Say a PING that asks for an answer."""
    return (Connection.Ping(respond=True),)


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


def leave_at_once(turn: AnyTurn) -> bool:
    """Octets that are no frame end the stream without a word."""
    return turn.policy.malformed == "end"


def insist(turn: AnyTurn) -> Reply:
    """Say close again (1183)."""
    return (Connection.Close(OK, words(turn)),) if turn.policy.insists == "closes again" else ()


_PING: Row[Connection.Ping] = Row("ping", _TOLD, Connection.Ping)
ROWS = (
    _PING("is answered", wants_answer, (hear,), ping),
    _PING("is heard", effects=(hear,)),
    Row("ping: is due", ConnectionState.OPEN, PingDue, answer=ping),
    Row("ping: is asked for", ConnectionState.OPEN, NothingHeard, asks_first, (ask,), ping_that_asks),
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
        "open: again is refused",
        ConnectionState.OPEN,
        (Connection.Response, Connection.Tune, Connection.Open),
        effects=(refuses(NOT_VALID_NOW, "it is open", CONNECTION),),
    ),
)
