"""exchange.unbind: a binding of exchanges taken off, and what is not there to be taken off."""

from harness.amqp0_9_1.broken.deviations import answers, changes, drops, rejects, withholds
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import answered, channel_closed, connection_closed
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.rabbitmq.broken.routing.exchanges import (
    unbind_all,
    unbind_by_key,
    unbind_without_arguments,
)
from harness.amqp0_9_1.rabbitmq.routing.exchanges import is_bound_already
from harness.amqp0_9_1.wire.vocabulary import (
    NOT_FOUND,
    PRECONDITION_FAILED,
    Connection,
    Exchange,
)
from scenarios.amqp0_9_1.exchange.types import WAYS, known_types
from scenarios.amqp0_9_1.queue.common import failed_unbind
from scenarios.amqp0_9_1.queue.unbind import ANOTHER, ANOTHER_CODE, BUT_NOT_FOUND
from scenarios.rabbitmq.definition.exchange_bind import KEPT_OUT
from scenarios.rabbitmq.joining import bound_queue, declares, joins
from scenarios.registry import broken_by, scenario

UNBINDS = "exchange.unbind: unbinds"
NO_SOURCE = "exchange.unbind: refuses a source that does not exist"
NO_DESTINATION = "exchange.unbind: refuses a destination that does not exist"
SOFT = channel_closed(NOT_FOUND).under("404 is a soft error, which closes the channel")


@scenario("rabbitmq/exchange.unbind.01")
@broken_by("says nothing", withholds(Connection.Close))
@broken_by("closes the channel with another code", changes(NO_SOURCE, answer=refuse(PRECONDITION_FAILED)))
@broken_by("does so for a destination", changes(NO_DESTINATION, answer=refuse(PRECONDITION_FAILED)))
def failing_unbind_is_a_connection_exception(broker: Broker) -> None:
    """An Unbind that names a missing source, or a missing destination, raises a connection exception."""
    channel = broker.channel()
    source, destination = declares(channel, durable=True), declares(channel, durable=True)
    joins(channel, source, destination)
    channel.tries(Exchange.Unbind(destination, source), Exchange.UnbindOk)
    for missing in (
        Exchange.Unbind(destination, broker.name("exchange")),
        Exchange.Unbind(broker.name("exchange"), source),
    ):
        broker.channel().tries(
            missing,
            connection_closed(),
            SOFT,
            answered(Exchange.UnbindOk).recorded(
                "for the server nothing failed; the rules of the fields judge that"
            ),
        )


@scenario("rabbitmq/exchange.unbind.01")
@broken_by("confirms and does nothing", answers(Exchange.Unbind, Exchange.UnbindOk()))
@broken_by("takes all bindings off", changes(UNBINDS, unbind_all))
@broken_by("looks at no arguments", changes(UNBINDS, unbind_by_key))
@broken_by("takes off none with arguments", changes(UNBINDS, unbind_without_arguments))
def unbind_takes_off_the_binding_it_names(broker: Broker) -> None:
    """Of two bindings to a source of each type one is taken off: it routes no more, the other one does."""
    for kind in known_types(broker):
        channel, way, other = broker.channel(), WAYS[kind], ANOTHER[kind]
        source, destination = declares(channel, kind), declares(channel, "fanout")
        queue = bound_queue(channel, destination)
        for each in (other, way):
            joins(channel, source, destination, each.key, each.arguments)
            each.publish(channel, source, b"bound")
        channel.holds(queue, "bound", "bound")
        unbind = Exchange.Unbind(destination, source, way.key, arguments=dict(way.arguments))
        channel.tries(unbind, Exchange.UnbindOk)
        if kind != "fanout":
            way.publish(channel, source, b"unbound")
        other.publish(channel, source, b"still bound")
        channel.holds(queue, "still bound")
        unbind = Exchange.Unbind(destination, source, other.key, arguments=dict(other.arguments))
        channel.tries(unbind, Exchange.UnbindOk)
        other.publish(channel, source, b"unbound")
        channel.holds(queue)


@scenario("rabbitmq/exchange.unbind.01")
@broken_by("says nothing where nothing was bound", withholds(Exchange.UnbindOk, skip=1))
@broken_by("ends the connection with another code", changes(UNBINDS, condition=is_bound_already))
@broken_by("takes off what it finds", changes(UNBINDS, unbind_all))
def unbinding_what_is_not_bound_is_answered(broker: Broker) -> None:
    """Both exchanges exist, the binding does not: Unbind-Ok or a connection exception; others stay."""
    channel = broker.channel()
    source, destination = declares(channel), declares(channel, "fanout")
    joins(channel, source, destination, "gone")
    channel.tries(Exchange.Unbind(destination, source, "gone"), Exchange.UnbindOk)
    joins(channel, source, destination, "key")
    queue = bound_queue(channel, destination)
    nothing_failed = answered(Exchange.UnbindOk).recorded("nothing was bound, nothing is: a success")
    not_found = connection_closed(NOT_FOUND).recorded("what was to be unbound is not there: a failure")
    channel.tries(Exchange.Unbind(destination, source, "gone"), nothing_failed, not_found, SOFT)
    channel = broker.channel()
    channel.publish("still bound", exchange=source, key="key")
    channel.holds(queue, "still bound")


