"""Conditions, effects and strategies that are wrong about messages, for the reference peer's tables."""

from collections.abc import Iterable, Mapping

from harness.amqp0_9_1.broken.deviations import Fault
from harness.amqp0_9_1.broken.loose import Effect, Turn
from harness.amqp0_9_1.peer.consumers import set_channel_window
from harness.amqp0_9_1.peer.deliveries import deliver, serve, stir_queues_of
from harness.amqp0_9_1.peer.entities import Channel, Consumer, Delivery, Entry, Queue
from harness.amqp0_9_1.peer.life import cancel_consumer, is_persistent, requeue
from harness.amqp0_9_1.peer.strategies import cut_to_frames, hears, in_turn, may_have
from harness.amqp0_9_1.peer.tables.basic import named, requeue_rejected, tag_is_not_of_a_delivered_message
from harness.amqp0_9_1.peer.turn import Reply, WithContent
from harness.amqp0_9_1.wire.frames import OVERHEAD
from harness.amqp0_9_1.wire.vocabulary import Basic

# -- persistence and overflow --------------------------------------------------------------------------


def is_the_first_persistent(turn: Turn) -> bool:
    """Say whether the message is its queue's oldest: only that one is held on storage."""
    return is_persistent(turn) and turn.subject.serial == 0


def memory_is_exhausted(turn: Turn) -> bool:
    return turn.peer.alarm


def memory_was_exhausted(turn: Turn) -> bool:
    """Say whether every queue counts as overflowing and more than a few messages are on this one."""
    return turn.peer.alarm and len(turn.subject) > 1


def drop_the_newest(turn: Turn) -> None:
    turn.subject.remove(list(turn.subject)[-1])


def drop_the_oldest(turn: Turn) -> None:
    turn.subject.remove(next(iter(turn.subject)))


def counts_what_it_discards(*in_a_restart: Effect) -> Fault:
    """Discards what comes in an overflow and still counts it; the effects `in_a_restart` may end that."""
    return Fault(
        lambda tables: tables.replacing(
            "overflow: holds back what comes", condition=memory_is_exhausted
        ).replacing("restart: gives back what was held back", effects=in_a_restart)
    )


# -- priorities ----------------------------------------------------------------------------------------


def one_level(_: int, __: int) -> int:
    """Treats all priorities alike."""
    return 0


def five_is_low(_: int, priority: int) -> int:
    """Draws the line between 5 and 6."""
    return int(priority > 5)


def four_is_high(_: int, priority: int) -> int:
    """Draws the line between 3 and 4."""
    return int(priority > 3)


def low_before_high(_: int, priority: int) -> int:
    return int(priority < 5)


def last_come_first(queue: Queue, level: int, entry: Entry) -> None:
    queue.levels[level].appendleft(entry)


def last_come_last(queue: Queue, level: int, entry: Entry) -> None:
    """Puts each message behind those that are there, also one that was there before them."""
    queue.levels[level].append(entry)


def transient_first(queue: Queue, level: int, entry: Entry) -> None:
    """Puts transient messages before persistent ones of the same priority."""
    entries = queue.levels[level]
    if entry.message.persistent:
        entries.append(entry)
    else:
        entries.insert(0, entry)


# -- windows and consumers -----------------------------------------------------------------------------


def size_limits_single_messages(consumer: Consumer, entry: Entry) -> bool:
    """Holds back a message that alone exceeds prefetch-size."""
    window = consumer.channel.window
    return not window.size or window.octets + len(entry.message.body) <= window.size


def size_is_not_looked_at(consumer: Consumer, _: Entry) -> bool:
    """Looks at prefetch-count alone."""
    windows = (consumer.channel.window, consumer.channel.connection.window)
    return not any(each.count and each.messages >= each.count for each in windows)


def one_message_more(consumer: Consumer, _: Entry) -> bool:
    """Sends as long as there is any room, however large the message."""
    windows = (consumer.channel.window, consumer.channel.connection.window)
    return not any(each.size and each.octets >= each.size for each in windows)


def set_window_for_new_ones(turn: Turn) -> None:
    """Limits what is sent in advance only where no consumer has been started yet."""
    if not turn.channel.consumers:
        set_channel_window(turn)


