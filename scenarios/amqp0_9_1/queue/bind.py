"""queue.bind."""

from collections.abc import Iterator, Mapping

from harness.amqp0_9_1.broken.deviations import (
    Fault,
    answers,
    changes,
    drops,
    forwards,
    rejects,
    rewrites,
    routes,
    swaps,
)
from harness.amqp0_9_1.broken.entity_faults import (
    bind_by_key_alone,
    binds_twice,
    forget_arguments,
    joins_durable_ends_unless,
    queue_per_binding_of,
)
from harness.amqp0_9_1.broken.faults import (
    forget_older_bindings,
    forget_routing_key,
    matches_nothing,
    passes_no_blank_key,
    queue_per_binding,
)
from harness.amqp0_9_1.broken.restart_faults import binding_again, brings_back
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import EXCEPTION, message, refused
from harness.amqp0_9_1.peer.tables.queue import bind_queue, unbind_queue
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    NOT_FOUND,
    PRECONDITION_FAILED,
    RESOURCE_ERROR,
    Basic,
    Channel,
    Exchange,
    Queue,
)
from harness.play.context import RESTART, Restart
from scenarios.amqp0_9_1.exchange.types import WAYS, known_types, publish
from scenarios.amqp0_9_1.queue.common import CURRENT_EVERYWHERE, has_no_name, unknown_queue
from scenarios.registry import broken_by, scenario

AGAIN = "queue.bind: confirms the same again"
NO_EXCHANGE = "queue.bind: refuses an exchange that does not exist"
BINDINGS = 4
KEPT = "restart: keeps bindings between durable ends"


def has_arguments(bind: Queue.Bind) -> bool:
    return bool(bind.arguments)


def only_the_sentinel_comes(channel: AmqpChannel, queue: str) -> None:
    """Judge that what was published to an exchange so far has not reached the queue."""
    channel.publish(b"sentinel", key=queue)
    channel.consumes(queue, b"sentinel")


@scenario("0-9-1/queue.bind.duplicates")
@broken_by("takes it for an error", rejects(Queue.Bind, PRECONDITION_FAILED, skip=1))
@broken_by("delivers nothing any more", changes(AGAIN, unbind_queue))
@broken_by("does not answer", changes(AGAIN, answer=None))
def same_bind_twice_is_no_error(broker: Broker) -> None:
    """An identical Bind is confirmed again; a message comes once, and after one Unbind not at all."""
    channel, queue = broker.queue(durable=True)
    channel.bind(queue, "amq.direct", queue)
    channel.tries(Queue.Bind(queue, "amq.direct", queue), Queue.BindOk)
    channel.consume(queue, no_ack=True)
    channel.hears(b"bound", exchange="amq.direct", key=queue)
    channel.ask(Queue.Unbind(queue, "amq.direct", queue))
    channel.publish(b"unbound", exchange="amq.direct", key=queue)
    channel.publish(b"sentinel", key=queue)
    counted = message(Basic.Deliver, b"unbound").under("allowed, not ignored: each Bind wants its own Unbind")
    channel.expect(message(Basic.Deliver, b"sentinel"), counted)


@scenario("0-9-1/queue.bind.duplicates")
@broken_by(
    "takes it for an error with arguments", rejects(Queue.Bind, PRECONDITION_FAILED, has_arguments, skip=1)
)
@broken_by("delivers twice by arguments", Fault(binds_twice("headers")))
@broken_by("delivers twice by a pattern", Fault(binds_twice("topic")))
def same_bind_twice_is_no_error_whatever_the_type(broker: Broker) -> None:
    """An identical Bind to an exchange of each type is confirmed again, and a message comes once."""
    for kind in known_types(broker):
        channel = broker.channel()
        queue, exchange = channel.declare_queue(durable=True), channel.declare_exchange(kind)
        channel.ask(WAYS[kind].bind(queue, exchange))
        channel.tries(WAYS[kind].bind(queue, exchange), Queue.BindOk)
        WAYS[kind].publish(channel, exchange, b"bound")
        channel.publish(b"sentinel", key=queue)
        channel.consumes(queue, b"bound", b"sentinel")


