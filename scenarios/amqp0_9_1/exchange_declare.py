"""exchange.declare."""

from __future__ import annotations

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.deviations import answers, drops, rewrites
from harness.amqp0_9_1.outcomes import channel_closed, connection_closed
from harness.amqp0_9_1.vocabulary import NOT_ALLOWED, NOT_FOUND, PRECONDITION_FAILED, Channel, Exchange
from scenarios.registry import broken_by, scenario


@scenario("0-9-1/exchange.declare.passive.not-found")
@broken_by(
    "confirms what is not there",
    answers(Exchange.Declare, Exchange.DeclareOk(), when=lambda declare: declare.passive),
)
@broken_by(
    "creates what is asked for",
    drops(
        "exchange.declare: passive refuses one that does not exist",
        "exchange.declare: passive confirms one that exists",
    ),
)
@broken_by("gives another code", rewrites(Channel.Close, reply_code=PRECONDITION_FAILED))
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
@broken_by(
    "lets the type change",
    drops(
        "exchange.declare: refuses another type",
        "exchange.declare: refuses another durable or other arguments",
    ),
)
def type_of_an_exchange_cannot_change(broker: Broker) -> None:
    """Declaring an exchange again is fine with its type, and refused with another one.

    530 is what this rule names; by `equivalent` of the same method any channel exception is right too.
    """
    channel = broker.channel()
    exchange = channel.declare_exchange("fanout")
    channel.ask(Exchange.Declare(exchange, "fanout"))
    channel.send(Exchange.Declare(exchange, "direct"))
    channel.expect(connection_closed(NOT_ALLOWED) | channel_closed())
