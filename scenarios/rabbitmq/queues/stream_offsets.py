"""Where reading begins in a stream."""

from typing import Any

from harness.amqp0_9_1.broken.content_faults import delivers
from harness.amqp0_9_1.broken.deviations import Interposer, changes, drops, forwards, rejects, withholds
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import message
from harness.amqp0_9_1.rabbitmq.broken.queues.streams import (
    begin_one_early,
    begin_one_late,
    wait_for_the_number,
)
from harness.amqp0_9_1.rabbitmq.queues.streams import OFFSET
from harness.amqp0_9_1.wire.field_tables import As, Timestamp
from harness.amqp0_9_1.wire.vocabulary import PRECONDITION_FAILED, Basic
from scenarios.rabbitmq.queues.streams import LOG, READS, REFUSED, comes, consuming, declared, log, reading
from scenarios.registry import broken_by, scenario

LONG_AGO, TO_COME = 0, 4_102_444_800
"""Points in time, in seconds of POSIX: 1970 and 2100."""


def begins_at(offset: object) -> Interposer:
    """Begins there whatever a consumer asks for, but "first"."""
    return forwards(
        Basic.Consume, lambda sent: sent.arguments.get(OFFSET) != "first", arguments={OFFSET: offset}
    )


def knows_not(offset: object) -> Interposer:
    """Refuses a consumer that asks to begin there."""
    return rejects(Basic.Consume, PRECONDITION_FAILED, lambda sent: sent.arguments.get(OFFSET) == offset)


@scenario("rabbitmq/streams.offset-first")
@broken_by("begins at the end", forwards(Basic.Consume, arguments={OFFSET: "next"}))
@broken_by("begins one late", changes(READS, begin_one_late))
@broken_by("loses what comes later", withholds(Basic.Deliver, skip=3))
def reading_begins_with_the_first(broker: Broker) -> None:
    """A reader from "first" gets all messages that are there, and the next one."""
    channel = broker.channel()
    queue = declared(channel)
    for body in LOG:
        channel.publish(body, key=queue)
    reader = reading(broker, queue, "first")
    comes(reader, *LOG)
    channel.publish(b"4", key=queue)
    comes(reader, b"4")


def judged_from_the_end(broker: Broker, offset: object) -> None:
    """Judge that a reader from this offset gets nothing but what is published afterwards."""
    channel, queue = log(broker, *LOG)
    reader = reading(broker, queue, offset)
    channel.publish(b"4", key=queue)
    comes(reader, b"4")


@scenario("rabbitmq/streams.offset-next")
@broken_by("begins with the first", forwards(Basic.Consume, arguments={OFFSET: "first"}))
@broken_by("begins with the last", changes(READS, begin_one_early))
@broken_by("knows no such place", knows_not("next"))
def reading_begins_with_the_next(broker: Broker) -> None:
    """A reader from "next" gets what is published once it has started."""
    judged_from_the_end(broker, "next")


@scenario("rabbitmq/streams.offset-unspecified")
@broken_by("begins with the first", begins_at("first"))
@broken_by("wants to be told", knows_not(None))
def reading_begins_with_the_next_by_itself(broker: Broker) -> None:
    """A reader that asks for no offset gets what is published once it has started."""
    judged_from_the_end(broker, None)


@scenario("rabbitmq/streams.offset-clamped", slow=True)
@broken_by("begins with the first", begins_at("first"))
@broken_by("waits for that message", changes(READS, wait_for_the_number))
@broken_by("refuses it", knows_not(1000))
def reading_begins_at_the_end_at_the_latest(broker: Broker) -> None:
    """A reader from 1000, of a stream of three messages, gets what is published once it has started."""
    judged_from_the_end(broker, 1000)


@scenario("rabbitmq/streams.offset-last")
@broken_by("begins behind it", begins_at("next"))
@broken_by("begins one late", changes(READS, begin_one_late))
@broken_by("knows no such place", knows_not("last"))
@broken_by("leaves out what follows", withholds(Basic.Deliver, skip=4))
def reading_begins_with_the_last_chunk(broker: Broker) -> None:
    """A reader from "last" gets one of the messages there, those that follow it, and the next one."""
    channel, queue = log(broker, *LOG)
    reader = reading(broker, queue, "last")
    last = [message(Basic.Deliver, body) for body in LOG]
    begun: Any = reader.observe(last[0] | last[1] | last[2])
    channel.publish(b"4", key=queue)
    comes(reader, *LOG[LOG.index(begun.body) + 1 :], b"4")


@scenario("rabbitmq/streams.offset-number")
@broken_by("begins one late", changes(READS, begin_one_late))
@broken_by("begins with the first", begins_at("first"))
@broken_by("begins with the next", begins_at("next"))
def reading_begins_at_the_number(broker: Broker) -> None:
    """A reader from 2 gets the third message and the fourth."""
    _, queue = log(broker, b"0", b"1", b"2", b"3")
    comes(reading(broker, queue, 2), b"2", b"3")


def is_a_time(sent: Basic.Consume) -> bool:
    return isinstance(sent.arguments.get(OFFSET), Timestamp)


@scenario("rabbitmq/streams.offset-timestamp")
@broken_by("begins with the first", begins_at("first"))
@broken_by("begins with the next", begins_at("next"))
@broken_by("knows no times", rejects(Basic.Consume, PRECONDITION_FAILED, is_a_time))
def reading_begins_at_the_time(broker: Broker) -> None:
    """A reader from 1970 gets all messages, one from 2100 what is published once it has started."""
    _, queue = log(broker, *LOG)
    comes(reading(broker, queue, As("T", Timestamp(LONG_AGO))), *LOG)
    judged_from_the_end(broker, As("T", Timestamp(TO_COME)))


@scenario("rabbitmq/streams.offset-interval")
@broken_by("begins with the next", begins_at("next"))
@broken_by("begins one late", changes(READS, begin_one_late))
@broken_by("knows no intervals", knows_not("1h"))
def reading_begins_that_long_ago(broker: Broker) -> None:
    """A reader from "1h" gets all messages, which are younger."""
    _, queue = log(broker, *LOG)
    comes(reading(broker, queue, "1h"), *LOG)


@scenario("rabbitmq/streams.offset-unknown")
@broken_by("begins with the next", forwards(Basic.Consume, arguments={OFFSET: "next"}))
@broken_by("takes it", drops("basic.consume: refuses a stream from nowhere"))
def unknown_offset_is_refused(broker: Broker) -> None:
    """A reader from "first" is served, one from "middle" refused."""
    queue = declared(broker.channel())
    reading(broker, queue, "first").refuses(consuming(queue, "middle"), *REFUSED)


@scenario("rabbitmq/streams.offsets-rise")
@broken_by("says the same of each", delivers(behind=Basic.Deliver, headers={OFFSET: 1}))
@broken_by("counts down", delivers(behind=Basic.Deliver, headers=lambda told: {OFFSET: 9 - told[OFFSET]}))
@broken_by("begins one late", changes(READS, begin_one_late))
def offsets_rise(broker: Broker) -> None:
    """The offsets that three messages come with rise; a reader from the second one's gets that first."""
    _, queue = log(broker, *LOG)
    reader, offsets = reading(broker, queue, "first"), list[Any]()
    for body in LOG:
        came: Any = reader.observe(message(Basic.Deliver, body))
        offsets.append((came.properties.headers or {}).get(OFFSET))
    if None in offsets:
        broker.inapplicable("messages come without their offset")
    broker.judge("offsets that rise", "others", offsets == sorted(set(offsets)))
    comes(reading(broker, queue, offsets[1]), *LOG[1:])
