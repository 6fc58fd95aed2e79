"""Exchanges bound to exchanges: where messages go then, and what becomes of the bindings."""

from collections.abc import Iterator

from harness.amqp0_9_1.broken.deviations import (
    answers,
    changes,
    drops,
    forwards,
    rewrites,
    routes,
    swaps,
)
from harness.amqp0_9_1.broken.entity_faults import forget_arguments
from harness.amqp0_9_1.broken.faults import matches_nothing
from harness.amqp0_9_1.broken.restart_faults import brings_back
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import message
from harness.amqp0_9_1.rabbitmq.broken.routing.exchanges import (
    bind_once,
    bind_the_other_way,
    bind_without_arguments,
    bind_without_key,
    binding_of_exchanges_again,
    delete_what_it_led_to,
    goes_no_further,
    goes_on_by_the_key_of_the_binding,
    goes_on_whatever_matches,
    goes_one_step,
    goes_to_exchanges_or_queues,
    goes_to_one,
    has_auto_delete,
    joins_no_exchange_called,
    keep_its_bindings,
    leads_to_an_exchange,
    once_per_way,
    queue_once_per_exchange,
    unbind_and_delete_the_destination,
)
from harness.amqp0_9_1.wire.vocabulary import Basic, Exchange, Queue
from harness.play.context import RESTART, Restart
from scenarios.amqp0_9_1.exchange.types import WAYS, Sent, Way, known_types, publish
from scenarios.rabbitmq.joining import bound_queue, declares, goes, is_there, joins
from scenarios.registry import broken_by, scenario

BINDS = "exchange.bind: binds"
UNBINDS = "exchange.unbind: unbinds"
KEPT = "restart: keeps bindings between durable exchanges"
COLOURS = {"colour": "red", "size": "small"}


@scenario("rabbitmq/e2e.by-key")
@broken_by("passes whatever comes", goes_on_whatever_matches())
@broken_by("goes no further", goes_no_further())
@broken_by("forgets the key", changes(BINDS, bind_without_key))
def binding_of_exchanges_passes_what_that_of_a_queue_passes(broker: Broker) -> None:
    """What comes over a binding to an exchange is what comes to a queue that is bound in the same way."""
    for kind in ("direct", "fanout", "topic"):
        if kind not in known_types(broker):
            continue
        channel, way = broker.channel(), WAYS[kind]
        source, destination = declares(channel, kind), declares(channel, "fanout")
        queue, twin = bound_queue(channel, destination), channel.declare_queue()
        channel.ask(way.bind(twin, source))
        joins(channel, source, destination, way.key)
        way.publish(channel, source, b"matches")
        if way.stays is not None:
            publish(channel, source, way.stays, b"does not")
        wanted, came = channel.drain(twin), channel.drain(queue)
        told = f"over a {kind} exchange come the messages"
        broker.judge(f"{told} {wanted}", f"{told} {came}", wanted == came and b"matches" in came)


@scenario("rabbitmq/e2e.by-headers")
@broken_by("looks at no headers", goes_on_whatever_matches())
@broken_by("forgets the arguments", changes(BINDS, bind_without_arguments))
@broken_by("matches nothing", routes(headers=matches_nothing))
def arguments_select_by_headers(broker: Broker) -> None:
    """With x-match all both headers lead to the first exchange, with any one of them leads to the second."""
    if "headers" not in known_types(broker):
        broker.inapplicable("the server has no headers exchanges")
    channel = broker.channel()
    source, by_all, by_any = (declares(channel, kind) for kind in ("headers", "fanout", "fanout"))
    joins(channel, source, by_all, arguments={"x-match": "all", **COLOURS})
    joins(channel, source, by_any, arguments={"x-match": "any", **COLOURS})
    first, second = bound_queue(channel, by_all), bound_queue(channel, by_any)
    channel.publish("both", exchange=source, headers=COLOURS)
    channel.publish("one", exchange=source, headers={"colour": "red", "size": "large"})
    channel.publish("none", exchange=source, headers={"colour": "blue"})
    channel.holds(first, "both")
    channel.holds(second, "both", "one")


