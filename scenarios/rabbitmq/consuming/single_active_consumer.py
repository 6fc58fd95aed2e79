"""A queue with a single active consumer serves one of its consumers; the others wait to take over."""

from collections.abc import Mapping

from harness.amqp0_9_1.broken.basic_faults import last_come_last
from harness.amqp0_9_1.broken.deviations import changes, drops, forwards, ignores, swaps
from harness.amqp0_9_1.broken.end_faults import forget_consumer
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import EXCEPTION, channel_closed, message
from harness.amqp0_9_1.peer import strategies
from harness.amqp0_9_1.peer.strategies import in_turn
from harness.amqp0_9_1.rabbitmq.broken.consuming import (
    cancel_and_keep_its_place,
    first_come_stays,
    lets_others_help,
    serves_all_when_one_is_gone,
    serves_nobody_when_one_is_gone,
    serves_two,
    takes_over_at_once,
)
from harness.amqp0_9_1.wire.vocabulary import ACCESS_REFUSED, Basic, Queue
from scenarios.rabbitmq.consuming.consumers import QUORUM, WAYS, declared, once_ended
from scenarios.rabbitmq.consuming.prefetch import just, limit, nothing_more
from scenarios.registry import broken_by, scenario

SINGLE: Mapping[str, object] = {"x-single-active-consumer": True}
SINGLE_OF_QUORUM = {**QUORUM, **SINGLE}
NO_ACTIVE = swaps(hears=strategies.hears, choose=in_turn)
"""Serves all consumers of any queue."""


def goes_in_order_to(channel: AmqpChannel, tag: str, *bodies: str) -> None:
    """Judge that these messages come to one consumer, in this order."""
    for body in bodies:
        channel.expect(message(Basic.Deliver, body.encode(), consumer_tag=tag))


@scenario("rabbitmq/consumers.single-active")
@broken_by("serves all", NO_ACTIVE)
@broken_by("does not look at the argument", forwards(Queue.Declare, arguments={}))
@broken_by("serves two", swaps(hears=serves_two, choose=in_turn))
@broken_by("hands over with each message", swaps(choose=in_turn))
def only_the_first_consumer_is_served(broker: Broker) -> None:
    """Of three consumers on two connections the first gets all six messages, the others none."""
    serves_the_first(broker, SINGLE)


@scenario("rabbitmq/consumers.single-active")
@broken_by("serves all of a quorum queue", NO_ACTIVE)
@broken_by("serves two of a quorum queue", swaps(hears=serves_two, choose=in_turn))
def only_the_first_consumer_of_a_quorum_queue_is_served(broker: Broker) -> None:
    """As before, of a quorum queue."""
    serves_the_first(broker, SINGLE_OF_QUORUM)


def serves_the_first(broker: Broker, arguments: Mapping[str, object]) -> None:
    """Judge that of three consumers of such a queue the first gets all six messages, the others none."""
    channel = broker.channel()
    queue = declared(channel, arguments)
    other = broker.channel(new_connection=True)
    tag = channel.consume(queue)
    channel.consume(queue)
    other.consume(queue)
    bodies = [f"{number}" for number in range(6)]
    for body in bodies:
        channel.publish(body, key=queue)
    goes_in_order_to(channel, tag, *bodies)
    nothing_more(channel, queue)
    other.stays_quiet()


@scenario("rabbitmq/consumers.single-active-failover")
@broken_by("has nobody take over", swaps(hears=serves_nobody_when_one_is_gone))
@broken_by("has all that are left take over", swaps(hears=serves_all_when_one_is_gone, choose=in_turn))
@broken_by(
    "waits for one whose channel has ended", changes("channel end: cancels its consumers", forget_consumer)
)
@broken_by(
    "waits for one that was cancelled", changes("basic.cancel: ends the consumer", cancel_and_keep_its_place)
)
def another_consumer_takes_over(broker: Broker) -> None:
    """However the active consumer ends: three messages come to one of the two that are left."""
    fails_over(broker, SINGLE)


@scenario("rabbitmq/consumers.single-active-failover")
@broken_by("has nobody take over a quorum queue", swaps(hears=serves_nobody_when_one_is_gone))
@broken_by("has all take over a quorum queue", swaps(hears=serves_all_when_one_is_gone, choose=in_turn))
def another_consumer_of_a_quorum_queue_takes_over(broker: Broker) -> None:
    """As before, of a quorum queue."""
    fails_over(broker, SINGLE_OF_QUORUM)


def fails_over(broker: Broker, arguments: Mapping[str, object]) -> None:
    """Judge that one of two waiting consumers of such a queue takes over, however the active one ends."""
    for ends in WAYS:
        active, rest = (broker.channel(new_connection=True) for _ in range(2))
        queue = declared(rest, arguments)
        active.consume(queue, consumer_tag="one", no_ack=True)
        waiting = [rest.consume(queue, no_ack=True) for _ in range(2)]
        rest.publish("to the active one", key=queue)
        active.expect(message(Basic.Deliver))
        rest.stays_quiet()
        once_ended(ends, active, rest)
        for number in range(3):
            rest.publish(f"{number}", key=queue)
        next_one = rest.expect(message(Basic.Deliver, b"0")).consumer_tag
        broker.judge("one of those that wait", "another consumer", next_one in waiting)
        goes_in_order_to(rest, next_one, "1", "2")


