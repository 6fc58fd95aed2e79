"""connection.close."""

from harness.amqp0_9_1.broken.deviations import answers, changes
from harness.amqp0_9_1.broken.end_faults import obeys
from harness.amqp0_9_1.broken.faults import serve_on_a_channel
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import channel_closed, closed_silently
from harness.amqp0_9_1.peer.events import ConnectionState
from harness.amqp0_9_1.peer.tables.queue import create_queue, delete_it, purge_queue
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, REPLY_SUCCESS, Basic, Channel, Connection, Queue
from scenarios.registry import broken_by, scenario

CLOSING = "connection: closing hears only Close and Close-Ok"


@scenario("0-9-1/connection.close.stability")
@broken_by("serves methods after its Close", changes(CLOSING, serve_on_a_channel))
@broken_by("obeys in silence", obeys(ConnectionState.CLOSING, Queue.Declare, create_queue))
@broken_by("purges after its Close", obeys(ConnectionState.CLOSING, Queue.Purge, purge_queue))
@broken_by("deletes after its Close", obeys(ConnectionState.CLOSING, Queue.Delete, delete_it))
@broken_by(
    "answers what it discards",
    answers(Queue.Declare, Queue.DeclareOk("discarded"), when=lambda it: not it.durable and not it.passive),
)
def what_follows_the_servers_close_is_discarded(broker: Broker) -> None:
    """After the server's Close what we ask for has no answer and no effect; a Close gets Close-Ok.

    A second Open of a channel makes the server send Close.
    """
    connection = broker.connection()
    channel = connection.channel()
    queue, kept = channel.new_name("queue"), channel.declare_queue(durable=True)
    channel.publish(b"kept", key=kept)
    channel.fence()
    channel.send(Channel.Open())
    connection.control("a second Open of the channel", Connection.Close)
    channel.send(Queue.Declare(queue))
    channel.publish(b"discarded", key=kept)
    for discarded in (Queue.Purge(kept), Queue.Delete(kept)):
        channel.send(discarded)
    connection.send(Connection.Close(REPLY_SUCCESS, "crossing"))
    connection.expect(
        Connection.CloseOk, closed_silently().under("Close-Ok for a crossing Close is a must in lower case")
    )
    connection.send(Connection.CloseOk())
    witness = broker.channel(new_connection=True)
    witness.gets(kept, b"kept")
    witness.tries(Basic.Get(kept, no_ack=True), Basic.GetEmpty)
    witness.tries(Queue.Declare(queue, passive=True), channel_closed(NOT_FOUND))
    channel.got_nothing()
