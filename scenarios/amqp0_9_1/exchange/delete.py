"""exchange.delete."""

from itertools import product

from harness.amqp0_9_1.broken.deviations import answers, changes, drops, forwards, rewrites
from harness.amqp0_9_1.broken.entity_faults import is_a_direct_one_in_use, mute_binding, mute_what_is_unbound
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import EXCEPTION, channel_closed, refused
from harness.amqp0_9_1.peer.tables.exchange import delete_it, delete_ok
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    NOT_FOUND,
    PRECONDITION_FAILED,
    Channel,
    Exchange,
    Queue,
)
from scenarios.amqp0_9_1.exchange.types import WAYS, Way, known_types
from scenarios.registry import broken_by, scenario

MISSING = "exchange.delete: refuses one that does not exist"


@scenario("0-9-1/exchange.delete.exchange.exists")
@broken_by("confirms what it did not do", changes(MISSING, answer=delete_ok))
@broken_by("confirms every Delete", answers(Exchange.Delete, Exchange.DeleteOk(), skip=1))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=ACCESS_REFUSED))
def deleting_a_missing_exchange_is_not_found(broker: Broker) -> None:
    """An exchange that exists is deleted; deleting it again, or one that never was, is refused with 404."""
    channel = broker.channel()
    exchange = channel.declare_exchange()
    channel.ask(Exchange.Delete(exchange))
    for missing in (exchange, broker.name("exchange")):
        broker.channel().tries(Exchange.Delete(missing), *refused(NOT_FOUND))


ANY_OTHER = EXCEPTION.under("MUST is said of the effect, not of the code")
IN_USE = "exchange.delete: if-unused refuses one with bindings"


@scenario("0-9-1/exchange.delete.if-unused.in-use")
@broken_by("deletes what is in use", drops(IN_USE))
@broken_by("refuses and deletes all the same", changes(IN_USE, delete_it))
@broken_by("does not see if-unused", forwards(Exchange.Delete, if_unused=False))
@broken_by("takes every Delete for one with if-unused", forwards(Exchange.Delete, if_unused=True))
@broken_by("confirms what it did not do", answers(Exchange.Delete, Exchange.DeleteOk(), skip=1))
def exchange_with_bindings_is_not_deleted_if_unused(broker: Broker) -> None:
    """With if-unused an exchange without bindings is deleted; one with a binding stays, and routes by it."""
    channel = broker.channel()
    channel.ask(Exchange.Delete(channel.declare_exchange(), if_unused=True))
    queue, exchange = channel.declare_queue(), channel.declare_exchange()
    channel.bind(queue, exchange, "key")
    channel.tries(Exchange.Delete(exchange, if_unused=True), channel_closed(PRECONDITION_FAILED), ANY_OTHER)
    channel = broker.channel().consuming(queue, no_ack=True)
    channel.hears(b"still bound", exchange=exchange, key="key")
    channel.tries(Exchange.Delete(exchange), Exchange.DeleteOk)


@scenario("0-9-1/exchange.delete.if-unused.in-use")
@broken_by("looks at direct exchanges only", changes(IN_USE, condition=is_a_direct_one_in_use))
@broken_by("counts what was unbound", changes("queue.unbind: unbinds", mute_what_is_unbound))
@broken_by("counts deleted queues", changes("queue end: removes its bindings", mute_binding))
def exchange_is_in_use_while_it_has_bindings(broker: Broker) -> None:
    """So it is for each type; when the binding is taken off, or its queue deleted, the exchange is unused."""
    for kind, ends in product(known_types(broker), (by_unbind, by_delete)):
        channel = broker.channel()
        channel.ask(Exchange.Delete(channel.declare_exchange(kind), if_unused=True))
        queue, exchange = channel.declare_queue(), channel.declare_exchange(kind)
        channel.ask(WAYS[kind].bind(queue, exchange))
        channel.send(Exchange.Delete(exchange, if_unused=True))
        channel.expect(channel_closed(PRECONDITION_FAILED), ANY_OTHER)
        channel = broker.channel()
        channel.tries(Exchange.Declare(exchange, kind, passive=True), Exchange.DeclareOk)
        channel.ask(ends(WAYS[kind], queue, exchange))
        channel.tries(Exchange.Delete(exchange, if_unused=True), Exchange.DeleteOk)


def by_unbind(way: Way, queue: str, exchange: str) -> Method:
    return way.unbind(queue, exchange)


def by_delete(_: Way, queue: str, __: str) -> Method:
    return Queue.Delete(queue)
