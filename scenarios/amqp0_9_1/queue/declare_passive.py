"""queue.declare, field passive: looking for a queue, and declaring one again."""

from typing import Any

from harness.amqp0_9_1.broken.deviations import answers, changes, drops, forwards, rewrites
from harness.amqp0_9_1.broken.entity_faults import (
    asks_as_exclusive_as_it_is,
    asks_without_arguments,
    would_lose_something,
)
from harness.amqp0_9_1.broken.faults import queue_is_shared
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import answered, channel_closed, code, refused
from harness.amqp0_9_1.peer.names import both
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.tables.queue import create_queue, exists_otherwise, named_queue_exists
from harness.amqp0_9_1.wire.vocabulary import ACCESS_REFUSED, NOT_ALLOWED, NOT_FOUND, Channel, Queue
from scenarios.registry import broken_by, scenario

MISSING_QUEUE = "queue.declare: passive refuses one that does not exist"
AGAIN = "queue.declare: confirms the same again"
OTHERWISE = "queue.declare: refuses another durable or exclusive or other arguments"


PASSIVE = "queue.declare: passive confirms one that exists"
OTHER_FIELDS: tuple[dict[str, Any], ...] = (
    {"durable": True},
    {"exclusive": True},
    {"auto_delete": True},
    {"arguments": {"note": "other"}},
)
"""What a passive Declare ignores besides."""


@scenario("0-9-1/queue.declare.passive.passive")
@broken_by(
    "does not know passive", forwards(Queue.Declare, passive=False, durable=True, when=lambda d: d.passive)
)
@broken_by("looks at the other fields", drops(PASSIVE))
@broken_by("confirms what is not there", answers(Queue.Declare, Queue.DeclareOk("queue"), skip=2))
@broken_by("reports it, and makes it", changes(MISSING_QUEUE, create_queue))
@broken_by("looks at the arguments", changes(PASSIVE, condition=asks_without_arguments))
@broken_by("looks at exclusive", changes(PASSIVE, condition=asks_as_exclusive_as_it_is))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=ACCESS_REFUSED))
def passive_declare_of_a_missing_queue_is_not_found(broker: Broker) -> None:
    """A passive declare confirms a queue that exists, whatever its other fields say, and else is 404.

    The second time it is 404 again: asking has created nothing.
    """
    channel, missing = broker.channel(), broker.name("queue")
    for queue in (channel.declare_queue(exclusive=True), channel.declare_queue(durable=True)):
        look = Queue.Declare(queue, passive=True)
        for ignored in (
            *OTHER_FIELDS,
            {name: value for each in OTHER_FIELDS for name, value in each.items()},
        ):
            channel.tries(look.replace(**ignored), Queue.DeclareOk)
    for _ in range(2):
        broker.channel().tries(Queue.Declare(missing, passive=True), *refused(NOT_FOUND))


@scenario("0-9-1/queue.declare.passive.equivalent")
@broken_by("does not compare", drops(OTHERWISE))
@broken_by("makes every queue transient", forwards(Queue.Declare, durable=False))
@broken_by("closes the connection", changes(OTHERWISE, answer=refuse(NOT_ALLOWED)))
@broken_by("refuses, and makes it anew", changes(OTHERWISE, create_queue))
@broken_by("confirms, and makes it anew", drops(AGAIN))
@broken_by("takes no second Declare", changes(OTHERWISE, condition=named_queue_exists))
def shared_queue_cannot_become_transient_or_exclusive(broker: Broker) -> None:
    """A durable shared queue is confirmed when it is declared again unchanged, and refused otherwise.

    The queue stays as it was, with its message.
    """
    for other in ({"durable": False}, {"exclusive": True}):
        stays_as_declared(broker, {"durable": True}, other)


@scenario("0-9-1/queue.declare.passive.equivalent")
@broken_by(
    "compares only what is shared", changes(OTHERWISE, condition=both(exists_otherwise, queue_is_shared))
)
def exclusive_queue_cannot_become_shared(broker: Broker) -> None:
    """So is an exclusive queue, which the same connection declares again."""
    stays_as_declared(broker, {"exclusive": True}, {"exclusive": False})


@scenario("0-9-1/queue.declare.passive.equivalent")
@broken_by("lets a queue become durable", changes(OTHERWISE, condition=would_lose_something))
def transient_queue_cannot_become_durable(broker: Broker) -> None:
    """So is a transient shared queue, where the server takes such a queue."""
    probe = broker.channel(new_connection=True)
    if not probe.takes(Queue.Declare(broker.name("queue")), Queue.DeclareOk):
        broker.inapplicable("the server refuses queues that are neither durable nor exclusive")
    for other in ({"durable": True}, {"exclusive": True}):
        stays_as_declared(broker, {}, other)


@scenario("0-9-1/queue.declare.passive.equivalent")
def durable_may_mean_nothing_for_an_exclusive_queue(broker: Broker) -> None:
    """An exclusive queue declared again as durable: refused, or confirmed where durable means nothing."""
    channel, queue = broker.queue(exclusive=True)
    channel.send(Queue.Declare(queue, exclusive=True, durable=True))
    meaningless = "a queue that goes with its connection outlives no restart, durable or not"
    channel.expect(channel_closed(), answered(Queue.DeclareOk).recorded(meaningless))


def stays_as_declared(broker: Broker, first: dict[str, Any], other: dict[str, Any]) -> None:
    """Judge that a queue can be declared again as at first, not otherwise, and keeps its message."""
    channel, queue = broker.queue(b"kept", **first)
    again = Queue.Declare(queue).replace(**first)
    channel.tries(again, Queue.DeclareOk)
    close = channel.tries(again.replace(**other), channel_closed())
    broker.note(f"{first} declared again with {other}: {code(close.reply_code)}")
    channel = broker.channel()
    channel.tries(again, Queue.DeclareOk)
    channel.gets(queue, b"kept")


@scenario("0-9-1/queue.declare.passive.equivalent")
@broken_by("closes the connection for them", changes(OTHERWISE, answer=refuse(NOT_ALLOWED)))
def other_arguments_are_a_channel_exception_or_mean_nothing(broker: Broker) -> None:
    """Declared again with an argument more a queue is refused, or confirmed if the server knows none such.

    A server that takes no new queue with that argument either has not compared it with anything.
    """
    more = {"x-message-ttl": 60_000}
    probe = broker.channel(new_connection=True)
    if not probe.takes(Queue.Declare(broker.name("queue"), exclusive=True, arguments=more), Queue.DeclareOk):
        broker.inapplicable("it refuses the argument x-message-ttl for new queues too")
    channel, queue = broker.queue(exclusive=True)
    channel.send(Queue.Declare(queue, exclusive=True, arguments=more))
    channel.expect(
        channel_closed(),
        answered(Queue.DeclareOk).recorded(
            "what arguments mean, and so whether they differ, is the server's"
        ),
    )
