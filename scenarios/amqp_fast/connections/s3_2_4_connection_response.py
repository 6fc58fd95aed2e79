"""3.2.4 CONNECTION RESPONSE Command: what the client answers, and the server then."""

from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    Interposer,
    adds,
    answers,
    hears,
    ignores,
    replaces,
    withholds,
)
from harness.amqp_fast.broken.fakes import CHALLENGE, TUNE
from harness.amqp_fast.client.connection import FastConnection
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.peer.events import ConnectionState
from harness.amqp_fast.wire.frames import Frame, RawFrame
from harness.amqp_fast.wire.tables import encode_table, short_string
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection
from harness.peers.interposer import Condition
from harness.play.watching import Found, Gaps, State, came, went
from scenarios.amqp_fast.connections.negotiation import (
    OFFERS_AGAIN,
    asked_again,
    asks_again_or_ends,
    is_kept_out,
    logs_in,
    turned_away,
)
from scenarios.registry import broken_by, scenario, watch

UNKNOWN = (b"X-NONE", b"plain", b"")
WHOLE = 4000
"""Octets of a command that is surely not too large for the negotiation."""
TOO_LARGE = 5000
ASKS_ON = "a CHALLENGE is for what is lacking (949), but another one may be tried"
NOT_UNDERSTOOD = "negotiation: ends for what is not expected"
REFUSED = "response: is refused"
STAYS = Fault.changes(REFUSED, effects=(), answer=None, next=ConnectionState.CHALLENGED)
"""Does nothing about a RESPONSE that is not good."""


def lets_in(when: Condition) -> Interposer:
    """Takes such a RESPONSE for a good one."""
    return answers(Connection.Response, TUNE, when=when)


def lacks(name: str) -> Condition:
    """Find a RESPONSE without a field."""
    return lambda response: name not in response.responses


def first(mechanisms: bytes) -> bytes:
    """Give the first of a list of mechanisms."""
    return mechanisms.partition(b" ")[0]


def is_large(response: Connection.Response) -> bool:
    """Say whether a RESPONSE is larger than it has to be."""
    return len(response.encode()) > WHOLE // 2


def filled(connection: FastConnection, size: int, **more: Any) -> Connection.Response:
    """Give a RESPONSE of so many octets, filled by a second PASSWORD, which does not count (3.2.3.1)."""
    response = connection.response(**more)
    pairs = [*response.responses.items(), ("PASSWORD", b"")]
    short = size - len(response.replace(responses=pairs).encode()) - 2
    return response.replace(responses=[*pairs[:-1], ("PASSWORD", b"x" * short)])


# -- what the client may say ---------------------------------------------------------------------------


@scenario("fast/3.2.4.challenge-needs-response")
@broken_by("tunes in any case", answers(Connection.Tune, TUNE))
@broken_by("opens a channel", answers(Channel.Open, Channel.Reply(1, 1, OK)))
@broken_by("stays", Fault.drops(NOT_UNDERSTOOD))
def a_challenge_is_answered_by_a_response_alone(server: Server) -> None:
    """TUNE or CHANNEL OPEN in place of the RESPONSE ends the connection."""
    is_kept_out(server, Connection.Tune(), Channel.Open(1, 1))


@scenario("fast/3.2.4.unknown-mechanism-refused")
@broken_by("takes any mechanism", hears(Connection.Response, mechanism=b"PLAIN"))
@broken_by("does not look at the case", hears(Connection.Response, mechanism=bytes.upper))
@broken_by("stays", STAYS)
def a_mechanism_that_was_not_offered_is_not_taken(server: Server) -> None:
    """X-NONE, plain in small letters and no mechanism at all each end the connection."""
    offered = server.begun().challenge.mechanisms.split()
    good = server.begun().response()
    said = [good.replace(mechanism=each) for each in UNKNOWN if each not in offered]
    is_kept_out(server, *said, others=(asked_again().under(OFFERS_AGAIN),))


@scenario("fast/3.2.4.single-mechanism")
@broken_by("takes the first of a list", hears(Connection.Response, mechanism=first))
@broken_by("stays", STAYS)
def a_list_of_mechanisms_is_not_taken(server: Server) -> None:
    """PLAIN twice, and all that the server offers where it is several, each end the connection."""
    connection = server.begun()
    good, offered = connection.response(), connection.challenge.mechanisms
    several = [good.replace(mechanism=b"PLAIN PLAIN")]
    several += [good.replace(mechanism=offered)] if len(offered.split()) > 1 else []
    is_kept_out(server, *several, others=(asked_again().under(OFFERS_AGAIN),))


