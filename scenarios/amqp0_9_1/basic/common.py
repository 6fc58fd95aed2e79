"""The class basic: persistence, overflow, priorities, acknowledgement."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

from harness.amqp0_9_1.broken.basic_faults import (
    all_that_are_out,
    counts_what_it_discards,
    drop_the_newest,
    drop_the_oldest,
    five_is_low,
    four_is_high,
    is_the_first_persistent,
    last_come_first,
    low_before_high,
    memory_is_exhausted,
    memory_was_exhausted,
    one_level,
    transient_first,
)
from harness.amqp0_9_1.broken.deviations import answers, changes, drops, ignores, rejects, swaps
from harness.amqp0_9_1.broken.faults import persistent_first
from harness.amqp0_9_1.broken.settling_faults import persistent_due
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import Received, answered, message, silence
from harness.amqp0_9_1.peer.life import lose
from harness.amqp0_9_1.wire.vocabulary import NOT_IMPLEMENTED, Basic, Channel, Exchange, Queue
from harness.play.context import RESTART, Restart
from harness.play.expect import Outcome
from scenarios.registry import broken_by, scenario

KEPT = "restart: keeps persistent messages"
PAUSES = "overflow: asks the publisher to pause"
TRANSIENT, PERSISTENT = 1, 2

ALARM = ("memory-alarm", "lift-memory-alarm")
"""The facilities that make every queue overflow, and end that.

