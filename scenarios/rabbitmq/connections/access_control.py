"""Permissions: what a user without any may not do."""

from collections.abc import Callable
from typing import Any

from harness.amqp0_9_1.broken.deviations import Fault, changes, drops
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpConnection
from harness.amqp0_9_1.client.outcomes import refused
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.rabbitmq.connections.permissions import may_do_nothing
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import ACCESS_REFUSED, NOT_ALLOWED, Basic, Channel, Exchange, Queue
from scenarios.registry import broken_by, scenario

LOOK = "access: refuses to look"
CONFIGURE = "access: refuses to configure"
BIND = "access: refuses to bind"
WRITE = "access: refuses to write"
READ = "access: refuses to read"
REFUSED = refused(ACCESS_REFUSED)
NEEDS = frozenset({"powerless-user"})


def powerless(broker: Broker) -> AmqpConnection:
    """Give a connection of a user without permissions."""
    return broker.connection(**broker.facility("powerless-user"))


def judged_refused(broker: Broker, *methods: Method) -> None:
    """Judge that a user without permissions is refused each of these methods."""
    connection = powerless(broker)
    for method in methods:
        connection = connection if connection.usable else powerless(broker)
        connection.channel().refuses(method, *REFUSED)


def lets(row: str, *allowed: type[Method], when: Callable[[Any], bool] = lambda _: True) -> Fault:
    """Lets a user do all the same what these methods do."""
    return changes(
        row,
        condition=lambda turn: (
            may_do_nothing(turn) and not (isinstance(turn.event, allowed) and when(turn.event))
        ),
    )


@scenario("rabbitmq/access-control.configuring", needs=NEEDS, slow=True)
@broken_by("lets queues be declared", lets(CONFIGURE, Queue.Declare, when=lambda sent: bool(sent.queue)))
@broken_by(
    "lets queues without a name be declared", lets(CONFIGURE, Queue.Declare, when=lambda it: not it.queue)
)
@broken_by("lets queues be deleted", lets(CONFIGURE, Queue.Delete))
@broken_by("lets exchanges be declared", lets(CONFIGURE, Exchange.Declare))
@broken_by("lets exchanges be deleted", lets(CONFIGURE, Exchange.Delete))
@broken_by("refuses with another code", changes(CONFIGURE, answer=refuse(NOT_ALLOWED)))
def powerless_user_configures_nothing(broker: Broker) -> None:
    """A user without permissions can neither declare nor delete a queue or an exchange."""
    channel, queue = broker.queue()
    exchange = channel.declare_exchange()
    judged_refused(
        broker,
        Queue.Declare(broker.name("queue")),
        Queue.Declare(),
        Exchange.Declare(broker.name("exchange"), "direct"),
        Queue.Delete(queue),
        Exchange.Delete(exchange),
    )
    channel.tries(Queue.Declare(queue, passive=True), Queue.DeclareOk)
    channel.tries(Exchange.Declare(exchange, "direct", passive=True), Exchange.DeclareOk)


@scenario("rabbitmq/access-control.writing", needs=NEEDS, slow=True)
@broken_by("lets it publish", drops(WRITE))
@broken_by("lets it publish to queues", lets(WRITE, Basic.Publish, when=lambda sent: not sent.exchange))
def powerless_user_publishes_nothing(broker: Broker) -> None:
    """A user without permissions can publish neither to an exchange nor to a queue."""
    channel, queue = broker.queue()
    exchange = channel.declare_exchange("fanout")
    channel.bind(queue, exchange)
    connection = powerless(broker)
    for publish in (Basic.Publish(exchange), Basic.Publish("", queue)):
        connection = connection if connection.usable else powerless(broker)
        weak = connection.channel()
        weak.publish(b"unwanted", exchange=publish.exchange, key=publish.routing_key)
        if isinstance(weak.expect(*REFUSED), Channel.Close):
            weak.tries(Channel.Open(), Channel.OpenOk)
    channel.tries(Basic.Get(queue), Basic.GetEmpty)


@scenario("rabbitmq/access-control.reading", needs=NEEDS, slow=True)
@broken_by("lets it get", lets(READ, Basic.Get))
@broken_by("lets it consume", lets(READ, Basic.Consume))
@broken_by("lets it purge", lets(READ, Queue.Purge))
def powerless_user_reads_nothing(broker: Broker) -> None:
    """A user without permissions can neither get, consume nor purge messages."""
    channel, queue = broker.queue(b"kept")
    channel.depth(queue)
    judged_refused(broker, Basic.Get(queue), Basic.Consume(queue), Queue.Purge(queue))
    channel.gets(queue, b"kept")


@scenario("rabbitmq/access-control.binding", needs=NEEDS, slow=True)
@broken_by("lets queues be bound", lets(BIND, Queue.Bind))
@broken_by("lets queues be unbound", lets(BIND, Queue.Unbind))
@broken_by("lets exchanges be bound", lets(BIND, Exchange.Bind))
@broken_by("lets exchanges be unbound", lets(BIND, Exchange.Unbind))
def powerless_user_binds_nothing(broker: Broker) -> None:
    """A user without permissions can bind and unbind neither queues nor exchanges."""
    channel, queue = broker.queue()
    exchange, other = channel.declare_exchange(), channel.declare_exchange()
    channel.bind(queue, exchange, "key")
    judged_refused(
        broker,
        Queue.Bind(queue, exchange, "another key"),
        Queue.Unbind(queue, exchange, "key"),
        Exchange.Bind(other, exchange, "key"),
        Exchange.Unbind(other, exchange, "key"),
    )
    channel.publish(b"not bound", exchange=exchange, key="another key")
    channel.publish(b"bound", exchange=exchange, key="key")
    channel.depth(queue)
    channel.gets(queue, b"bound")


@scenario("rabbitmq/access-control.looking", needs=NEEDS, slow=True)
@broken_by("lets it look", drops(LOOK))
@broken_by("lets it look for queues", lets(LOOK, Queue.Declare))
@broken_by("lets it look for exchanges", lets(LOOK, Exchange.Declare))
def powerless_user_sees_nothing(broker: Broker) -> None:
    """A user without permissions is not told whether a queue or an exchange is there."""
    channel, queue = broker.queue()
    exchange = channel.declare_exchange()
    judged_refused(
        broker,
        Queue.Declare(queue, passive=True),
        Exchange.Declare(exchange, "direct", passive=True),
    )