@scenario("0-9-1/queue.bind.unique")
@broken_by("delivers once per binding", swaps(queues_for=queue_per_binding))
def message_that_matches_many_bindings_comes_once(broker: Broker) -> None:
    """Three topic bindings match one message: it is delivered once, and then comes the sentinel."""
    channel, queue = broker.queue(durable=True)
    for pattern in ("stock.*.nyse", "stock.#", "*.usd.*"):
        channel.bind(queue, "amq.topic", f"{queue}.{pattern}")
    channel.consume(queue, no_ack=True)
    channel.publish(b"once", exchange="amq.topic", key=f"{queue}.stock.usd.nyse")
    channel.publish(b"sentinel", key=queue)
    channel.expect_each(message(Basic.Deliver, b"once"), message(Basic.Deliver, b"sentinel"))


MATCHING: Mapping[str, tuple[tuple[str, dict[str, str]], ...]] = {
    "fanout": (("one", {}), ("two", {}), ("three", {})),
    "direct": (("key", {}), ("key", {"note": "another"})),
    "headers": (
        ("", {"x-match": "all", "colour": "red"}),
        ("", {"x-match": "any", "colour": "red", "size": "small"}),
        ("key", {"x-match": "all", "colour": "red"}),
    ),
}
"""Keys and arguments of bindings that all match one message, by type of exchange."""


@scenario("0-9-1/queue.bind.unique")
@broken_by("delivers once per key", swaps(queues_for=queue_per_binding_of("fanout")))
@broken_by("delivers once per table of arguments", swaps(queues_for=queue_per_binding_of("headers")))
@broken_by("delivers once per binding by the same key", swaps(queues_for=queue_per_binding_of("direct")))
def exchange_of_each_type_delivers_once(broker: Broker) -> None:
    """A queue is bound in two or three ways to exchanges of the other types: a message is delivered once.

    Two bindings by one key differ in an argument, which the server may refuse.
    """
    for kind in [each for each in known_types(broker) if each in MATCHING]:
        channel = broker.channel()
        queue, exchange = channel.declare_queue(durable=True), channel.declare_exchange(kind)
        first, *others = [Queue.Bind(queue, exchange, key, arguments=more) for key, more in MATCHING[kind]]
        channel.ask(first)
        for bind in others:
            if not channel.takes(bind, Queue.BindOk):
                channel = broker.channel()
        channel.consume(queue, no_ack=True)
        channel.publish(b"once", exchange=exchange, key="key", headers={"colour": "red"})
        channel.publish(b"sentinel", key=queue)
        channel.expect_each(message(Basic.Deliver, b"once"), message(Basic.Deliver, b"sentinel"))


@scenario("0-9-1/queue.bind.transient-exchange")
@broken_by("refuses it", rejects(Queue.Bind, PRECONDITION_FAILED))
@broken_by("confirms and does nothing", answers(Queue.Bind, Queue.BindOk()))
@broken_by("forgets to bind", changes("queue.bind: binds", effects=()))
@broken_by("forgets to bind by arguments", changes("queue.bind: binds", bind_by_key_alone))
def durable_queue_binds_to_a_transient_exchange(broker: Broker) -> None:
    """A durable queue can be bound to a transient exchange of each type, and a message goes that way."""
    for kind in known_types(broker):
        channel, way = broker.channel(), WAYS[kind]
        exchange = channel.declare_exchange(kind, durable=False)
        queue = channel.declare_queue(durable=True)
        channel.tries(way.bind(queue, exchange), Queue.BindOk)
        way.publish(channel, exchange, b"bound")
        channel.consumes(queue, b"bound")


