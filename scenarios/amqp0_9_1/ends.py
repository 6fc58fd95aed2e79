"""How a channel can end, for the rules about what ends with it (4.5)."""

from __future__ import annotations

from collections.abc import Callable

from harness.amqp0_9_1.connection import AmqpChannel
from harness.amqp0_9_1.vocabulary import Channel, Queue


def by_handshake(channel: AmqpChannel) -> None:
    """Close and Close-Ok."""
    channel.close()


def by_exception(channel: AmqpChannel) -> None:
    """A queue that does not exist."""
    channel.ask(Queue.Declare(channel.new_name("queue"), passive=True), Channel.Close)
    channel.send(Channel.CloseOk())


def with_connection(channel: AmqpChannel) -> None:
    """The connection's Close."""
    channel.connection.close()


def by_dropping_the_socket(channel: AmqpChannel) -> None:
    """No word."""
    channel.connection.drop()


WAYS: tuple[Callable[[AmqpChannel], None], ...] = (
    by_handshake,
    by_exception,
    with_connection,
    by_dropping_the_socket,
)
"""Each way for a channel to end (4.5)."""
