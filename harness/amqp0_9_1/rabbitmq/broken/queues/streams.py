"""Faults about streams: readers that begin elsewhere, logs that lose or sort what is written."""

from collections.abc import Callable

from harness.amqp0_9_1.broken.loose import Effect, Turn
from harness.amqp0_9_1.peer.entities import Consumer, Logged
from harness.amqp0_9_1.peer.tables.basic import named
from harness.amqp0_9_1.rabbitmq.contents import properties_of
from harness.amqp0_9_1.rabbitmq.queues import streams


def begin_one_late(turn: Turn) -> None:
    """Start to read with the second message of those that are due."""
    streams.start_reading(turn)
    _leave_out(turn, 1)


def wait_for_the_number(turn: Turn) -> None:
    """Start to read at the number asked for, however high it is."""
    streams.start_reading(turn)
    asked = turn.event.arguments.get(streams.OFFSET)
    if isinstance(asked, int) and asked > len(turn.queue.log):
        turn.queue.consumers.remove(_reader(turn))


def begin_one_early(turn: Turn) -> None:
    """Start to read with the message before those that are due."""
    due = streams.beginning(turn)
    streams.start_reading(turn)
    if due:
        streams.put_before(turn, _reader(turn), turn.queue.log[due - 1])


def _leave_out(turn: Turn, count: int) -> None:
    mine = [each for each in turn.queue if each.only is _reader(turn)]
    for entry in mine[:count]:
        turn.queue.remove(entry)


def _reader(turn: Turn) -> Consumer:
    reader: Consumer = turn.channel.consumers[turn.event.consumer_tag]
    return reader


def and_remove(effect: Effect) -> Effect:
    """Have what a reader settles removed from the log."""

    def removing(turn: Turn) -> None:
        for delivery in named(turn):
            queue = delivery.entry.queue
            queue.log = [each for each in queue.log if each.message is not delivery.entry.message]
        effect(turn)

    return removing


def lose(unwanted: Callable[[Logged], bool]) -> Effect:
    """Write a message to the log and lose it if it is one of those that are unwanted."""

    def losing(turn: Turn) -> None:
        readers, turn.subject.consumers = turn.subject.consumers, []
        streams.write_to_the_log(turn)
        turn.subject.consumers = readers
        for each in turn.subject.log[-1:]:
            if unwanted(each):
                turn.subject.log.remove(each)
            else:
                for reader in readers:
                    streams.put_before(turn, reader, each)

    return losing


def may_expire(logged: Logged) -> bool:
    return properties_of(logged.message).expiration is not None


def is_urgent(logged: Logged) -> bool:
    return logged.message.priority > 0


def write_the_urgent_first(turn: Turn) -> None:
    streams.write_to_the_log(turn)
    turn.subject.log.sort(key=lambda each: -each.message.priority)


def forget_what_is_transient(turn: Turn) -> None:
    """Keep a stream over a restart with what is persistent in it."""
    turn.subject.log = [each for each in turn.subject.log if each.message.persistent]


def without_filters(turn: Turn) -> None:
    """Start to read without messages that have no value to filter by, whatever was asked for."""
    streams.start_reading(turn)
    reader = _reader(turn)
    reader.arguments = {**reader.arguments, "x-stream-match-unfiltered": False}
    for entry in [each for each in turn.queue if each.only is reader]:
        if not streams.passes_the_filter(turn, reader, Logged(entry.message, 0, 0.0)):
            turn.queue.remove(entry)


def by_the_first_value(turn: Turn) -> None:
    """Start to read by the first of several values."""
    asked = turn.event.arguments.get("x-stream-filter")
    if isinstance(asked, list):
        arguments = {**turn.event.arguments, "x-stream-filter": asked[0]}
        turn.event = turn.event.replace(arguments=arguments)
    streams.start_reading(turn)
