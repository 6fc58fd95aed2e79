"""The class exchange: types, instances, the default exchange."""

from __future__ import annotations

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.connection import AmqpConnection
from harness.amqp0_9_1.deviations import answers, changes, drops, ignores, rejects, routes
from harness.amqp0_9_1.faults import lacks, matches_nothing
from harness.amqp0_9_1.outcomes import answered, channel_closed, connection_closed, message
from harness.amqp0_9_1.peer.exchange_table import delete_it
from harness.amqp0_9_1.peer.routing import fanout
from harness.amqp0_9_1.vocabulary import (
    ACCESS_REFUSED,
    COMMAND_INVALID,
    NOT_FOUND,
    PRECONDITION_FAILED,
    Basic,
    Exchange,
    Queue,
)
from scenarios.registry import broken_by, scenario

EXTENSIONS = (
    "system",
    "x-consistent-hash",
    "x-delayed-message",
    "x-modulus-hash",
    "x-random",
    "x-recent-history",
)
"""The type of the prose's 3.1.3.5, and others that brokers are known to offer."""

NAMED = {"headers": {"x-match": "all", "colour": "red"}}
"""What a binding needs besides its key, by type of exchange."""

REFUSED = channel_closed() | connection_closed()


@scenario("0-9-1/exchange.required-types")
@broken_by("knows no fanout", rejects(Exchange.Declare, COMMAND_INVALID, when=lambda it: it.type == "fanout"))
@broken_by("knows direct by name only", routes(direct=matches_nothing))
def fanout_and_direct_exist(broker: Broker) -> None:
    """An exchange of each required type can be declared, and a message goes through it."""
    for kind in ("fanout", "direct"):
        carries_a_message(broker, kind)


@scenario("0-9-1/exchange.recommended-types")
@broken_by(
    "knows no headers", rejects(Exchange.Declare, COMMAND_INVALID, when=lambda it: it.type == "headers")
)
@broken_by("knows topic by name only", routes(topic=matches_nothing))
def topic_and_headers_exist(broker: Broker) -> None:
    """An exchange of each recommended type can be declared, and a message goes through it."""
    for kind in ("topic", "headers"):
        carries_a_message(broker, kind)


def carries_a_message(broker: Broker, kind: str) -> None:
    """Declare an exchange; what matches a binding by any of the four types comes to the queue."""
    channel = broker.channel()
    queue, exchange = channel.declare_queue(exclusive=True), broker.name("exchange")
    channel.send(Exchange.Declare(exchange, kind))
    channel.expect(Exchange.DeclareOk)
    channel.ask(Queue.Bind(queue, exchange, "key", arguments=NAMED.get(kind, {})))
    channel.consume(queue, no_ack=True)
    channel.publish(b"through", exchange=exchange, key="key", headers={"colour": "red"})
    channel.expect(message(Basic.Deliver, b"through"))


BIND = "queue.bind: refuses an exchange that does not exist"


@scenario("0-9-1/exchange.required-instances")
@broken_by("has no amq.direct", changes(BIND, condition=lacks("amq.direct")))
@broken_by("has no amq.topic though it knows the type", changes(BIND, condition=lacks("amq.topic")))
@broken_by(
    "has them in one host only", changes(BIND, condition=lacks("amq.fanout", beyond_the_first_host=True))
)
@broken_by("does not bind to them", rejects(Queue.Bind, NOT_FOUND, when=lambda it: it.exchange[:4] == "amq."))
def every_virtual_host_has_an_instance_of_each_type(broker: Broker) -> None:
    """In each virtual host a queue can be bound to amq.fanout and amq.direct, and to those of other types.

    A second virtual host is looked at where the target can make one.
    """
    hosts = [broker.connection()]
    if "second-vhost" in broker.context.facilities:
        hosts.append(broker.connection(**broker.facility("second-vhost")))
    broker.note(f"{len(hosts)} virtual host(s)")
    for host in hosts:
        has_instance(host, "amq.fanout")
        has_instance(host, "amq.direct")
        if knows(broker, "topic"):
            has_instance(host, "amq.topic")
        if knows(broker, "headers") and not has_instance(host, "amq.headers", unless="amq.match"):
            has_instance(host, "amq.match")