@scenario("rabbitmq/exchange.unbind.destination.must-exist")
@broken_by("finds nothing to unbind", drops(NO_DESTINATION))
@broken_by("confirms all but the first", answers(Exchange.Unbind, Exchange.UnbindOk(), skip=1))
@broken_by("gives another code", ANOTHER_CODE)
def unbinding_a_missing_destination_is_not_found(broker: Broker) -> None:
    """An exchange that exists can be unbound; for one that does not it is refused with 404."""
    channel = broker.channel()
    source, destination = declares(channel), declares(channel)
    joins(channel, source, destination)
    channel.tries(Exchange.Unbind(destination, source), Exchange.UnbindOk)
    channel.tries(Exchange.Unbind(broker.name("exchange"), source), failed_unbind())


@scenario("rabbitmq/exchange.unbind.source.must-exist")
@broken_by("finds nothing to unbind from", drops(NO_SOURCE))
@broken_by("confirms all but the first", answers(Exchange.Unbind, Exchange.UnbindOk(), skip=1))
@broken_by("gives another code", ANOTHER_CODE)
def unbinding_from_a_missing_source_is_not_found(broker: Broker) -> None:
    """An exchange can be unbound from one that exists; from one that does not it is refused with 404."""
    channel = broker.channel()
    source, destination = declares(channel), declares(channel)
    joins(channel, source, destination)
    channel.tries(Exchange.Unbind(destination, source), Exchange.UnbindOk)
    channel.tries(Exchange.Unbind(destination, broker.name("exchange")), failed_unbind())


@scenario("rabbitmq/exchange.unbind.destination.default-exchange")
@broken_by(
    "takes the blank name for none", rejects(Exchange.Unbind, NOT_FOUND, lambda it: not it.destination)
)
@broken_by("confirms and does nothing", answers(Exchange.Unbind, Exchange.UnbindOk()))
@broken_by("forgets to remove the binding", changes(UNBINDS, effects=()))
def default_exchange_is_unbound_as_a_destination(broker: Broker) -> None:
    """What leads from an exchange to the default one is taken off by its blank name, and routes no more."""
    channel = broker.channel()
    source, queue = declares(channel), channel.declare_queue()
    leads_no_more(broker, Exchange.Bind("", source, queue), queue, exchange=source, key=queue)


@scenario("rabbitmq/exchange.unbind.source.default-exchange")
@broken_by("takes the blank name for none", rejects(Exchange.Unbind, NOT_FOUND, lambda it: not it.source))
@broken_by("confirms and does nothing", answers(Exchange.Unbind, Exchange.UnbindOk()))
@broken_by("forgets to remove the binding", changes(UNBINDS, effects=()))
def default_exchange_is_unbound_as_a_source(broker: Broker) -> None:
    """What leads from the default exchange to another is taken off by the blank name, and routes no more."""
    channel = broker.channel()
    destination = declares(channel, "fanout")
    queue = bound_queue(channel, destination)
    key = f"{queue}.own"
    leads_no_more(broker, Exchange.Bind(destination, "", key), queue, key=key)


def leads_no_more(broker: Broker, bind: Exchange.Bind, queue: str, *, key: str, exchange: str = "") -> None:
    """Judge that a binding to or from the default exchange can be taken off, if there can be one.

    What is published to the exchange with the key comes over it to the queue.
    """
    refused_bind = (channel_closed(*BUT_NOT_FOUND) | connection_closed(*BUT_NOT_FOUND)).recorded(
        "there is no such binding; the rule about Bind judges that"
    )
    unbind = Exchange.Unbind(bind.destination, bind.source, bind.routing_key)
    unbound = answered(Exchange.UnbindOk)
    channel = broker.channel()
    if not isinstance(channel.tries(bind, answered(Exchange.BindOk), refused_bind), Exchange.BindOk):
        broker.channel().tries(unbind, unbound.recorded("nothing was bound"), KEPT_OUT)
        return
    channel.publish("bound", exchange=exchange, key=key)
    channel.holds(queue, "bound")
    channel.send(unbind)
    if isinstance(channel.expect(unbound, KEPT_OUT), Exchange.UnbindOk):
        channel.publish("unbound", exchange=exchange, key=key)
        channel.holds(queue)
