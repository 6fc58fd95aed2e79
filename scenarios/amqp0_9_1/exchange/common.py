"""The class exchange: types, instances, the default exchange."""

from harness.amqp0_9_1.broken.deviations import answers, changes, drops, ignores, rejects, routes, swaps
from harness.amqp0_9_1.broken.entity_faults import routes_as
from harness.amqp0_9_1.broken.faults import forget_bindings, is_a_direct_one, lacks, matches_nothing
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel, AmqpConnection
from harness.amqp0_9_1.client.outcomes import EXCEPTION, answered, channel_closed, message
from harness.amqp0_9_1.peer.routing import direct, fanout
from harness.amqp0_9_1.peer.tables.exchange import declare_ok, delete_it
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    COMMAND_INVALID,
    NOT_FOUND,
    PRECONDITION_FAILED,
    Basic,
    Exchange,
    Queue,
)
from scenarios.amqp0_9_1.exchange.types import WAYS, Sent, known_types, publish
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


@scenario("0-9-1/exchange.required-types")
@broken_by("knows no fanout", rejects(Exchange.Declare, COMMAND_INVALID, when=lambda it: it.type == "fanout"))
@broken_by("knows direct by name only", routes(direct=matches_nothing))
def fanout_and_direct_exist(broker: Broker) -> None:
    """An exchange of each required type can be declared, and a message goes through it."""
    for kind in ("fanout", "direct"):
        carries_a_message(broker, kind)


@scenario("0-9-1/exchange.recommended-types")
@broken_by("knows no headers", rejects(Exchange.Declare, COMMAND_INVALID, lambda it: it.type == "headers"))
@broken_by("knows topic by name only", routes(topic=matches_nothing))
def topic_and_headers_exist(broker: Broker) -> None:
    """An exchange of each recommended type can be declared, and a message goes through it."""
    for kind in ("topic", "headers"):
        carries_a_message(broker, kind)


def carries_a_message(broker: Broker, kind: str) -> None:
    """Declare an exchange; what matches a binding by its type comes to the queue."""
    channel, way = broker.channel(), WAYS[kind]
    queue, exchange = channel.declare_queue(exclusive=True), broker.name("exchange")
    channel.tries(Exchange.Declare(exchange, kind), Exchange.DeclareOk)
    channel.ask(way.bind(queue, exchange))
    channel.consume(queue, no_ack=True)
    way.publish(channel, exchange, b"through")
    channel.expect(message(Basic.Deliver, b"through"))


BIND = "queue.bind: refuses an exchange that does not exist"


@scenario("0-9-1/exchange.required-instances")
@broken_by("has no amq.direct", changes(BIND, condition=lacks("amq.direct")))
@broken_by("has no amq.topic though it knows the type", changes(BIND, condition=lacks("amq.topic")))
@broken_by(
    "has them in one host only", changes(BIND, condition=lacks("amq.fanout", beyond_the_first_host=True))
)
@broken_by("does not bind to them", rejects(Queue.Bind, NOT_FOUND, when=lambda it: it.exchange[:4] == "amq."))
@broken_by("has a direct exchange called amq.fanout", swaps(queues_for=routes_as("amq.fanout", direct)))
@broken_by("has a fanout exchange called amq.direct", swaps(queues_for=routes_as("amq.direct", fanout)))
@broken_by("has a direct exchange called amq.topic", swaps(queues_for=routes_as("amq.topic", direct)))
@broken_by("has a fanout exchange called amq.headers", swaps(queues_for=routes_as("amq.headers", fanout)))
def every_virtual_host_has_an_instance_of_each_type(broker: Broker) -> None:
    """In each virtual host a queue can be bound to amq.fanout and amq.direct, and to those of other types.

    What comes through each is what comes through an exchange of its type that we have declared. A second
    virtual host is looked at where the target can make one.
    """
    hosts, types = [broker.connection()], known_types(broker)
    if "second-vhost" in broker.context.facilities:
        hosts.append(broker.connection(**broker.facility("second-vhost")))
    broker.note(f"{len(hosts)} virtual host(s)")
    for host in hosts:
        for kind in types:
            unless = "amq.match" if kind == "headers" else ""
            if not has_instance(broker, host, f"amq.{kind}", kind, unless):
                has_instance(broker, host, unless, kind)


