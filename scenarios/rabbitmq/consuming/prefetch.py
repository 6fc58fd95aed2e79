"""basic.qos: how many messages may be out to each consumer, or to all of a channel."""

from collections import Counter
from dataclasses import replace
from itertools import permutations
from typing import Any

from harness.amqp0_9_1.broken.basic_faults import all_that_are_out, no_window, one_more_than_allowed
from harness.amqp0_9_1.broken.deviations import answers, changes, forwards, swaps
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import answered, message
from harness.amqp0_9_1.peer import strategies
from harness.amqp0_9_1.peer.consumers import set_channel_window, set_connection_window
from harness.amqp0_9_1.rabbitmq.broken.consuming import (
    counting_what_was_got,
    due_within_the_limit,
    each_in_place_of_sharing,
    limit_all_channels,
    limit_consumers_that_are_there,
    never_opened,
    one_more_for_each,
    own_window_alone,
    regardless_of_windows,
    share_in_place_of_each,
)
from harness.amqp0_9_1.wire.vocabulary import Basic, Queue
from scenarios.amqp0_9_1.basic.qos import queue_of_eight
from scenarios.registry import broken_by, scenario

EACH = "basic.qos: is for each new consumer"
SHARED = "basic.qos: global is for the channel's consumers together"
LIMIT, TOGETHER, ALL = 3, 5, 8
NOTHING = replace(answered(Queue.DeclareOk), says="nothing before queue.declare-ok")


def nothing_more(channel: AmqpChannel, *queues: str) -> None:
    """Judge that nothing comes before each queue has answered: it sends all that it may before."""
    for queue in queues:
        channel.tries(Queue.Declare(queue, passive=True), NOTHING)


def just(count: int, channel: AmqpChannel, *queues: str) -> list[Any]:
    """Judge that so many messages come of these queues, and no more; give their Delivers."""
    came = [channel.expect(message(Basic.Deliver)) for _ in range(count)]
    nothing_more(channel, *queues)
    return came


def limit(channel: AmqpChannel, count: int, *, shared: bool = False) -> None:
    """Ask for a limit of each new consumer, or of all consumers of the channel together."""
    channel.tries(Basic.Qos(prefetch_count=count, global_=shared), Basic.QosOk)


def by_consumer(came: list[Any]) -> list[int]:
    """Count what came for each consumer, the most first."""
    return sorted(Counter(each.consumer_tag for each in came).values(), reverse=True)


@scenario("rabbitmq/consumer-prefetch.each-new-consumer")
@broken_by("has them share it", changes(EACH, set_channel_window))
@broken_by("answers and does nothing", changes(EACH, effects=()))
@broken_by("knows no limit of a consumer", swaps(window_allows=strategies.window_allows))
@broken_by("sends one more", swaps(window_allows=one_more_for_each))
def each_consumer_has_the_limit_of_its_channel(broker: Broker) -> None:
    """Two consumers on a channel, of two queues and of one: three messages come for each."""
    for shared in (False, True):
        channel = broker.channel()
        queue = queue_of_eight(channel)
        other = queue if shared else queue_of_eight(channel)
        limit(channel, LIMIT)
        channel.consume(queue)
        channel.consume(other)
        came = by_consumer(just(2 * LIMIT, channel, queue, other))
        broker.judge("three messages for each consumer", f"{came} messages", came == [LIMIT, LIMIT])


@scenario("rabbitmq/consumer-prefetch.most-unacknowledged")
@broken_by("sends everything in advance", swaps(window_allows=no_window))
@broken_by("sends one more", forwards(Basic.Qos, prefetch_count=lambda count: count + 1))
@broken_by("sends one less", forwards(Basic.Qos, prefetch_count=lambda count: count - 1))
@broken_by("opens the window with any acknowledgement", swaps(named=all_that_are_out))
@broken_by("does not open the window", swaps(window_allows=never_opened))
def consumer_has_at_most_its_limit(broker: Broker) -> None:
    """Of eight messages three are out; one comes for an acknowledged one, three for an Ack of all."""
    channel = broker.channel()
    queue = queue_of_eight(channel)
    limit(channel, LIMIT)
    channel.consume(queue)
    first, *_ = just(LIMIT, channel, queue)
    channel.send(Basic.Ack(first.delivery_tag))
    (last,) = just(1, channel, queue)
    channel.send(Basic.Ack(last.delivery_tag, multiple=True))
    just(LIMIT, channel, queue)


@scenario("rabbitmq/consumer-prefetch.there-already")
@broken_by("limits those that are there", changes(EACH, limit_consumers_that_are_there))
@broken_by("takes it for one of the channel", changes(EACH, set_channel_window))
@broken_by("keeps to the first", answers(Basic.Qos, Basic.QosOk(), skip=1))
def consumer_keeps_the_limit_it_started_with(broker: Broker) -> None:
    """A consumer that started with a limit of one keeps it when another one starts with three."""
    channel = broker.channel()
    queue, other = queue_of_eight(channel), queue_of_eight(channel)
    limit(channel, 1)
    channel.consume(queue)
    (first,) = just(1, channel, queue)
    limit(channel, LIMIT)
    nothing_more(channel, queue)
    channel.consume(other)
    just(LIMIT, channel, other)
    channel.send(Basic.Ack(first.delivery_tag))
    just(1, channel, queue, other)


