"""The three ways a content comes to a client: Get-Ok, Deliver and Return."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import Received
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import BODY, HEADER, Frame, content_frames, method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic

Way = type[Method]
"""Basic.Get-Ok, Basic.Deliver or Basic.Return."""

PROBE = b"is anything returned?"


class ThreeWays:
    """A channel on which what is published comes back by each method that carries a content.

    A server that does not return a mandatory message (0-9-1/basic.publish.mandatory.01 is a SHOULD) is asked
    for the other two, and the run says so. Iterating gives the ways there are.
    """

    def __init__(self, broker: Broker, channel: AmqpChannel | None = None) -> None:
        self._broker = broker
        self.channel = channel or broker.channel()
        self._got, self._consumed = (self.channel.declare_queue() for _ in range(2))
        self.channel.consume(self._consumed, no_ack=True)
        self._returns: bool | None = None

    def __iter__(self) -> Iterator[Way]:
        yield from (Basic.GetOk, Basic.Deliver)
        if self._returns is None:
            self._returns = returns_what_is_mandatory(self._broker)
        if self._returns:
            yield Basic.Return

    def publish(self, way: Way, body: bytes, **properties: Any) -> None:
        """Publish a message that comes this way."""
        channel = self.channel
        method, room = self._method(way), channel.connection.link.frame_max
        channel.connection.send_frames(
            *content_frames(channel.number, method, Basic.Properties(**properties), body, room)
        )
        self._ask(way)

    def publish_raw(self, way: Way, header: bytes, *bodies: bytes) -> None:
        """Publish a message that comes this way: these octets are its content header and its body frames."""
        number = self.channel.number
        self.channel.connection.send_frames(
            method_frame(number, self._method(way)),
            Frame(HEADER, number, header),
            *(Frame(BODY, number, each) for each in bodies),
        )
        self._ask(way)

    def _method(self, way: Way) -> Basic.Publish:
        methods: Mapping[Way, Callable[[], Basic.Publish]] = {
            Basic.GetOk: lambda: Basic.Publish("", self._got),
            Basic.Deliver: lambda: Basic.Publish("", self._consumed),
            Basic.Return: lambda: unroutable(self._got),
        }
        return methods[way]()

    def _ask(self, way: Way) -> None:
        if way is Basic.GetOk:
            self.channel.send(Basic.Get(self._got, no_ack=True))


def unroutable(queue: str) -> Basic.Publish:
    """Give the publication of a mandatory message with a key that nobody has bound."""
    return Basic.Publish("amq.direct", f"{queue}.nowhere", mandatory=True)


def returns_what_is_mandatory(broker: Broker) -> bool:
    """Say whether the server returns a mandatory message that cannot be routed; says so where it does not."""
    channel = broker.channel(new_connection=True)
    method = unroutable(broker.name("queue"))
    channel.publish(PROBE, exchange=method.exchange, key=method.routing_key, mandatory=True)
    seen = channel.connection.link.next(channel.number, channel.context.patience.answer)
    returns = isinstance(seen, Received) and isinstance(seen.method, Basic.Return)
    if not returns:
        broker.note("nothing is returned (0-9-1/basic.publish.mandatory.01): looked at Get-Ok and Deliver")
    return returns