def has_instance(broker: Broker, host: AmqpConnection, exchange: str, kind: str, unless: str = "") -> bool:
    """Judge that an exchange of this type has this name; it may be missing where another name is legal."""
    channel = host.channel().misses("exchange")
    queue, twin = channel.declare_queue(exclusive=True), channel.declare_queue(exclusive=True)
    key, arguments = f"{queue}.*", {"x-match": "all", "for": queue} if kind == "headers" else {}
    channel.send(Queue.Bind(queue, exchange, key, arguments=arguments))
    missing = channel_closed(NOT_FOUND).under(f"3.1.3.4 calls it {unless}")
    legal = [answered(Queue.BindOk), *([missing] if unless else [])]
    if not isinstance(channel.expect(*legal), Queue.BindOk):
        return False
    own = channel.declare_exchange(kind)
    channel.ask(Queue.Bind(twin, own, key, arguments=arguments))
    came, wanted = through(channel, exchange, queue, queue), through(channel, own, twin, queue)
    told = f"through {exchange} come the messages"
    broker.judge(f"{told} {wanted}", f"{told} {came}", came == wanted)
    # Where the host is not the one that is cleaned up behind us; nothing rests on the answer.
    channel.send(Exchange.Delete(own, no_wait=True))
    return True


def through(channel: AmqpChannel, exchange: str, queue: str, key: str) -> list[int]:
    """Say which of four messages come to the queue: by the key itself, a word, a header, nothing."""
    sent = Sent(f"{key}.*"), Sent(f"{key}.word"), Sent("another", {"for": key}), Sent("another")
    for number, each in enumerate(sent):
        publish(channel, exchange, each, f"{queue} {number}".encode())
    # What others publish to it meanwhile may come as well.
    ours = f"{queue} ".encode()
    return [int(body.removeprefix(ours)) for body in channel.drain(queue) if body.startswith(ours)]


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
OTHERWISE = "exchange.declare: refuses another durable or other arguments"


@scenario("0-9-1/exchange.default-access")
@broken_by(
    "lets it be declared with another type",
    drops(f"exchange.declare: {BLANK}", "exchange.declare: refuses another type", OTHERWISE),
)
@broken_by(
    "lets it be deleted", drops(f"exchange.delete: {BLANK}", "exchange.delete: refuses a pre-declared one")
)
@broken_by("refuses, and deletes it", changes(f"exchange.delete: {BLANK}", delete_it))
@broken_by(
    "confirms whatever is declared",
    answers(Exchange.Declare, Exchange.DeclareOk(), when=lambda it: it.exchange == ""),
)
@broken_by(
    "declares it anew",
    changes(f"exchange.declare: {BLANK}", forget_bindings, condition=is_a_direct_one, answer=declare_ok),
)
def default_exchange_cannot_be_declared_or_deleted(broker: Broker) -> None:
    """Declare, passive or not, and Delete of the blank name are refused; then it still carries a message.

    For Declare 406 is as good as 403: `syntax` of exchange.declare names it for a blank name. Declare-Ok that
    only says that what is there matches has no effect; for another type it would be one.
    """
    channel = broker.channel()
    named = channel.declare_exchange("direct")
    channel.ask(Exchange.Declare(named, "direct", passive=True))
    channel.ask(Exchange.Delete(named))
    queue = channel.declare_queue()
    refused_by_name = channel_closed(ACCESS_REFUSED, PRECONDITION_FAILED)
    any_other = EXCEPTION.under("the rule names no code: every exception obeys it")
    matches = answered(Exchange.DeclareOk).under("passive.equivalent: what matches is confirmed, no more")
    for access, legal in (
        (Exchange.Declare("", "direct"), [refused_by_name, any_other, matches]),
        (Exchange.Declare("", "direct", durable=True), [refused_by_name, any_other, matches]),
        (Exchange.Declare("", "direct", passive=True), [refused_by_name, any_other, matches]),
        (Exchange.Declare("", "fanout"), [refused_by_name, any_other]),
        (Exchange.Delete(""), [channel_closed(ACCESS_REFUSED), any_other]),
    ):
        channel = broker.channel()
        channel.tries(access, *legal)
    channel = broker.channel().consuming(queue, no_ack=True)
    channel.hears(b"still there", key=queue)


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
        there = isinstance(channel.expect(EXCEPTION, offered), Exchange.DeclareOk)
        broker.note(f"the exchange type {kind} {'exists' if there else 'is refused'}")
