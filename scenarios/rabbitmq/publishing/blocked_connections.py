"""connection-blocked: publishers are told that they have to wait."""

from collections.abc import Iterator
from contextlib import contextmanager

from harness.amqp0_9_1.broken.deviations import changes, drops, ignores, repeats, withholds
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import Conversation
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import Received
from harness.amqp0_9_1.rabbitmq.broken.publishing.alarms import (
    TOLD,
    in_any_alarm,
    publish_and_tell,
    tell_while_consuming,
    unblock_at_once,
)
from harness.amqp0_9_1.rabbitmq.publishing.alarms import publish_it, tell_of_the_alarm
from harness.amqp0_9_1.wire.vocabulary import Basic, Connection
from scenarios.amqp0_9_1.basic.common import ALARM
from scenarios.registry import broken_by, scenario

CAPABILITY = "connection.blocked"
FREE = "alarm: who is blocked is told of its end"
MANY = 20


@contextmanager
def low_memory(broker: Broker) -> Iterator[None]:
    """Have memory run low; behind the block it is free again, whatever happened."""
    try:
        broker.facility("memory-alarm")
        yield
    finally:
        broker.facility("lift-memory-alarm")


def hears_nothing_more(channel: AmqpChannel) -> None:
    """Judge that nothing has come, here or on channel 0, before the answer to a method. Raises Unmet."""
    channel.stays_quiet()
    Conversation(channel.connection.link, channel.context, 0).got_nothing()


@scenario("rabbitmq/connection-blocked.told", needs=ALARM, disruptive=True, alone=True)
@broken_by("tells nobody", drops(TOLD))
@broken_by("tells of the end alone", withholds(Connection.Blocked))
@broken_by("takes nothing", ignores(Basic.Publish))
def publisher_is_told_that_it_is_blocked(broker: Broker) -> None:
    """Who publishes, and knows of it, is sent Blocked when memory is low, and why."""
    connection = broker.promising(CAPABILITY)
    channel = connection.channel()
    queue = channel.queue_with("before")
    channel.depth(queue)
    with low_memory(broker):
        channel.publish("while memory is low", key=queue)
        seen = connection.expect(Connection.Blocked)
        why = seen.method.reason if isinstance(seen, Received) else ""
        broker.judge(
            "a reason", "a blank reason", bool(why), "nothing says that the reason must not be blank"
        )


@scenario("rabbitmq/connection-blocked.capability", needs=ALARM, disruptive=True, alone=True)
@broken_by("tells everybody who publishes", changes(TOLD, condition=in_any_alarm))
@broken_by("tells nobody", drops(TOLD))
def only_who_knows_of_it_is_told(broker: Broker) -> None:
    """Of three connections that publish while memory is low, only the one with the capability is told."""
    knows, others = (
        broker.promising(CAPABILITY),
        [broker.connection(), broker.promising(CAPABILITY, value=False)],
    )
    channels = [each.channel() for each in (knows, *others)]
    queue = channels[0].queue_with("before")
    channels[0].depth(queue)
    with low_memory(broker):
        for channel in channels:
            channel.publish("while memory is low", key=queue)
        knows.expect(Connection.Blocked)
    knows.expect(Connection.Unblocked)
    for channel in channels[1:]:
        hears_nothing_more(channel)


@scenario("rabbitmq/connection-blocked.publishers-only", needs=ALARM, disruptive=True, alone=True)
@broken_by("tells who acknowledges, too", tell_while_consuming())
@broken_by("stops deliveries", withholds(Basic.Deliver, skip=MANY // 2))
def who_consumes_goes_on_untold(broker: Broker) -> None:
    """A connection that only consumes gets all messages while memory is low, and is told nothing."""
    channel = broker.channel()
    queue = channel.queue_with(*map(str, range(MANY)))
    channel.depth(queue)
    consuming = broker.promising(CAPABILITY)
    consumer = consuming.channel()
    with low_memory(broker):
        consumer.consume(queue)
        for _ in range(MANY):
            consumer.send(Basic.Ack(consumer.expect(Basic.Deliver).delivery_tag))
        hears_nothing_more(consumer)
    hears_nothing_more(consumer)


@scenario("rabbitmq/connection-blocked.once", needs=ALARM, disruptive=True, alone=True)
@broken_by("tells with each publication", changes(TOLD, publish_and_tell))
@broken_by("tells twice", repeats(Connection.Blocked))
@broken_by("tells of the end twice", repeats(Connection.Unblocked))
def blocked_connection_is_told_once(broker: Broker) -> None:
    """Who publishes many messages on several channels is told once, and once of the end."""
    connection = broker.promising(CAPABILITY)
    channels = [connection.channel() for _ in range(3)]
    queue = channels[0].queue_with("before")
    channels[0].depth(queue)
    with low_memory(broker):
        for number in range(MANY):
            channels[number % 3].publish("while memory is low", key=queue)
        connection.expect(Connection.Blocked)
    connection.expect(Connection.Unblocked)
    hears_nothing_more(channels[0])


@scenario("rabbitmq/connection-blocked.unblocked", needs=ALARM, disruptive=True, alone=True)
@broken_by("does not tell of the end", drops(FREE))
@broken_by("takes the end for granted", changes(TOLD, tell_of_the_alarm, publish_it, unblock_at_once))
@broken_by("loses what waits", ignores(Basic.Publish, skip=3))
@broken_by("tells in the first alarm only", withholds(Connection.Blocked, skip=1))
def connection_is_unblocked_when_memory_is_free(broker: Broker) -> None:
    """Unblocked comes when memory is free, not before; what waited is in the queue. Then it begins anew."""
    connection, looking = broker.promising(CAPABILITY), broker.connection()
    channel = connection.channel()
    queue = channel.queue_with("before")
    for _ in range(2):
        with low_memory(broker):
            channel.publish("while memory is low", key=queue)
            connection.expect(Connection.Blocked)
            channel.publish("waiting", key=queue)
            looking.channel().fence()
            Conversation(connection.link, broker.context, 0).got_nothing()
        connection.expect(Connection.Unblocked)
    found = len(channel.drain(queue))
    broker.judge("5 messages in the queue", f"{found}", found == 5)