@scenario("rabbitmq/consumer-prefetch.zero")
@broken_by("takes zero for one", forwards(Basic.Qos, when=lambda it: not it.prefetch_count, prefetch_count=1))
@broken_by("keeps the earlier limit", answers(Basic.Qos, Basic.QosOk(), skip=1))
def zero_is_no_limit(broker: Broker) -> None:
    """A consumer that starts with zero, after a limit of three, gets all eight messages."""
    channel = broker.channel()
    queue = queue_of_eight(channel)
    limit(channel, LIMIT)
    limit(channel, 0)
    channel.consume(queue)
    just(ALL, channel, queue)


@scenario("rabbitmq/consumer-prefetch.its-channel")
@broken_by("limits the connection", changes(EACH, limit_all_channels))
@broken_by("has the connection share it", changes(EACH, set_connection_window))
@broken_by("answers and does nothing", changes(EACH, effects=()))
def limit_is_that_of_one_channel(broker: Broker) -> None:
    """With a limit of three on one channel, a consumer on another one gets all eight messages."""
    channel = broker.channel()
    other = channel.connection.channel()
    queues = queue_of_eight(channel), queue_of_eight(other)
    limit(channel, LIMIT)
    channel.consume(queues[0])
    other.consume(queues[1])
    just(LIMIT, channel, queues[0])
    just(ALL, other, queues[1])


@scenario("rabbitmq/consumer-prefetch.global-shared")
@broken_by("overlooks the bit", forwards(Basic.Qos, global_=False))
@broken_by("has the connection share it", changes(SHARED, set_connection_window))
@broken_by("answers and does nothing", changes(SHARED, effects=()))
@broken_by("sends one more", swaps(window_allows=one_more_than_allowed))
def consumers_of_a_channel_share_a_global_limit(broker: Broker) -> None:
    """Two consumers of a channel have three messages together; one on another channel has all eight."""
    channel = broker.channel()
    other = channel.connection.channel()
    queues = [queue_of_eight(channel) for _ in range(3)]
    limit(channel, LIMIT, shared=True)
    channel.consume(queues[0])
    channel.consume(queues[1])
    other.consume(queues[2])
    just(LIMIT, channel, *queues[:2])
    just(ALL, other, queues[2])


@scenario("rabbitmq/consumer-prefetch.both-limits")
@broken_by("keeps to the limit of each alone", swaps(window_allows=own_window_alone))
@broken_by("keeps to the shared one alone", swaps(window_allows=strategies.window_allows))
@broken_by("has a shared one replace the other", changes(SHARED, share_in_place_of_each))
@broken_by("has the other one replace a shared one", changes(EACH, each_in_place_of_sharing))
@broken_by("knows no shared one", forwards(Basic.Qos, global_=False))
@broken_by("overlooks the second", answers(Basic.Qos, Basic.QosOk(), skip=1))
def both_limits_hold(broker: Broker) -> None:
    """With a limit of three for each and five for all, two consumers have five, and neither over three."""
    for limits in permutations(((LIMIT, False), (TOGETHER, True))):
        channel = broker.channel()
        queues = [queue_of_eight(channel) for _ in range(2)]
        for count, shared in limits:
            limit(channel, count, shared=shared)
        for queue in queues:
            channel.consume(queue)
        most = max(by_consumer(just(TOGETHER, channel, *queues)))
        broker.judge("at most three messages for each", f"{most} messages for one", most <= LIMIT)


@scenario("rabbitmq/consumer-prefetch.without-acknowledgement")
@broken_by("limits them all", swaps(window_allows=regardless_of_windows))
@broken_by("waits for acknowledgements", forwards(Basic.Consume, no_ack=False))
def consumer_without_acknowledgement_has_no_limit(broker: Broker) -> None:
    """With a limit of three a consumer in automatic mode gets all eight messages."""
    channel = broker.channel()
    queue = queue_of_eight(channel)
    limit(channel, LIMIT)
    channel.consume(queue, no_ack=True)
    just(ALL, channel, queue)


@scenario("rabbitmq/consumer-prefetch.get")
@broken_by("limits what can be got", swaps(due=due_within_the_limit))
@broken_by("counts what was got", swaps(window_allows=counting_what_was_got))
def get_has_no_limit(broker: Broker) -> None:
    """With a limit of three five messages are got, none acknowledged; a consumer gets the other three."""
    channel = broker.channel()
    queue = queue_of_eight(channel)
    limit(channel, LIMIT)
    for _ in range(TOGETHER):
        channel.tries(Basic.Get(queue), Basic.GetOk)
    channel.consume(queue)
    just(LIMIT, channel, queue)
