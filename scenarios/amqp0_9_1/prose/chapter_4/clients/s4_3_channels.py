"""4.3: how many channels a client has, what their numbers are, and how they share its connection."""

from typing import Any

from harness.amqp0_9_1.broken.content_faults import OneAfterTheOther
from harness.amqp0_9_1.broken.deviations import ignores, rewrites
from harness.amqp0_9_1.broken.provocations import Flood, carried
from harness.amqp0_9_1.client.outcomes import Received, answered, silence
from harness.amqp0_9_1.client.transcript import readable
from harness.amqp0_9_1.server.client import Client, JudgedChannel, JudgedConnection
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Connection, Queue
from harness.play.expect import ControlFailed, Inapplicable
from harness.wire.journal import RECEIVED, SENT, Direction
from scenarios.amqp0_9_1.getting import soon
from scenarios.amqp0_9_1.prose.chapter_4.s4_3_channels import FEW, SHARE, taken_meanwhile
from scenarios.amqp0_9_1.provoked import tune_ok
from scenarios.registry import broken_by, scenario
from spec.rules import Role


@scenario("0-9-1/prose/4.3.many-channels", role=Role.CLIENT)
@broken_by("has only one", ignores(Channel.Open, skip=1), Role.CLIENT)
def number_of_a_clients_channels_is_recorded(client: Client) -> None:
    """Which channel-max the client agrees to, and whether it opens a second channel."""
    connection = client.connection()
    client.note(f"the client agrees to a channel-max of {tune_ok(connection).channel_max}")
    connection.channel()
    connection.tries_channel()
    soon(connection, answered(Channel.Open).recorded(), silence().recorded("4.3: a peer MAY have one"))


@scenario("0-9-1/prose/4.3.channel-max-meaning", role=Role.CLIENT)
@broken_by("opens no other in its place", ignores(Channel.Open, skip=FEW), Role.CLIENT)
def meaning_of_channel_max_to_a_client_is_recorded(client: Client) -> None:
    """Of four channels, as many as are proposed, one is closed and another opened: its number is recorded."""
    connection = client.connection(rewrites(Connection.Tune, channel_max=FEW))
    opened = [each for _ in range(FEW) if isinstance(each := connection.tries_channel(), JudgedChannel)]
    if len(opened) < FEW:
        raise Inapplicable("the client opens fewer channels than are proposed")
    opened[0].close()
    connection.hear_out()
    connection.tries_channel()
    other = silence().recorded("none is opened in its place")
    seen = soon(connection, answered(Channel.Open).recorded(), other)
    if isinstance(seen, Received):
        highest = "the highest number of a channel, as in Tune"
        means = highest if seen.channel <= FEW else "how many channels there are, as in Tune-Ok"
        client.note(f"channel-max is {means}")


# -- traffic -------------------------------------------------------------------------------------------

TURNS, BODY = 20, {"fill": 12_288}


def numbers_of(connection: JudgedConnection, kind: type[Method], way: Direction) -> list[int]:
    """Give the channels on which methods of a kind went over a connection, in their order."""
    connection.hear_out()
    units: list[Any] = [each.unit for each in connection.link.transcript if each.direction is way]
    return [unit.channel for unit in units if isinstance(readable(unit), kind)]


@scenario("0-9-1/prose/4.3.traffic-balanced", role=Role.CLIENT)
@broken_by("serves one channel after the other", OneAfterTheOther(), Role.CLIENT)
def client_shares_its_connection_between_two_channels(client: Client) -> None:
    """Told to publish on two channels in turns, the client does: while one has all out the other has a tenth.

    It is the application that takes turns; the library does not undo them.
    """
    connection, queue = client.connection(), client.name("queue")
    channels = [connection.channel() for _ in range(2)]
    one, other = numbers_of(connection, Channel.Open, RECEIVED)
    channels[0].declares(queue)
    for channel in channels * TURNS:
        channel.tries_to_publish(BODY, key=queue)
    channels[0].tries("queue.declare", queue=client.name("queue"))
    came = numbers_of(connection, Basic.Publish, RECEIVED)
    if {came.count(one), came.count(other)} != {TURNS}:
        raise ControlFailed("publishing in turns", f"{len(came)} messages")
    meanwhile = taken_meanwhile(came, one, other)
    client.note(f"while one channel had all its messages out the other had {meanwhile} of {TURNS}")
    client.judge(f"one in {SHARE} or more meanwhile", "fewer", meanwhile >= TURNS // SHARE)


WITHOUT_END, PACE, ROUNDS = 1000, 0.001, 3
"""Messages, seconds between two, and rounds: who asks in one of them can, in others we may have been late."""
BUSY = bytes(12_264)


def delivery(channel: int, started: Basic.ConsumeOk) -> bytes:
    return carried(Basic.Deliver(started.consumer_tag, 1, routing_key="busy"), BUSY)(channel)


@scenario("0-9-1/prose/4.3.busy-channel-starves-nobody", role=Role.CLIENT)
@broken_by("asks for nothing meanwhile", ignores(Queue.Declare, skip=1), Role.CLIENT)
def client_asks_on_a_quiet_channel_amid_deliveries(client: Client) -> None:
    """A thousand messages a second come on a channel: a Declare that is told on another comes amid them.

    Once in some rounds is enough: in another this machine may have been late.
    """
    amid = any(asks_amid_deliveries(client) for _ in range(ROUNDS))
    client.judge("a Declare amid the deliveries", "none before the last of them", amid)


def asks_amid_deliveries(client: Client) -> bool:
    """Say whether the client declares on a quiet channel before the last of many messages on a busy one."""
    connection = client.connection(Flood(Basic.ConsumeOk, delivery, Queue.Declare, WITHOUT_END, PACE))
    busy, quiet = connection.channel(), connection.channel()
    queue = client.name("queue")
    busy.declares(queue)
    busy.receive(queue)
    if not busy.messages():
        raise ControlFailed("a delivery", "no message")
    quiet.tries("queue.declare", queue=client.name("queue"))
    return len(numbers_of(connection, Basic.Deliver, SENT)) < WITHOUT_END
