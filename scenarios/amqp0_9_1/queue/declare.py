"""queue.declare."""

from collections.abc import Iterator

from harness.amqp0_9_1.broken.deviations import Fault, changes, drops, forwards, rejects, rewrites
from harness.amqp0_9_1.broken.entity_faults import is_durable_and_stays, of_another_channel
from harness.amqp0_9_1.broken.faults import (
    forget_the_oldest_of_many,
    keep_transient_queues,
    take_over_auto_delete,
)
from harness.amqp0_9_1.broken.restart_faults import brings_back, queue_again
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import (
    EXCEPTION,
    answered,
    channel_closed,
    connection_closed,
    message,
    refused,
    silence,
)
from harness.amqp0_9_1.peer.tables.queue import (
    becomes_current,
    bind_queue,
    create_queue,
    delete_it,
    purge_queue,
    unbind_queue,
)
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    PRECONDITION_FAILED,
    RESOURCE_ERROR,
    RESOURCE_LOCKED,
    Basic,
    Channel,
    Queue,
)
from harness.play.context import RESTART, Restart
from harness.play.expect import Outcome
from scenarios.registry import broken_by, scenario

MANY = 256
PERSISTENT = 2
CREATES = "queue.declare: creates it"
AGAIN = "queue.declare: confirms the same again"
KEPT = "restart: keeps durable queues"


@scenario("0-9-1/queue.declare.minimum-queues")
@broken_by("has room for 255 queues", rejects(Queue.Declare, RESOURCE_ERROR, skip=255))
@broken_by("forgets the first of 256", changes(CREATES, create_queue, forget_the_oldest_of_many))
def at_least_256_queues_are_possible(broker: Broker) -> None:
    """256 queues can be declared and are all there; they are exclusive and go with their connection.

    All are asked for before the first answer is taken: a busy target pays for one round trip, not for 512.
    """
    channel = broker.channel().misses("queue")
    queues = [broker.name("queue") for _ in range(MANY)]
    for passive in (False, True):
        for queue in queues:
            channel.send(Queue.Declare(queue, passive=passive, exclusive=True))
        for _ in queues:
            channel.expect(Queue.DeclareOk)


@scenario("0-9-1/queue.declare.durable.persistence")
@broken_by("forgets durable queues", drops(KEPT))
@broken_by("makes every queue transient", forwards(Queue.Declare, durable=False))
@broken_by("forgets one with auto-delete", changes(KEPT, condition=is_durable_and_stays))
def durable_queue_is_there_after_a_restart(broker: Broker) -> Iterator[Restart]:
    """Durable queues declared before the restart still take and give a message after it.

    So does one with auto-delete: without a consumer ever it is not deleted.
    """
    channel = broker.channel()
    queues = [channel.declare_queue(durable=True, auto_delete=each) for each in (False, True)]
    yield RESTART
    for queue in queues:
        channel = broker.channel()
        channel.publish(b"after the restart", key=queue)
        channel.send(Basic.Consume(queue, no_ack=True))
        channel.expect_answer(Basic.ConsumeOk)
        channel.expect(message(Basic.Deliver, b"after the restart"))


@scenario("0-9-1/queue.declare.durable.persistence")
@broken_by("brings back what was deleted", brings_back("queue.delete: deletes it", queue_again))
def deleted_queue_is_gone_after_a_restart(broker: Broker) -> Iterator[Restart]:
    """Of two durable queues one is deleted before the restart: after it only the other one is there."""
    channel = broker.channel()
    kept, deleted = (channel.declare_queue(durable=True) for _ in range(2))
    channel.ask(Queue.Delete(deleted))
    channel.settle()
    yield RESTART
    channel = broker.channel()
    channel.tries(Queue.Declare(kept, passive=True), Queue.DeclareOk)
    channel.tries(Queue.Declare(deleted, passive=True), *refused(NOT_FOUND))


