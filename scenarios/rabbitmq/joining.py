"""Exchanges bound to exchanges and queues: how the rules about routing make a topology."""

from collections.abc import Mapping
from typing import Any

from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import channel_closed
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, Exchange


def declares(channel: AmqpChannel, kind: str = "direct", **flags: Any) -> str:
    """Judge that an exchange can be declared, under a name of its own; give the name."""
    exchange = channel.new_name("exchange")
    channel.tries(Exchange.Declare(exchange, kind, **flags), Exchange.DeclareOk)
    return exchange


def joins(
    channel: AmqpChannel, source: str, destination: str, key: str = "", arguments: Mapping[str, object] = {}
) -> None:
    """Judge that one exchange can be bound to another one."""
    bind = Exchange.Bind(destination, source, key, arguments=dict(arguments))
    channel.tries(bind, Exchange.BindOk)


def bound_queue(channel: AmqpChannel, *exchanges: str, key: str = "") -> str:
    """Declare a queue and bind it to exchanges; give its name."""
    queue = channel.declare_queue()
    for exchange in exchanges:
        channel.bind(queue, exchange, key)
    return queue


def look(exchange: str) -> Exchange.Declare:
    return Exchange.Declare(exchange, "direct", passive=True)


def is_there(broker: Broker, exchange: str) -> None:
    """Judge that an exchange is there."""
    broker.channel().tries(look(exchange), Exchange.DeclareOk)


def goes(broker: Broker, exchange: str) -> None:
    """Judge that an exchange is not there, now or a while later."""
    channel = broker.channel()
    if channel.takes(look(exchange), Exchange.DeclareOk):
        channel.settle()
    broker.channel().tries(look(exchange), channel_closed(NOT_FOUND))
