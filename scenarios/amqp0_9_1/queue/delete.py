"""queue.delete."""

from harness.amqp0_9_1.broken.deviations import answers, changes, drops, forwards, rejects, rewrites
from harness.amqp0_9_1.broken.end_faults import forget_consumer, forget_consumers
from harness.amqp0_9_1.broken.entity_faults import in_use_and_not_if_empty, not_empty_and_not_if_unused
from harness.amqp0_9_1.broken.faults import first_stays_current
from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import answered, channel_closed, message, refused, silence
from harness.amqp0_9_1.peer.life import end_connection
from harness.amqp0_9_1.peer.tables.queue import delete_it, purge_queue
from harness.amqp0_9_1.wire.vocabulary import ACCESS_REFUSED, NOT_FOUND, Basic, Channel, Queue
from scenarios.amqp0_9_1.ends import WAYS
from scenarios.amqp0_9_1.queue.common import CURRENT_EVERYWHERE, has_no_name, spared, unknown_queue
from scenarios.registry import broken_by, scenario

IN_USE = "queue.delete: if-unused refuses one with consumers"
AGAIN = "queue.declare: confirms the same again"
CHANNEL_END = "channel end: cancels its consumers"
HANGING_UP = "connection: hanging up ends it"
NOT_EMPTY = "queue.delete: if-empty refuses one with messages"


def is_the_last_one(turn: Turn) -> bool:
    return len(turn.subject.queue) == 1


@scenario("0-9-1/queue.delete.01", needs=["dead-letter-exchange"])
@broken_by("drops what was pending", drops("queue end: dead-letters its messages"))
@broken_by("keeps one message", changes("queue end: dead-letters its messages", condition=is_the_last_one))
def pending_messages_are_kept_when_their_queue_is_deleted(broker: Broker) -> None:
    """Of a queue with a dead-letter exchange, what is pending is delivered from there when it is deleted."""
    channel, argument = broker.channel(), broker.facility("dead-letter-exchange")["argument"]
    exchange = channel.declare_exchange("fanout")
    kept, deleted = channel.declare_queue(), channel.declare_queue(arguments={argument: exchange})
    channel.bind(kept, exchange)
    reader = broker.channel().consuming(kept, no_ack=True)
    channel.publish(b"control", exchange=exchange)
    reader.deliveries(1)
    for body in (b"first", b"second"):
        channel.publish(body, key=deleted)
    channel.ask(Queue.Delete(deleted))
    for body in (b"first", b"second"):
        reader.expect(message(Basic.Deliver, body))


@scenario("0-9-1/queue.delete.queue.queue-known")
@broken_by("confirms and does nothing", answers(Queue.Delete, Queue.DeleteOk(0), when=has_no_name, skip=1))
@broken_by("finds nothing to delete", answers(Queue.Delete, Queue.DeleteOk(0), when=has_no_name))
@broken_by("deletes the one declared first", changes(AGAIN, first_stays_current))
@broken_by("always wants a name", rejects(Queue.Delete, NOT_FOUND, when=has_no_name))
@broken_by("takes a queue of another channel", CURRENT_EVERYWHERE)
@broken_by("gives another code", rewrites(Channel.Close, reply_code=ACCESS_REFUSED))
def delete_without_a_name_needs_a_declared_queue(broker: Broker) -> None:
    """Without a name the queue declared last on the channel is deleted; where none was it is 404."""
    channel, stranger = broker.channel(), broker.channel()
    first, last = (channel.declare_queue(exclusive=True) for _ in range(2))
    stranger.tries(Queue.Delete(""), *unknown_queue())
    channel = broker.channel()
    for queue in (first, last):
        channel.ask(Queue.Declare(queue, exclusive=True))
    channel.tries(Queue.Delete(""), Queue.DeleteOk)
    channel.tries(Queue.Declare(first, passive=True), Queue.DeclareOk)
    channel.tries(Queue.Declare(last, passive=True), channel_closed(NOT_FOUND))


