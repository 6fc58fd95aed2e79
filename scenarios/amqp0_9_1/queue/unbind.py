"""queue.unbind."""

from collections.abc import Mapping

from harness.amqp0_9_1.broken.deviations import answers, changes, drops, rejects, rewrites, withholds
from harness.amqp0_9_1.broken.entity_faults import (
    unbind_by_key,
    unbind_from_the_exchange,
    unbind_without_arguments,
    unbind_without_pattern,
)
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import answered, channel_closed, connection_closed
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.tables.queue import is_bound_already
from harness.amqp0_9_1.wire.vocabulary import (
    COMMAND_INVALID,
    GRAMMAR,
    NOT_FOUND,
    PRECONDITION_FAILED,
    SYNTAX_ERROR,
    Channel,
    Connection,
    Queue,
)
from scenarios.amqp0_9_1.exchange.types import WAYS, Sent, Way, known_types
from scenarios.amqp0_9_1.queue.common import CURRENT_EVERYWHERE, failed_unbind, has_no_name
from scenarios.registry import broken_by, scenario

ANOTHER_CODE = rewrites(Channel.Close, reply_code=COMMAND_INVALID) + rewrites(
    Connection.Close, reply_code=COMMAND_INVALID
)
NO_EXCHANGE = "queue.unbind: refuses an exchange that does not exist"
NO_QUEUE = "queue.unbind: refuses a queue that does not exist"
BUT_NOT_FOUND = tuple(
    each.value for each in GRAMMAR.constants if each.error_class and each.value != NOT_FOUND
)
"""The codes of all errors but the one which says that there is no default exchange."""


@scenario("0-9-1/queue.unbind.01")
@broken_by("says nothing", withholds(Connection.Close))
@broken_by("closes the channel with another code", changes(NO_EXCHANGE, answer=refuse(PRECONDITION_FAILED)))
@broken_by("does so for a missing queue", changes(NO_QUEUE, answer=refuse(PRECONDITION_FAILED)))
def failing_unbind_is_a_connection_exception(broker: Broker) -> None:
    """An Unbind that names a missing exchange, or a missing queue, raises a connection exception."""
    channel, queue = broker.queue(durable=True)
    channel.bind(queue, "amq.direct", queue)
    channel.ask(Queue.Unbind(queue, "amq.direct", queue))
    for missing in (
        Queue.Unbind(queue, broker.name("exchange"), queue),
        Queue.Unbind(broker.name("queue"), "amq.direct", queue),
    ):
        channel = broker.channel()
        channel.send(missing)
        channel.expect(
            connection_closed(),
            channel_closed(NOT_FOUND).under("404 is a soft error, which closes the channel"),
            answered(Queue.UnbindOk).recorded(
                "for the server nothing failed; the rules of the fields judge that"
            ),
        )


@scenario("0-9-1/queue.unbind.01")
@broken_by("confirms and does nothing", answers(Queue.Unbind, Queue.UnbindOk()))
@broken_by("forgets to remove the binding", changes("queue.unbind: unbinds", effects=()))
def confirmed_unbind_has_not_failed(broker: Broker) -> None:
    """After Unbind-Ok the binding routes no more: a message goes past the queue, then comes the sentinel."""
    channel, queue = broker.queue(durable=True)
    channel.bind(queue, "amq.direct", queue)
    channel.consume(queue, no_ack=True)
    channel.publish(b"bound", exchange="amq.direct", key=queue)
    channel.deliveries(1)
    channel.ask(Queue.Unbind(queue, "amq.direct", queue))
    channel.publish(b"unbound", exchange="amq.direct", key=queue)
    channel.hears(b"sentinel", key=queue)


UNBINDS = "queue.unbind: unbinds"
ANOTHER: Mapping[str, Way] = {
    "direct": Way("other", Sent("other")),
    "topic": Way("*.*.key", Sent("one.two.key")),
    "fanout": Way("other", Sent("key")),
    "headers": Way("", Sent(headers={"colour": "blue"}), None, {"x-match": "all", "colour": "blue"}),
}
"""By type of exchange, a binding that differs from the one in WAYS, and what passes by it alone."""


@scenario("0-9-1/queue.unbind.01")
@broken_by("takes all bindings off", changes(UNBINDS, unbind_from_the_exchange))
@broken_by("looks at no arguments", changes(UNBINDS, unbind_by_key))
@broken_by("takes off none with arguments", changes(UNBINDS, unbind_without_arguments))
@broken_by("takes off none with a pattern", changes(UNBINDS, unbind_without_pattern))
def unbind_takes_off_the_binding_it_names(broker: Broker) -> None:
    """Of two bindings to an exchange of each type one is taken off: it routes no more, the other one does."""
    for kind in known_types(broker):
        channel, way, other = broker.channel(), WAYS[kind], ANOTHER[kind]
        queue, exchange = channel.declare_queue(durable=True), channel.declare_exchange(kind)
        for each in (other, way):
            channel.ask(each.bind(queue, exchange))
        for each in (other, way):
            each.publish(channel, exchange, b"bound")
        if len(channel.drain(queue)) < 2:
            broker.note(f"{kind}: the server holds one of the two bindings, which other rules judge")
            continue
        channel.tries(way.unbind(queue, exchange), Queue.UnbindOk)
        if kind != "fanout":
            way.publish(channel, exchange, b"unbound")
        other.publish(channel, exchange, b"still bound")
        channel.consumes(queue, b"still bound")
        channel.tries(other.unbind(queue, exchange), Queue.UnbindOk)
        other.publish(channel, exchange, b"unbound")
        channel.hears(b"sentinel", key=queue)


