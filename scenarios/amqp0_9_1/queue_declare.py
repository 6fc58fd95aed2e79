"""queue.declare."""

from __future__ import annotations

from collections.abc import Iterator

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.deviations import drops, rejects, rewrites
from harness.amqp0_9_1.outcomes import channel_closed, connection_closed, message, refused
from harness.amqp0_9_1.vocabulary import (
    ACCESS_REFUSED,
    RESOURCE_ERROR,
    RESOURCE_LOCKED,
    Basic,
    Channel,
    Queue,
)
from harness.context import RESTART, Restart
from scenarios.registry import broken_by, scenario

MANY = 256


@scenario("0-9-1/queue.declare.queue.default-name")
@broken_by("gives one name to all", rewrites(Queue.DeclareOk, queue="amq.gen"))
@broken_by("gives no name", rewrites(Queue.DeclareOk, queue=""))
def empty_name_makes_a_new_queue_each_time(broker: Broker) -> None:
    """Three declares with an empty name: the names that come back are not empty and all different."""
    channel = broker.channel()
    names = [channel.ask(Queue.Declare(exclusive=True)).queue for _ in range(3)]
    broker.judge(
        "three different names", f"{len(set(filter(None, names)))} different names", len(set(names)) == 3
    )


@scenario("0-9-1/queue.declare.minimum-queues")
@broken_by("has room for 255 queues", rejects(Queue.Declare, RESOURCE_ERROR, skip=255))
def at_least_256_queues_are_possible(broker: Broker) -> None:
    """256 queues can be declared; they are exclusive, so that they go with their connection."""
    channel = broker.channel()
    for _ in range(MANY):
        channel.send(Queue.Declare(broker.name("queue"), exclusive=True))
        channel.expect(Queue.DeclareOk)


@scenario("0-9-1/queue.declare.exclusive.exclusive")
@broken_by("lets others declare it", drops("queue.declare: refuses a queue locked by another connection"))
@broken_by("lets others bind it", drops("queue.bind: refuses a queue locked by another connection"))
@broken_by("lets others unbind it", drops("queue.unbind: refuses a queue locked by another connection"))
@broken_by("lets others purge it", drops("queue.purge: refuses a queue locked by another connection"))
@broken_by("lets others get from it", drops("basic.get: refuses a queue locked by another connection"))
@broken_by(
    "lets others consume from it", drops("basic.consume: refuses a queue locked by another connection")
)
@broken_by("lets others delete it", drops("queue.delete: refuses a queue locked by another connection"))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=ACCESS_REFUSED))
def exclusive_queue_is_locked_to_its_connection(broker: Broker) -> None:
    """The owner may use its queue; each use of it from a second connection is refused with 405."""
    owner = broker.channel()
    queue = owner.declare_queue(exclusive=True)
    owner.bind(queue, "amq.direct", queue)
    # 0-9-1/queue.unbind.01 wants a connection exception from every Unbind that fails.
    refusals = {Queue.Unbind: (channel_closed(RESOURCE_LOCKED) | connection_closed(RESOURCE_LOCKED),)}
    for use in (
        Queue.Declare(queue, exclusive=True),
        Queue.Declare(queue, passive=True),
        Queue.Bind(queue, "amq.direct", queue),
        Queue.Unbind(queue, "amq.direct", queue),
        Queue.Purge(queue),
        Basic.Get(queue, no_ack=True),
        Basic.Consume(queue),
        Queue.Delete(queue),
    ):
        stranger = broker.channel(new_connection=True)
        stranger.send(use)
        stranger.expect(*refusals.get(type(use), refused(RESOURCE_LOCKED)))
        owner.ask(use)


@scenario("0-9-1/queue.declare.durable.persistence")
@broken_by("forgets durable queues", drops("restart: keeps durable queues"))
def durable_queue_is_there_after_a_restart(broker: Broker) -> Iterator[Restart]:
    """A durable queue declared before the restart still takes and gives a message after it."""
    queue = broker.channel().declare_queue(durable=True)
    yield RESTART
    channel = broker.channel()
    channel.publish(b"after the restart", key=queue)
    channel.send(Basic.Consume(queue, no_ack=True))
    channel.expect(Basic.ConsumeOk)
    channel.expect(message(Basic.Deliver, b"after the restart"))
