"""3.2.4 CONNECTION RESPONSE Command: what the client answers, and the server then; 3.2.4.1 PLAIN."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    Interposer,
    adds,
    answers,
    hears,
    ignores,
    replaces,
    rewrites,
    withholds,
)
from harness.amqp_fast.broken.fakes import CHALLENGE, TUNE
from harness.amqp_fast.client.connection import FastConnection
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.peer.events import ConnectionState
from harness.amqp_fast.wire.frames import Frame, RawFrame
from harness.amqp_fast.wire.tables import Time, encode_table, short_string
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


def lacks(*names: str) -> Condition:
    """Find a RESPONSE without one of these fields."""
    return lambda response: not {*names} <= response.responses.keys()


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


# -- 3.2.4.1: PLAIN -----------------------------------------------------------------------------------


OPTIONS = ("FRAME_MAX", "CHANNEL_MAX", "HANDLE_MAX", "HEARTBEAT", "TXN_LIMIT")
"""The names of what a server may tell in TUNE."""


def stays(when: Condition) -> Interposer:
    """Says nothing to such a RESPONSE."""
    return ignores(Connection.Response, when=when)


def with_other_type(name: str) -> Condition:
    """Find a RESPONSE in which a field is no string."""
    return lambda response: not isinstance(response.responses.get(name, b""), bytes)


def upper(responses: Mapping[str, Any]) -> dict[str, Any]:
    """Read the names of fields in capital letters."""
    return {name.upper(): value for name, value in responses.items()}


def lower(options: Mapping[str, Any]) -> dict[str, Any]:
    """Write the names of fields in small letters."""
    return {name.lower(): value for name, value in options.items()}


def tells_wrongly(server: Server, *changes: dict[str, Any], without: str = "") -> None:
    """Judge that nobody is let in by what PLAIN tells, changed so each time, or without a field."""
    good = server.begun().response()
    kept = {name: value for name, value in good.responses.items() if name != without}
    said = [good.replace(responses=kept | each) for each in changes]
    is_kept_out(server, *said, others=(asked_again(),))


@scenario("fast/3.2.4.1.login-needed")
@broken_by("lets in who has no name", lets_in(lacks("LOGIN")))
@broken_by("waits for it", stays(lacks("LOGIN")))
def without_login_nobody_is_let_in(server: Server) -> None:
    """PASSWORD alone is not answered by TUNE."""
    tells_wrongly(server, {}, without="LOGIN")


@scenario("fast/3.2.4.1.password-needed")
@broken_by("lets in who has no password", lets_in(lacks("PASSWORD")))
@broken_by("lets in who has an empty one", lets_in(lambda said: said.responses.get("PASSWORD") == b""))
@broken_by("waits for it", stays(lacks("PASSWORD")))
def without_password_nobody_is_let_in(server: Server) -> None:
    """LOGIN alone, and with an empty PASSWORD, is not answered by TUNE."""
    tells_wrongly(server, {}, {"PASSWORD": b""}, without="PASSWORD")


@scenario("fast/3.2.4.1.login-is-string")
@broken_by("takes a time for it", lets_in(with_other_type("LOGIN")))
@broken_by("stumbles", stays(with_other_type("LOGIN")))
def a_login_of_another_type_is_none(server: Server) -> None:
    """LOGIN as a time is not answered by TUNE."""
    tells_wrongly(server, {"LOGIN": Time(0x67756573)})


@scenario("fast/3.2.4.1.password-is-string")
@broken_by("takes a number for it", lets_in(with_other_type("PASSWORD")))
@broken_by("stumbles", stays(with_other_type("PASSWORD")))
def a_password_of_another_type_is_none(server: Server) -> None:
    """PASSWORD as an integer, and as a decimal, is not answered by TUNE."""
    tells_wrongly(server, {"PASSWORD": 1}, {"PASSWORD": Decimal("1.5")})


@scenario("fast/3.2.4.1.field-names-case-sensitive")
@broken_by("reads them in any case", hears(Connection.Response, responses=upper))
@broken_by("waits for capital letters", stays(lacks("PASSWORD")))
def names_of_fields_are_case_sensitive(server: Server) -> None:
    """login with password, and LOGIN with Password, are not answered by TUNE."""
    good = server.begun().response()
    login, password = (good.responses[name] for name in ("LOGIN", "PASSWORD"))
    small = ({"login": login, "password": password}, {"LOGIN": login, "Password": password})
    is_kept_out(server, *(good.replace(responses=each) for each in small), others=(asked_again(),))


@watch(
    "fast/3.2.4.1.server-names-upper-case",
    during="fast/3.2.4.accepted-by-tune",
    looks_at=came(Connection.Tune),
)
@broken_by("writes them in small letters", rewrites(Connection.Tune, options=lower))
def names_that_are_defined_are_in_capital_letters(each: Passage) -> Found:
    """A field of TUNE with the name of an option, in whatever case, has it in capital letters."""
    wrong = [name for name in each.said.options if name.upper() in OPTIONS and name not in OPTIONS]
    return not wrong or f"{wrong[0]} in small letters at {each.at:.4f} s"


@scenario("fast/3.2.4.1.example-table")
@broken_by("takes it for an error", answers(Connection.Response, Connection.Close(502)))
@broken_by("reads nothing", stays(lambda _: True))
def a_table_laid_out_as_in_the_example_logs_in(server: Server) -> None:
    """LOGIN and PASSWORD of the target, put together as in the example, are answered by TUNE."""
    connection = server.begun()
    user, password = connection.endpoint.user.encode(), connection.endpoint.password.encode()
    octets = b"\x05LOGIN" + string(user) + b"\x08PASSWORD" + string(password)
    logs_in(connection, responses=octets)


def string(octets: bytes) -> bytes:
    """Lay out a string value as the example does."""
    return b"S" + len(octets).to_bytes(2, "big") + octets
