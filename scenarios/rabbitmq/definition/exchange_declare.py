"""exchange.declare: exchanges that go when nothing is bound to them, and internal ones."""

from harness.amqp0_9_1.broken.deviations import answers, changes, drops, forwards, ignores, rejects
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE, QUIET
from harness.amqp0_9_1.client.outcomes import answered, channel_closed, connection_closed, message
from harness.amqp0_9_1.rabbitmq.broken.routing.exchanges import (
    create_for_a_moment,
    declared_anew,
    forget_internal,
    goes_no_further,
    has_auto_delete,
    is_the_last_of_any,
)
from harness.amqp0_9_1.wire.vocabulary import (
    NOT_ALLOWED,
    NOT_IMPLEMENTED,
    PRECONDITION_FAILED,
    Basic,
    Exchange,
    Queue,
)
from scenarios.rabbitmq.joining import bound_queue, declares, goes, is_there, joins
from scenarios.registry import broken_by, scenario

CREATES = "exchange.declare: creates it"
UNBINDS_LAST_QUEUE = "queue.unbind: unbinds the last, and deletes the exchange"
LAST_QUEUE_ENDS = "queue end: removes the last binding, and deletes the exchange"
UNBINDS_LAST_EXCHANGE = "exchange.unbind: unbinds the last, and deletes the source"
LAST_EXCHANGE_ENDS = "exchange end: removes the last binding that leads to it, and deletes the source"


@scenario("rabbitmq/exchange.declare.auto-delete.delay")
@broken_by("deletes it at once", changes(CREATES, create_for_a_moment))
@broken_by("has none", rejects(Exchange.Declare, NOT_IMPLEMENTED, when=lambda it: it.auto_delete))
@broken_by("routes nothing there", ignores(Basic.Publish, when=lambda publish: bool(publish.exchange)))
def exchange_waits_for_its_first_binding(broker: Broker) -> None:
    """An exchange with auto-delete is there when its client comes to bind a queue to it."""
    channel, other = broker.channel(), broker.channel(new_connection=True)
    exchange = declares(channel, auto_delete=True)
    queue = channel.declare_queue()
    other.fence()
    channel.tries(Queue.Bind(queue, exchange, "key"), Queue.BindOk)
    channel.publish("bound", exchange=exchange, key="key")
    channel.holds(queue, "bound")


@scenario("rabbitmq/exchange.declare.auto-delete.all-unbound")
@broken_by("keeps it when the last queue is deleted", drops(LAST_QUEUE_ENDS))
@broken_by("deletes it with the first queue", changes(UNBINDS_LAST_QUEUE, condition=lambda _: True))
@broken_by("knows no auto-delete", forwards(Exchange.Declare, auto_delete=False))
@broken_by("deletes any", forwards(Exchange.Declare, auto_delete=True))
def exchange_goes_with_its_last_queue(broker: Broker) -> None:
    """Of two queues one is unbound, the other deleted: then the exchange goes, and no other."""
    channel = broker.channel()
    exchange, kept = declares(channel, auto_delete=True), declares(channel)
    first, second = bound_queue(channel, exchange, kept), bound_queue(channel, exchange, kept)
    channel.ask(Queue.Unbind(first, exchange))
    channel.ask(Queue.Unbind(first, kept))
    is_there(broker, exchange)
    channel.ask(Queue.Delete(second))
    goes(broker, exchange)
    is_there(broker, kept)


@scenario("rabbitmq/exchange.declare.auto-delete.all-unbound")
@broken_by("keeps it when the last queue is unbound", drops(UNBINDS_LAST_QUEUE))
@broken_by("deletes it with the first queue deleted", changes(LAST_QUEUE_ENDS, condition=has_auto_delete))
@broken_by("deletes any with its queue", changes(LAST_QUEUE_ENDS, condition=is_the_last_of_any))
def exchange_goes_when_its_last_queue_is_unbound(broker: Broker) -> None:
    """Of two queues one is deleted, the other unbound: then the exchange goes, and no other."""
    channel = broker.channel()
    exchange, kept = declares(channel, auto_delete=True), declares(channel)
    first, second = bound_queue(channel, exchange), bound_queue(channel, exchange)
    channel.ask(Queue.Delete(bound_queue(channel, kept)))
    channel.ask(Queue.Delete(first))
    is_there(broker, exchange)
    channel.ask(Queue.Unbind(second, exchange))
    channel.stays_quiet()
    goes(broker, exchange)
    is_there(broker, kept)


