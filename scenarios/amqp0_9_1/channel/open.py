"""channel.open."""

from harness.amqp0_9_1.broken.deviations import changes, rewrites
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import refused
from harness.amqp0_9_1.peer.tables.channel import open_ok
from harness.amqp0_9_1.wire.vocabulary import CHANNEL_ERROR, COMMAND_INVALID, Channel, Connection
from scenarios.registry import broken_by, scenario


@scenario("0-9-1/channel.open.state")
@broken_by("opens a channel twice", changes("channel.open: refuses a channel already open", answer=open_ok))
@broken_by("gives another code", rewrites(Connection.Close, reply_code=COMMAND_INVALID))
def opening_an_open_channel_is_a_channel_error(broker: Broker) -> None:
    """Open on a channel that is open already raises connection exception 504."""
    broker.channel().tries(Channel.Open(), *refused(CHANNEL_ERROR))
