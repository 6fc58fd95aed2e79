"""The rows of a connection that is being opened: initiation, log-in, tuning, open (3.2.2 to 3.2.6)."""

from __future__ import annotations

import re
from dataclasses import replace

from harness.amqp_fast.peer.events import ConnectionState, Early, Malformed, NeverExpected, Undecodable
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
from harness.amqp_fast.peer.tables.connection import end, words
from harness.amqp_fast.peer.turn import AnyTurn, Reply, Row, Turn
from harness.amqp_fast.wire.frames import Initiation
from harness.amqp_fast.wire.vocabulary import GRAMMAR, NOT_IMPLEMENTED, OK, Connection

_NEGOTIATING = (ConnectionState.CHALLENGED, ConnectionState.TUNED)
FRAME_MAX_LEAST = 1024
"""The smallest largest frame (1023)."""
ASKS = 3
"""How often what is lacking is asked for."""
IMPATIENCE = 2
"""Seconds of the heartbeat that is asked of who shall feel it."""
RESERVED = 160
"""The last protocol id that is reserved (835)."""
CODE_AND_END = 2
"""Octets of a frame beside its fields."""
NAME = re.compile(r"[A-Za-z$#][A-Za-z$#0-9_]{0,127}")
"""The form of the name of a field (905)."""


# -- initiation and log-in ---------------------------------------------------------------------------


def is_ours(turn: Turn[Initiation]) -> bool:
    """The client asks for this protocol, in a version that there is."""
    return turn.event.protocol_id == GRAMMAR.protocol_id and turn.event.version > 0


def speaks_it(turn: Turn[Initiation]) -> bool:
    """The server knows that protocol, too: HTTP, or one of those for tests (832, 838)."""
    number = turn.event.protocol_id
    return turn.policy.foreign == "speaks" and (
        (chr(number).isascii() and chr(number).isalpha()) or number > RESERVED
    )


def in_its_words(turn: AnyTurn) -> None:
    """Answer as that protocol would, and end the stream."""
    turn.connection.put(b"HTTP/1.0 505 Only AMQP/Fast here\r\n\r\n")
    turn.connection.end()


def foreign(turn: AnyTurn) -> Reply:
    """Say close to who speaks another protocol, where the policy does."""
    return (Connection.Close(FRAMING, "no"),) if turn.policy.foreign == "closes" else ()


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


def lacks_something(turn: Turn[Connection.Response]) -> bool:
    """Login or password is missing, and the server asks for it (949)."""
    told, connection = turn.event.responses, turn.connection
    lacks = turn.event.mechanism == b"PLAIN" and not {"LOGIN", "PASSWORD"} <= told.keys()
    return lacks and turn.policy.lacking == "asks" and connection.challenges > -ASKS


def is_good(turn: Turn[Connection.Response]) -> bool:
    """Mechanism and credentials are right."""
    told = turn.event.responses
    login, password = (told.get(name, b"") for name in ("LOGIN", "PASSWORD"))
    known = {name.encode(): value.encode() for name, value in turn.peer.users.items()}
    return turn.event.mechanism == b"PLAIN" and login != b"" and known.get(login) == password


def let_in(turn: Turn[Connection.Response]) -> None:
    """Keep who it is, and what holds for it."""
    connection, peer = turn.connection, turn.peer
    connection.user = turn.event.responses["LOGIN"].decode("utf-8", "replace")
    if connection.user in peer.impatient:
        connection.heartbeat = IMPATIENCE
    if connection.user in peer.unlimited or turn.policy.limits_told == "none set":
        connection.limits = replace(peer.limits, channels=0, handles=0, transaction=0)


def tune(turn: AnyTurn) -> Reply:
    """Tell the limits (1012)."""
    limits, beat, every = turn.connection.limits, turn.connection.heartbeat, turn.policy.limits_told
    told = {"FRAME_MAX": limits.frame}
    if every != "frame-max":
        told |= {"CHANNEL_MAX": limits.channels, "HANDLE_MAX": limits.handles}
        told |= {"TXN_LIMIT": limits.transaction} if limits.transaction else {}
    if every != "frame-max" or beat:
        told |= {"HEARTBEAT": beat}
    return (Connection.Tune(told),)


# -- tuning ------------------------------------------------------------------------------------------


def is_oversized(turn: Turn[Connection.Tune]) -> bool:
    """The command is larger than one of the negotiation may be (1006)."""
    return len(turn.event.encode()) + CODE_AND_END > turn.peer.limits.handshake


def is_acceptable(turn: Turn[Connection.Tune]) -> bool:
    """What the client proposes is within what was proposed to it (1001, 1049)."""
    options = turn.event.options
    size, beat = options.get("FRAME_MAX", turn.peer.limits.frame), options.get("HEARTBEAT", 0)
    fits = isinstance(size, int) and FRAME_MAX_LEAST <= size <= turn.peer.limits.frame
    bears = turn.policy.client_limits == "ignored" or options.keys() <= {"FRAME_MAX", "HEARTBEAT"}
    return fits and bears and isinstance(beat, int) and beat >= 0


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
    return barred or (turn.peer.host(path) is None and turn.policy.unknown_path != "serves")


