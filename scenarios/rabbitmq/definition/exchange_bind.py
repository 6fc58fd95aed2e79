"""exchange.bind: exchanges bound to exchanges, twice, in circles, and to what is not there."""

from harness.amqp0_9_1.broken.deviations import Fault, answers, changes, drops, rejects, swaps
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import (
    EXCEPTION,
    answered,
    channel_closed,
    connection_closed,
    message,
    refused,
)
from harness.amqp0_9_1.rabbitmq.broken.routing.exchanges import (
    bind_once,
    goes_no_further,
    goes_one_step,
    once_per_way,
)
from harness.amqp0_9_1.rabbitmq.routing.exchanges import bind_exchange, unbind_exchange
from harness.amqp0_9_1.wire.vocabulary import (
    NOT_ALLOWED,
    NOT_FOUND,
    PRECONDITION_FAILED,
    Basic,
    Exchange,
)
from scenarios.amqp0_9_1.exchange.types import WAYS, known_types
from scenarios.amqp0_9_1.queue.unbind import BUT_NOT_FOUND
from scenarios.rabbitmq.joining import bound_queue, declares, joins
from scenarios.registry import broken_by, scenario

AGAIN = "exchange.bind: confirms the same again"
BINDS = "exchange.bind: binds"
NO_SOURCE = "exchange.bind: refuses a source that does not exist"
NO_DESTINATION = "exchange.bind: refuses a destination that does not exist"
CODE = EXCEPTION.under("only the on-failure names a code; MUST is the effect")
KEPT_OUT = (channel_closed(*BUT_NOT_FOUND) | connection_closed(*BUT_NOT_FOUND)).under(
    "exchange.default-access names only Queue.Bind and Publish, and no code"
)
"""How the default exchange is kept out of the bindings of exchanges."""


@scenario("rabbitmq/exchange.bind.duplicates")
@broken_by("takes it for an error", rejects(Exchange.Bind, PRECONDITION_FAILED, skip=1))
@broken_by("delivers once for each", Fault.together(drops(AGAIN), swaps(reached=once_per_way)))
@broken_by("does not answer", changes(AGAIN, answer=None))
@broken_by("takes the binding off", changes(AGAIN, unbind_exchange))
def same_bind_twice_is_no_error(broker: Broker) -> None:
    """An identical Bind is confirmed again; a message comes once, and after one Unbind not at all."""
    for kind in known_types(broker):
        channel, way = broker.channel(), WAYS[kind]
        source, destination = declares(channel, kind), declares(channel, "fanout")
        queue = bound_queue(channel, destination)
        for _ in range(2):
            joins(channel, source, destination, way.key, way.arguments)
        way.publish(channel, source, b"bound")
        channel.holds(queue, "bound")
        channel.tries(
            Exchange.Unbind(destination, source, way.key, arguments=dict(way.arguments)), Exchange.UnbindOk
        )
        way.publish(channel, source, b"unbound")
        channel.publish(b"sentinel", key=queue)
        channel.consume(queue, no_ack=True)
        counted = message(Basic.Deliver, b"unbound").under(
            "allowed, not ignored: each Bind wants its own Unbind"
        )
        channel.expect(message(Basic.Deliver, b"sentinel"), counted)


@scenario("rabbitmq/exchange.bind.cyclical")
@broken_by("refuses what closes a circle", rejects(Exchange.Bind, NOT_ALLOWED, skip=2))
@broken_by("goes one step only", swaps(reached=goes_one_step))
@broken_by("goes no further", goes_no_further())
@broken_by("leaves out what closes a circle", answers(Exchange.Bind, Exchange.BindOk(), skip=2))
def exchanges_are_bound_in_a_circle(broker: Broker) -> None:
    """Three exchanges bound in a circle: a message published to any of them comes once to each queue."""
    channel = broker.channel()
    circle = [declares(channel, "fanout") for _ in range(3)]
    for source, destination in zip(circle, [*circle[1:], circle[0]], strict=True):
        joins(channel, source, destination)
    queues = [bound_queue(channel, each) for each in circle]
    for exchange in circle:
        channel.publish("round", exchange=exchange)
        for queue in queues:
            channel.holds(queue, "round")


@scenario("rabbitmq/exchange.bind.cyclical")
@broken_by(
    "refuses it", rejects(Exchange.Bind, NOT_ALLOWED, when=lambda bind: bind.source == bind.destination)
)
@broken_by("does not answer", answers(Exchange.Bind, Exchange.UnbindOk()))
def exchange_is_bound_to_itself(broker: Broker) -> None:
    """An exchange bound to itself, as by the same key the queue is: a message comes once to the queue."""
    channel = broker.channel()
    exchange = declares(channel, "topic")
    queue = bound_queue(channel, exchange, key="#")
    joins(channel, exchange, exchange, "#")
    channel.publish("round", exchange=exchange, key="any")
    channel.holds(queue, "round")


