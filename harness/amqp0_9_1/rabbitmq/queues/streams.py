"""Streams: queues that keep what comes in a log, which everyone reads who wants to.

The log is the queue's; what a reader has yet to get stands on the queue as entries for this reader only.
"""

import re
from typing import Final, cast

from harness.amqp0_9_1.peer.consumers import (
    consume_ok,
    generate_tag,
    has_no_tag,
    start_consumer,
    tag_is_in_use,
)
from harness.amqp0_9_1.peer.entities import Consumer, Delivery, Entry, Logged, Queue
from harness.amqp0_9_1.peer.events import ChannelState, ConsumerGone, Lengthened, Requeued
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.turn import AnyTurn, ChannelTurn, LifeRow, LifeTurn
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.rabbitmq.contents import changed
from harness.amqp0_9_1.rabbitmq.policy import Policy
from harness.amqp0_9_1.wire import vocabulary as words
from harness.amqp0_9_1.wire.field_tables import Timestamp
from harness.amqp0_9_1.wire.vocabulary import PRECONDITION_FAILED, Basic

OFFSET: Final = "x-stream-offset"
"""The argument of a consumer that says where it begins; the header that says where a message stands."""
SECONDS: Final = {"Y": 31_557_600, "M": 2_629_800, "D": 86_400, "h": 3600, "m": 60, "s": 1}
"""Units of an age, in seconds."""
FILTER_SIZES: Final = range(16, 256)


def seconds(age: object) -> int | None:
    """Read an age such as "7D"; None where it is none."""
    read = re.fullmatch(f"([0-9]+)([{''.join(SECONDS)}])", age) if isinstance(age, str) else None
    return read and int(read[1]) * SECONDS[read[2]]


def is_a_stream(queue: Queue | None) -> bool:
    return queue is not None and queue.arguments.get("x-queue-type") == "stream"


def _written_together(turn: AnyTurn) -> bool:
    """Say whether all messages of a stream are one chunk."""
    return cast(Policy, turn.policy).chunks == "of all there is"


# -- declaring -----------------------------------------------------------------------------------------


def wants_a_stream(turn: ChannelTurn[words.Queue.Declare]) -> bool:
    return not turn.event.passive and turn.event.arguments.get("x-queue-type") == "stream"


def wants_it_transient(turn: ChannelTurn[words.Queue.Declare]) -> bool:
    return wants_a_stream(turn) and not turn.event.durable


def wants_it_alone(turn: ChannelTurn[words.Queue.Declare]) -> bool:
    return wants_a_stream(turn) and turn.event.exclusive


def age_has_no_unit(turn: ChannelTurn[words.Queue.Declare]) -> bool:
    age = turn.event.arguments.get("x-max-age", "1s")
    return wants_a_stream(turn) and seconds(age) is None


def filter_has_another_size(turn: ChannelTurn[words.Queue.Declare]) -> bool:
    size = turn.event.arguments.get("x-stream-filter-size-bytes", FILTER_SIZES[0])
    return wants_a_stream(turn) and size not in FILTER_SIZES


# -- reading -------------------------------------------------------------------------------------------


def reads_a_stream(turn: ChannelTurn[Basic.Consume]) -> bool:
    return is_a_stream(turn.find_queue()) and not tag_is_in_use(turn)


def has_set_no_limit(turn: ChannelTurn[Basic.Consume]) -> bool:
    return reads_a_stream(turn) and not turn.channel.prefetch


def has_set_a_limit_for_all(turn: ChannelTurn[Basic.Consume]) -> bool:
    """Say whether a limit holds for several consumers together."""
    return reads_a_stream(turn) and turn.channel.window.limited


def acknowledges_nothing(turn: ChannelTurn[Basic.Consume]) -> bool:
    return reads_a_stream(turn) and turn.event.no_ack


def beginning(turn: ChannelTurn[Basic.Consume]) -> int | None:
    """Give the offset at which a consumer begins; None where it asks for something that there is not."""
    log, asked = turn.queue.log, turn.event.arguments.get(OFFSET, "next")
    if isinstance(asked, Timestamp):
        return sum(each.at < asked.seconds for each in log)
    if isinstance(asked, int):
        return min(asked, len(log))
    if age := seconds(asked):
        return sum(each.at < turn.peer.clock() - age for each in log)
    return {"first": 0, "next": len(log), "last": _last_chunk(turn)}.get(str(asked))


