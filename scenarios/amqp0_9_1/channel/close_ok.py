"""channel.close-ok."""

from harness.amqp0_9_1.broken.deviations import changes, mends, swaps
from harness.amqp0_9_1.broken.frame_faults import unreadable
from harness.amqp0_9_1.broken.log_faults import no_lost_sockets, nothing_but_the_start
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import connection_closed, silence
from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.wire.frames import METHOD, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import FRAME_ERROR, SYNTAX_ERROR, Channel, Queue
from scenarios.amqp0_9_1.channel.close import CLOSING
from scenarios.amqp0_9_1.grammar.calls import AT_ONCE
from scenarios.registry import broken_by, scenario


def good_close_ok(frame: Frame) -> Frame:
    return method_frame(frame.channel, Channel.CloseOk())


@scenario("0-9-1/channel.close-ok.reporting", needs=["log"], alone=True)
@broken_by("logs nothing of connections", swaps(logged=nothing_but_the_start))
@broken_by("logs exceptions and no lost sockets", swaps(logged=no_lost_sockets))
def socket_lost_before_close_ok_is_logged(broker: Broker) -> None:
    """The server's Close of a channel is answered; of a socket that ends instead of that more is logged."""
    log = broker.log()
    with log.usual():
        channel = closed_by_server(broker)
        channel.send(Channel.CloseOk())
        channel.connection.close()
    closed_by_server(broker).connection.drop()
    log.gains("a socket that ended without Channel.Close-Ok")


@scenario("0-9-1/grammar/channel.close-ok.trailing")
@broken_by("passes over what follows", mends(unreadable(Channel.CloseOk), good_close_ok))
@broken_by("frees the channel without any", changes(CLOSING, next=ChannelState.UNOPENED))
def close_ok_with_octets_behind_it_is_none(broker: Broker) -> None:
    """Close-Ok frees the channel; with one octet more it ends the connection, or is discarded: not both.

    What the server awaits is Close-Ok, and it discards what is not (0-9-1/channel.close.stability).
    """
    channel = closed_by_server(broker)
    channel.send(Channel.CloseOk())
    channel.ask(Channel.Open())
    channel = closed_by_server(broker)
    payload = Channel.CloseOk().encode() + b"\x00"
    channel.connection.send_frames(Frame(METHOD, channel.number, payload))
    channel.send(Channel.Open())
    refused = connection_closed(FRAME_ERROR, SYNTAX_ERROR) | silence()
    channel.expect(
        refused, (connection_closed() | AT_ONCE).under("4.8.1: another code than the one that fits")
    )


def closed_by_server(broker: Broker) -> AmqpChannel:
    """Give a channel that waits for our Close-Ok: a queue that nobody declared was looked for."""
    channel = broker.channel(new_connection=True)
    channel.ask(Queue.Declare(channel.new_name("queue"), passive=True), Channel.Close)
    return channel