def is_told_no(turn: Turn[Connection.Open]) -> bool:
    """The path is unknown, and a confirmation was asked for that can say so."""
    return is_unknown(turn) and turn.policy.unknown_path == "replies" and turn.event.confirm_tag > 0


def denied(turn: Turn[Connection.Open]) -> Reply:
    """Say that there is no such path."""
    return (Connection.Reply(turn.event.confirm_tag, VIRTUAL_PATH, "no such path"),)


def names_no_field(turn: Turn[Connection.Open]) -> bool:
    """A name among the options is none (905)."""
    names = (name for name, _ in turn.event.options.pairs)
    return turn.policy.field_names == "checked" and not all(NAME.fullmatch(each) for each in names)


def has_options(turn: Turn[Connection.Open]) -> bool:
    """There are options, none of which has a meaning yet."""
    return turn.policy.options == "refused" and bool(turn.event.options)


def is_active(turn: Turn[Connection.Open]) -> bool:
    """The client is there already, on another connection."""
    return turn.event.client_name in turn.peer.active and turn.policy.active_client == "refuses the new"


def drop_other(turn: Turn[Connection.Open]) -> None:
    """Close the client's other connection (1112)."""
    other = turn.peer.active.get(turn.event.client_name)
    if other is not None:
        refuses(CLIENT_ACTIVE, "this client has come again", CONNECTION)(Turn(turn.peer, other, turn.event))


def enter(turn: Turn[Connection.Open]) -> None:
    """Give the connection its virtual host."""
    if turn.event.client_name:
        turn.peer.active[turn.event.client_name] = turn.connection
    turn.connection.client_name = turn.event.client_name
    turn.connection.host = turn.peer.host(turn.event.virtual_path) or turn.peer.host(b"")


def confirmed(turn: Turn[Connection.Open]) -> Reply:
    """Confirm, where that is asked for (1104)."""
    tag = turn.event.confirm_tag
    return (Connection.Reply(tag, OK, words(turn)),) if tag else ()


# -- faults ------------------------------------------------------------------------------------------


def pause(turn: AnyTurn) -> None:
    """Leave who may be hostile alone for a while (1269)."""
    turn.connection.pause(turn.policy.pause)


def at_fault(turn: AnyTurn) -> Reply:
    """Say that the negotiation is over, where the policy says so; the end of the stream comes in any case."""
    if turn.policy.negotiation_fault == "end":
        return ()
    return (Connection.Close(NOT_VALID_NOW, "no"),)


_INITIATION: Row[Initiation] = Row("initiation", ConnectionState.START, Initiation)
_RESPONSE: Row[Connection.Response] = Row("response", ConnectionState.CHALLENGED, Connection.Response)
_TUNE: Row[Connection.Tune] = Row("tune", ConnectionState.TUNED, Connection.Tune)
_OPEN: Row[Connection.Open] = Row("open", ConnectionState.TUNED, Connection.Open)
_END = ConnectionState.END
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
    _INITIATION("of another protocol is answered in it", speaks_it, (in_its_words,), next=_END),
    _INITIATION("of another protocol ends the stream", effects=(end,), answer=foreign, next=_END),
    _RESPONSE("is not enough", asks_on, answer=challenge),
    _RESPONSE("lacks something", lacks_something, answer=challenge),
    _RESPONSE("is accepted", is_good, (let_in,), tune, ConnectionState.TUNED),
    _RESPONSE("is refused", effects=_FAULT, answer=at_fault, next=ConnectionState.ENDING),
    _TUNE("is too large", is_oversized, (refuses(SYNTAX, "too large", CONNECTION),)),
    _TUNE("is accepted", is_acceptable, (adopt,)),
    _TUNE("is refused", effects=(refuses(SYNTAX, "options beyond what was proposed", CONNECTION),)),
    _OPEN("of an unknown path is told", is_told_no, answer=denied),
    _OPEN("of an unknown path is refused", is_unknown, (refuses(VIRTUAL_PATH, "no such path", CONNECTION),)),
    _OPEN("with a name that is none is refused", names_no_field, (refuses(SYNTAX, "no name", CONNECTION),)),
    _OPEN("with options is refused", has_options, (refuses(NOT_IMPLEMENTED, "options", CONNECTION),)),
    _OPEN("of an active client is refused", is_active, (refuses(CLIENT_ACTIVE, "is active", CONNECTION),)),
    _OPEN("is accepted", effects=(drop_other, enter), answer=confirmed, next=ConnectionState.OPEN),
    Row(
        "negotiation: ends for what is not expected",
        _NEGOTIATING,
        _UNEXPECTED,
        effects=_FAULT,
        answer=at_fault,
        next=ConnectionState.ENDING,
    ),
)
