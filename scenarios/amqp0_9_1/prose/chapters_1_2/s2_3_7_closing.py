"""2.3.7: channels and connections are closed by a handshake."""

from harness.amqp0_9_1.broken.deviations import changes, drops, ignores, rejects, repeats, withholds
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import (
    answered,
    channel_closed,
    closed_silently,
    connection_closed,
    silence,
)
from harness.amqp0_9_1.peer.refusals import close_in_silence, refuse
from harness.amqp0_9_1.server.client import Client
from harness.amqp0_9_1.wire.frames import method_frame
from harness.amqp0_9_1.wire.vocabulary import (
    CHANNEL_ERROR,
    CONNECTION_FORCED,
    REPLY_SUCCESS,
    Channel,
    Connection,
    Exchange,
    Queue,
    Tx,
)
from scenarios.amqp0_9_1.grammar.calls import AT_ONCE
from scenarios.amqp0_9_1.talk import talk
from scenarios.registry import broken_by, scenario
from spec.rules import Role

OPENED_TWICE = "channel.open: refuses a channel already open"
CROSSING = "channel.close: crossing ours is answered"
DONE = Channel.Close(REPLY_SUCCESS, "done")


@scenario("0-9-1/prose/2.3.7.close-by-handshake", slow=True)
@broken_by("closes without a word", changes(OPENED_TWICE, close_in_silence, answer=None))
@broken_by("goes on", ignores(Channel.Open, skip=1))
@broken_by("does not wait for the answer to its Close", repeats(Connection.Close))
def server_closes_by_handshake(broker: Broker) -> None:
    """A channel opened twice makes the server send Close; then it waits for our Close-Ok."""
    channel = broker.channel()
    connection = channel.connection
    channel.send(Channel.Open())
    close = connection.expect(connection_closed(), acknowledge=False)
    left = AT_ONCE.under("2.3.7 does not say how long a peer waits for Close-Ok")
    connection.expect(silence(), left)
    connection.link.acknowledge_close(close)


@scenario("0-9-1/prose/2.3.7.close-by-handshake", role=Role.CLIENT)
@broken_by("ends its connection without a word", ignores(Connection.Close), Role.CLIENT)
def client_closes_by_handshake(client: Client) -> None:
    """The client declares, publishes, gets, and closes its connection: Close comes, then the socket's end."""
    connection = talk(client)
    connection.hear_out()
    connection.closes()
    connection.expect(Connection.Close)
    connection.expect(closed_silently())


def just_opened(_: AmqpChannel) -> None:
    """Do nothing on the channel."""


def consuming(channel: AmqpChannel) -> None:
    """Start a consumer, and leave messages unacknowledged."""
    queue = channel.declare_queue()
    channel.consume(queue)
    for _ in range(3):
        channel.publish(b"unacknowledged", key=queue)
    channel.deliveries(1)


def transacting(channel: AmqpChannel) -> None:
    channel.ask(Tx.Select())
    channel.publish(b"not committed", key=channel.declare_queue())


def has_transactions(broker: Broker) -> bool:
    """Say whether Tx.Select is confirmed, on a connection of its own."""
    probe = broker.channel(new_connection=True)
    probe.send(Tx.Select(), FENCE)
    answer = probe.control("tx.select", Tx.SelectOk, Exchange.DeclareOk, Channel.Close, Connection.Close)
    probe.connection.drop()
    return isinstance(answer, Tx.SelectOk)


@scenario("0-9-1/prose/2.3.7.close-answered")
@broken_by("answers no Channel.Close", withholds(Channel.CloseOk))
@broken_by("answers none on a channel in use", withholds(Channel.CloseOk, skip=1))
@broken_by("answers no Connection.Close", ignores(Connection.Close))
def close_is_answered_whatever_is_open(broker: Broker) -> None:
    """Close is answered on a channel: fresh, with a consumer, with a transaction; and on a connection."""
    transactions = [transacting] if has_transactions(broker) else []
    for uses in (just_opened, consuming, *transactions):
        channel = broker.channel()
        uses(channel)
        channel.send(DONE)
        channel.expect_answer(Channel.CloseOk)
    broker.channel().connection.tries(Connection.Close(REPLY_SUCCESS, "done"), Connection.CloseOk)


@scenario("0-9-1/prose/2.3.7.close-answered", role=Role.CLIENT)
@broken_by("answers no Channel.Close", ignores(Channel.CloseOk), Role.CLIENT)
@broken_by("answers no Connection.Close", ignores(Connection.CloseOk), Role.CLIENT)
def client_answers_close(client: Client) -> None:
    """The server closes a channel on which a queue was declared, then the connection: Close-Ok comes."""
    connection = client.connection(rejects(Queue.Purge, CONNECTION_FORCED))
    channel, queue = connection.channel(), client.name("queue")
    channel.call("queue.declare", queue=queue)
    channel.attempt("queue.declare", queue=client.name("missing"), passive=True)
    connection.expect(Channel.CloseOk)
    connection.channel().attempt("queue.purge", queue=queue)
    connection.expect(Connection.CloseOk)


@scenario("0-9-1/prose/2.3.7.crossing-closes")
@broken_by("waits for ever", drops("channel.close-ok: frees the channel"))
@broken_by("takes our Close for an error", changes(CROSSING, answer=refuse(CHANNEL_ERROR)))
@broken_by("hears nothing else meanwhile", ignores(Channel.Open, skip=2))
def crossing_closes_free_the_channel(broker: Broker) -> None:
    """Our Close crosses the server's: the number can be opened again, and another channel is alive."""
    other, channel = broker.channel(), broker.channel()
    missing = Queue.Declare(broker.name("queue"), passive=True)
    channel.connection.send_frames(*(method_frame(channel.number, each) for each in (missing, DONE)))
    channel.expect(channel_closed())
    if isinstance(channel.tries(Channel.Open(), answered(Channel.CloseOk, Channel.OpenOk)), Channel.CloseOk):
        channel.expect(Channel.OpenOk)
    channel.stays_quiet()
    other.stays_quiet()
