"""Alternate exchanges: where messages go that an exchange can route to no queue."""

from typing import Any

from harness.amqp0_9_1.broken.deviations import changes, drops, forwards, rejects, rewrites, swaps
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import channel_closed, message
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.rabbitmq.broken.routing.alternates import (
    by_policy_and_argument,
    by_the_policy,
    create_with_what_is_there,
    has_no_alternate,
    of_the_first,
    of_the_first_two,
    only_an_alternate_routes,
    only_of_type,
    only_where_nothing_is_bound,
    refuses_without_alternate,
    take_other_arguments,
    there_as_well,
    there_in_every_case,
    with_a_header_more,
)
from harness.amqp0_9_1.rabbitmq.broken.routing.exchanges import goes_no_further
from harness.amqp0_9_1.rabbitmq.routing.reaching import through_exchanges
from harness.amqp0_9_1.wire.vocabulary import (
    NOT_ALLOWED,
    NOT_FOUND,
    PRECONDITION_FAILED,
    Basic,
    Exchange,
)
from scenarios.amqp0_9_1.exchange.types import WAYS, known_types, publish
from scenarios.rabbitmq.joining import bound_queue, declares, joins
from scenarios.registry import broken_by, scenario

UNROUTABLE = "routing: mandatory and unroutable is returned"
OTHERWISE = "exchange.declare: refuses another durable or other arguments"
CREATES = "exchange.declare: creates it"


def instead(exchange: str) -> dict[str, str]:
    """Give the arguments of an exchange that has another one as its alternate."""
    return {"alternate-exchange": exchange}


def has_alternate(declare: Exchange.Declare) -> bool:
    return bool(declare.arguments)


def with_alternate(channel: AmqpChannel, kind: str = "direct") -> tuple[str, str]:
    """Declare an exchange with an alternate one; give the exchange, and the queue of the alternate one."""
    alternate = declares(channel, "fanout")
    return declares(channel, kind, arguments=instead(alternate)), bound_queue(channel, alternate)


@scenario("rabbitmq/ae.unroutable")
@broken_by("knows none", has_no_alternate())
@broken_by("refuses the argument", rejects(Exchange.Declare, PRECONDITION_FAILED, when=has_alternate))
@broken_by("looks whether anything is bound", only_where_nothing_is_bound())
@broken_by("has one for direct exchanges alone", only_of_type("direct"))
def what_cannot_be_routed_goes_to_the_alternate_exchange(broker: Broker) -> None:
    """From an exchange of each type, with nothing bound or nothing that matches, a message comes there."""
    for kind in known_types(broker):
        channel, way = broker.channel(), WAYS[kind]
        exchange, rest = with_alternate(channel, kind)
        way.publish(channel, exchange, b"nothing bound")
        channel.holds(rest, "nothing bound")
        if way.stays is None:
            continue
        queue = channel.declare_queue()
        channel.ask(way.bind(queue, exchange))
        publish(channel, exchange, way.stays, b"no match")
        if kind != "direct" or not channel.depth(queue):
            channel.holds(rest, "no match")


@scenario("rabbitmq/ae.routable")
@broken_by("sends everything there", swaps(reached=there_as_well))
def what_can_be_routed_does_not_go_there(broker: Broker) -> None:
    """From an exchange of each type what matches a queue comes to that queue alone."""
    for kind in known_types(broker):
        channel, way = broker.channel(), WAYS[kind]
        exchange, rest = with_alternate(channel, kind)
        queue = channel.declare_queue()
        channel.ask(way.bind(queue, exchange))
        way.publish(channel, exchange, b"routed")
        channel.holds(queue, "routed")
        channel.holds(rest)


@scenario("rabbitmq/ae.mandatory")
@broken_by("returns it, and routes it", changes(UNROUTABLE, condition=only_an_alternate_routes))
@broken_by("knows none", has_no_alternate())
def what_went_there_counts_as_routed(broker: Broker) -> None:
    """A message with mandatory that the alternate exchange alone can route is not returned."""
    channel = broker.channel()
    exchange, rest = with_alternate(channel)
    channel.publish("routed", exchange=exchange, key="key", mandatory=True)
    channel.stays_quiet()
    channel.holds(rest, "routed")


