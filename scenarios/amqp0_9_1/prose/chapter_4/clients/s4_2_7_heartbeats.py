"""4.2.7: the heartbeats of clients, and what they make of a server's, and of its silence."""

from collections.abc import Iterator
from itertools import cycle, pairwise

from harness.amqp0_9_1.broken.content_faults import is_header, is_heartbeat
from harness.amqp0_9_1.broken.deviations import (
    adds,
    forwards,
    ignores,
    rewrites,
    spoils,
    swallows,
    withholds,
)
from harness.amqp0_9_1.broken.provocations import falls_silent, precedes
from harness.amqp0_9_1.client.outcomes import closed_silently, connection_closed
from harness.amqp0_9_1.client.transcript import readable
from harness.amqp0_9_1.server.client import Client, JudgedConnection
from harness.amqp0_9_1.wire.frames import HEARTBEAT, Frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Connection, Queue
from harness.play.expect import Inapplicable, Late
from harness.targets.client.ears import stays
from harness.targets.client.target import BeforeServer
from harness.wire.journal import RECEIVED, SENT
from scenarios.amqp0_9_1.provoked import connects, tune_ok
from scenarios.registry import broken_by, scenario
from spec.rules import Role

EVERY_SECOND = rewrites(Connection.Tune, heartbeat=1)
BEAT = Frame(HEARTBEAT, 0, b"")
ALMOST_TWO = 1.9
"""Intervals: the client counts from when it heard the server, we from when the server spoke."""
MORE_THAN_TWO = 2.5
"""Intervals: one who says nothing is silent for two of them then, however busy the machine is."""
MORE_THAN_THREE = 3.5
"""Intervals: some wait for three of them, and the eight octets of a heartbeat take four."""
MUCH_OF_TWO = 1.5
"""Intervals: who sends once in each is a little late when the machine is busy."""


def beating(client: Client, *meets: BeforeServer) -> tuple[JudgedConnection, float]:
    """Have the client agree to heartbeats every second; give its connection, and what it agreed to."""
    connection = client.connection(EVERY_SECOND, *meets, heartbeat=1)
    if not (agreed := float(tune_ok(connection).heartbeat)):
        raise Inapplicable("the client agrees to no heartbeats, though it is told to")
    connection.came(Connection.Open)
    return connection, agreed


def times(connection: JudgedConnection) -> Iterator[float]:
    """Give when the client said something, from Tune-Ok on, and when it ended or we looked at last."""
    connection.hear_out()
    said = [each for each in connection.link.transcript if each.direction is RECEIVED]
    tuned = next(at for at, each in enumerate(said) if isinstance(readable(each.unit), Connection.TuneOk))
    yield from (each.at for each in said[tuned:])
    yield min(connection.link.now(), connection.link.ended_at)


def longest_silence(connection: JudgedConnection) -> float:
    return max(later - earlier for earlier, later in pairwise(times(connection)))


def longest_pause(connection: JudgedConnection) -> float:
    """Give how long the server said nothing, up to when the client ended the connection."""
    said = [*connection.link.spoken, min(connection.link.now(), connection.link.ended_at)]
    return max(later - earlier for earlier, later in pairwise(said))


def heartbeats(connection: JudgedConnection) -> int:
    connection.hear_out()
    return sum(isinstance(each, Frame) and is_heartbeat(each) for each in connection.link.received())


@scenario("0-9-1/prose/4.2.7.client-sends-heartbeats", slow=True, role=Role.CLIENT)
@broken_by("sends none", swallows(is_heartbeat), Role.CLIENT)
def client_sends_heartbeats(client: Client) -> None:
    """Every second is agreed upon, and nothing is asked of the client: a heartbeat comes within two."""
    connection, agreed = beating(client)
    connection.lives(2 * agreed)
    client.judge("a heartbeat in two intervals", "no heartbeat", heartbeats(connection) > 0)


