"""Queues with a time-to-live, which are deleted when nobody uses them."""

from harness.amqp0_9_1.broken.deviations import changes, drops
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import answered, channel_closed
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.rabbitmq.broken.queues.expiry import (
    has_nothing,
    is_empty_and_was_not_used,
    is_no_number,
    is_no_number_or_negative,
    not_renewed_by,
    time_is_over,
)
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import INTERNAL_ERROR, NOT_FOUND, Basic, Channel, Queue
from scenarios.rabbitmq.queues.time_to_live import AFTER, LONG, SHORT, declares_alone, living
from scenarios.registry import broken_by, scenario

LEASE = 3000
"""Milliseconds of a queue's lease, of which HALF leaves enough for a busy server."""
HALF = 1.7
GONE = (1.0, 2.0, 4.0)
"""Seconds before each look for a queue whose time is over: each look may count as use."""
ENDS = "lease: what was not used is deleted"
WRONG_LEASE = "queue.declare: refuses a wrong x-expires"


def goes(broker: Broker, queue: str) -> None:
    """Judge that a queue is deleted before long."""
    *early, last = GONE
    there = answered(Queue.DeclareOk).under("how promptly it goes is not promised")
    gone = channel_closed(NOT_FOUND)
    for seconds in early:
        channel = broker.channel()
        channel.wait(seconds)
        if isinstance(channel.tries(Queue.Declare(queue, passive=True), gone | there), Channel.Close):
            return
    channel = broker.channel()
    channel.wait(last)
    channel.tries(Queue.Declare(queue, passive=True), gone)


def is_there(channel: AmqpChannel, queue: str) -> None:
    """Judge that a queue has not been deleted."""
    channel.tries(Queue.Declare(queue, passive=True), Queue.DeclareOk)


@scenario("rabbitmq/ttl.unused-queue", slow=True)
@broken_by("keeps it", drops(ENDS))
@broken_by("does not count from its making", not_renewed_by("queue.declare: creates it"))
def unused_queue_is_deleted(broker: Broker) -> None:
    """A queue that nobody uses for as long as it says is not found any more; one that says nothing stays."""
    channel = broker.channel()
    plain, short = channel.declare_queue(), channel.declare_queue(arguments=living(queue=SHORT))
    goes(broker, short)
    is_there(channel, plain)


@scenario("rabbitmq/ttl.unused-queue", slow=True)
@broken_by("keeps it while it has messages", changes(ENDS, condition=is_empty_and_was_not_used))
def unused_queue_is_deleted_with_its_messages(broker: Broker) -> None:
    """A queue with a message that nobody uses for as long as it says is not found any more."""
    goes(broker, broker.channel().queue_with("1", arguments=living(queue=2 * SHORT)))


@scenario("rabbitmq/ttl.consumed-queue", slow=True)
@broken_by("deletes it under its consumer", changes(ENDS, condition=time_is_over))
def consumed_queue_stays(broker: Broker) -> None:
    """A queue with a consumer is there when its time is over, and delivers."""
    channel = broker.channel()
    with broker.before(LEASE / 1000):
        queue = channel.declare_queue(arguments=living(queue=LEASE))
        channel.consume(queue, no_ack=True)
    channel.wait(LEASE / 1000 + AFTER)
    channel.hears("1", key=queue)


@scenario("rabbitmq/ttl.consumed-queue", slow=True)
@broken_by("keeps it for good", drops("lease: begins when the last consumer is gone"))
def queue_goes_after_its_last_consumer(broker: Broker) -> None:
    """A queue that was consumed from for longer than it says is deleted after the last consumer."""
    channel = broker.channel()
    with broker.before(5 * SHORT / 1000):
        queue = channel.declare_queue(arguments=living(queue=5 * SHORT))
        tag = channel.consume(queue)
    channel.wait(3 * AFTER)
    channel.ask(Basic.Cancel(tag))
    goes(broker, queue)


def is_kept_by(broker: Broker, use: Method, queue: str) -> None:
    """Judge that a queue with a LEASE, declared just now, is there behind it when it was used amid it."""
    channel = broker.channel().misses("queue")
    with broker.before(LEASE / 1000):
        channel.wait(HALF)
        channel.ask(use)
    with broker.before(LEASE / 1000):
        channel.wait(HALF)
        is_there(channel, queue)


@scenario("rabbitmq/ttl.got-queue", slow=True)
@broken_by("does not count Get", not_renewed_by("basic.get: answers that the queue is empty"))
@broken_by("counts nothing", changes(ENDS, condition=has_nothing))
def queue_that_is_got_from_stays(broker: Broker) -> None:
    """Get, from an empty queue, amid the time that is left to it: it is there when that is over."""
    queue = broker.channel().declare_queue(arguments=living(queue=LEASE))
    is_kept_by(broker, Basic.Get(queue), queue)


@scenario("rabbitmq/ttl.got-queue", slow=True)
@broken_by("does not count a Get that gets", not_renewed_by("basic.get: without acknowledgement"))
def queue_that_gives_a_message_stays(broker: Broker) -> None:
    """Get without acknowledgement amid the time that is left to a queue: it is there when that is over."""
    queue = broker.channel().queue_with("1", arguments=living(queue=LEASE))
    is_kept_by(broker, Basic.Get(queue, no_ack=True), queue)


@scenario("rabbitmq/ttl.got-queue", slow=True)
@broken_by("does not count a Get that awaits its Ack", not_renewed_by("basic.get: awaits acknowledgement"))
def queue_that_lends_a_message_stays(broker: Broker) -> None:
    """Get of a message amid the time that is left to a queue: it is there when that is over."""
    queue = broker.channel().queue_with("1", arguments=living(queue=LEASE))
    is_kept_by(broker, Basic.Get(queue), queue)


@scenario("rabbitmq/ttl.declared-queue", slow=True)
@broken_by("does not count Declare", not_renewed_by("queue.declare: confirms the same again"))
@broken_by("counts nothing", changes(ENDS, condition=has_nothing))
def queue_that_is_declared_again_stays(broker: Broker) -> None:
    """Declare amid the time that is left to a queue: it is there when that is over."""
    queue = broker.channel().declare_queue(arguments=living(queue=LEASE))
    is_kept_by(broker, Queue.Declare(queue, arguments={"x-expires": LEASE}), queue)


@scenario("rabbitmq/ttl.illegal-lease")
@broken_by("takes any value", drops(WRONG_LEASE))
@broken_by("takes any number", changes(WRONG_LEASE, condition=is_no_number("x-expires")))
@broken_by("takes zero", changes(WRONG_LEASE, condition=is_no_number_or_negative("x-expires")))
@broken_by("calls it an error of its own", changes(WRONG_LEASE, answer=refuse(INTERNAL_ERROR)))
def lease_is_a_positive_number(broker: Broker) -> None:
    """A minute is a time for a queue; 0, -1, a text and the like are refused: 406."""
    declares_alone(broker, "x-expires", good=(LONG,), bad=(0, -1, "1000", 1.5, True))