@scenario("rabbitmq/e2e.direction")
@broken_by("binds the other way round", changes(BINDS, bind_the_other_way))
@broken_by("takes destination for source", forwards(Exchange.Bind, destination="amq.fanout"))
@broken_by("goes no further", goes_no_further())
@broken_by("prefers queues", goes_to_exchanges_or_queues())
def binding_leads_from_source_to_destination(broker: Broker) -> None:
    """What is published to the destination comes to its queue alone, what comes to the source to both."""
    channel = broker.channel()
    source, destination = declares(channel, "fanout"), declares(channel, "fanout")
    joins(channel, source, destination)
    before, behind = bound_queue(channel, source), bound_queue(channel, destination)
    channel.publish("against", exchange=destination)
    channel.publish("along", exchange=source)
    channel.holds(before, "along")
    channel.holds(behind, "against", "along")


@scenario("rabbitmq/e2e.several-bindings")
@broken_by("has the last one only", changes(BINDS, bind_once))
@broken_by("keeps the first one only", answers(Exchange.Bind, Exchange.BindOk(), skip=1))
@broken_by("takes one with other arguments for the same", changes(BINDS, bind_without_arguments))
def two_exchanges_have_several_bindings(broker: Broker) -> None:
    """By two keys, or two tables of arguments, one exchange is bound to another: each of them leads there."""
    by_type = {
        "direct": [Way(each, Sent(each)) for each in ("one", "two")],
        "headers": [
            Way("", Sent(headers={each: COLOURS[each]}), None, {each: COLOURS[each]}) for each in COLOURS
        ],
    }
    for kind in [each for each in by_type if each in known_types(broker)]:
        channel = broker.channel()
        source, destination = declares(channel, kind), declares(channel, "fanout")
        queue = bound_queue(channel, destination)
        for way in by_type[kind]:
            joins(channel, source, destination, way.key, way.arguments)
        for way in by_type[kind]:
            way.publish(channel, source, b"matches")
        channel.publish("does not", exchange=source, key="three", headers={"colour": "blue"})
        channel.holds(queue, "matches", "matches")


@scenario("rabbitmq/e2e.one-copy")
@broken_by("delivers one copy for each exchange", queue_once_per_exchange())
@broken_by("delivers one copy for each way", swaps(reached=once_per_way))
@broken_by("goes to one exchange only", swaps(reached=goes_to_one))
@broken_by("goes no further than one step", swaps(reached=goes_one_step))
def queue_gets_one_copy_over_any_topology(broker: Broker) -> None:
    """Two ways lead from one exchange to another: a queue bound to all on them gets a message once."""
    channel = broker.channel()
    first, second, third, last = (declares(channel, "fanout") for _ in range(4))
    for source, destination in ((first, second), (first, third), (second, last), (third, last)):
        joins(channel, source, destination)
    queues = [
        bound_queue(channel, first, second, third, last),
        *(bound_queue(channel, one) for one in (third, last)),
    ]
    channel.publish("once", exchange=first)
    for queue in queues:
        channel.holds(queue, "once")


@scenario("rabbitmq/e2e.cycles")
@broken_by("returns nothing", forwards(Basic.Publish, mandatory=False))
@broken_by("does not follow a circle", goes_no_further())
@broken_by("delivers one copy for each exchange", queue_once_per_exchange())
def message_goes_round_no_more(broker: Broker) -> None:
    """In a circle without a queue a message is returned once; with a queue, bound to both, it comes once."""
    channel = broker.channel()
    first, second = declares(channel, "fanout"), declares(channel, "fanout")
    joins(channel, first, second)
    joins(channel, second, first)
    channel.publish(b"nowhere", exchange=first, mandatory=True)
    channel.expect(message(Basic.Return, b"nowhere"))
    channel.stays_quiet()
    queue = bound_queue(channel, second)
    channel.publish("once", exchange=first, mandatory=True)
    channel.stays_quiet()
    channel.holds(queue, "once")
    channel.bind(queue, first)
    channel.publish("again", exchange=second, mandatory=True)
    channel.holds(queue, "again")