@scenario("rabbitmq/exchange.bind.unique")
@broken_by("delivers once per way", swaps(reached=once_per_way))
@broken_by("knows one binding of two exchanges", changes(BINDS, bind_once))
@broken_by("goes no further", goes_no_further())
def exchange_gets_a_message_once_by_two_bindings(broker: Broker) -> None:
    """Two patterns lead to one exchange: what matches both, or one of them, comes once."""
    channel = broker.channel()
    source, destination = declares(channel, "topic"), declares(channel, "fanout")
    queue = bound_queue(channel, destination)
    for pattern in ("stock.#", "*.nyse"):
        joins(channel, source, destination, pattern)
    channel.publish("both", exchange=source, key="stock.nyse")
    channel.publish("first", exchange=source, key="stock.usd.nyse")
    channel.publish("second", exchange=source, key="bond.nyse")
    channel.holds(queue, "both", "first", "second")


@scenario("rabbitmq/exchange.bind.unique")
@broken_by("delivers once per way of two steps", swaps(reached=once_per_way))
@broken_by("goes one step only", swaps(reached=goes_one_step))
def exchange_gets_a_message_once_where_ways_meet(broker: Broker) -> None:
    """Two ways of two steps meet at one exchange, and two others lead to each other: a message comes once."""
    channel = broker.channel()
    first, left, right, last = (declares(channel, kind) for kind in ("topic", "fanout", "topic", "fanout"))
    queues = [bound_queue(channel, each, key="#") for each in (first, left, right, last)]
    for source, destination in ((first, left), (first, right), (left, last), (right, last)):
        joins(channel, source, destination, "#")
    joins(channel, left, right, "#")
    joins(channel, right, left, "#")
    channel.publish("once", exchange=first, key="any")
    for queue in queues:
        channel.holds(queue, "once")


@scenario("rabbitmq/exchange.bind.destination.exchange-existence")
@broken_by("looks for no destination", drops(NO_DESTINATION))
@broken_by("refuses, and binds all the same", changes(NO_DESTINATION, bind_exchange))
@broken_by("confirms whatever comes second", answers(Exchange.Bind, Exchange.BindOk(), skip=1))
def binding_a_missing_destination_is_not_found(broker: Broker) -> None:
    """An exchange that exists can be bound; one that does not is refused with 404, and later is not bound."""
    channel = broker.channel()
    source, missing = declares(channel, "fanout"), broker.name("exchange")
    joins(channel, source, declares(channel))
    channel.tries(Exchange.Bind(missing, source), *refused(NOT_FOUND), CODE)
    nothing_leads(broker, source, missing)


@scenario("rabbitmq/exchange.bind.source.exchange-existence")
@broken_by("looks for no source", drops(NO_SOURCE))
@broken_by("refuses, and binds all the same", changes(NO_SOURCE, bind_exchange))
@broken_by("confirms whatever comes second", answers(Exchange.Bind, Exchange.BindOk(), skip=1))
def binding_to_a_missing_source_is_not_found(broker: Broker) -> None:
    """An exchange is bound to one that exists; to one that does not it is refused with 404, later too."""
    channel = broker.channel()
    destination, missing = declares(channel, "fanout"), broker.name("exchange")
    joins(channel, declares(channel), destination)
    channel.tries(Exchange.Bind(destination, missing), *refused(NOT_FOUND), CODE)
    nothing_leads(broker, missing, destination)


def nothing_leads(broker: Broker, source: str, destination: str) -> None:
    """Judge that a source leads to no destination, once both are there."""
    channel = broker.channel()
    for exchange in (source, destination):
        channel.tries(Exchange.Declare(exchange, "fanout"), Exchange.DeclareOk)
    queue = bound_queue(channel, destination)
    channel.publish("bound", exchange=source)
    channel.holds(queue)


@scenario("rabbitmq/exchange.bind.destination.default-exchange")
@broken_by("takes the blank name for none", rejects(Exchange.Bind, NOT_FOUND, lambda it: not it.destination))
@broken_by("confirms and does nothing", answers(Exchange.Bind, Exchange.BindOk()))
@broken_by("forgets to bind", changes(BINDS, effects=()))
def blank_destination_is_the_default_exchange(broker: Broker) -> None:
    """The default exchange is bound to another one: what has a queue's name as key comes to it."""
    channel = broker.channel()
    source, queue = declares(channel), channel.declare_queue()
    bind = Exchange.Bind("", source, queue)
    if isinstance(channel.tries(bind, answered(Exchange.BindOk), KEPT_OUT), Exchange.BindOk):
        channel.publish("bound", exchange=source, key=queue)
        channel.holds(queue, "bound")


@scenario("rabbitmq/exchange.bind.source.default-exchange")
@broken_by("takes the blank name for none", rejects(Exchange.Bind, NOT_FOUND, lambda it: not it.source))
@broken_by("confirms and does nothing", answers(Exchange.Bind, Exchange.BindOk()))
@broken_by("forgets to bind", changes(BINDS, effects=()))
def blank_source_is_the_default_exchange(broker: Broker) -> None:
    """An exchange is bound to the default one by a key: what is published there with the key comes to it."""
    channel = broker.channel()
    destination = declares(channel, "fanout")
    queue = bound_queue(channel, destination)
    key = f"{queue}.own"
    bind = Exchange.Bind(destination, "", key)
    if isinstance(channel.tries(bind, answered(Exchange.BindOk), KEPT_OUT), Exchange.BindOk):
        channel.publish("bound", key=key)
        channel.holds(queue, "bound")