@scenario("fast/3.2.4.large-response-accepted")
@broken_by("reads no large one", answers(Connection.Response, Connection.Close(501), when=is_large))
def a_large_response_is_taken(server: Server) -> None:
    """A RESPONSE of 4000 octets is answered by TUNE."""
    small = server.begun()
    small.send(filled(small, len(small.response().encode()) + 20))
    said = small.control(
        "a RESPONSE with PASSWORD twice", Connection.Tune, Connection.Challenge, Connection.Close
    )
    if isinstance(said, Connection.Close):
        server.inapplicable("PASSWORD twice is refused in a small RESPONSE as well")
    connection = server.begun()
    logs_in(connection, responses=filled(connection, WHOLE).responses)


@scenario("fast/3.2.4.oversized-response-refused")
@broken_by("reads every size", lets_in(lambda response: len(response.encode()) > WHOLE))
def an_oversized_response_is_refused(server: Server) -> None:
    """A RESPONSE of 5000 octets ends the connection."""
    server.tuned()
    connection = server.begun()
    connection.tries(filled(connection, TOO_LARGE), *turned_away())


# -- what the server answers ---------------------------------------------------------------------------


class Answers(State):
    """Whether a RESPONSE waits for its answer."""

    waits = False


@watch(
    "fast/3.2.4.three-answers",
    during="fast/3.2.4.accepted-by-tune",
    looks_at=came(Frame) + went(Connection.Response),
    start=Answers,
    gap=Gaps.STOPS,
)
@broken_by("confirms it", adds(Connection.Tune, Connection.Reply(1, OK), before=True))
@broken_by("answers for a channel", replaces(Connection.Tune, Channel.Reply(1, 1, OK)))
def a_response_has_one_of_three_answers(answers_: Answers, each: Passage) -> Found:
    """Behind a RESPONSE comes CHALLENGE, TUNE or CLOSE; PINGs beside it do not count."""
    if isinstance(each.said, Connection.Response):
        answers_.waits = True
        return None
    if not answers_.waits or isinstance(each.said, Connection.Ping):
        return None
    answers_.waits = False
    fits = isinstance(each.said, Connection.Challenge | Connection.Tune | Connection.Close)
    told = each.said.full_name if each.said else "an unreadable command"
    return fits or f"a RESPONSE is answered by {told} at {each.at:.4f} s"


@scenario("fast/3.2.4.lacking-information")
@broken_by("asks for no password", lets_in(lacks("PASSWORD")))
@broken_by("says nothing", ignores(Connection.Response, when=lacks("PASSWORD")))
@broken_by("asks in vain", answers(Connection.Response, CHALLENGE, skip=1))
def what_is_lacking_is_asked_for(server: Server) -> None:
    """LOGIN alone is answered by another CHALLENGE, and the whole RESPONSE then by TUNE; or the end comes."""
    server.tuned()
    connection = server.begun()
    alone = {"LOGIN": connection.response().responses["LOGIN"]}
    asks_again_or_ends(connection, connection.response(responses=alone))


@scenario("fast/3.2.4.wrong-credentials-close")
@broken_by("lets everybody in", lets_in(lambda _: True))
@broken_by("looks at the password only", Fault.changes(REFUSED, answer=lambda _: (TUNE,)))
@broken_by("stays", STAYS)
def wrong_credentials_end_the_connection(server: Server) -> None:
    """A wrong password, and a login that nobody has, each end the connection."""
    good = server.tuned().response().responses
    for wrong in (good | {"PASSWORD": b"wrong"}, good | {"LOGIN": server.name("login")}):
        connection = server.begun()
        for _ in range(3):
            response = connection.response(responses=wrong)
            seen = connection.tries(response, *turned_away(), asked_again().under(ASKS_ON))
            if not isinstance(seen, Connection.Challenge):
                break
        else:
            connection.tries(connection.response(responses=wrong), *turned_away())


@scenario("fast/3.2.4.syntax-error-closes")
@broken_by("lets everybody in", Fault.changes(NOT_UNDERSTOOD, answer=lambda _: (TUNE,)))
@broken_by("stays", Fault.drops(NOT_UNDERSTOOD))
def a_response_with_a_syntax_error_ends_the_connection(server: Server) -> None:
    """A RESPONSE without its table, with octets behind it, or whose mechanism is too long, ends it."""
    response = server.tuned().response()
    code, mechanism = bytes((response.code,)), short_string(response.mechanism)
    table = encode_table(response.responses)
    is_kept_out(
        server,
        RawFrame(code + mechanism),
        RawFrame(code + mechanism + table + b"\0\0"),
        RawFrame(code + b"\xff" + mechanism[1:] + table),
    )


@scenario("fast/3.2.4.accepted-by-tune")
@broken_by("does not answer", withholds(Connection.Tune))
@broken_by("opens without tuning", replaces(Connection.Tune, Connection.Reply(1, OK)))
@broken_by("closes", answers(Connection.Response, Connection.Close(403)))
def an_accepted_response_is_answered_by_tune(server: Server) -> None:
    """PLAIN with the right login and password is answered by TUNE."""
    logs_in(server.begun())