@scenario("rabbitmq/e2e.own-key")
@broken_by("goes on by the key of the binding", swaps(reached=goes_on_by_the_key_of_the_binding))
@broken_by("delivers under another exchange", rewrites(Basic.Deliver, exchange="amq.topic"))
@broken_by("delivers under another key", rewrites(Basic.Deliver, routing_key=str.upper))
@broken_by("looks at the first key alone", routes(topic=lambda binding, _: binding.routing_key == "*.nyse"))
def message_keeps_its_own_key(broker: Broker) -> None:
    """What matches the patterns of both exchanges comes, with the exchange and the key of Publish."""
    channel = broker.channel()
    source, destination = declares(channel, "topic"), declares(channel, "topic")
    queue = bound_queue(channel, destination, key="stock.*")
    joins(channel, source, destination, "*.nyse")
    for key in ("bond.nyse", "stock.nyse", "stock.lse"):
        channel.publish(key, exchange=source, key=key)
    channel.publish("sentinel", key=queue)
    channel.consume(queue, no_ack=True)
    channel.expect_each(
        message(Basic.Deliver, b"stock.nyse", exchange=source, routing_key="stock.nyse"),
        message(Basic.Deliver, b"sentinel"),
    )


@scenario("rabbitmq/e2e.mandatory")
@broken_by("returns what is routed by exchanges", goes_no_further())
@broken_by("returns nothing", forwards(Basic.Publish, mandatory=False))
@broken_by("looks one step ahead", swaps(reached=goes_one_step))
def message_is_routed_by_way_of_exchanges(broker: Broker) -> None:
    """Over two bindings a message with mandatory comes to a queue, and one that comes to none is returned."""
    channel = broker.channel()
    first, second, third = (declares(channel, kind) for kind in ("fanout", "fanout", "direct"))
    joins(channel, first, second)
    joins(channel, second, third)
    queue = bound_queue(channel, third, key="key")
    channel.publish(b"nowhere", exchange=first, key="other", mandatory=True)
    channel.expect(message(Basic.Return, b"nowhere"))
    channel.publish("routed", exchange=first, key="key", mandatory=True)
    channel.stays_quiet()
    channel.holds(queue, "routed")


@scenario("rabbitmq/e2e.auto-delete")
@broken_by("counts queues alone", drops("exchange.unbind: unbinds the last, and deletes the source"))
@broken_by(
    "goes with its last queue",
    changes("queue.unbind: unbinds the last, and deletes the exchange", condition=lambda _: True),
)
@broken_by(
    "goes with its last exchange",
    changes("exchange.unbind: unbinds the last, and deletes the source", condition=has_auto_delete),
)
@broken_by("stays", forwards(Exchange.Declare, auto_delete=False))
def exchange_goes_with_its_last_binding_of_any_kind(broker: Broker) -> None:
    """Bound to a queue and an exchange, one with auto-delete stays for the second and goes with the last."""
    for queue_first in (True, False):
        channel = broker.channel()
        exchange, destination = declares(channel, auto_delete=True), declares(channel, "fanout")
        queue = bound_queue(channel, exchange)
        joins(channel, exchange, destination)
        steps = [
            (Queue.Unbind(queue, exchange), Queue.UnbindOk),
            (Exchange.Unbind(destination, exchange), Exchange.UnbindOk),
        ]
        for unbind, answer in steps if queue_first else reversed(steps):
            is_there(broker, exchange)
            channel.tries(unbind, answer)
        goes(broker, exchange)


