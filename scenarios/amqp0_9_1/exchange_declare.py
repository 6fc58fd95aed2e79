"""exchange.declare."""

from __future__ import annotations

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.outcomes import channel_closed, connection_closed, refused
from harness.amqp0_9_1.vocabulary import NOT_ALLOWED, NOT_FOUND, Exchange
from scenarios.registry import scenario


@scenario("0-9-1/exchange.declare.passive.not-found")
def passive_declare_of_a_missing_exchange_is_not_found(broker: Broker) -> None:
    """A passive declare answers Declare-Ok for an exchange that exists, and 404 for one that does not.

    The second time it is 404 again: asking has created nothing.
    """
    channel = broker.channel()
    exchange = channel.declare_exchange("fanout")
    channel.ask(Exchange.Declare(exchange, "fanout", passive=True))
    missing = broker.name("exchange")
    for _ in range(2):
        channel = broker.channel()
        channel.send(Exchange.Declare(missing, "fanout", passive=True))
        channel.expect(channel_closed(NOT_FOUND))


@scenario("0-9-1/exchange.declare.type.typed")
def type_of_an_exchange_cannot_change(broker: Broker) -> None:
    """Declaring an exchange again is fine with its type, and refused with another one.

    530 is what this rule names; by `equivalent` of the same method any channel exception is right too.
    """
    channel = broker.channel()
    exchange = channel.declare_exchange("fanout")
    channel.ask(Exchange.Declare(exchange, "fanout"))
    channel.send(Exchange.Declare(exchange, "direct"))
    channel.expect(connection_closed(NOT_ALLOWED) | channel_closed())