def knows(broker: Broker, kind: str) -> bool:
    """Whether the server implements a type of exchange."""
    channel = broker.channel(new_connection=True)
    channel.send(Exchange.Declare(broker.name("exchange"), kind))
    return isinstance(channel.expect(answered(Exchange.DeclareOk) | REFUSED), Exchange.DeclareOk)


def has_instance(host: AmqpConnection, exchange: str, unless: str = "") -> bool:
    """Bind a temporary queue to the exchange; it may be missing where another name is legal too."""
    channel = host.channel()
    channel.misses("exchange")
    queue = channel.declare_queue(exclusive=True)
    channel.send(Queue.Bind(queue, exchange, queue, arguments=NAMED["headers"] if unless else {}))
    missing = channel_closed(NOT_FOUND).under(f"3.1.3.4 calls it {unless}")
    legal = [answered(Queue.BindOk), *([missing] if unless else [])]
    return isinstance(channel.expect(*legal), Queue.BindOk)


@scenario("0-9-1/exchange.default-exchange")
@broken_by("has none", ignores(Basic.Publish, when=lambda publish: publish.exchange == ""))
@broken_by("looks at no key", routes(direct=fanout))
def queue_is_reached_by_its_name(broker: Broker) -> None:
    """What is published with a blank exchange comes to the queue that has the routing key for its name.

    To no other: the default exchange is a direct one.
    """
    channel = broker.channel()
    queue, other = channel.declare_queue(), channel.declare_queue()
    channel.publish(b"for another", key=other)
    channel.publish(b"by its name", key=queue)
    channel.consume(queue, no_ack=True)
    channel.expect(message(Basic.Deliver, b"by its name", exchange="", routing_key=queue))


BLANK = "refuses the default exchange"


@scenario("0-9-1/exchange.default-access")
@broken_by("confirms that it exists", drops(f"exchange.declare: {BLANK}"))
@broken_by(
    "lets it be deleted", drops(f"exchange.delete: {BLANK}", "exchange.delete: refuses a pre-declared one")
)
@broken_by("refuses, and deletes it", changes(f"exchange.delete: {BLANK}", effects=(delete_it,)))
@broken_by(
    "declares it again", answers(Exchange.Declare, Exchange.DeclareOk(), when=lambda it: it.exchange == "")
)
def default_exchange_cannot_be_declared_or_deleted(broker: Broker) -> None:
    """Declare, passive or not, and Delete of the blank name are refused; then it still carries a message.

    For Declare 406 is as good as 403: `syntax` of exchange.declare names it for a blank name.
    """
    channel = broker.channel()
    named = channel.declare_exchange("direct")
    channel.ask(Exchange.Declare(named, "direct", passive=True))
    channel.ask(Exchange.Delete(named))
    queue = channel.declare_queue()
    refused_by_name = channel_closed(ACCESS_REFUSED, PRECONDITION_FAILED)
    any_other = REFUSED.under("the rule names no code: every exception obeys it")
    for access, preferred in (
        (Exchange.Declare("", "direct"), refused_by_name),
        (Exchange.Declare("", "direct", passive=True), refused_by_name),
        (Exchange.Delete(""), channel_closed(ACCESS_REFUSED)),
    ):
        channel = broker.channel()
        channel.send(access)
        channel.expect(preferred, any_other)
    channel = broker.channel()
    channel.consume(queue, no_ack=True)
    channel.publish(b"still there", key=queue)
    channel.expect(message(Basic.Deliver, b"still there"))


@scenario("0-9-1/exchange.extensions")
@broken_by(
    "offers x-random", answers(Exchange.Declare, Exchange.DeclareOk(), when=lambda it: it.type == "x-random")
)
@broken_by("takes any type", drops("exchange.declare: refuses a type that is not supported"))
def other_types_are_recorded(broker: Broker) -> None:
    """Which types beyond the document's four can be declared; the document wants none."""
    for kind in EXTENSIONS:
        channel = broker.channel()
        channel.send(Exchange.Declare(broker.name("exchange"), kind))
        offered = answered(Exchange.DeclareOk).recorded()
        if isinstance(channel.expect(REFUSED, offered), Exchange.DeclareOk):
            broker.note(f"the exchange type {kind} exists")
