"""2.3.1: what a client says on its channels has the numbers of these."""

from collections.abc import Iterator
from itertools import product

from harness.amqp0_9_1.broken.deviations import mends
from harness.amqp0_9_1.broken.frame_faults import next_channel, on_channel, sent_on, sent_whole
from harness.amqp0_9_1.client.transcript import readable
from harness.amqp0_9_1.server.client import Client, JudgedConnection
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import Basic, Queue
from scenarios.amqp0_9_1.getting import channel_numbers
from scenarios.registry import broken_by, scenario
from spec.rules import Role

SEVERAL = 3
SAID = (Queue.Declare, Basic.Publish, Basic.Get)


def several(number: int) -> bool:
    return number > 1


@scenario("0-9-1/prose/2.3.1.frames-on-their-channel", role=Role.CLIENT)
@broken_by(
    "publishes all on the first", mends(sent_whole(Basic.Publish, several), on_channel(1)), Role.CLIENT
)
@broken_by("declares on the first", mends(sent_on(Queue.Declare, several), on_channel(1)), Role.CLIENT)
@broken_by("gets on the next", mends(sent_on(Basic.Get, several), next_channel), Role.CLIENT)
def client_numbers_its_frames_by_their_channels(client: Client) -> None:
    """Told on three channels in turns to declare, publish and get, the client does each on its channel."""
    connection = client.connection()
    channels = [connection.channel() for _ in range(SEVERAL)]
    due = {client.name("queue"): number for number in channel_numbers(connection)[-SEVERAL:]}
    turns = list(zip(channels, due, strict=True))
    for channel, queue in turns:
        channel.tries("queue.declare", queue=queue)
    for channel, queue in turns:
        channel.tries_to_publish(queue, key=queue)
    for channel, queue in turns:
        channel.tries_to_get(queue)
    said = set(named_on(connection))
    client.judge("each on its own channel", "on another channel", said == {*product(SAID, due.items())})


def named_on(connection: JudgedConnection) -> Iterator[tuple[type[Method], tuple[str, int]]]:
    """Give each method that names a queue, the queue, and the number of its channel."""
    connection.hear_out()
    for unit in connection.link.received():
        on = getattr(unit, "channel", 0)
        match readable(unit):
            case Queue.Declare() | Basic.Get() as said:
                yield type(said), (said.queue, on)
            case Basic.Publish() as said:
                yield type(said), (said.routing_key, on)