@scenario("0-9-1/queue.bind.durable-exchange")
@broken_by("makes every exchange transient", forwards(Exchange.Declare, durable=False))
@broken_by("forgets the binding", drops(KEPT))
@broken_by("forgets its key", changes(KEPT, forget_routing_key))
@broken_by("forgets its arguments", changes(KEPT, forget_arguments))
@broken_by(
    "forgets those to headers exchanges", changes(KEPT, condition=joins_durable_ends_unless("headers"))
)
@broken_by("forgets those to topic exchanges", changes(KEPT, condition=joins_durable_ends_unless("topic")))
@broken_by("forgets those to fanout exchanges", changes(KEPT, condition=joins_durable_ends_unless("fanout")))
def binding_between_durable_ends_is_there_after_a_restart(broker: Broker) -> Iterator[Restart]:
    """Durable queues bound to durable exchanges of each type before the restart get messages so after it.

    By a pattern, or by headers, they get those that match and no others.
    """
    types, bound = known_types(broker), {}
    for kind in types:
        channel = broker.channel()
        bound[kind] = channel.declare_queue(durable=True), channel.declare_exchange(kind, durable=True)
        channel.ask(WAYS[kind].bind(*bound[kind]))
    yield RESTART
    for kind, (queue, exchange) in bound.items():
        channel = broker.channel()
        stays = WAYS[kind].stays
        if stays is not None and kind != "direct":
            publish(channel, exchange, stays, b"not bound")
        WAYS[kind].publish(channel, exchange, b"still bound")
        channel.send(Basic.Consume(queue, no_ack=True))
        channel.expect_answer(Basic.ConsumeOk)
        channel.expect(message(Basic.Deliver, b"still bound"))


@scenario("0-9-1/queue.bind.durable-exchange")
@broken_by("brings back what was unbound", brings_back("queue.unbind: unbinds", binding_again))
def binding_that_was_taken_off_is_not_there_after_a_restart(broker: Broker) -> Iterator[Restart]:
    """Durable queues unbound from durable exchanges of each type get nothing that way after the restart."""
    types, bound = known_types(broker), {}
    for kind in types:
        channel = broker.channel()
        bound[kind] = channel.declare_queue(durable=True), channel.declare_exchange(kind, durable=True)
        channel.ask(WAYS[kind].bind(*bound[kind]))
        channel.ask(WAYS[kind].unbind(*bound[kind]))
    channel.settle()
    yield RESTART
    for kind, (queue, exchange) in bound.items():
        channel, publisher = broker.channel(), broker.channel()
        WAYS[kind].publish(publisher, exchange, b"not bound")
        publisher.ask(FENCE, Exchange.DeclareOk, Channel.Close)  # that the exchange is there is judged above
        only_the_sentinel_comes(channel, queue)


@scenario("0-9-1/queue.bind.binding-count")
@broken_by("has room for three", rejects(Queue.Bind, RESOURCE_ERROR, skip=BINDINGS - 1))
@broken_by("keeps the latest only", changes("queue.bind: binds", forget_older_bindings, bind_queue))
def queue_has_at_least_four_bindings(broker: Broker) -> None:
    """A queue can be bound to four exchanges, and a message published to each of them comes."""
    channel, queue = broker.queue(durable=True)
    exchanges = [channel.declare_exchange("direct") for _ in range(BINDINGS)]
    for exchange in exchanges:
        channel.tries(Queue.Bind(queue, exchange, "key"), Queue.BindOk)
    channel.consume(queue, no_ack=True)
    for exchange in exchanges:
        channel.hears(exchange, exchange=exchange, key="key")


@scenario("0-9-1/queue.bind.queue.queue-known")
@broken_by("binds nothing", answers(Queue.Bind, Queue.BindOk(), when=has_no_name, skip=1))
@broken_by("always wants a name", rejects(Queue.Bind, NOT_FOUND, when=has_no_name))
@broken_by("takes a queue of another channel", CURRENT_EVERYWHERE)
@broken_by("gives another code", rewrites(Channel.Close, reply_code=ACCESS_REFUSED))
def bind_without_a_name_needs_a_declared_queue(broker: Broker) -> None:
    """Without a name the queue declared on the channel is bound; where none was declared it is 404."""
    channel, stranger = broker.channel(), broker.channel()
    queue = channel.declare_queue(exclusive=True)
    channel.tries(Queue.Bind("", "amq.direct", queue), Queue.BindOk)
    stranger.tries(Queue.Bind("", "amq.direct", queue), *unknown_queue())


