"""The way to two equal protocol headers: versions, protocol ids, and the SASL layer (2.2; Part 5)."""

from collections.abc import Callable, Mapping
from typing import Final

from harness.amqp1_0.peer.events import (
    EmptyFrame,
    Entered,
    HeaderReceived,
    SaslHeader,
    SaslState,
    SendingSasl,
    Unacceptable,
)
from harness.amqp1_0.peer.states import END, HDR_RCVD, START, write
from harness.amqp1_0.peer.turn import AnyTurn, ConnectionTurn, Reply
from harness.amqp1_0.peer.turn import ConnectionRow as Row
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import PROTOCOL_HEADER, SASL_HEADER
from harness.amqp1_0.wire.performatives import (
    SaslChallenge,
    SaslCode,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
)
from harness.peers.reference import external, plain
from harness.peers.rows import answering
from harness.wire.units import Header

SASL_HDR_SENT = SaslState.HDR_SENT
EXPECT_INIT = SaslState.EXPECT_INIT
EXPECT_RESPONSE = SaslState.EXPECT_RESPONSE
Credentials = SaslInit | SaslResponse
"""Frames that say who the client is."""


def does_not_wait(turn: ConnectionTurn[Entered]) -> bool:
    """Say whether the server speaks first and no security layer is due."""
    return turn.policy.header == "at once" and not _sasl_comes_first(turn)


def does_not_wait_for_sasl(turn: ConnectionTurn[Entered]) -> bool:
    """Say whether the server speaks first and SASL is due."""
    return turn.policy.header == "at once" and _sasl_comes_first(turn)


def _sasl_comes_first(turn: ConnectionTurn[object]) -> bool:
    return turn.policy.layers != "bare" and not turn.connection.user


def sasl_is_accepted(turn: ConnectionTurn[SaslHeader]) -> bool:
    """Say whether there is a SASL layer and it has not been gone through."""
    return _sasl_comes_first(turn)


def header_is_accepted(turn: ConnectionTurn[Entered]) -> bool:
    """Say whether the header received is that of 1.0.0 and no security layer is missing."""
    connection = turn.connection
    served = bool(connection.user) or turn.policy.layers != "sasl"
    return served and connection.header == PROTOCOL_HEADER


our_header = answering((Header(PROTOCOL_HEADER),))


def another_header(turn: ConnectionTurn[Entered]) -> Reply:
    """Answer with a header that would be accepted, of the id the policy prefers (2.2)."""
    offers_sasl = turn.policy.layers == "sasl" or (
        turn.policy.layers == "either" and turn.policy.offered_id == "sasl"
    )
    return (Header(SASL_HEADER if offers_sasl and not turn.connection.user else PROTOCOL_HEADER),)


def write_sasl_header(turn: ConnectionTurn[object]) -> None:
    turn.connection.put(SASL_HEADER)


def mechanisms(turn: ConnectionTurn[SaslHeader]) -> Reply:
    return (SaslMechanisms(turn.policy.mechanisms),)


def is_not_offered(turn: ConnectionTurn[SaslInit]) -> bool:
    return turn.event.mechanism not in turn.policy.mechanisms


def lacks_a_response(turn: ConnectionTurn[SaslInit]) -> bool:
    return turn.event.initial_response is None and turn.event.mechanism == "PLAIN"


def remember_mechanism(turn: ConnectionTurn[SaslInit]) -> None:
    """Keep the mechanism, which sasl-response will not name again."""
    turn.connection.mechanism = str(turn.event.mechanism)


ask_for_response = answering((SaslChallenge(b""),))


def credentials_are_good(turn: ConnectionTurn[Credentials]) -> bool:
    return bool(_user(turn))


def log_in(turn: ConnectionTurn[Credentials]) -> None:
    turn.connection.user = _user(turn)


def outcome(code: int) -> Callable[[object], Reply]:
    return answering((SaslOutcome(code),))


def _user(turn: ConnectionTurn[Credentials]) -> str:
    event = turn.event
    if isinstance(event, SaslInit):
        named, response = str(event.mechanism), event.initial_response or b""
    else:
        named, response = turn.connection.mechanism, event.response
    return _READERS[named](turn, response) if named in _READERS else ""


_READERS: Final[Mapping[str, Callable[[AnyTurn, bytes], str]]] = {
    "PLAIN": lambda turn, response: plain(turn.peer, response),
    "ANONYMOUS": lambda _turn, _trace: "anonymous",
    "EXTERNAL": lambda turn, wanted: external(turn.peer, wanted),
}
"""How each mechanism finds out who the client is; the mechanisms are those of harness.wire.sasl."""

_sasl_init = Row("sasl-init", EXPECT_INIT, SaslInit)
_SASL = (
    Row("sasl: S:frame", (START, *SaslState), SendingSasl, effects=(write,)),
    Row(
        "sasl: header is sent at once",
        START,
        Entered,
        does_not_wait_for_sasl,
        (write_sasl_header,),
        next=SASL_HDR_SENT,
    ),
    Row(
        "sasl: header is answered with ours",
        START,
        SaslHeader,
        sasl_is_accepted,
        (write_sasl_header,),
        mechanisms,
        EXPECT_INIT,
    ),
    Row("sasl: header after ours", SASL_HDR_SENT, SaslHeader, answer=mechanisms, next=EXPECT_INIT),
    _sasl_init("refuses a mechanism not offered", is_not_offered, answer=outcome(SaslCode.AUTH), next=END),
    _sasl_init(
        "asks for the response", lacks_a_response, (remember_mechanism,), ask_for_response, EXPECT_RESPONSE
    ),
    _sasl_init("good credentials", credentials_are_good, (log_in,), outcome(SaslCode.OK), START),
    Row(
        "sasl-response: good credentials",
        EXPECT_RESPONSE,
        SaslResponse,
        credentials_are_good,
        (log_in,),
        outcome(SaslCode.OK),
        START,
    ),
    Row(
        "sasl: bad credentials",
        (EXPECT_INIT, EXPECT_RESPONSE),
        (SaslInit, SaslResponse),
        answer=outcome(SaslCode.AUTH),
        next=END,
    ),
    Row(
        "sasl: anything else ends it",
        tuple(SaslState),
        (Composite, HeaderReceived, Unacceptable, EmptyFrame),
        next=END,
    ),
)
_HEADERS = (
    Row("header: is sent at once", START, Entered, does_not_wait, answer=our_header),
    Row("header: is answered with the same", HDR_RCVD, Entered, header_is_accepted, answer=our_header),
    Row("header: another one is answered with one we accept", HDR_RCVD, Entered, answer=another_header),
)
NEGOTIATION = (*_SASL, *_HEADERS)
