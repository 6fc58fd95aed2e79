"""What is wrong about consumers, for the tables of the peer that serves the extensions."""

from collections.abc import Callable, Iterable

from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.peer import strategies
from harness.amqp0_9_1.peer.consumers import set_channel_window, start_consumer
from harness.amqp0_9_1.peer.deliveries import settle, stir_queues_of
from harness.amqp0_9_1.peer.entities import Channel, Consumer, Entry, Queue
from harness.amqp0_9_1.peer.life import cancel_consumer, orphan_consumer, requeue
from harness.amqp0_9_1.peer.strategies import in_turn
from harness.amqp0_9_1.rabbitmq.consuming.consumers import (
    is_active,
    is_quorum,
    is_to_be_notified,
    notify,
    priority,
)
from harness.amqp0_9_1.rabbitmq.consuming.prefetch import limit_new_consumers, windows_allow

Choosing = Callable[[Queue, Entry, Iterable[Consumer]], Consumer | None]

# -- consumers whose queue goes ------------------------------------------------------------------------


def is_deleted_by_another(turn: Turn) -> bool:
    """Tells a client only of what others delete."""
    return is_to_be_notified(turn) and turn.channel is not turn.subject.channel


def is_there_to_be_told(turn: Turn) -> bool:
    """Tells every client."""
    return bool(turn.subject.channel.delivers)


def has_told_something(turn: Turn) -> bool:
    """Tells every client that has a table of capabilities, empty or not."""
    return is_there_to_be_told(turn) and "capabilities" in turn.subject.channel.connection.properties


def has_named_it(turn: Turn) -> bool:
    """Tells every client that names the capability, with whatever value."""
    properties = turn.subject.channel.connection.properties
    return is_there_to_be_told(turn) and "consumer_cancel_notify" in properties.get("capabilities", {})


def queue_is_classic(turn: Turn) -> bool:
    """Tells of queues that are not replicated."""
    return is_to_be_notified(turn) and not is_quorum(turn.subject.queue)


def _notify_if_last(turn: Turn, left: list[Consumer]) -> None:
    orphan_consumer(turn)
    if left == [turn.subject]:
        notify(turn)


def notify_one_of_its_channel(turn: Turn) -> None:
    """Tells a channel of one consumer, however many it has lost."""
    channel = turn.subject.channel
    _notify_if_last(turn, [each for each in turn.subject.queue.consumers if each.channel is channel])


def notify_one_of_its_connection(turn: Turn) -> None:
    """Tells a client of one consumer, however many it has lost."""
    connection = turn.subject.channel.connection
    consumers = turn.subject.queue.consumers
    _notify_if_last(turn, [each for each in consumers if each.channel.connection is connection])


def tell_of_it(turn: Turn) -> None:
    """Tells of a consumer that its client cancels."""
    notify(turn.about(turn.event, turn.channel.consumers[turn.event.consumer_tag]))


# -- windows -------------------------------------------------------------------------------------------


def one_more_for_each(consumer: Consumer, _: Entry) -> bool:
    """Sends one message beyond the limit of a consumer."""
    return not consumer.window.count or consumer.window.messages <= consumer.window.count


def never_opened(consumer: Consumer, _: Entry) -> bool:
    """Counts what was ever sent on the channel, acknowledged or not."""
    return not consumer.window.count or consumer.channel.last_tag < consumer.window.count


def own_window_alone(consumer: Consumer, _: Entry) -> bool:
    """Looks at the limit of the consumer and at no other."""
    return not consumer.window.count or consumer.window.messages < consumer.window.count


def counting_what_was_got(consumer: Consumer, _: Entry) -> bool:
    """Counts all that is out on the channel."""
    return not consumer.window.count or len(consumer.channel.unacknowledged) < consumer.window.count


def due_within_the_limit(queue: Queue, channel: Channel) -> Entry | None:
    """Gives nothing to Get when as much is out as a consumer may have."""
    if channel.prefetch and len(channel.unacknowledged) >= channel.prefetch:
        return None
    return strategies.first_due(queue, channel)


def limit_consumers_that_are_there(turn: Turn) -> None:
    """Gives a new limit to those that have started as well."""
    limit_new_consumers(turn)
    for consumer in turn.channel.consumers.values():
        consumer.window.count = turn.event.prefetch_count
    stir_queues_of(turn.channel)


def limit_all_channels(turn: Turn) -> None:
    """Limits what starts on any channel of the connection."""
    for channel in turn.connection.channels.values():
        channel.prefetch = turn.event.prefetch_count


def share_in_place_of_each(turn: Turn) -> None:
    """Takes a limit for all for the only one."""
    set_channel_window(turn)
    turn.channel.prefetch = 0


def each_in_place_of_sharing(turn: Turn) -> None:
    """Takes a limit for each for the only one."""
    limit_new_consumers(turn)
    turn.channel.window.count = 0


