"""How a channel can end, and what is left behind, for the rules about what ends with it (4.5)."""

from collections.abc import Callable
from functools import reduce
from operator import or_

from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import Received, message
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Queue


def by_handshake(channel: AmqpChannel) -> None:
    channel.close()


def by_exception(channel: AmqpChannel) -> None:
    """Look for a queue that does not exist, which closes the channel."""
    channel.ask(Queue.Declare(channel.new_name("queue"), passive=True), Channel.Close)
    channel.send(Channel.CloseOk())


def with_connection(channel: AmqpChannel) -> None:
    channel.connection.close()


def by_dropping_the_socket(channel: AmqpChannel) -> None:
    channel.connection.drop()


WAYS: tuple[Callable[[AmqpChannel], None], ...] = (
    by_handshake,
    by_exception,
    with_connection,
    by_dropping_the_socket,
)
"""Each way for a channel to end (4.5)."""


def is_left(broker: Broker, queue: str, *bodies: bytes) -> None:
    """Judge that a new consumer gets these messages, in any order, and no other before one published behind.

    What a channel leaves may be put back after its Close-Ok: no sentence says when. Raises Unmet.
    """
    channel, left = broker.channel(), list(bodies)
    channel.consume(queue, no_ack=True)
    while left:
        one_of_them = reduce(or_, (message(Basic.Deliver, body) for body in left))
        seen = channel.observe(one_of_them)
        assert isinstance(seen, Received)  # else it is unmet
        left.remove(seen.body)
    channel.hears(b"behind", key=queue)
