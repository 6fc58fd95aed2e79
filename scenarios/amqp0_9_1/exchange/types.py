"""The four types of exchange: how a message goes through each, as data for the rules about all of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.wire.vocabulary import Exchange, Queue

Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Sent:
    """What exchanges look at in a message: its routing key, its headers."""

    key: str = ""
    headers: Headers = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Way:
    """A binding by `key` and `arguments`, a message that passes it, and one that does not if there is any."""

    key: str
    passes: Sent
    stays: Sent | None = None
    arguments: Headers = field(default_factory=dict)

    def bind(self, queue: str, exchange: str) -> Queue.Bind:
        return Queue.Bind(queue, exchange, self.key, arguments=dict(self.arguments))

    def unbind(self, queue: str, exchange: str) -> Queue.Unbind:
        return Queue.Unbind(queue, exchange, self.key, arguments=dict(self.arguments))

    def publish(self, channel: AmqpChannel, exchange: str, body: bytes, **how: Any) -> None:
        """Publish a message that passes; `how` are other properties, and bits of Publish."""
        publish(channel, exchange, self.passes, body, **how)


def publish(channel: AmqpChannel, exchange: str, sent: Sent, body: bytes, **how: Any) -> None:
    channel.publish(body, exchange=exchange, key=sent.key, headers=dict(sent.headers), **how)


WAYS: Mapping[str, Way] = {
    "direct": Way("key", Sent("key"), Sent("another")),
    "fanout": Way("key", Sent("another")),
    "topic": Way("*.key", Sent("one.key"), Sent("one.two.key")),
    "headers": Way(
        "",
        Sent(headers={"colour": "red"}),
        Sent(headers={"colour": "blue"}),
        {"x-match": "all", "colour": "red"},
    ),
}
"""By type of exchange. That a direct exchange holds back another key no sentence says."""

REQUIRED = ("direct", "fanout")
"""What every server has (0-9-1/exchange.required-types); the others it should have."""


def known_types(broker: Broker) -> list[str]:
    return [kind for kind in WAYS if kind in REQUIRED or knows(broker, kind)]


def knows(broker: Broker, kind: str) -> bool:
    channel = broker.channel(new_connection=True)
    return channel.takes(Exchange.Declare(broker.name("exchange"), kind), Exchange.DeclareOk)