def _last_chunk(turn: ChannelTurn[Basic.Consume]) -> int:
    return 0 if _written_together(turn) else max(len(turn.queue.log) - 1, 0)


def begins_nowhere(turn: ChannelTurn[Basic.Consume]) -> bool:
    return reads_a_stream(turn) and beginning(turn) is None


def start_reading(turn: ChannelTurn[Basic.Consume]) -> None:
    """Start the consumer, with all that stands in the log from its beginning on before it."""
    if has_no_tag(turn):
        generate_tag(turn)
    start_consumer(turn)
    consumer = turn.channel.consumers[turn.event.consumer_tag]
    for each in turn.queue.log[beginning(turn) :]:
        put_before(turn, consumer, each)


def put_before(turn: AnyTurn, reader: Consumer, logged: Logged) -> None:
    """Have a reader get a message of the log, if it does not filter it out."""
    if passes_the_filter(turn, reader, logged):
        reader.queue.levels[0].append(Entry(logged.message, reader.queue, logged.offset, only=reader))
        turn.host.stir(reader.queue)


def passes_the_filter(turn: AnyTurn, reader: Consumer, logged: Logged) -> bool:
    """Say whether a message may be one of those that a reader asks for."""
    asked = reader.arguments.get("x-stream-filter")
    if asked is None or _written_together(turn):
        return True
    value = logged.message.headers.get("x-stream-filter-value")
    if value is None:
        return bool(reader.arguments.get("x-stream-match-unfiltered"))
    return value in (asked if isinstance(asked, list) else [asked])


# -- what becomes of messages --------------------------------------------------------------------------


def comes_to_a_stream(turn: LifeTurn[object, Queue]) -> bool:
    return is_a_stream(turn.subject)


def write_to_the_log(turn: LifeTurn[Lengthened, Queue]) -> None:
    """Move what has come to the log, with its offset, and give it to all who read."""
    queue = turn.subject
    for entry in [each for each in queue if each.only is None]:
        queue.remove(entry)
        offset = len(queue.log)
        message = changed(entry.message, headers={**entry.message.headers, OFFSET: offset})
        logged = Logged(message, offset, turn.peer.clock())
        queue.log.append(logged)
        for reader in queue.consumers:
            put_before(turn, reader, logged)


def forget_what_was_left_to_read(turn: LifeTurn[ConsumerGone, Queue]) -> None:
    """Take off what stood there for readers that are gone."""
    queue = turn.subject
    for entry in [each for each in queue if each.only not in queue.consumers]:
        queue.remove(entry)


def is_of_a_stream(turn: LifeTurn[Requeued, Delivery]) -> bool:
    return is_a_stream(turn.subject.entry.queue)


_declare = Row("queue.declare", ChannelState.OPEN, words.Queue.Declare)
_consume = Row("basic.consume", ChannelState.OPEN, Basic.Consume)
_refused = refuse(PRECONDITION_FAILED)
STREAMS = (
    _declare("refuses a stream that is not durable", wants_it_transient, answer=_refused),
    _declare("refuses an exclusive stream", wants_it_alone, answer=_refused),
    _declare("refuses a stream with an age in no unit", age_has_no_unit, answer=_refused),
    _declare("refuses a stream with a filter of another size", filter_has_another_size, answer=_refused),
    _consume("refuses a stream with a limit for all", has_set_a_limit_for_all, answer=_refused),
    _consume("refuses a stream without a limit", has_set_no_limit, answer=_refused),
    _consume("refuses a stream without acknowledgements", acknowledges_nothing, answer=_refused),
    _consume("refuses a stream from nowhere", begins_nowhere, answer=_refused),
    _consume("reads a stream", reads_a_stream, (start_reading,), consume_ok),
    LifeRow("stream: writes to its log", Queue, Lengthened, comes_to_a_stream, (write_to_the_log,)),
    LifeRow(
        "stream: forgets what a reader has left",
        Queue,
        ConsumerGone,
        comes_to_a_stream,
        (forget_what_was_left_to_read,),
    ),
    LifeRow("stream: what is put back is in its log", Delivery, Requeued, is_of_a_stream),
)
