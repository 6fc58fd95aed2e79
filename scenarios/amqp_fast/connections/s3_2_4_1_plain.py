"""3.2.4.1 The PLAIN Security Mechanism: LOGIN and PASSWORD."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from harness.amqp_fast.broken.deviations import Interposer, answers, hears, ignores, rewrites
from harness.amqp_fast.broken.fakes import TUNE
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.wire.tables import Time
from harness.amqp_fast.wire.vocabulary import Connection
from harness.peers.interposer import Condition
from harness.play.watching import Found, came
from scenarios.amqp_fast.connections.negotiation import asked_again, is_kept_out, logs_in
from scenarios.registry import broken_by, scenario, watch

OPTIONS = ("FRAME_MAX", "CHANNEL_MAX", "HANDLE_MAX", "HEARTBEAT", "TXN_LIMIT")
"""The names of what a server may tell in TUNE."""


def lets_in(when: Condition) -> Interposer:
    """Takes such a RESPONSE for a good one."""
    return answers(Connection.Response, TUNE, when=when)


def stays(when: Condition) -> Interposer:
    """Says nothing to such a RESPONSE."""
    return ignores(Connection.Response, when=when)


def lacks(*names: str) -> Condition:
    """Find a RESPONSE without one of these fields."""
    return lambda response: not {*names} <= response.responses.keys()


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