def no_window(_: Consumer, __: Entry) -> bool:
    """Sends everything in advance."""
    return True


def one_more_than_allowed(consumer: Consumer, _: Entry) -> bool:
    """Sends one message beyond prefetch-count."""
    channel = consumer.channel
    windows = [each for each in (channel.window, channel.connection.window) if each.count]
    return all(window.messages <= window.count for window in windows)


def window_for_each_consumer(consumer: Consumer, _: Entry) -> bool:
    """Counts for every consumer what the window of its channel allows to all of them."""
    count = consumer.channel.window.count
    out = [each for each in consumer.channel.unacknowledged.values() if each.consumer is consumer]
    return not count or len(out) < count


def lower_channels_first(consumer: Consumer) -> bool:
    """Sends to a channel when those with lower numbers have got all there is for them."""
    channel = consumer.channel
    lower = [each for each in channel.connection.channels.values() if each.number < channel.number]
    return hears(consumer) and not any(len(each.queue) for one in lower for each in one.consumers.values())


def then_look_at_the_others(queue: Queue, entry: Entry, candidates: Iterable[Consumer]) -> Consumer | None:
    """Takes turns, and has the queues of all other channels looked at again."""
    chosen = in_turn(queue, entry, candidates)
    if chosen is not None and len(queue) == 1:
        for channel in chosen.channel.connection.channels.values():
            stir_queues_of(channel)
    return chosen


def set_window_of_this_channel(turn: Turn) -> None:
    """Takes a limit for the connection as one for the channel."""
    turn.channel.window.count = turn.event.prefetch_count


def never_the_sixteenth(queue: Queue, entry: Entry, candidates: Iterable[Consumer]) -> Consumer | None:
    """Leaves out the consumer that its client calls the sixteenth."""
    return in_turn(queue, entry, [each for each in candidates if not each.tag.endswith("16")])


def tag_is_in_use_anywhere(turn: Turn) -> bool:
    return any(turn.event.consumer_tag in each.consumers for each in turn.connection.channels.values())


def cancel_anywhere(turn: Turn) -> None:
    """Ends the consumer with this tag on whichever channel it is."""
    for channel in turn.connection.channels.values():
        consumer = channel.consumers.get(turn.event.consumer_tag)
        if consumer is not None:
            cancel_consumer(turn.about(turn.event, consumer))


def queue_of_the_consumer_is_gone(turn: Turn) -> bool:
    consumer = turn.channel.consumers.get(turn.event.consumer_tag)
    return consumer is not None and not consumer.queue.alive


def send_to_all_consumers(turn: Turn) -> None:
    delivery: Delivery = turn.subject
    for consumer in delivery.entry.queue.consumers:
        if consumer is not delivery.consumer:
            channel = consumer.channel
            again = Delivery(turn.strategies.tag(channel), channel, delivery.entry, consumer)
            other = turn.on(channel).about(turn.event, again)
            other.say(deliver(other))


def deliver_at_once(turn: Turn) -> None:
    """Delivers what can be delivered before the answer is said."""
    serve(turn.peer, turn.host)


def take_over(turn: Turn) -> None:
    """Ends the consumers that are there, so that the new one is alone."""
    for consumer in list(turn.queue.consumers):
        cancel_consumer(turn.about(turn.event, consumer))


def wants_to_be_alone_among_connections(turn: Turn) -> bool:
    """Minds exclusive access only where another connection consumes from the queue."""
    others = [each for each in turn.queue.consumers if each.channel.connection is not turn.connection]
    return bool(turn.event.exclusive and others)


# -- publishing ----------------------------------------------------------------------------------------


def exchange_is_named(turn: Turn) -> bool:
    return bool(turn.event.exchange)


def is_of_type(turn: Turn, kind: str) -> bool:
    """Say whether a publication is for an exchange of this type; the blank one is of no other type."""
    name = turn.subject.method.exchange
    return (turn.host.exchanges[name].type if name else "") == kind


def has_bindings(turn: Turn) -> bool:
    return bool(turn.host.bound_to(turn.subject.method.exchange))


