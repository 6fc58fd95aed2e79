"""3.2.5.1 Connection Tuning Options: the heartbeat that each side asks for."""

from typing import Any

from harness.amqp_fast.broken.deviations import Fault, answers
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.connection import FastConnection
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import command_of
from harness.amqp_fast.peer.tables.channel import open_
from harness.amqp_fast.peer.tables.negotiation import drop_other, enter
from harness.amqp_fast.wire.vocabulary import Connection
from harness.play.expect import NotRun
from scenarios.amqp_fast.connections.negotiation import number, opens, serves
from scenarios.amqp_fast.connections.s3_2_5_connection_tune import REFUSAL
from scenarios.registry import broken_by, scenario

TIMES = 4
"""How many delays of a heartbeat are waited for."""
LONGEST = 10
"""Seconds of a heartbeat that is still waited for."""
ASKED = 1
"""Seconds of the heartbeat that we ask for."""
MISSED = 4
"""A PING that is late by so many delays does not come."""


def impatient(server: Server) -> tuple[FastConnection, int]:
    """Give an open connection whose server asks for a heartbeat, and the delay of that. Raises NotRun."""
    given = server.facility("idle-timeout")
    connection = server.tuned(**{name: given[name] for name in ("user", "password") if name in given})
    delay = connection.tune.options.get("HEARTBEAT", 0)
    if not (isinstance(delay, int) and 0 < delay <= LONGEST):
        raise NotRun(f"the target asks for no heartbeat of {LONGEST} seconds at most")
    connection.open()
    return connection, delay


def pings(connection: FastConnection, seconds: float) -> list[float]:
    """Listen for so many seconds; give when the PINGs came that did not answer ours."""
    came = connection.link.listen(seconds)
    return [each.at for each in came if isinstance(command_of(each.unit), Connection.Ping)]


def drop_in_a_moment(turn: AnyTurn) -> None:
    """Ends the stream when something more than a delay has passed."""
    turn.connection.pause(1.5)


def note_one(turn: AnyTurn) -> None:
    """Takes note that a PING has been sent."""
    turn.connection.asked = True


def is_the_first(turn: AnyTurn) -> bool:
    """Say whether no PING has been sent yet."""
    return not turn.connection.asked


DROPS_ALL = Fault.changes("open: is accepted", drop_other, enter, drop_in_a_moment)


@scenario("fast/3.2.5.1.pings-keep-alive", needs=["idle-timeout"], slow=True)
@broken_by("drops who sends heartbeats", Fault.changes("ping: is heard", drop_in_a_moment))
@broken_by("drops whoever has come in", DROPS_ALL)
def pings_at_the_delay_asked_for_keep_alive(server: Server) -> None:
    """A PING at each delay keeps the connection for four of them, and a channel opens at the end."""
    connection, delay = impatient(server)
    for _ in range(TIMES):
        connection.send(Connection.Ping())
        connection.link.listen(delay)
    serves(connection)


@scenario("fast/3.2.5.1.pings-not-owed", needs=["idle-timeout"], slow=True)
@broken_by("drops who sends no PING", Fault.changes("channel open: is accepted", open_, drop_in_a_moment))
@broken_by("drops whoever has come in", DROPS_ALL)
def who_sends_other_commands_owes_no_ping(server: Server) -> None:
    """A command at each delay, and no PING, keeps the connection for four of them."""
    connection, delay = impatient(server)
    for _ in range(TIMES):
        serves(connection)
        connection.link.listen(delay)
    serves(connection)


def asks_for_one(tune: Any) -> bool:
    """Say whether a TUNE asks for a heartbeat."""
    return bool(number(tune, "HEARTBEAT") > 0)


def asks_for_none(tune: Any) -> bool:
    """Say whether a TUNE says that it wants none."""
    return bool(tune.options.get("HEARTBEAT") == 0)


@scenario("fast/3.2.5.1.heartbeat-request-taken")
@broken_by("wants none", answers(Connection.Tune, REFUSAL, when=asks_for_one))
@broken_by("takes zero for an error", answers(Connection.Tune, REFUSAL, when=asks_for_none))
def a_heartbeat_may_be_asked_for(server: Server) -> None:
    """OPEN is confirmed behind HEARTBEAT 0, 1 and the greatest there is, and a channel opens."""
    for delay in (0, 1, 0x7FFFFFFF):
        connection = server.tuned()
        opens(connection, Connection.Tune({"HEARTBEAT": delay}))
        serves(connection)


@scenario("fast/3.2.5.1.heartbeat-is-a-hint", slow=True)
@broken_by("refuses the hint", answers(Connection.Tune, REFUSAL))
@broken_by("ends instead", Fault.changes("ping: is due", lambda turn: turn.connection.end()))
def the_request_is_a_hint(server: Server) -> None:
    """Whether PINGs come as asked for is recorded; the connection stays in any case."""
    connection = server.tuned()
    opens(connection, Connection.Tune({"HEARTBEAT": ASKED}))
    came = pings(connection, TIMES * ASKED)
    server.note("PINGs come" if came else "no PING comes")
    serves(connection)


@scenario("fast/3.2.5.1.pings-go-on", slow=True)
@broken_by("sends one", Fault.changes("ping: is due", note_one, condition=is_the_first))
def pings_go_on_once_begun(server: Server) -> None:
    """Behind the first PING another one comes, and another."""
    connection = server.tuned()
    connection.open({"HEARTBEAT": ASKED})
    came = pings(connection, MISSED * ASKED)
    if not came:
        server.note("no PING comes")
        serves(connection)
        return
    later = pings(connection, MISSED * ASKED)
    connection.link.judged("further PINGs behind the first", "no further ones", bool(later))
