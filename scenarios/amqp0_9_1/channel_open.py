"""channel.open."""

from __future__ import annotations

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.outcomes import refused
from harness.amqp0_9_1.vocabulary import CHANNEL_ERROR, Channel
from scenarios.registry import scenario


@scenario("0-9-1/channel.open.state")
def opening_an_open_channel_is_a_channel_error(broker: Broker) -> None:
    """Open on a channel that is open already raises connection exception 504."""
    channel = broker.channel()
    channel.send(Channel.Open())
    channel.expect(*refused(CHANNEL_ERROR))
