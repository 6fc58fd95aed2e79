"""basic.qos: how much is sent in advance."""

from itertools import product

from harness.amqp0_9_1.broken.basic_faults import (
    all_that_are_out,
    no_window,
    one_message_more,
    one_more_than_allowed,
    set_window_for_new_ones,
    set_window_of_this_channel,
    size_is_not_looked_at,
    size_limits_single_messages,
    window_for_each_consumer,
)
from harness.amqp0_9_1.broken.deviations import changes, forwards, rejects, swaps
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import message
from harness.amqp0_9_1.wire.vocabulary import NOT_IMPLEMENTED, Basic, Queue
from scenarios.registry import broken_by, scenario

OF_THE_CHANNEL = "basic.qos: for the channel"
LIMIT = 3
SMALL, LARGE, FITS_TWICE = 100, 1000, 40
"""Octets of a prefetch-size, of a message that exceeds it, and of one that fits into it twice."""


@scenario("0-9-1/basic.qos.prefetch-size.01")
@broken_by("holds back what is too large", swaps(window_allows=size_limits_single_messages))
@broken_by("knows no prefetch-size", rejects(Basic.Qos, NOT_IMPLEMENTED, when=lambda qos: qos.prefetch_size))
@broken_by(
    "sends nothing that is to be acknowledged", changes("delivery: awaits acknowledgement", answer=None)
)
def prefetch_size_does_not_limit_single_messages(broker: Broker) -> None:
    """A message larger than prefetch-size arrives when no other is out; a second one after its Ack."""
    channel, queue = broker.queue()
    channel.tries(Basic.Qos(prefetch_size=SMALL), Basic.QosOk)
    channel.consume(queue)
    for body in (b"a" * LARGE, b"b" * LARGE):
        channel.publish(body, key=queue)
        delivery = channel.expect(message(Basic.Deliver, body))
        channel.send(Basic.Ack(delivery.delivery_tag))


@scenario("0-9-1/basic.qos.prefetch-size.01")
@broken_by("does not look at it", swaps(window_allows=size_is_not_looked_at))
@broken_by("takes any room for enough", swaps(window_allows=one_message_more))
@broken_by("overlooks the bit", forwards(Basic.Qos, when=lambda qos: qos.global_, prefetch_size=0))
def no_more_than_prefetch_size_is_sent_in_advance(broker: Broker) -> None:
    """In a window of 100 octets one message of 1000 is out at a time, and of 40 octets two: they fit.

    The window is that of the channel, with global set that of the connection.
    """
    for global_, (length, most) in product((False, True), ((LARGE, 1), (FITS_TWICE, 2))):
        channel = broker.channel(new_connection=global_)
        queue = queue_of_eight(channel, length)
        channel.tries(Basic.Qos(prefetch_size=SMALL, global_=global_), Basic.QosOk)
        channel.consume(queue)
        first = channel.expect(message(Basic.Deliver)).delivery_tag
        out = [first, *delivered_next(channel, queue)]
        at_most_the_limit(broker, out, most)
        next_one = channel.tries(Basic.Ack(out[-1], multiple=True), message(Basic.Deliver)).delivery_tag
        at_most_the_limit(broker, [next_one, *delivered_next(channel, queue)], most)


@scenario("0-9-1/basic.qos.prefetch-count.01")
@broken_by("spares consumers that are there", changes(OF_THE_CHANNEL, set_window_for_new_ones))
def window_governs_consumers_that_are_there(broker: Broker) -> None:
    """A consumer waits on an empty queue when Qos comes: of eight messages then published three are out.

    By Qos-Ok it applies to all active consumers.
    """
    channel, queue = broker.queue()
    channel.consume(queue)
    channel.ask(Basic.Qos(prefetch_count=LIMIT))
    for number in range(8):
        channel.publish(f"{number}", key=queue)
    at_most_the_limit(broker, [*first_delivered(channel), *delivered_next(channel, queue)])


@scenario("0-9-1/basic.qos.prefetch-count.01")
@broken_by("answers and does nothing", changes(OF_THE_CHANNEL, effects=()))
@broken_by("sends everything in advance", swaps(window_allows=no_window))
@broken_by("sends one more", swaps(window_allows=one_more_than_allowed))
@broken_by("opens the window with any acknowledgement", swaps(named=all_that_are_out))
@broken_by("reads one more", forwards(Basic.Qos, prefetch_count=lambda count: count + 1))
def no_more_than_prefetch_count_are_out(broker: Broker) -> None:
    """Of eight messages at most three are out at any time: at first, after one Ack, after an Ack of all."""
    channel = broker.channel()
    queue = queue_of_eight(channel)
    channel.ask(Basic.Qos(prefetch_count=LIMIT))
    channel.consume(queue)
    out = [*first_delivered(channel), *delivered_next(channel, queue)]
    at_most_the_limit(broker, out)
    channel.send(Basic.Ack(out.pop(0)))
    out += delivered_next(channel, queue)
    at_most_the_limit(broker, out)
    channel.send(Basic.Ack(out[-1], multiple=True))
    at_most_the_limit(broker, [*first_delivered(channel), *delivered_next(channel, queue)])


@scenario("0-9-1/basic.qos.prefetch-count.01")
@broken_by("counts for each consumer", swaps(window_allows=window_for_each_consumer))
def consumers_of_a_channel_share_its_window(broker: Broker) -> None:
    """Two consumers of one channel have together no more than three messages out."""
    channel = broker.channel()
    queue = queue_of_eight(channel)
    channel.ask(Basic.Qos(prefetch_count=LIMIT))
    channel.consume(queue)
    channel.consume(queue)
    at_most_the_limit(broker, [*first_delivered(channel), *delivered_next(channel, queue)])


@scenario("0-9-1/basic.qos.prefetch-count.01")
@broken_by(
    "takes it for one of the channel", changes("basic.qos: for the connection", set_window_of_this_channel)
)
@broken_by("overlooks the bit", forwards(Basic.Qos, global_=False))
def channels_of_a_connection_share_a_global_window(broker: Broker) -> None:
    """With global set, consumers on two channels have together no more than three messages out."""
    one, other = broker.channel(), broker.channel()
    queue = queue_of_eight(one)
    one.ask(Basic.Qos(prefetch_count=LIMIT, global_=True))
    one.consume(queue)
    out = [*first_delivered(one)]
    other.consume(queue)
    out += [*delivered_next(one, queue), *delivered_next(other, queue)]
    at_most_the_limit(broker, out)


def queue_of_eight(channel: AmqpChannel, length: int = 1) -> str:
    """Give a queue with eight messages of so many octets, more than twice the limit."""
    queue = channel.declare_queue()
    for number in range(8):
        channel.publish(length * f"{number}", key=queue)
    channel.depth(queue)
    return queue


def first_delivered(channel: AmqpChannel) -> list[int]:
    """Give the tag of a delivery that has to come."""
    return [each.method.delivery_tag for each in channel.deliveries(1)]


def delivered_next(channel: AmqpChannel, queue: str) -> list[int]:
    """Give the tags of what came until the queue has answered: it sends all that it may before."""
    channel.send(Queue.Declare(queue, passive=True))
    tags = []
    while isinstance(seen := channel.control("queue.declare", Basic.Deliver, Queue.DeclareOk), Basic.Deliver):
        tags.append(seen.delivery_tag)
    return tags


def at_most_the_limit(broker: Broker, out: list[int], limit: int = LIMIT) -> None:
    told = f"at most {limit} unacknowledged messages"
    broker.judge(told, f"more than {limit} unacknowledged messages", len(out) <= limit)
