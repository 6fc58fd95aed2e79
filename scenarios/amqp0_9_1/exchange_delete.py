"""exchange.delete."""

from __future__ import annotations

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.deviations import answers, changes, drops, forwards, rewrites
from harness.amqp0_9_1.outcomes import channel_closed, connection_closed, message, refused
from harness.amqp0_9_1.peer.exchange_table import delete_it, delete_ok
from harness.amqp0_9_1.vocabulary import (
    ACCESS_REFUSED,
    NOT_FOUND,
    PRECONDITION_FAILED,
    Basic,
    Channel,
    Exchange,
)
from scenarios.registry import broken_by, scenario


@scenario("0-9-1/exchange.delete.exchange.exists")
@broken_by(
    "confirms what it did not do",
    changes("exchange.delete: refuses one that does not exist", answer=delete_ok),
)
@broken_by("confirms every Delete", answers(Exchange.Delete, Exchange.DeleteOk(), skip=1))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=ACCESS_REFUSED))
def deleting_a_missing_exchange_is_not_found(broker: Broker) -> None:
    """An exchange that exists is deleted; deleting it again, or one that never was, is refused with 404."""
    channel = broker.channel()
    exchange = channel.declare_exchange()
    channel.ask(Exchange.Delete(exchange))
    for missing in (exchange, broker.name("exchange")):
        channel = broker.channel()
        channel.send(Exchange.Delete(missing))
        channel.expect(*refused(NOT_FOUND))


IN_USE = "exchange.delete: if-unused refuses one with bindings"


@scenario("0-9-1/exchange.delete.if-unused.in-use")
@broken_by("deletes what is in use", drops(IN_USE))
@broken_by("refuses and deletes all the same", changes(IN_USE, effects=(delete_it,)))
@broken_by("does not see if-unused", forwards(Exchange.Delete, if_unused=False))
@broken_by("confirms what it did not do", answers(Exchange.Delete, Exchange.DeleteOk(), skip=1))
def exchange_with_bindings_is_not_deleted_if_unused(broker: Broker) -> None:
    """With if-unused an exchange without bindings is deleted; one with a binding stays, and routes by it."""
    channel = broker.channel()
    channel.ask(Exchange.Delete(channel.declare_exchange(), if_unused=True))
    queue, exchange = channel.declare_queue(), channel.declare_exchange()
    channel.bind(queue, exchange, "key")
    channel.send(Exchange.Delete(exchange, if_unused=True))
    any_other = channel_closed() | connection_closed()
    channel.expect(
        channel_closed(PRECONDITION_FAILED), any_other.under("MUST is said of the effect, not of the code")
    )
    channel = broker.channel()
    channel.consume(queue, no_ack=True)
    channel.publish(b"still bound", exchange=exchange, key="key")
    channel.expect(message(Basic.Deliver, b"still bound"))