@scenario("0-9-1/queue.declare.durable.types")
@broken_by(
    "has no transient queues",
    rejects(Queue.Declare, NOT_IMPLEMENTED, when=lambda d: not d.durable and not d.passive),
)
@broken_by("has no durable queues", rejects(Queue.Declare, NOT_IMPLEMENTED, when=lambda d: d.durable))
@broken_by("makes every queue durable", forwards(Queue.Declare, durable=True))
@broken_by("makes every queue transient", forwards(Queue.Declare, durable=False))
@broken_by("keeps transient queues", Fault(keep_transient_queues))
def durable_and_transient_queues_differ_after_a_restart(broker: Broker) -> Iterator[Restart]:
    """A durable and a transient queue can be declared; after the restart only the durable one is there.

    The transient one may also be there and empty: the document says that it is purged.
    """
    channel = broker.channel().misses("queue")
    durable, transient = broker.name("queue"), broker.name("queue")
    for declare in (Queue.Declare(durable, durable=True), Queue.Declare(transient, durable=False)):
        channel.tries(declare, Queue.DeclareOk)
        channel.publish(b"kept", key=declare.queue, delivery_mode=PERSISTENT)
    channel.fence()
    yield RESTART
    channel = broker.channel()
    channel.tries(Queue.Declare(durable, passive=True), Queue.DeclareOk)
    channel.send(Basic.Get(transient, no_ack=True))
    gone = channel_closed(NOT_FOUND) | answered(Basic.GetEmpty)
    channel.expect(
        gone,
        connection_closed(NOT_FOUND).under("4.8.1: the level of an exception follows its class only usually"),
    )


@scenario("0-9-1/queue.declare.exclusive.types")
@broken_by("has no exclusive queues", rejects(Queue.Declare, NOT_IMPLEMENTED, when=lambda d: d.exclusive))
@broken_by("has no shared queues", rejects(Queue.Declare, NOT_IMPLEMENTED, when=lambda d: not d.exclusive))
@broken_by("shares every queue", forwards(Queue.Declare, exclusive=False))
@broken_by("shares no queue", forwards(Queue.Declare, exclusive=True))
@broken_by("locks nothing", drops("queue.declare: refuses a queue locked by another connection"))
def exclusive_and_shared_queues_differ_for_a_second_connection(broker: Broker) -> None:
    """An exclusive and a shared queue can be declared; a second connection may use the shared one only."""
    channel = broker.channel()
    private, shared = broker.name("queue"), broker.name("queue")
    for declare in (Queue.Declare(private, exclusive=True), Queue.Declare(shared, durable=True)):
        channel.tries(declare, Queue.DeclareOk)
    other = broker.channel(new_connection=True)
    other.tries(Queue.Declare(shared, passive=True), Queue.DeclareOk)
    other.tries(Queue.Declare(private, passive=True), EXCEPTION)


def refused_to_strangers(use: object) -> tuple[Outcome, ...]:
    """Say how the use of another connection's exclusive queue is refused."""
    if isinstance(use, Queue.Unbind):
        # 0-9-1/queue.unbind.01 wants a connection exception from every Unbind that fails.
        return (channel_closed(RESOURCE_LOCKED) | connection_closed(RESOURCE_LOCKED),)
    return refused(RESOURCE_LOCKED)


LOCKED = "refuses a queue locked by another connection"