@scenario("0-9-1/queue.unbind.01")
@broken_by("says nothing where nothing was bound", withholds(Queue.UnbindOk, skip=1))
@broken_by("ends the connection with another code", changes(UNBINDS, condition=is_bound_already))
@broken_by("takes off what it finds", changes(UNBINDS, unbind_from_the_exchange))
def unbinding_what_is_not_bound_is_answered(broker: Broker) -> None:
    """Queue and exchange exist, the binding does not: Unbind-Ok or a connection exception; others stay."""
    channel = broker.channel()
    queue, exchange = channel.declare_queue(durable=True), channel.declare_exchange()
    channel.ask(Queue.Bind(queue, exchange, "gone"))
    channel.ask(Queue.Unbind(queue, exchange, "gone"))
    channel.ask(Queue.Bind(queue, exchange, "key"))
    channel.send(Queue.Unbind(queue, exchange, "gone"))
    nothing_failed = answered(Queue.UnbindOk).recorded("nothing was bound, nothing is: a success")
    not_found = connection_closed(NOT_FOUND).recorded("what was to be unbound is not there: a failure")
    soft = channel_closed(NOT_FOUND).under("404 is a soft error, which closes the channel")
    channel.expect(nothing_failed, not_found, soft)
    channel = broker.channel()
    channel.publish(b"still bound", exchange=exchange, key="key")
    channel.consumes(queue, b"still bound")


@scenario("0-9-1/queue.unbind.queue.queue-known")
@broken_by("finds nothing to unbind", answers(Queue.Unbind, Queue.UnbindOk(), when=has_no_name, skip=1))
@broken_by("always wants a name", rejects(Queue.Unbind, NOT_FOUND, when=has_no_name))
@broken_by("takes a queue of another channel", CURRENT_EVERYWHERE)
@broken_by("gives another code", ANOTHER_CODE)
def unbind_without_a_name_needs_a_declared_queue(broker: Broker) -> None:
    """Without a name the queue declared on the channel is unbound; where none was declared it is 404."""
    channel, stranger = broker.channel(), broker.channel()
    queue = channel.declare_queue(exclusive=True)
    channel.bind(queue, "amq.direct", queue)
    channel.tries(Queue.Unbind("", "amq.direct", queue), Queue.UnbindOk)
    stranger.send(Queue.Unbind("", "amq.direct", queue))
    syntax_error = channel_closed(SYNTAX_ERROR) | connection_closed(SYNTAX_ERROR)
    stranger.expect(
        failed_unbind(), syntax_error.under("the domain queue-name speaks of 502 for a missing name")
    )


@scenario("0-9-1/queue.unbind.queue.must-exist")
@broken_by("finds nothing to unbind", drops(NO_QUEUE))
@broken_by("confirms all but the first", answers(Queue.Unbind, Queue.UnbindOk(), skip=1))
@broken_by("gives another code", ANOTHER_CODE)
def unbinding_a_missing_queue_is_not_found(broker: Broker) -> None:
    """A queue that exists can be unbound; one that does not is refused with 404."""
    channel, queue = broker.queue(exclusive=True)
    channel.bind(queue, "amq.direct", queue)
    channel.ask(Queue.Unbind(queue, "amq.direct", queue))
    channel.tries(Queue.Unbind(broker.name("queue"), "amq.direct", queue), failed_unbind())


@scenario("0-9-1/queue.unbind.exchange.must-exist")
@broken_by("finds nothing to unbind from", drops(NO_EXCHANGE))
@broken_by("confirms all but the first", answers(Queue.Unbind, Queue.UnbindOk(), skip=1))
@broken_by("gives another code", ANOTHER_CODE)
def unbinding_from_a_missing_exchange_is_not_found(broker: Broker) -> None:
    """A queue can be unbound from an exchange that exists; from one that does not it is refused with 404."""
    channel, queue = broker.queue(exclusive=True)
    channel.bind(queue, "amq.direct", queue)
    channel.ask(Queue.Unbind(queue, "amq.direct", queue))
    channel.tries(Queue.Unbind(queue, broker.name("exchange"), queue), failed_unbind())


@scenario("0-9-1/queue.unbind.exchange.default-exchange")
@broken_by("takes the blank name for none", rejects(Queue.Unbind, NOT_FOUND, when=lambda it: not it.exchange))
@broken_by(
    "calls the blank name one that does not exist",
    answers(Queue.Unbind, Channel.Close(NOT_FOUND), when=lambda unbind: not unbind.exchange),
)
@broken_by("confirms and does nothing", answers(Queue.Unbind, Queue.UnbindOk()))
@broken_by("forgets to remove the binding", changes("queue.unbind: unbinds", effects=()))
def queue_can_be_unbound_from_the_default_exchange(broker: Broker) -> None:
    """A binding to the default exchange is removed by its blank name: it routes no more.

    It is one with a key of its own, or, where the server refuses that, the one by the queue's name.
    """
    channel, queue = broker.queue(durable=True)
    own = f"{queue}.own"
    key = own if channel.takes(Queue.Bind(queue, "", own), Queue.BindOk) else queue
    channel = broker.channel()
    channel.bind(queue, "amq.direct", queue)
    channel.send(Queue.Unbind(queue, "", key))
    forbidden = channel_closed(*BUT_NOT_FOUND) | connection_closed(*BUT_NOT_FOUND)
    answer = channel.expect(
        Queue.UnbindOk, forbidden.under("exchange.default-access names only Bind and Publish, and no code")
    )
    if isinstance(answer, Queue.UnbindOk):
        channel.publish(b"unbound", key=key)
        channel.publish(b"sentinel", exchange="amq.direct", key=queue)
        channel.consumes(queue, b"sentinel")