@scenario("rabbitmq/e2e.auto-delete-of-a-destination")
@broken_by("goes when it is unbound", changes(UNBINDS, unbind_and_delete_the_destination))
@broken_by("goes with its source", changes("exchange end: removes its bindings", delete_what_it_led_to))
def destination_does_not_go_with_its_sources(broker: Broker) -> None:
    """Exchanges with auto-delete are unbound from one, and their other one is deleted: they are there."""
    channel = broker.channel()
    used, unused = (declares(channel, "fanout", auto_delete=True) for _ in range(2))
    first, second = declares(channel, "fanout"), declares(channel, "fanout")
    queue = bound_queue(channel, used)
    for destination in (used, unused):
        joins(channel, first, destination)
        joins(channel, second, destination)
        channel.tries(Exchange.Unbind(destination, first), Exchange.UnbindOk)
    channel.ask(Exchange.Delete(second))
    channel.settle()
    is_there(broker, used)
    is_there(broker, unused)
    channel.publish("to it", exchange=used)
    channel.holds(queue, "to it")


@scenario("rabbitmq/e2e.ends-with-its-exchanges")
@broken_by("keeps all bindings", changes("exchange.delete: deletes it", keep_its_bindings))
@broken_by(
    "keeps those that lead to it",
    changes("exchange end: removes its bindings", condition=lambda turn: not leads_to_an_exchange(turn)),
)
def bindings_end_with_either_exchange(broker: Broker) -> None:
    """When destination or source were deleted, and declared again, nothing is bound; other bindings stay."""
    for deleted in ("destination", "source"):
        channel = broker.channel()
        source, destination, other = (declares(channel, "fanout") for _ in range(3))
        joins(channel, source, destination)
        joins(channel, *((source, other) if deleted == "destination" else (other, destination)))
        exchange = destination if deleted == "destination" else source
        channel.ask(Exchange.Delete(exchange))
        channel.ask(Exchange.Declare(exchange, "fanout"))
        queue, another = bound_queue(channel, destination), bound_queue(channel, other)
        channel.publish("over the old", exchange=source)
        if deleted == "destination":
            channel.holds(queue)
            channel.holds(another, "over the old")
        else:
            channel.publish("over another", exchange=other)
            channel.holds(queue, "over another")


@scenario("rabbitmq/e2e.durable")
@broken_by("forgets the bindings", drops(KEPT))
@broken_by("forgets their arguments", changes(KEPT, forget_arguments))
@broken_by("forgets those from topic exchanges", changes(KEPT, condition=joins_no_exchange_called("topic")))
@broken_by("forgets those from direct exchanges", changes(KEPT, condition=joins_no_exchange_called("direct")))
@broken_by("brings back what was unbound", brings_back(UNBINDS, binding_of_exchanges_again))
def binding_of_durable_exchanges_is_there_after_a_restart(broker: Broker) -> Iterator[Restart]:
    """What joined durable exchanges before the restart passes what matches after it, unless unbound."""
    types, bound = known_types(broker), {}
    for kind in types:
        channel, way = broker.channel(), WAYS[kind]
        source, destination = declares(channel, kind, durable=True), declares(channel, "fanout", durable=True)
        queue, gone = channel.declare_queue(durable=True), declares(channel, "fanout", durable=True)
        channel.bind(queue, destination)
        unbound = channel.declare_queue(durable=True)
        channel.bind(unbound, gone)
        for each in (destination, gone):
            joins(channel, source, each, way.key, way.arguments)
        unbind = Exchange.Unbind(gone, source, way.key, arguments=dict(way.arguments))
        channel.tries(unbind, Exchange.UnbindOk)
        bound[kind] = source, queue, unbound
    channel.settle()
    yield RESTART
    for kind, (source, queue, unbound) in bound.items():
        channel, way = broker.channel(), WAYS[kind]
        if way.stays is not None and kind != "direct":
            publish(channel, source, way.stays, b"does not match")
        way.publish(channel, source, b"still bound")
        channel.holds(queue, "still bound")
        channel.holds(unbound)