@scenario("0-9-1/queue.delete.queue.must-exist")
@broken_by("finds nothing to delete", answers(Queue.Delete, Queue.DeleteOk(0), skip=1))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=ACCESS_REFUSED))
def delete_of_a_missing_queue_is_not_found(broker: Broker) -> None:
    """A queue that exists can be deleted; one that is gone or never was is refused with 404."""
    channel, queue = broker.queue(exclusive=True)
    channel.ask(Queue.Delete(queue))
    for missing in (queue, broker.name("queue")):
        broker.channel().tries(Queue.Delete(missing), *refused(NOT_FOUND))


@scenario("0-9-1/queue.delete.if-unused.in-use")
@broken_by("does not know if-unused", forwards(Queue.Delete, if_unused=False))
@broken_by("looks at if-empty alone where both are set", changes(IN_USE, condition=in_use_and_not_if_empty))
@broken_by("takes every Delete for one with if-unused", forwards(Queue.Delete, if_unused=True))
@broken_by("does not look for consumers", drops(IN_USE))
@broken_by("refuses, and deletes all the same", changes(IN_USE, delete_it))
def queue_with_a_consumer_is_not_deleted(broker: Broker) -> None:
    """If-unused deletes a queue without consumers; with one it is refused with 406, and the queue stays."""
    channel = broker.channel()
    channel.ask(Queue.Delete(channel.declare_queue(durable=True), if_unused=True))
    queue = channel.declare_queue(durable=True)
    broker.channel(new_connection=True).consume(queue)
    for if_empty in (False, True):
        channel.tries(Queue.Delete(queue, if_unused=True, if_empty=if_empty), *spared())
        channel = broker.channel()
        channel.tries(Queue.Declare(queue, passive=True), Queue.DeclareOk)
    channel.tries(Queue.Delete(queue), Queue.DeleteOk)


@scenario("0-9-1/queue.delete.if-unused.in-use", slow=True)
@broken_by("counts consumers that have ended", changes(CHANNEL_END, forget_consumer))
@broken_by("counts those of lost connections", changes(HANGING_UP, forget_consumers, end_connection))
def queue_is_unused_when_its_consumer_has_ended(broker: Broker) -> None:
    """Without its consumer, however that has ended, the queue is deleted if unused.

    A server may need a moment to see that a socket is gone.
    """
    for ends in WAYS:
        channel, queue = broker.queue(new_connection=True, durable=True)
        channel.consume(queue)
        ends(channel)
        remover = broker.channel()
        remover.send(Queue.Delete(queue, if_unused=True))
        if not isinstance(remover.expect(answered(Queue.DeleteOk), *spared()), Queue.DeleteOk):
            broker.channel().expect(silence())
            broker.channel().tries(Queue.Delete(queue, if_unused=True), Queue.DeleteOk)


@scenario("0-9-1/queue.delete.if-empty.not-empty")
@broken_by("does not know if-empty", forwards(Queue.Delete, if_empty=False))
@broken_by(
    "looks at if-unused alone where both are set", changes(NOT_EMPTY, condition=not_empty_and_not_if_unused)
)
@broken_by("takes every Delete for one with if-empty", forwards(Queue.Delete, if_empty=True))
@broken_by("does not look for messages", drops(NOT_EMPTY))
@broken_by("refuses, and deletes all the same", changes(NOT_EMPTY, delete_it))
@broken_by("refuses, and empties it", changes(NOT_EMPTY, purge_queue))
def queue_with_a_message_is_not_deleted(broker: Broker) -> None:
    """If-empty deletes a queue without messages; with one it is refused with 406, and the message stays."""
    channel = broker.channel()
    channel.ask(Queue.Delete(channel.declare_queue(durable=True), if_empty=True))
    queue = channel.queue_with(b"kept", durable=True)
    channel.fence()
    for if_unused in (False, True):
        channel.tries(Queue.Delete(queue, if_unused=if_unused, if_empty=True), *spared())
        channel = broker.channel()
    channel.send(Basic.Consume(queue, "tag", no_ack=True))
    channel.expect_answer(Basic.ConsumeOk)
    channel.expect(message(Basic.Deliver, b"kept"))
    channel.ask(Basic.Cancel("tag"))
    channel.publish(b"deleted", key=queue)
    channel.tries(Queue.Delete(queue), Queue.DeleteOk)
