"""3.2.7 CONNECTION PING Command."""

from itertools import pairwise

from harness.amqp_fast.broken.deviations import Fault, answers, ignores, rewrites, takes
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.connection import FastConnection
from harness.amqp_fast.client.outcomes import (
    WORDLESS,
    Received,
    Silence,
    closed,
    fields,
    silence,
    stream_ends,
)
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import command_of
from harness.amqp_fast.peer.tables.negotiation import drop_other, enter
from harness.amqp_fast.wire.vocabulary import Channel, Connection
from harness.wire.journal import Direction
from scenarios.amqp_fast.connections.negotiation import granted, serves
from scenarios.amqp_fast.connections.s3_2_5_1_heartbeat import TIMES, impatient, pings
from scenarios.registry import broken_by, scenario

ASKS = Connection.Ping(respond=True)
ANSWER = fields(Connection.Ping, respond=False)
EVERY_ONE = "each PING is answered, by the summary (1236)"
DELAY = 2
"""Seconds of the heartbeat that we ask for."""


@scenario("fast/3.2.7.ping-answered")
@broken_by("does not answer", ignores(Connection.Ping))
@broken_by("answers once", ignores(Connection.Ping, skip=2))
def ping_that_asks_is_answered(server: Server) -> None:
    """A PING with respond set is answered by a PING, and three in one write by three."""
    connection = server.connection()
    connection.tries(ASKS, Connection.Ping)
    connection.send(ASKS, ASKS, ASKS)
    for _ in range(3):
        connection.expect(Connection.Ping)


def does_not_ask(ping: Connection.Ping) -> bool:
    """Say whether a PING wants no answer."""
    return not ping.respond


def pings_beside(connection: FastConnection, *said: Connection.Ping) -> list[bool]:
    """Open a channel behind what is said; give the PINGs that come up to then, whether each one asks."""
    mark, channel, tag = len(connection.link.transcript), connection.unopened(), connection.tag()
    connection.send(*said, Channel.Open(channel.id, tag))
    channel.expect(granted(Channel.Reply, tag))
    passed = connection.link.transcript[mark:]
    came = [command_of(each.unit) for each in passed if each.direction is Direction.RECEIVED]
    return [each.respond for each in came if isinstance(each, Connection.Ping)]


@scenario("fast/3.2.7.unasked-ping-unanswered")
@broken_by("asks in return", answers(Connection.Ping, ASKS, when=does_not_ask))
@broken_by("closes for it", answers(Connection.Ping, Connection.Close(503), when=does_not_ask))
def ping_that_does_not_ask_is_not_answered(server: Server) -> None:
    """A PING without respond has no answer, least of all one that asks; what comes anyway does not count."""
    connection = server.connection()
    anyway = pings_beside(connection)
    came = pings_beside(connection, Connection.Ping())
    connection.link.judged("no PING that asks", "a PING that asks", sum(came) <= sum(anyway))
    connection.link.judged("no PING", "a PING", len(came) <= len(anyway), EVERY_ONE)
    connection.lives()


@scenario("fast/3.2.7.answer-asks-nothing")
@broken_by("asks in return", rewrites(Connection.Ping, respond=True))
@broken_by("asks behind its answer", takes(Connection.Ping, ASKS))
def the_answer_to_a_ping_asks_for_none(server: Server) -> None:
    """The PING that answers has no respond, and it stays at one."""
    connection = server.connection()
    connection.link.hears_pings = True
    connection.tries(ASKS, ANSWER)
    began = connection.link.now()
    seen = connection.link.next(0, server.context.patience.quiet)
    connection.link.hold(seen, [silence()], began)


def early(turn: AnyTurn) -> None:
    """Sends the next PING at once."""
    turn.connection.interval = 0.05


def late(turn: AnyTurn) -> None:
    """Sends the next PING much later."""
    turn.connection.interval *= 6


@scenario("fast/3.2.7.pings-as-requested", slow=True)
@broken_by("sends them every moment", Fault.changes("ping: is due", early))
@broken_by("sends them when it likes", Fault.changes("ping: is due", late))
def pings_come_as_often_as_asked_for(server: Server) -> None:
    """PINGs that come are no further apart than twice the delay, and no closer than half of it."""
    connection = server.connection({"HEARTBEAT": DELAY})
    began = connection.link.now()
    came = pings(connection, 5 * DELAY)
    if not came:
        server.note("no PING comes")
        serves(connection)
        return
    apart = [after - before for before, after in pairwise([*came, began + 5 * DELAY])]
    fits = max(apart) <= 2 * DELAY and (len(came) < 2 or min(apart[:-1]) >= DELAY / 2)
    connection.link.judged("PINGs at the delay asked for", "PINGs at another pace", fits)


# -- silence -------------------------------------------------------------------------------------------


def listens(turn: AnyTurn) -> None:
    """Takes who says nothing for lost."""
    turn.connection.pings = True


def asks_and_drops(turn: AnyTurn) -> None:
    """Asks whether the client is there, and ends whatever it answers."""
    turn.connection.say(ASKS)
    turn.connection.pause(0.5)


LISTENS = Fault.changes("open: is accepted", drop_other, enter, listens)


def silent(server: Server) -> tuple[FastConnection, bool]:
    """Say nothing for four delays of the heartbeat asked for; tell whether the server asked by PING."""
    connection, delay = impatient(server)
    asked = bool(pings(connection, TIMES * delay))
    server.note("the server asks by PING" if asked else "the server does not ask")
    return connection, asked


def goes_on(connection: FastConnection) -> bool:
    """Say whether the server has neither closed the connection nor ended it."""
    seen = connection.link.next(0, 0.0)
    if isinstance(seen, Received):
        connection.link.put_back(0, [seen])
    return isinstance(seen, Silence)


def ends(connection: FastConnection) -> None:
    """Judge that a server that has given up closes, and ends the network connection."""
    seen = connection.expect(closed(Connection.Close), stream_ends().recorded(WORDLESS))
    if not stream_ends().matches(seen):
        connection.expect(stream_ends())


@scenario("fast/3.2.7.silence-may-be-probed", needs=["idle-timeout"], slow=True)
@broken_by("asks and ends", Fault.together(LISTENS, Fault.changes("ping: is missed", asks_and_drops)))
@broken_by("serves no longer", ignores(Channel.Open))
def who_answers_in_silence_is_served(server: Server) -> None:
    """Who is silent for four delays, and answers when asked, is served, or is closed without a question."""
    connection, asked = silent(server)
    if asked or goes_on(connection):
        serves(connection)
    else:
        ends(connection)


@scenario("fast/3.2.7.silence-may-close", needs=["idle-timeout"], slow=True)
@broken_by("serves no longer", ignores(Channel.Open))
@broken_by("closes and stays", Fault.together(LISTENS, Fault.drops("closing: ends with close")))
def who_is_silent_is_closed_or_served(server: Server) -> None:
    """Who says nothing for four delays is closed, up to the end of the network connection, or served."""
    connection, _ = silent(server)
    if goes_on(connection):
        server.note("the connection stays")
        serves(connection)
    else:
        ends(connection)