@scenario("rabbitmq/ae.chain")
@broken_by("goes one step only", swaps(reached=of_the_first))
@broken_by("goes two steps only", swaps(reached=of_the_first_two))
def alternate_exchanges_have_alternates(broker: Broker) -> None:
    """Of four exchanges each is the alternate of the one before: the first that can route a message does."""
    channel = broker.channel()
    last = declares(channel)
    third = declares(channel, arguments=instead(last))
    second = declares(channel, arguments=instead(third))
    first = declares(channel, arguments=instead(second))
    queues = {key: bound_queue(channel, each, key=key) for key, each in (("near", second), ("far", last))}
    for key in queues:
        channel.publish(key, exchange=first, key=key)
    channel.holds(queues["near"], "near")
    channel.holds(queues["far"], "far")


@scenario("rabbitmq/ae.chain-ends")
@broken_by("returns nothing", forwards(Basic.Publish, mandatory=False))
@broken_by("returns everything", forwards(Basic.Publish, mandatory=True))
@broken_by("ends the channel", changes(UNROUTABLE, answer=refuse(NOT_FOUND)))
def what_nobody_can_route_is_unroutable(broker: Broker) -> None:
    """What neither exchange can route goes nowhere; with mandatory set it is returned, once."""
    channel = broker.channel()
    alternate = declares(channel)
    exchange = declares(channel, arguments=instead(alternate))
    queue = bound_queue(channel, exchange, alternate, key="key")
    channel.publish(b"dropped", exchange=exchange, key="other")
    channel.publish(b"returned", exchange=exchange, key="other", mandatory=True)
    channel.expect(message(Basic.Return, b"returned", exchange=exchange))
    channel.stays_quiet()
    channel.holds(queue)


@scenario("rabbitmq/ae.cycle")
@broken_by("returns nothing", forwards(Basic.Publish, mandatory=False))
@broken_by("allows no alternate that is not there", rejects(Exchange.Declare, NOT_FOUND, when=has_alternate))
@broken_by("knows none", has_no_alternate())
@broken_by(
    "allows none of its own",
    rejects(Exchange.Declare, NOT_ALLOWED, lambda it: it.arguments == instead(it.exchange)),
)
def circle_of_alternates_ends(broker: Broker) -> None:
    """Of two exchanges each is the alternate of the other, a third is its own: what goes round is returned.

    What the second of the two can route is not.
    """
    channel = broker.channel()
    first, own = broker.name("exchange"), broker.name("exchange")
    second = declares(channel, arguments=instead(first))
    for exchange, alternate in ((first, second), (own, own)):
        declare = Exchange.Declare(exchange, "direct", arguments=instead(alternate))
        channel.tries(declare, Exchange.DeclareOk)
    for exchange in (first, own):
        channel.publish(b"returned", exchange=exchange, key="other", mandatory=True)
        channel.expect(message(Basic.Return, b"returned"))
        channel.stays_quiet()
    queue = bound_queue(channel, second, key="key")
    channel.publish("routed", exchange=first, key="key", mandatory=True)
    channel.stays_quiet()
    channel.holds(queue, "routed")


@scenario("rabbitmq/ae.missing")
@broken_by("wants it to be there", rejects(Exchange.Declare, NOT_FOUND, when=has_alternate))
@broken_by("looks for it once", changes(CREATES, create_with_what_is_there))
@broken_by("refuses what is published", refuses_without_alternate())
@broken_by("returns nothing", forwards(Basic.Publish, mandatory=False))
def without_its_alternate_an_exchange_cannot_route(broker: Broker) -> None:
    """A message is returned while the alternate exchange is missing, and comes there once it is declared."""
    channel = broker.channel()
    alternate = broker.name("exchange")
    exchange = declares(channel, arguments=instead(alternate))
    channel.publish(b"before", exchange=exchange, mandatory=True)
    channel.expect(message(Basic.Return, b"before"))
    channel.ask(Exchange.Declare(alternate, "fanout"))
    queue = bound_queue(channel, alternate)
    channel.publish(b"between", exchange=exchange, mandatory=True)
    channel.stays_quiet()
    channel.holds(queue, "between")
    channel.ask(Exchange.Delete(alternate))
    channel.publish(b"after", exchange=exchange, mandatory=True)
    channel.expect(message(Basic.Return, b"after"))
    channel.stays_quiet()


@scenario("rabbitmq/ae.unchanged")
@broken_by("tells the alternate exchange", rewrites(Basic.Deliver, exchange="amq.topic"))
@broken_by("tells another key", rewrites(Basic.Deliver, routing_key=""))
@broken_by("adds a header", with_a_header_more())
@broken_by("knows none", has_no_alternate())
def message_is_what_it_was(broker: Broker) -> None:
    """By way of an alternate exchange a message comes with its exchange, key, properties and body."""
    channel = broker.channel()
    alternate = declares(channel, "topic")
    exchange = declares(channel, arguments=instead(alternate))
    queue = bound_queue(channel, alternate, key="*.key")
    properties: dict[str, Any] = {
        "headers": {"colour": "red"},
        "correlation_id": "one",
        "content_type": "text/plain",
    }
    channel.publish("as it was", exchange=exchange, key="own.key", **properties)
    channel.publish("sentinel", key=queue)
    channel.consume(queue, no_ack=True)
    channel.expect_each(
        message(Basic.Deliver, b"as it was", carrying=properties, exchange=exchange, routing_key="own.key"),
        message(Basic.Deliver, b"sentinel"),
    )