@scenario("0-9-1/prose/4.2.7.heartbeats-at-intervals", slow=True, role=Role.CLIENT)
@broken_by("sends none", swallows(is_heartbeat), Role.CLIENT)
def client_sends_heartbeats_at_intervals(client: Client) -> None:
    """For four intervals nothing is asked of the client: it is never silent for two of them."""
    connection, agreed = beating(client)
    connection.lives(4 * agreed)
    ended, longest = connection.link.over_and_heard(), longest_silence(connection) / agreed
    client.judge("an open connection", "the connection was ended", not ended)
    client.judge("no two intervals of silence", "two intervals of silence", longest < 2)
    late = "4.2.7: the effort is a best one"
    client.judge("a sign of life at every interval", "one interval without", longest <= MUCH_OF_TWO, late)


@scenario("0-9-1/prose/4.2.7.silent-peer-dropped", slow=True, role=Role.CLIENT)
@broken_by("leaves the socket open", stays(), Role.CLIENT)
@broken_by("is impatient", forwards(Connection.TuneOk, heartbeat=3), Role.CLIENT)
def client_drops_a_silent_server(client: Client) -> None:
    """Behind a reply the server says nothing more: the client closes the socket, after two intervals."""
    connection, agreed = beating(client, falls_silent(Queue.DeclareOk))
    connection.channel().call("queue.declare", queue=client.name("queue"))
    handshake = connection_closed().under("2.3.7: an open connection is closed by a hand-shake")
    connection.expect(closed_silently(), handshake)
    heard = max(each.at for each in connection.link.transcript if each.direction is SENT)
    silence = (connection.link.ended_at - heard) / agreed
    client.judge("the end after two intervals of silence", "an earlier end", silence >= ALMOST_TWO)


@scenario("0-9-1/prose/4.2.7.heartbeats-until-the-end", slow=True, role=Role.CLIENT)
@broken_by("sends none", swallows(is_heartbeat), Role.CLIENT)
def client_goes_on_while_closing(client: Client) -> None:
    """The client's Close is not answered: its heartbeats go on, or the socket is closed."""
    connection, agreed = beating(client, ignores(Connection.Close))
    connection.closes()
    connection.expect(Connection.Close)
    connection.lives(MORE_THAN_TWO * agreed)
    silent = longest_silence(connection) / agreed
    client.judge("heartbeats until the end", "two intervals of silence", silent < 2)


@scenario("0-9-1/prose/4.2.7.heartbeat-discarded-without-agreement", role=Role.CLIENT)
@broken_by("complains", spoils(is_heartbeat, lambda _: Frame(HEARTBEAT, 0, b"?")), Role.CLIENT)
def client_bears_heartbeats_without_agreement(client: Client) -> None:
    """None are agreed upon: heartbeats before Open-Ok, before a reply and amid a content do no harm."""
    queue = client.name("queue")
    connection = connects(
        client,
        rewrites(Connection.Tune, heartbeat=0),
        precedes(Connection.OpenOk, BEAT),
        precedes(Queue.DeclareOk, BEAT),
        adds(is_header, lambda _: BEAT),
        heartbeat=0,
    )
    connection.works_on()
    channel = connection.channel()
    channel.tries("queue.declare", queue=queue)
    channel.publish("around a heartbeat", key=queue)
    channel.tries_to_get(queue)
    connection.works_on()


def octets_of_beats() -> Iterator[bytes]:
    """Give the octets of heartbeats, one by one."""
    return (bytes((each,)) for each in cycle(BEAT.encode()))


@scenario("0-9-1/prose/4.2.7.any-octet-counts", slow=True, role=Role.CLIENT)
@broken_by("counts whole frames alone", withholds(Basic.Return), Role.CLIENT)
def client_takes_any_octet_for_a_sign_of_life(client: Client) -> None:
    """In place of each heartbeat, at half intervals, a single octet of one comes: the connection stays."""
    octets = octets_of_beats()
    connection, agreed = beating(client, spoils(is_heartbeat, lambda _: next(octets)))
    began = connection.link.now()
    lived = connection.lives(MORE_THAN_THREE * agreed)
    early = connection.link.now() - began < MORE_THAN_TWO * agreed
    connection.hear_out()
    ended = early or not lived or connection.link.over_and_heard()  # the socket may show it last
    if ended and longest_pause(connection) >= 2 * agreed:
        raise Late("our server's octets came too late")
    client.judge("an open connection", "it was ended", not ended)