@scenario("rabbitmq/exchange.declare.auto-delete.all-unbound")
@broken_by("keeps it when the last exchange is unbound", drops(UNBINDS_LAST_EXCHANGE))
@broken_by("deletes it with the first", changes(UNBINDS_LAST_EXCHANGE, condition=has_auto_delete))
@broken_by("keeps it when the last exchange is deleted", drops(LAST_EXCHANGE_ENDS))
@broken_by("deletes any that is unbound", changes(UNBINDS_LAST_EXCHANGE, condition=is_the_last_of_any))
def exchange_goes_with_the_last_exchange_bound_to_it(broker: Broker) -> None:
    """An exchange goes when its last binding to another one is taken off, or the other one is deleted."""
    channel = broker.channel()
    exchange, another, kept = (declares(channel, auto_delete=each) for each in (True, True, False))
    first, second = declares(channel), declares(channel)
    for source, destination in ((exchange, first), (exchange, second), (another, second), (kept, first)):
        joins(channel, source, destination)
    channel.tries(Exchange.Unbind(first, exchange), Exchange.UnbindOk)
    channel.tries(Exchange.Unbind(first, kept), Exchange.UnbindOk)
    is_there(broker, exchange)
    channel.tries(Exchange.Unbind(second, exchange), Exchange.UnbindOk)
    goes(broker, exchange)
    channel.ask(Exchange.Delete(second))
    goes(broker, another)
    is_there(broker, kept)


@scenario("rabbitmq/exchange.declare.auto-delete.ignored-if-exists")
@broken_by("takes the flag over", declared_anew())
@broken_by(
    "closes the connection",
    rejects(Exchange.Declare, NOT_ALLOWED, when=lambda it: it.auto_delete and not it.passive),
)
@broken_by("makes it for good", forwards(Exchange.Declare, auto_delete=False))
def auto_delete_of_a_later_declare_has_no_effect(broker: Broker) -> None:
    """Declared again with the other auto-delete an exchange is what it was: it stays or goes when unbound."""
    differs = channel_closed(PRECONDITION_FAILED).under("a Declare that differs in a property is refused")
    for first in (False, True):
        channel = broker.channel()
        exchange = declares(channel, auto_delete=first)
        channel.tries(
            Exchange.Declare(exchange, "direct", auto_delete=not first),
            answered(Exchange.DeclareOk),
            differs,
        )
        channel = broker.channel()
        channel.ask(Queue.Unbind(bound_queue(channel, exchange), exchange))
        if first:
            goes(broker, exchange)
        else:
            is_there(broker, exchange)


@scenario("rabbitmq/exchange.declare.internal.not-for-publishers")
@broken_by("lets anybody publish", changes(CREATES, forget_internal))
@broken_by("confirms and does not look", forwards(Exchange.Declare, internal=False))
def nobody_publishes_to_an_internal_exchange(broker: Broker) -> None:
    """A message published to an internal exchange is refused, mandatory or not, and comes to no queue."""
    for mandatory in (False, True):
        channel = broker.channel()
        exchange = declares(channel, internal=True)
        queue = bound_queue(channel, exchange)
        channel.publish("from outside", exchange=exchange, mandatory=mandatory)
        channel.send(FENCE)
        channel.expect(
            channel_closed(),
            connection_closed().under("no sentence names the level"),
            (QUIET | message(Basic.Return)).under("a message that goes nowhere has not used the exchange"),
        )
        broker.channel().holds(queue)


@scenario("rabbitmq/exchange.declare.internal.bound")
@broken_by("has none", rejects(Exchange.Declare, NOT_IMPLEMENTED, when=lambda it: it.internal))
@broken_by("goes no further", goes_no_further())
@broken_by("binds none", answers(Exchange.Bind, Exchange.BindOk()))
def internal_exchange_passes_on_what_comes_from_another(broker: Broker) -> None:
    """A message published to an exchange that an internal one is bound to comes to a queue of that one."""
    channel = broker.channel()
    source, internal = declares(channel), declares(channel, internal=True)
    queue = bound_queue(channel, internal)
    joins(channel, source, internal)
    channel.publish("from another", exchange=source)
    channel.holds(queue, "from another")