@scenario("rabbitmq/ae.behind-a-binding")
@broken_by("heeds the first exchange alone", swaps(reached=of_the_first))
@broken_by("knows none", has_no_alternate())
@broken_by("goes no further", goes_no_further())
def exchange_behind_a_binding_has_its_alternate(broker: Broker) -> None:
    """What comes over a binding, and matches no queue there, goes to that exchange's alternate one."""
    channel = broker.channel()
    first = declares(channel, "fanout")
    second, rest = with_alternate(channel)
    queue = bound_queue(channel, second, key="key")
    joins(channel, first, second)
    channel.publish("matches", exchange=first, key="key")
    channel.publish("no match", exchange=first, key="other")
    channel.holds(queue, "matches")
    channel.holds(rest, "no match")


@scenario("rabbitmq/ae.no-queue-behind")
@broken_by("delivers it twice", swaps(reached=there_in_every_case))
@broken_by("refuses the argument", rejects(Exchange.Declare, PRECONDITION_FAILED, when=has_alternate))
def binding_to_an_exchange_without_queues_is_no_way(broker: Broker) -> None:
    """What goes to an exchange without queues goes to the alternate one of the exchange it came to first."""
    channel = broker.channel()
    exchange, rest = with_alternate(channel, "fanout")
    joins(channel, exchange, declares(channel, "fanout"))
    channel.publish(b"no queue", exchange=exchange)
    channel.publish(b"sentinel", key=rest)
    channel.consume(rest, no_ack=True)
    sentinel = message(Basic.Deliver, b"sentinel")
    passed_on = sentinel.under("the guide's first sentence asks for bindings that match: one does")
    came = channel.observe(message(Basic.Deliver, b"no queue"), passed_on)
    if not sentinel.matches(came):
        channel.expect(sentinel)


@scenario("rabbitmq/ae.argument-first", needs=["policies"])
@broken_by("goes by the policy", swaps(reached=through_exchanges(instead=by_the_policy)))
@broken_by("goes by both", swaps(reached=through_exchanges(instead=by_policy_and_argument)))
@broken_by("refuses the argument", rejects(Exchange.Declare, PRECONDITION_FAILED, when=has_alternate))
def argument_goes_before_the_policy(broker: Broker) -> None:
    """What goes to an exchange with a policy and an argument is behind the alternate one of the argument."""
    channel = broker.channel()
    exchange = broker.name("exchange", broker.facility("policies")["alternate-exchange"] + "{}")
    alternate = declares(channel, "fanout")
    channel.tries(Exchange.Declare(exchange, "fanout", arguments=instead(alternate)), Exchange.DeclareOk)
    queue, other = bound_queue(channel, alternate), bound_queue(channel, "amq.direct", key=exchange)
    channel.publish("unroutable", exchange=exchange, key=exchange)
    channel.holds(queue, "unroutable")
    channel.holds(other)


@scenario("rabbitmq/ae.declared-again")
@broken_by("compares no arguments", drops(OTHERWISE))
@broken_by("takes the other one", changes(OTHERWISE, take_other_arguments))
@broken_by("ends the connection", changes(OTHERWISE, answer=refuse(NOT_ALLOWED)))
@broken_by("refuses the same again", rejects(Exchange.Declare, PRECONDITION_FAILED, has_alternate, skip=1))
def exchange_keeps_its_alternate(broker: Broker) -> None:
    """Declared with another alternate exchange, or none, an exchange is refused by 406; it keeps its own."""
    channel = broker.channel()
    exchange, rest = with_alternate(channel)
    same = channel.declare_exchange()
    with_it = Exchange.Declare(exchange, "direct", arguments=instead(declares(channel)))
    for other in (
        with_it,
        Exchange.Declare(exchange, "direct"),
        Exchange.Declare(same, "direct", arguments=instead(exchange)),
    ):
        channel = broker.channel()
        channel.tries(other, channel_closed(PRECONDITION_FAILED), channel_closed().under("no code is named"))
    channel = broker.channel()
    channel.publish("as before", exchange=exchange)
    channel.holds(rest, "as before")
