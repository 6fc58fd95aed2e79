"""connection.close."""

from __future__ import annotations

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.deviations import answers, changes
from harness.amqp0_9_1.faults import serve_on_a_channel
from harness.amqp0_9_1.outcomes import channel_closed, closed_silently
from harness.amqp0_9_1.peer.queue_table import create_queue
from harness.amqp0_9_1.vocabulary import NOT_FOUND, REPLY_SUCCESS, Channel, Connection, Queue
from scenarios.registry import broken_by, scenario

CLOSING = "connection: closing hears only Close and Close-Ok"


@scenario("0-9-1/connection.close.stability")
@broken_by("serves methods after its Close", changes(CLOSING, effects=(serve_on_a_channel,)))
@broken_by("obeys in silence", changes(CLOSING, effects=(create_queue,)))
@broken_by("answers what it discards", answers(Queue.Declare, Queue.DeclareOk("discarded")))
def what_follows_the_servers_close_is_discarded(broker: Broker) -> None:
    """After the server's Close a Declare has no answer and no effect; a Close is answered with Close-Ok.

    A second Open of a channel makes the server send Close.
    """
    connection = broker.connection()
    channel = connection.channel()
    queue = channel.new_name("queue")
    channel.send(Channel.Open())
    connection.control("a second Open of the channel", Connection.Close)
    channel.send(Queue.Declare(queue))
    connection.send(Connection.Close(REPLY_SUCCESS, "crossing"))
    connection.expect(
        Connection.CloseOk, closed_silently().under("Close-Ok for a crossing Close is a must in lower case")
    )
    connection.send(Connection.CloseOk())
    witness = broker.channel(new_connection=True)
    witness.send(Queue.Declare(queue, passive=True))
    witness.expect(channel_closed(NOT_FOUND))
    channel.got_nothing()