They concern everybody: scenarios that use them run alone.
"""

SIZE = 1024
MANY = 100
"""Messages of so many octets before and again during an overflow: they fit into a socket nobody reads."""

DELIVERY = message(Basic.Deliver)

NOTHING = replace(answered(Exchange.DeclareOk), says="nothing before the answer to a later method")
"""Used with the fence that the same scenario sends."""


@contextmanager
def overflow(broker: Broker) -> Iterator[int]:
    """Let that many messages overflow a queue; behind the block memory is free again, whatever happened.

    Most brokers take their memory for exhausted at once; others say how many messages of a queue it holds.
    """
    held = int(broker.facility("memory-alarm").get("messages", "0"))
    try:
        yield held + MANY
    finally:
        broker.facility("lift-memory-alarm")


def fill(channel: AmqpChannel, queue: str, delivery_mode: int, numbers: range) -> set[bytes]:
    """Publish numbered messages in one go: a Channel.Flow would come too late. Returns their bodies."""
    bodies = [number.to_bytes(SIZE) for number in numbers]
    for body in bodies:
        channel.publish(body, key=queue, delivery_mode=delivery_mode)
    return set(bodies)


@scenario("0-9-1/basic.01")
@broken_by("loses persistent messages", drops(KEPT))
@broken_by("stores one message a queue", changes(KEPT, condition=is_the_first_persistent))
@broken_by("loses them on the way", ignores(Basic.Publish, skip=1))
def persistent_message_is_there_after_a_restart(broker: Broker) -> Iterator[Restart]:
    """Persistent messages in a durable queue are there after the restart."""
    channel, queue = broker.queue(durable=True)
    for number in range(3):
        channel.publish(f"persistent {number}", key=queue, delivery_mode=PERSISTENT)
    channel.depth(queue)
    channel.settle()
    yield RESTART
    broker.channel().consumes(queue, *(f"persistent {number}".encode() for number in range(3)))


@scenario("0-9-1/basic.02", needs=ALARM, disruptive=True, alone=True)
@broken_by("discards what comes then", ignores(Basic.Publish, skip=MANY))
@broken_by(
    "discards new messages", changes(PAUSES, drop_the_newest, condition=memory_is_exhausted, answer=None)
)
@broken_by(
    "discards old messages", changes(PAUSES, drop_the_oldest, condition=memory_was_exhausted, answer=None)
)
@broken_by("discards new messages and counts them for ever", counts_what_it_discards())
@broken_by("discards new messages and counts them until a restart", counts_what_it_discards(lose))
def persistent_messages_outlive_an_overflow(broker: Broker) -> None:
    """Persistent messages published before and during an overflow are all delivered after it.

    What is held back then must still be counted in the queue, and come after a restart if there can be one.
    """
    channel, queue = broker.queue(durable=True)
    left = fill(channel, queue, PERSISTENT, range(MANY))
    channel.depth(queue)
    reader = broker.channel(new_connection=True)
    with overflow(broker) as many:
        left |= fill(channel, queue, PERSISTENT, range(MANY, MANY + many))
        reader.fence()  # what was sent before has arrived, whether the broker reads it now or later
    tag = reader.consume(queue)  # with no-ack a server may note each on its disk before it sends the first
    take(reader, left, DELIVERY | silence())
    counted(channel, queue)  # a server that is slow to store what it took has done so when it answers,
    reader.fence()  # and what it was about to send has come
    take(reader, left, DELIVERY | silence())
    if left:
        are_held_back(broker, channel, queue, reader, tag, left)


def are_held_back(
    broker: Broker, publisher: AmqpChannel, queue: str, reader: AmqpChannel, tag: str, left: set[bytes]
) -> None:
    """Judge that what has not come when the consumer has ended is counted, and comes after a restart."""
    reader.ask(Basic.Cancel(tag))
    left -= {each.body for each in reader.arrived()}
    if not left:
        return
    reader.send(Basic.Ack(0, multiple=True))
    reader.fence()
    broker.note(f"{len(left)} messages are held back")
    there = counted(publisher, queue) == len(left)
    broker.judge("the others still in the queue", "messages gone", there)
    broker.judge("all messages delivered", "some held back", False, "what is held back is not discarded")
    come_after_a_restart(broker, queue, left)


def counted(publisher: AmqpChannel, queue: str) -> int:
    """Count the messages ready in the queue; a Flow that the overflow has brought is answered first."""
    publisher.send(Queue.Declare(queue, passive=True))
    while isinstance(came := publisher.control("counting", Queue.DeclareOk, Channel.Flow), Channel.Flow):
        publisher.send(Channel.FlowOk(came.active))
    return int(came.message_count)


def take(reader: AmqpChannel, left: set[bytes], due: Outcome = DELIVERY) -> None:
    """Judge that what is due comes, deliveries until no body is `left`, or once something else."""
    while left:
        seen = reader.observe(due)
        if not isinstance(seen, Received):
            return
        left.discard(seen.body)


def come_after_a_restart(broker: Broker, queue: str, left: set[bytes]) -> None:
    """Judge that the messages `left` in the queue come when the target was restarted, as a control does."""
    if "restart" not in broker.context.facilities:
        broker.note("that they are still counted has to do: the target cannot be restarted")
        return
    channel, control = broker.queue(new_connection=True, durable=True)
    channel.publish(b"control", key=control, delivery_mode=PERSISTENT)
    channel.depth(control)
    channel.settle()
    broker.hang_up()
    broker.facility("restart")
    reader = broker.channel().consuming(control, no_ack=True)
    reader.deliveries(1)
    reader.consume(queue, no_ack=True)
    take(reader, left)
    broker.note("they come after a restart")


@scenario("0-9-1/basic.03", needs=ALARM, disruptive=True, alone=True)
@broken_by("asks every publisher to stop", answers(Basic.Publish, Channel.Flow(False)))
@broken_by(
    "asks a publisher to stop once memory is exhausted", changes(PAUSES, condition=memory_is_exhausted)
)
def flow_in_an_overflow_is_recorded(broker: Broker) -> None:
    """Whether Channel.Flow comes when messages are published into an overflow; either is legal."""
    publishers = [(broker.channel(new_connection=True), mode) for mode in (TRANSIENT, PERSISTENT)]
    queues = [channel.declare_queue(durable=True) for channel, _ in publishers]
    with overflow(broker) as many:
        for (channel, mode), queue in zip(publishers, queues, strict=True):
            fill(channel, queue, mode, range(many))
            seen = channel.expect(answered(Channel.Flow).recorded(), silence().recorded())
            if isinstance(seen, Channel.Flow):
                channel.send(Channel.FlowOk(seen.active))
            came = "comes" if isinstance(seen, Channel.Flow) else "does not come"
            broker.note(f"Channel.Flow {came} to a publisher with delivery-mode {mode}")


@scenario("0-9-1/basic.06")
@broken_by("treats all priorities alike", swaps(level=one_level))
@broken_by("takes 5 for low", swaps(level=five_is_low))
@broken_by("takes 4 for high", swaps(level=four_is_high))
@broken_by("delivers low priorities first", swaps(level=low_before_high))
def high_priorities_overtake_low_ones(broker: Broker) -> None:
    """Messages of priority 5 and 9 are delivered before those of 0 and 4 that were there before.

    In a queue that implements priorities: a plain one, or where those do not one that was asked to.
    """
    channel = broker.channel()
    queue = broker.queue_with_priorities(channel)
    for priority in (0, 4, 5, 9):
        channel.publish("high" if priority >= 5 else "low", key=queue, priority=priority)
    channel.depth(queue)
    channel.consumes(queue, b"high", b"high", b"low", b"low")


@scenario("0-9-1/basic.07")
@broken_by("treats all priorities alike", swaps(level=one_level))
@broken_by("delivers the last message first", swaps(place=last_come_first))
def priority_levels_are_counted(broker: Broker) -> None:
    """Ten messages with priorities from 0 to 9 are delivered level by level; the levels are counted."""
    channel = broker.channel()
    queue = broker.queue_with_priorities(channel)
    for priority in range(10):
        channel.publish(f"{priority}", key=queue, priority=priority)
    channel.depth(queue)
    channel.consume(queue, no_ack=True)
    levels = runs([int(each.body) for each in channel.deliveries(10)])
    ordered = all(min(higher) > max(lower) for higher, lower in pairwise(levels))
    broker.judge("the order of priority levels", "an order that no levels explain", ordered)
    broker.note(f"priority levels: {len(levels)}")


def runs(priorities: list[int]) -> list[list[int]]:
    """Give the stretches in which priorities rise: messages of one level come in the order they were sent."""
    found = [[priorities[0]]]
    for priority in priorities[1:]:
        if priority < found[-1][-1]:
            found.append([])
        found[-1].append(priority)
    return found


@scenario("0-9-1/basic.08")
@broken_by("puts persistent messages first", swaps(place=persistent_first))
@broken_by("puts transient messages first", swaps(place=transient_first))
def order_does_not_depend_on_persistence(broker: Broker) -> None:
    """Ten messages of one priority, alternately transient and persistent, arrive in the order sent."""
    channel, queue = broker.queue(durable=True)
    for number in range(10):
        mode = PERSISTENT if number % 2 else TRANSIENT
        channel.publish(f"{number}", key=queue, delivery_mode=mode, priority=4)
    channel.depth(queue)
    channel.consumes(queue, *(f"{number}".encode() for number in range(10)))


@scenario("0-9-1/basic.08")
@broken_by("lets persistent messages be got first", swaps(due=persistent_due))
def order_of_what_is_got_does_not_depend_on_persistence(broker: Broker) -> None:
    """As before, with Get: messages alternately transient and persistent are got in the order sent."""
    channel, queue = broker.queue(durable=True)
    for number in range(10):
        mode = PERSISTENT if number % 2 else TRANSIENT
        channel.publish(f"{number}", key=queue, delivery_mode=mode, priority=4)
    channel.gets(queue, *(f"{number}".encode() for number in range(10)))


@scenario("0-9-1/basic.09")
@broken_by(
    "waits for acknowledgements all the same", drops("delivery: of a no-ack consumer ends with sending")
)
@broken_by("offers no such consumer", rejects(Basic.Consume, NOT_IMPLEMENTED, when=lambda it: it.no_ack))
def delivery_without_acknowledgement_is_supported(broker: Broker) -> None:
    """A consumer with no-ack receives; when it is gone, its message does not come again."""
    channel, queue = broker.queue()
    channel.tries(Basic.Consume(queue, no_ack=True), Basic.ConsumeOk)
    channel.hears(b"delivered", key=queue)
    channel.connection.close()
    channel = broker.channel()
    channel.publish(b"sentinel", key=queue)
    channel.tries(Basic.Consume(queue, no_ack=True), Basic.ConsumeOk)
    channel.expect(message(Basic.Deliver, b"sentinel"))


@scenario("0-9-1/basic.10")
@broken_by("forgets what is not acknowledged", drops("channel end: requeues what is not acknowledged"))
@broken_by("does not hear acknowledgements", ignores(Basic.Ack))
@broken_by("takes each acknowledgement for one of all messages", swaps(named=all_that_are_out))
@broken_by("offers no such consumer", rejects(Basic.Consume, NOT_IMPLEMENTED, when=lambda it: not it.no_ack))
def what_was_not_acknowledged_comes_again(broker: Broker) -> None:
    """Of four messages two are acknowledged; after a reconnect exactly the other two come again."""
    channel, queue = broker.queue("done", "open", "done", "open")
    channel.tries(Basic.Consume(queue), Basic.ConsumeOk)
    done, _, also_done, _ = channel.deliveries(4)
    channel.send(Basic.Ack(done.method.delivery_tag), Basic.Ack(also_done.method.delivery_tag))
    channel.stays_quiet()
    channel.connection.close()
    channel = broker.channel().consuming(queue)
    # In which order they come again the document leaves open.
    channel.expect_each(message(Basic.Deliver, b"open"), message(Basic.Deliver, b"open"))
    channel.hears(b"sentinel", key=queue)
