"""channel.close-ok."""

from __future__ import annotations

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.connection import AmqpChannel
from harness.amqp0_9_1.deviations import swaps
from harness.amqp0_9_1.log_faults import no_lost_sockets, nothing_but_the_start
from harness.amqp0_9_1.vocabulary import Channel, Queue
from scenarios.registry import broken_by, scenario


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


def closed_by_server(broker: Broker) -> AmqpChannel:
    """A channel that waits for our Close-Ok: a queue that nobody declared was looked for."""
    channel = broker.channel(new_connection=True)
    channel.ask(Queue.Declare(channel.new_name("queue"), passive=True), Channel.Close)
    return channel
