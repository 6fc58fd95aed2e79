"""Queues with priorities: which of the messages that wait comes first."""

from harness.amqp0_9_1.broken.deviations import changes, drops, swaps
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import Conversation
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.strategies import two_levels
from harness.amqp0_9_1.rabbitmq.broken.queues.expiry import BEGINS, is_no_number, is_no_number_or_negative
from harness.amqp0_9_1.rabbitmq.broken.queues.priorities import (
    first_comes_last,
    lowest_first,
    none_is_highest,
    of_every_queue,
    of_no_queue,
    too_high_is_lowest,
    up_to_two_hundred,
)
from harness.amqp0_9_1.wire.vocabulary import INTERNAL_ERROR, Queue
from scenarios.rabbitmq.queues.length_limits import has, limited
from scenarios.rabbitmq.queues.time_to_live import AFTER, SHORT, declares_alone
from scenarios.registry import broken_by, scenario

WRONG_HIGHEST = "queue.declare: refuses a wrong x-max-priority"


def prioritized(channel: Conversation, highest: int, *priorities: int | None) -> str:
    """Give a queue with messages of these priorities, called by their places from zero on."""
    queue = channel.declare_queue(arguments=limited(max_priority=highest))
    publish(channel, queue, *priorities)
    return queue


def publish(channel: Conversation, queue: str, *priorities: int | None) -> None:
    """Publish messages of these priorities, None for none, called by their places from zero on."""
    for place, priority in enumerate(priorities):
        channel.publish(str(place), key=queue, priority=priority)
    channel.depth(queue)


@scenario("rabbitmq/priority.higher-first")
@broken_by("gives lower ones first", swaps(level=lowest_first))
@broken_by("has but two levels", swaps(level=lambda _, priority: two_levels(priority)))
@broken_by("knows none", of_no_queue)
def higher_priority_comes_first(broker: Broker) -> None:
    """Messages with priorities from 0 to 5 come the highest first."""
    channel = broker.channel()
    queue = prioritized(channel, 5, 0, 1, 2, 3, 4, 5)
    has(channel, queue, b"5", b"4", b"3", b"2", b"1", b"0")


@scenario("rabbitmq/priority.higher-first")
@broken_by("gives lower ones first to consumers", swaps(level=lowest_first))
def consumer_gets_higher_priority_first(broker: Broker) -> None:
    """A consumer that comes to messages with priorities from 0 to 5 gets them the highest first."""
    channel = broker.channel()
    channel.consumes(prioritized(channel, 5, 0, 1, 2, 3, 4, 5), b"5", b"4", b"3", b"2", b"1", b"0")


@scenario("rabbitmq/priority.equal-in-order")
@broken_by("gives the newest first", swaps(place=first_comes_last))
@broken_by("knows none", of_no_queue)
def equal_priority_comes_in_order(broker: Broker) -> None:
    """Messages with two priorities by turns come in order, those with the higher one before the others."""
    channel = broker.channel()
    queue = prioritized(channel, 5, 1, 3, 1, 3, 1, 3)
    has(channel, queue, b"1", b"3", b"5", b"0", b"2", b"4")


@scenario("rabbitmq/priority.none-is-lowest")
@broken_by("takes none for the highest", swaps(place=none_is_highest))
def no_priority_is_the_lowest(broker: Broker) -> None:
    """Of messages with no priority, with 1, 0 and none, the one with 1 comes first, the others in order."""
    channel = broker.channel()
    queue = prioritized(channel, 5, None, 1, 0, None)
    has(channel, queue, b"1", b"0", b"2", b"3")


@scenario("rabbitmq/priority.above-is-highest")
@broken_by("takes it for the lowest", swaps(level=too_high_is_lowest))
@broken_by("knows none", of_no_queue)
def priority_above_the_highest_is_the_highest(broker: Broker) -> None:
    """On a queue with priorities up to 2, one of 200 neither overtakes those of 2 nor comes behind them."""
    channel = broker.channel()
    queue = prioritized(channel, 2, 1, 2, 200, 2)
    has(channel, queue, b"1", b"2", b"3", b"0")


@scenario("rabbitmq/priority.highest-possible")
@broken_by("has no more than two hundred", changes(WRONG_HIGHEST, condition=up_to_two_hundred))
@broken_by("tells no more than two hundred", swaps(level=lambda _, priority: min(priority, 200)))
def queue_has_255_priorities(broker: Broker) -> None:
    """A queue with priorities up to 255 tells 255 from 254."""
    channel = broker.channel()
    queue = channel.new_name("queue")
    channel.tries(Queue.Declare(queue, arguments=limited(max_priority=255)), Queue.DeclareOk)
    publish(channel, queue, 254, 255)
    has(channel, queue, b"1", b"0")


@scenario("rabbitmq/priority.illegal-highest")
@broken_by("takes any value", drops(WRONG_HIGHEST))
@broken_by("takes any number", changes(WRONG_HIGHEST, condition=is_no_number("x-max-priority")))
@broken_by("knows no bound", changes(WRONG_HIGHEST, condition=is_no_number_or_negative("x-max-priority")))
@broken_by("calls it an error of its own", changes(WRONG_HIGHEST, answer=refuse(INTERNAL_ERROR)))
def highest_priority_is_a_small_number(broker: Broker) -> None:
    """Five is a highest priority; -1, 256, a text and the like are refused: 406."""
    declares_alone(broker, "x-max-priority", good=(5,), bad=(-1, 256, "5", 1.5, True))


@scenario("rabbitmq/priority.only-where-asked")
@broken_by("gives all queues priorities, the lowest first", of_every_queue)
def plain_queue_has_no_priorities(broker: Broker) -> None:
    """On a queue without priorities a message with 0 comes before one with 9 that was published later."""
    channel = broker.channel()
    queue = channel.declare_queue()
    publish(channel, queue, 0, 9, 0)
    bodies = [body.decode() for body in channel.drain(queue)]
    there = sorted(bodies) == ["0", "1", "2"]
    seen = f"messages {', '.join(bodies)}"
    broker.judge("all three messages", seen, there and bodies in (["0", "1", "2"], ["1", "0", "2"]))
    broker.judge("messages in order", seen, bodies[0] == "0", "0-9-1 wants two levels of every queue")


@scenario("rabbitmq/priority.dead-behind-higher")
@broken_by("does not know expirations", drops(BEGINS))
def dead_message_behind_a_higher_one_is_not_got(broker: Broker) -> None:
    """A message that expires behind one of a higher priority is not got after that."""
    channel = broker.channel()
    queue = channel.declare_queue(arguments=limited(max_priority=5))
    channel.publish("1", key=queue, priority=1, expiration=str(SHORT))
    channel.publish("2", key=queue, priority=2)
    channel.wait(AFTER)
    has(channel, queue, b"2")