@scenario("0-9-1/queue.declare.exclusive.exclusive")
@broken_by("lets others declare it", drops(f"queue.declare: {LOCKED}"))
@broken_by("lets others bind it", drops(f"queue.bind: {LOCKED}"))
@broken_by("lets others unbind it", drops(f"queue.unbind: {LOCKED}"))
@broken_by("lets others purge it", drops(f"queue.purge: {LOCKED}"))
@broken_by("lets others get from it", drops(f"basic.get: {LOCKED}"))
@broken_by("lets others consume from it", drops(f"basic.consume: {LOCKED}"))
@broken_by("lets others delete it", drops(f"queue.delete: {LOCKED}"))
@broken_by("refuses, and binds all the same", changes(f"queue.bind: {LOCKED}", bind_queue))
@broken_by("refuses, and unbinds all the same", changes(f"queue.unbind: {LOCKED}", unbind_queue))
@broken_by("refuses, and purges all the same", changes(f"queue.purge: {LOCKED}", purge_queue))
@broken_by("refuses, and deletes all the same", changes(f"queue.delete: {LOCKED}", delete_it))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=ACCESS_REFUSED))
def exclusive_queue_is_locked_to_its_connection(broker: Broker) -> None:
    """Each use from a second connection is refused with 405 and changes nothing; the owner may do it all."""
    owner, queue = broker.queue(exclusive=True)
    owner.bind(queue, "amq.direct", queue)
    owner.publish(b"kept", key=queue)
    uses = (
        Queue.Declare(queue, exclusive=True),
        Queue.Declare(queue, passive=True),
        Queue.Bind(queue, "amq.direct", f"{queue}.new"),
        Queue.Unbind(queue, "amq.direct", queue),
        Queue.Purge(queue),
        Basic.Get(queue, no_ack=True),
        Basic.Consume(queue),
        Queue.Delete(queue),
    )
    for use in uses:
        broker.channel(new_connection=True).tries(use, *refused_to_strangers(use))
    owner.publish(b"not bound", exchange="amq.direct", key=f"{queue}.new")
    owner.publish(b"still bound", exchange="amq.direct", key=queue)
    owner.send(Basic.Consume(queue, "watch", no_ack=True))
    owner.expect_answer(Basic.ConsumeOk)
    owner.expect_each(message(Basic.Deliver, b"kept"), message(Basic.Deliver, b"still bound"))
    for use in uses:
        owner.ask(use)


@scenario("0-9-1/queue.declare.exclusive.exclusive")
@broken_by("locks it to its channel", changes(f"queue.declare: {LOCKED}", condition=of_another_channel))
@broken_by("locks its messages to its channel", changes(f"basic.get: {LOCKED}", condition=of_another_channel))
def exclusive_queue_is_open_to_its_connection(broker: Broker) -> None:
    """Another channel of the same connection gets a message from the queue, and finds it."""
    owner, sibling = broker.channel(), broker.channel()
    queue = owner.queue_with(b"ours", exclusive=True)
    owner.fence()
    sibling.gets(queue, b"ours")
    for again in (Queue.Declare(queue, passive=True), Queue.Declare(queue, exclusive=True)):
        sibling.tries(again, Queue.DeclareOk)


@scenario("0-9-1/queue.declare.auto-delete.pre-existence")
@broken_by("takes over the new flag", changes(AGAIN, take_over_auto_delete, becomes_current))
@broken_by("keeps it for ever", drops("consumer end: the last one deletes an auto-delete queue"))
@broken_by("closes the connection", rejects(Queue.Declare, PRECONDITION_FAILED, when=lambda d: d.auto_delete))
def auto_delete_stays_as_it_was_declared_first(broker: Broker) -> None:
    """Declared again with the other auto-delete, a queue still goes, or stays, by its first declaration.

    It is seen when the only consumer is cancelled. Whether the second Declare is confirmed is recorded.
    """
    for auto_delete in (False, True):
        channel, queue = broker.queue(durable=True, auto_delete=auto_delete)
        channel.send(Queue.Declare(queue, durable=True, auto_delete=not auto_delete))
        channel.expect(
            answered(Queue.DeclareOk).recorded("auto-delete is ignored where the queue exists"),
            channel_closed().recorded("by passive.equivalent another auto-delete is refused"),
        )
        channel = broker.channel()
        channel.ask(Basic.Cancel(channel.consume(queue)))
        if auto_delete:
            queue_goes(channel, queue)
        else:
            channel.tries(Queue.Declare(queue, passive=True), Queue.DeclareOk)


def queue_goes(channel: AmqpChannel, queue: str) -> None:
    """Judge that the queue is not there, at once or a while later: the document says not how soon."""
    channel.send(Queue.Declare(queue, passive=True))
    gone = channel_closed(NOT_FOUND)
    if isinstance(channel.expect(gone | answered(Queue.DeclareOk)), Queue.DeclareOk):
        channel.expect(silence())
        channel.tries(Queue.Declare(queue, passive=True), gone)