@scenario("rabbitmq/consumers.single-active-leaves")
@broken_by("loses what it had", drops("channel end: requeues what is not acknowledged"))
@broken_by("puts it behind what came later", swaps(place=last_come_last))
@broken_by("hears no acknowledgement", ignores(Basic.Ack))
def what_the_active_consumer_had_goes_to_the_next(broker: Broker) -> None:
    """One message is acknowledged before the channel closes: the others come to the next, in their order."""
    active, rest = (broker.channel(new_connection=True) for _ in range(2))
    queue = declared(rest, SINGLE)
    limit(active, 3)
    active.consume(queue)
    tag = rest.consume(queue)
    for number in range(5):
        rest.publish(f"{number}", key=queue)
    first, *_ = (active.expect(message(Basic.Deliver)) for _ in range(3))
    active.send(Basic.Ack(first.delivery_tag))
    active.expect(message(Basic.Deliver, b"3"))
    active.close()
    goes_in_order_to(rest, tag, "1", "2", "3", "4")


@scenario("rabbitmq/consumers.single-active-busy")
@broken_by("has others help", swaps(hears=lets_others_help, choose=in_turn))
@broken_by("serves all", NO_ACTIVE)
@broken_by("does not look at the argument", forwards(Queue.Declare, arguments={}))
def messages_wait_for_the_active_consumer(broker: Broker) -> None:
    """The active consumer may have two of four messages; the others wait for it, though another is idle."""
    active, other = (broker.channel(new_connection=True) for _ in range(2))
    queue = declared(other, SINGLE)
    limit(active, 2)
    active.consume(queue)
    other.consume(queue)
    for number in range(4):
        other.publish(f"{number}", key=queue)
    nothing_more(other, queue)
    *_, last = just(2, active, queue)
    active.send(Basic.Ack(last.delivery_tag, multiple=True))
    just(2, active, queue)
    other.stays_quiet()


@scenario("rabbitmq/consumers.single-active-not-exclusive")
@broken_by(
    "lets it in", drops("basic.consume: refuses exclusive access to a queue with a single active consumer")
)
@broken_by("overlooks the bit", forwards(Basic.Consume, exclusive=False))
@broken_by("does not look at the argument", forwards(Queue.Declare, arguments={}))
def single_active_consumer_is_not_exclusive(broker: Broker) -> None:
    """A plain consumer of such a queue is confirmed, an exclusive one refused, though the queue has none."""
    channel = broker.channel()
    channel.consume(declared(channel, SINGLE))
    another = declared(channel, SINGLE)
    other = channel.connection.channel()
    otherwise = EXCEPTION.under("the guide says that it is an error, not which one")
    other.tries(Basic.Consume(another, exclusive=True), channel_closed(ACCESS_REFUSED), otherwise)
    channel.stays_quiet()


@scenario("rabbitmq/consumers.single-active-stays")
@broken_by("hands over to the higher priority", swaps(hears=takes_over_at_once, choose=in_turn))
@broken_by("serves all", NO_ACTIVE)
def higher_priority_does_not_take_over_a_classic_queue(broker: Broker) -> None:
    """A consumer with priority 10 starts beside the active one of a classic queue: it gets nothing."""
    channel, other = (broker.channel(new_connection=True) for _ in range(2))
    queue = declared(channel, SINGLE)
    tag = channel.consume(queue)
    channel.hears("first", key=queue, consumer_tag=tag)
    other.tries(Basic.Consume(queue, arguments={"x-priority": 10}), Basic.ConsumeOk)
    for body in ("second", "third"):
        channel.hears(body, key=queue, consumer_tag=tag)
    other.stays_quiet()


@scenario("rabbitmq/consumers.single-active-priority")
@broken_by("stays with the first", swaps(hears=first_come_stays))
@broken_by("hands over before all is acknowledged", swaps(hears=takes_over_at_once))
@broken_by("serves all", NO_ACTIVE)
@broken_by("hears no acknowledgement", ignores(Basic.Ack))
def higher_priority_takes_over_a_quorum_queue(broker: Broker) -> None:
    """A consumer with priority 10 starts while a message is out to the active one: it gets the next message.

    Not before the first message is acknowledged.
    """
    channel, other = (broker.channel(new_connection=True) for _ in range(2))
    queue = declared(channel, SINGLE_OF_QUORUM)
    channel.consume(queue)
    channel.publish("first", key=queue)
    first = channel.expect(message(Basic.Deliver, b"first"))
    tag = other.consume(queue, arguments={"x-priority": 10})
    channel.publish("second", key=queue)
    broker.channel(new_connection=True).settle()
    channel.stays_quiet()
    other.stays_quiet()
    channel.send(Basic.Ack(first.delivery_tag))
    goes_in_order_to(other, tag, "second")
    channel.stays_quiet()