def exchange_is_of_type_topic(turn: Turn) -> bool:
    """Say whether the exchange is a declared topic exchange, not one of those pre-declared."""
    exchange = turn.exchange
    return exchange is not None and exchange.type == "topic" and not exchange.predeclared


def return_nothing_but_the_method(turn: Turn) -> Reply:
    """Answers with a Return whose content is that of another message."""
    method, message = turn.subject.method, turn.subject.message
    message.body, message.store.octets = b"lost", message.store.octets - len(message.body) + len(b"lost")
    message.header = message.header[:4] + len(message.body).to_bytes(8) + message.header[12:]
    return WithContent(Basic.Return(312, "NO_ROUTE", method.exchange, method.routing_key), message)


def seven_bits_only(body: bytes, frame_max: int) -> list[bytes]:
    """Sends bodies as if they were text, with a question mark for every octet above 7F."""
    return cut_to_frames(body.decode("ascii", "replace").replace("\ufffd", "?").encode(), frame_max)


# -- acknowledgement, rejection, recovery --------------------------------------------------------------


def all_that_are_out(unacknowledged: Mapping[int, Delivery], _: int, __: bool) -> list[Delivery]:
    """Takes every acknowledgement for one of all messages."""
    return list(unacknowledged.values())


def tag_was_never_given(turn: Turn) -> bool:
    """Says whether a tag is above the highest one given, so that a second acknowledgement passes."""
    return bool(turn.event.delivery_tag > turn.channel.last_tag)


def is_unknown_and_not_transacted(turn: Turn) -> bool:
    """Leaves tags on a transacted channel to the commit."""
    return not turn.channel.transacted and tag_is_not_of_a_delivered_message(turn)


def is_unknown_and_single(turn: Turn) -> bool:
    """Looks at tags only where they stand for one message."""
    return not turn.event.multiple and tag_is_not_of_a_delivered_message(turn)


def requeue_to_the_front_door(turn: Turn) -> None:
    """Puts rejected messages back without remembering who rejected or had them."""
    requeue_rejected(turn)
    for queue in turn.host.queues.values():
        for entry in queue:
            entry.original = None


def recipient_may_have(channel: Channel, consumer: Consumer | None, entry: Entry) -> bool:
    """Lets whoever rejected a message have it again."""
    entry.avoid = ()
    return may_have(channel, consumer, entry)


def no_local_may_have_nothing(channel: Channel, consumer: Consumer | None, entry: Entry) -> bool:
    """Withholds from a no-local consumer whatever anybody published."""
    return not (consumer and consumer.no_local) and may_have(channel, consumer, entry)


def forget_who_published_elsewhere(turn: Turn) -> None:
    """Takes for a client's own only what it publishes on a channel that consumes."""
    if not turn.channel.consumers:
        turn.subject.message.publisher = None


def no_local_spares_what_waits(channel: Channel, consumer: Consumer | None, entry: Entry) -> bool:
    """Heeds no-local only where no message waited before."""
    if consumer is not None and consumer.no_local and not entry.serial:
        entry.message.publisher = None
    return may_have(channel, consumer, entry)


def wants_room_in_the_frame(channel: Channel, consumer: Consumer | None, entry: Entry) -> bool:
    """Holds back a message whose header fills its frame to the last octet."""
    fills = len(entry.message.header) + OVERHEAD == channel.connection.frame_max
    return not fills and may_have(channel, consumer, entry)


def hold_what_is_rejected(turn: Turn) -> None:
    """Goes on as if the message were still being processed."""
    for delivery in named(turn):
        delivery.entry.avoid = ()


def anybody_may_have_what_is_resent(turn: Turn) -> None:
    """Puts every message back as if nobody had had it before."""
    deliveries = list(turn.channel.unacknowledged.values())
    for delivery in deliveries:
        requeue(turn.about(turn.event, delivery))
    for delivery in deliveries:
        delivery.entry.original = None


def resend_unmarked(turn: Turn) -> None:
    """Returns every message to its recipient as if it were new."""
    for delivery in list(turn.channel.unacknowledged.values()):
        requeue(turn.about(turn.event, delivery))
        delivery.entry.redelivered = False