# -- who is served -------------------------------------------------------------------------------------


def by(rank: Callable[[Consumer], int]) -> Choosing:
    """Serve those of the highest rank, in turn."""

    def choose(queue: Queue, entry: Entry, candidates: Iterable[Consumer]) -> Consumer | None:
        able = list(candidates)
        highest = max(map(rank, able))
        return in_turn(queue, entry, [each for each in able if rank(each) == highest])

    return choose


def none_is(value: int) -> Choosing:
    """Serve by priority, with another value for those that have none."""
    return by(lambda consumer: priority(consumer) if "x-priority" in consumer.arguments else value)


def stick_to_the_first(_: Queue, __: Entry, candidates: Iterable[Consumer]) -> Consumer | None:
    """Serves whoever came first, as long as it can take something."""
    return next(iter(candidates), None)


def stick_to_the_last(_: Queue, __: Entry, candidates: Iterable[Consumer]) -> Consumer | None:
    """Serves whoever came last, as long as it can take something."""
    return list(candidates)[-1]


def first_of_the_highest(_: Queue, __: Entry, candidates: Iterable[Consumer]) -> Consumer | None:
    """Serves one consumer of the highest priority, and not the others."""
    return max(candidates, key=priority)


def wait_for_the_highest(queue: Queue, _: Entry, candidates: Iterable[Consumer]) -> Consumer | None:
    """Keeps messages for the highest priority, also while it is blocked."""
    highest = max(queue.consumers, key=priority)
    return highest if highest in candidates else None


def priority_is_below_zero(turn: Turn) -> bool:
    return bool(turn.event.arguments.get("x-priority", 0) < 0)


def priority_is_a_text(turn: Turn) -> bool:
    return isinstance(turn.event.arguments.get("x-priority"), str)


def priority_is_given(turn: Turn) -> bool:
    return "x-priority" in turn.event.arguments


# -- a single active consumer --------------------------------------------------------------------------


def serves_two(consumer: Consumer) -> bool:
    """Takes the first two consumers for active."""
    return consumer in consumer.queue.consumers[:2] and strategies.hears(consumer)


def serves_nobody_when_one_is_gone(consumer: Consumer) -> bool:
    """Has nobody take over."""
    return len(consumer.queue.consumers) != 2 and is_active(consumer) and strategies.hears(consumer)


def serves_all_when_one_is_gone(consumer: Consumer) -> bool:
    """Has all that are left take over."""
    return (len(consumer.queue.consumers) == 2 or is_active(consumer)) and strategies.hears(consumer)


def lets_others_help(consumer: Consumer) -> bool:
    """Serves others while the active one has as much as it may have."""
    window = consumer.queue.consumers[0].window
    busy = bool(window.count) and window.messages >= window.count
    return (busy or is_active(consumer)) and strategies.hears(consumer)


def first_come_stays(consumer: Consumer) -> bool:
    """Lets no priority change who is active."""
    return consumer.queue.consumers[0] is consumer and strategies.hears(consumer)


def takes_over_at_once(consumer: Consumer) -> bool:
    """Serves the highest priority, whatever is out to others."""
    return max(consumer.queue.consumers, key=priority) is consumer and strategies.hears(consumer)


# -- how consumers start and end -----------------------------------------------------------------------


def start_unseen(turn: Turn) -> None:
    """Starts a consumer, and does not look at what waits for it."""
    start_consumer(turn)
    turn.host.stirred.pop(turn.queue, None)


def queue_is_empty(turn: Turn) -> bool:
    return not len(turn.queue)


def _named(turn: Turn) -> Consumer:
    consumer: Consumer = turn.channel.consumers[turn.event.consumer_tag]
    return consumer


def cancel_and_requeue(turn: Turn) -> None:
    """Puts back what is out to a consumer that is cancelled."""
    consumer = _named(turn)
    for delivery in list(turn.channel.unacknowledged.values()):
        if delivery.consumer is consumer:
            requeue(turn.about(turn.event, delivery))
    cancel_consumer(turn.about(turn.event, consumer))


def cancel_and_discard(turn: Turn) -> None:
    """Forgets what is out to a consumer that is cancelled."""
    consumer = _named(turn)
    for delivery in list(turn.channel.unacknowledged.values()):
        if delivery.consumer is consumer:
            settle(delivery)
    cancel_consumer(turn.about(turn.event, consumer))


def cancel_and_keep_its_place(turn: Turn) -> None:
    """Leaves what is cancelled among the consumers of its queue."""
    consumer = _named(turn)
    consumer.alive = False
    del turn.channel.consumers[consumer.tag]


def regardless_of_windows(consumer: Consumer, entry: Entry) -> bool:
    """Limits consumers without acknowledgement as well, by what was sent on their channel."""
    count = consumer.window.count
    return (not count or consumer.channel.last_tag < count) and windows_allow(consumer, entry)
