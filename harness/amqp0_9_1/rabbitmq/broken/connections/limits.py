"""Faults about channels that are not apart, heartbeats that come too seldom, and what follows an error."""

from collections.abc import Callable
from itertools import count

from harness.amqp0_9_1.broken.deviations import Fault, changes
from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.peer.deliveries import enqueue
from harness.amqp0_9_1.peer.entities import Message
from harness.amqp0_9_1.peer.events import BodyReceived, ContentHeaderReceived
from harness.amqp0_9_1.peer.life import cancel_consumer
from harness.amqp0_9_1.wire.vocabulary import Basic


def cancel_all_consumers(turn: Turn) -> None:
    """Cancel the consumers of all channels of the connection."""
    for channel in turn.connection.channels.values():
        for consumer in list(channel.consumers.values()):
            cancel_consumer(turn.about(turn.event, consumer))


def every_other_time() -> Callable[[Turn], None]:
    """Send every other heartbeat that is due."""
    due = count()

    def beat(turn: Turn) -> None:
        if next(due) % 2:
            turn.connection.send_heartbeat()

    return beat


def publishes_while_closing() -> Fault:
    """Publishes to queues what comes on a channel that an error has closed."""

    def take(turn: Turn) -> None:
        channel, event = turn.channel, turn.event
        if isinstance(event, Basic.Publish):
            channel.publishing = event
        elif isinstance(event, ContentHeaderReceived):
            channel.content = event
        elif (
            isinstance(event, BodyReceived) and channel.publishing is not None and channel.content is not None
        ):
            key, header = channel.publishing.routing_key, channel.content
            message = Message(
                turn.peer.store, turn.connection, "", key, header.payload, header.properties, event.octets
            )
            enqueue(turn, turn.host.queues[key], message)

    return changes("channel: closing hears only Close and Close-Ok", take)
