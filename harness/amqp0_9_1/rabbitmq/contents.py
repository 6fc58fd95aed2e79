"""Messages as they are changed on their way: properties read, and put back in the octets that are sent."""

from typing import Any

from harness.amqp0_9_1.peer.entities import Message
from harness.amqp0_9_1.rabbitmq.field_types import in_the_grammar
from harness.amqp0_9_1.wire.vocabulary import CODEC, Basic

_CLASS = Basic.Publish.key >> 16
_FIXED = 12
"""Octets of a content header before its flags: class, weight, size of the body."""


def properties_of(message: Message) -> Basic.Properties:
    """Read the properties of a message."""
    read = CODEC.properties[_CLASS].decode(in_the_grammar(message.header), _FIXED)
    assert isinstance(read, Basic.Properties)
    return read


def changed(message: Message, exchange: str = "", key: str = "", **properties: Any) -> Message:
    """Give a copy of a message with some properties changed, sent to another exchange with another key.

    Both stay as they are where neither is given.
    """
    read = properties_of(message)
    kept = {name: getattr(read, name) for name in read.names}
    new = Basic.Properties(**(kept | properties))
    where = (exchange, key) if exchange or key else (message.exchange, message.routing_key)
    copy = Message(
        message.store, message.publisher, *where, message.header[:_FIXED] + new.encode(), new, message.body
    )
    copy.deaths = message.deaths
    return copy
