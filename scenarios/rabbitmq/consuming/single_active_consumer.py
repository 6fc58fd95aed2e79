"""A queue with a single active consumer serves one of its consumers; the others wait to take over."""

from collections.abc import Callable

from harness.amqp0_9_1.broken.basic_faults import last_come_last
from harness.amqp0_9_1.broken.deviations import changes, drops, forwards, ignores, swaps
from harness.amqp0_9_1.broken.end_faults import forget_consumer
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import EXCEPTION, message
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
from harness.amqp0_9_1.wire.vocabulary import Basic, Queue
from scenarios.amqp0_9_1.ends import by_dropping_the_socket, by_handshake, with_connection
from scenarios.rabbitmq.consuming.consumers import QUORUM
from scenarios.rabbitmq.consuming.prefetch import just, limit, nothing_more
from scenarios.registry import broken_by, scenario

SINGLE = {"x-single-active-consumer": True}
NO_ACTIVE = swaps(hears=strategies.hears)
"""Serves all consumers of any queue."""


def by_cancel(channel: AmqpChannel) -> None:
    """Cancel the consumer that is called "active"."""
    channel.ask(Basic.Cancel("active"))


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
    channel, queue = broker.queue(arguments=SINGLE)
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
    ways: tuple[Callable[[AmqpChannel], None], ...] = (
        by_cancel,
        by_handshake,
        with_connection,
        by_dropping_the_socket,
    )
    for ends in ways:
        active, rest = (broker.channel(new_connection=True) for _ in range(2))
        queue = rest.declare_queue(arguments=SINGLE)
        active.consume(queue, consumer_tag="active", no_ack=True)
        waiting = [rest.consume(queue, no_ack=True) for _ in range(2)]
        rest.publish("to the active one", key=queue)
        active.expect(message(Basic.Deliver))
        rest.stays_quiet()
        ends(active)
        rest.settle()
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
    queue = rest.declare_queue(arguments=SINGLE)
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
    queue = other.declare_queue(arguments=SINGLE)
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
    channel, queue = broker.queue(arguments=SINGLE)
    channel.consume(queue)
    another = channel.declare_queue(arguments=SINGLE)
    channel.tries(Basic.Consume(another, exclusive=True), EXCEPTION)


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
    queue = channel.declare_queue(durable=True, arguments=QUORUM | SINGLE)
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
