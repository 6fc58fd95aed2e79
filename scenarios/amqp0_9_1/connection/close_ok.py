"""connection.close-ok."""

from harness.amqp0_9_1.broken.deviations import changes, swaps
from harness.amqp0_9_1.broken.log_faults import (
    no_lost_sockets,
    note_an_end,
    nothing_but_the_start,
    only_sockets_in_use,
)
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpConnection
from harness.amqp0_9_1.peer.life import end_connection
from harness.amqp0_9_1.wire.vocabulary import Connection
from scenarios.amqp0_9_1.grammar.calls import HANDSHAKE
from scenarios.registry import broken_by, scenario

ORDERLY = "connection.close: is answered"


@scenario("0-9-1/connection.close-ok.reporting", needs=["log"], alone=True)
@broken_by("logs nothing of connections", swaps(logged=nothing_but_the_start))
@broken_by("logs no lost sockets", swaps(logged=no_lost_sockets))
@broken_by("logs the same of every connection", changes(ORDERLY, note_an_end, end_connection))
def socket_lost_in_use_is_logged(broker: Broker) -> None:
    """A connection in use is closed by the hand-shake; of another, whose socket just ends, more is logged."""
    log = broker.log()
    with log.usual():
        broker.lookout().close()
    broker.lookout().drop()
    log.gains("a socket in use that ended without Close")


@scenario("0-9-1/connection.close-ok.reporting", needs=["log"], alone=True)
@broken_by("logs exceptions and no lost sockets", swaps(logged=no_lost_sockets))
@broken_by("logs no lost sockets once it has sent Close", swaps(logged=only_sockets_in_use))
def socket_lost_after_close_is_logged(broker: Broker) -> None:
    """The server's Close is answered; of a socket that ends instead of the answer more is logged."""
    log = broker.log()
    with log.usual():
        connection = closed_by_server(broker)
        connection.send(Connection.CloseOk())
        connection.drop()
    closed_by_server(broker).drop()
    log.gains("a socket that ended after the server's Close, without Close-Ok,")


def closed_by_server(broker: Broker) -> AmqpConnection:
    """Give a connection that waits for our Close-Ok."""
    return HANDSHAKE["connection.close-ok"](broker)[0]