@scenario("0-9-1/queue.bind.queue.must-exist")
@broken_by("binds nothing", answers(Queue.Bind, Queue.BindOk(), skip=1))
@broken_by(
    "refuses, and binds all the same", changes("queue.bind: refuses a queue that does not exist", bind_queue)
)
@broken_by("gives another code", rewrites(Channel.Close, reply_code=ACCESS_REFUSED))
def binding_a_missing_queue_is_not_found(broker: Broker) -> None:
    """A queue that exists can be bound; one that does not is refused with 404, and later is not bound."""
    channel = broker.channel()
    queue, missing = channel.declare_queue(exclusive=True), broker.name("queue")
    channel.bind(queue, "amq.direct", queue)
    channel.tries(Queue.Bind(missing, "amq.direct", missing), *refused(NOT_FOUND))
    channel = broker.channel()
    channel.declare_queue(missing, durable=True)
    channel.publish(b"bound", exchange="amq.direct", key=missing)
    only_the_sentinel_comes(channel, missing)


@scenario("0-9-1/queue.bind.exchange.exchange-existence")
@broken_by("binds to nothing", answers(Queue.Bind, Queue.BindOk(), skip=1))
@broken_by("looks for no exchange", drops(NO_EXCHANGE))
@broken_by("refuses, and binds all the same", changes(NO_EXCHANGE, bind_queue))
def binding_to_a_missing_exchange_is_not_found(broker: Broker) -> None:
    """A queue can be bound to an exchange that exists; to one that does not it is refused with 404.

    When the exchange is declared afterwards, the queue is not bound to it.
    """
    channel = broker.channel()
    queue, missing = channel.declare_queue(durable=True), broker.name("exchange")
    channel.bind(queue, "amq.direct", queue)
    channel.send(Queue.Bind(queue, missing, queue))
    channel.expect(
        *refused(NOT_FOUND), EXCEPTION.under("only the on-failure names a code; MUST is the effect")
    )
    channel = broker.channel()
    channel.ask(Exchange.Declare(missing, "direct"))
    channel.publish(b"bound", exchange=missing, key=queue)
    only_the_sentinel_comes(channel, queue)


@scenario("0-9-1/queue.bind.exchange.default-exchange")
@broken_by("refuses it", rejects(Queue.Bind, ACCESS_REFUSED, when=lambda bind: not bind.exchange))
@broken_by("confirms and does nothing", answers(Queue.Bind, Queue.BindOk()))
@broken_by("forgets to bind", changes("queue.bind: binds", effects=()))
def blank_exchange_name_is_the_default_exchange(broker: Broker) -> None:
    """A queue is bound with a blank exchange name; what is published to the default exchange comes."""
    channel, queue = broker.queue(durable=True)
    channel.tries(Queue.Bind(queue, "", f"{queue}.own"), Queue.BindOk)
    channel.publish(b"bound", key=f"{queue}.own")
    channel.consumes(queue, b"bound")


@scenario("0-9-1/queue.bind.routing-key.direct-exchange-key-matching")
@broken_by("folds the case of keys", forwards(Basic.Publish, routing_key=str.lower))
@broken_by("passes nothing", routes(direct=matches_nothing))
@broken_by("passes no blank key", routes(direct=passes_no_blank_key))
def direct_exchange_passes_equal_keys(broker: Broker) -> None:
    """A message comes whose key is that of the binding: an ordinary one, one of 255 octets, a blank one.

    One with another key is published first and should not come.
    """
    for key in ("Key.*.#", "k" * 255, ""):
        channel = broker.channel()
        exchange, queue = channel.declare_exchange("direct"), channel.declare_queue(durable=True)
        channel.bind(queue, exchange, key)
        channel.publish(b"other", exchange=exchange, key="other")
        channel.publish(b"equal", exchange=exchange, key=key)
        channel.consume(queue, no_ack=True)
        equal = message(Basic.Deliver, b"equal")
        other = message(Basic.Deliver, b"other").under(
            "no sentence forbids to pass a message whose key differs"
        )
        if channel.expect(equal, other).routing_key == "other":
            channel.expect(equal)
