"""The client in the hands of a hostile server: only typed observations come, and only typed exceptions."""

from typing import get_args

from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.link import Link
from harness.amqp0_9_1.client.outcomes import (
    Observation,
    channel_closed,
    closed_silently,
    header_answered,
    signature,
)
from harness.amqp0_9_1.trials import odd
from harness.amqp0_9_1.trials.hostile import HostileTransport
from harness.amqp0_9_1.wire.vocabulary import Basic, Queue
from harness.trials.fuzz import Draws
from harness.trials.fuzz_client import PATIENCE, heard, play


def link(data: bytes) -> None:
    """Check that any octets in any pieces come to observations, at most one for each frame."""
    draws = Draws(data)
    transport = HostileTransport(draws)
    with heard(transport, lambda context: Link(transport, context, "c", "0-9-1"), data) as seen:
        while draws:
            seen.send_octets(odd.unit(draws))
            for number in (odd.channel(draws), 1):
                came = seen.next(number, PATIENCE.answer)
                assert isinstance(came, get_args(Observation))
                assert signature(came).isprintable()
                seen.acknowledge_close(came)
            seen.coming(odd.channel(draws), PATIENCE.answer)


def client(data: bytes) -> None:
    """Check that a scenario of any steps ends by itself or by a Stop, in bounded time."""

    def steps(draws: Draws, broker: Broker) -> None:
        channel = broker.channel()
        for _ in range(12):
            _step(draws, broker, channel)

    play(data, HostileTransport, Broker, "0-9-1", steps)


def _step(draws: Draws, broker: Broker, channel: AmqpChannel) -> None:
    choice = draws.number() % 12
    if choice == 0:
        channel.declare_queue(exclusive=draws.flag())
    elif choice == 1:
        channel.publish(b"body" * draws.number(), key="q")
    elif choice == 2:
        channel.get("q")
    elif choice == 3:
        channel.consume("q")
    elif choice == 4:
        channel.deliveries(draws.number() % 3)
    elif choice == 5:
        channel.stays_quiet()
    elif choice == 6:
        channel.coming(Basic.Deliver, Basic.GetOk)
    elif choice == 7:
        broker.channel(new_connection=draws.flag())
    elif choice == 8:
        channel.send(Queue.Purge("q"))
        channel.expect_answer(Queue.PurgeOk, channel_closed().under("any"), closed_silently().recorded())
    elif choice == 9:
        broker.socket().expect(header_answered((0, 9, 1)))
    elif choice == 10:
        channel.misses(draws.one_of(("queue", "exchange")))
    else:
        channel.settle()
