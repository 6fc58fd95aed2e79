"""3.3.7 CHANNEL CLOSE Command: where the server closes; and 3.3.10 Channel Error Handling."""

from harness.amqp_fast.broken.channel_faults import close_and_keep_handles, nothing
from harness.amqp_fast.broken.deviations import Fault, ignores, rewrites
from harness.amqp_fast.client.channel import FastChannel
from harness.amqp_fast.client.outcomes import Received, closed, closed_anyhow, stream_ends
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.refusals import CHANNEL, NOT_VALID_NOW, refuses
from harness.amqp_fast.peer.tables import channel as rows
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection
from scenarios.amqp_fast.channels.common import WORDLESS, holds
from scenarios.amqp_fast.channels.s3_3_4_channel_commit import transacted
from scenarios.registry import broken_by, scenario

AGAIN, ENDS, INSISTS = (
    "channel open: again is refused",
    "channel closing: ends with close",
    "channel closing: insists",
)
REFUSED = "channel commit: is refused"
NO_OCCASION = "the server tells errors of channels by closing the connection"


def provoked_by_commit(server: Server, channel: FastChannel) -> None:
    """Have the server close a channel, by COMMIT where nothing is transacted. Raises Inapplicable."""
    _provoked(server, channel, Channel.Commit(channel.id))


def provoked_by_open(server: Server, channel: FastChannel) -> None:
    """Have the server close a channel, by a second CHANNEL OPEN. Raises Inapplicable."""
    _provoked(server, channel, Channel.Open(channel.id))


def _provoked(server: Server, channel: FastChannel, error: Command) -> None:
    channel.send(error)
    seen = channel.control(error.full_name, Channel.Close, Connection.Close)
    if isinstance(seen, Connection.Close):
        server.inapplicable(NO_OCCASION)


def answer(channel: FastChannel) -> None:
    """Answer the server's CHANNEL CLOSE."""
    channel.send(Channel.Close(channel.id, OK, "Ok"))


@scenario("fast/3.3.7.closer-reads-on")
@broken_by("ends the connection", Fault.changes(INSISTS, refuses(NOT_VALID_NOW, "closing", "connection")))
@broken_by("does not see the answer", ignores(Channel.Close))
@broken_by(
    "only says that it closes", Fault.changes("channel commit: is refused", nothing, answer=rows.closed)
)
def closing_server_reads_on(server: Server) -> None:
    """Behind the server's CLOSE we send a message and ACK, then CLOSE: the connection goes on, unharmed."""
    queue, connection = server.queue(), server.connection()
    other, channel = connection.channel(), connection.channel()
    handle = channel.handle()
    provoked_by_commit(server, channel)
    handle.send(*handle.carries(queue, b"discarded"), Channel.Ack(channel.id, 0, 1))
    answer(channel)
    other.stays_quiet()
    connection.lives()
    hear_out(channel)
    channel.confirms(Channel.Open(channel.id))
    holds(server, queue)


def hear_out(channel: FastChannel) -> None:
    """Pass over what has come on a channel up to now: CLOSE for each command between, as it may be."""
    while isinstance(channel.link.next(channel.on, 0.0), Received):
        pass


@scenario("fast/3.3.7.closer-repeats")
@broken_by("says it once", Fault.changes(INSISTS, answer=None))
@broken_by("confirms what it discards", Fault.changes(INSISTS, answer=rows.confirmed))
def closing_server_closes_again(server: Server) -> None:
    """A command behind the server's CLOSE is answered by another one; our CLOSE by nothing."""
    connection = server.connection()
    other, channel = connection.channel(), connection.channel()
    provoked_by_commit(server, channel)
    channel.send(Channel.Rollback(channel.id, connection.tag()))
    channel.expect(Channel.Close, acknowledge=False)
    answer(channel)
    other.fence()
    channel.got_nothing()


@scenario("fast/3.3.7.close-not-answered-twice")
@broken_by("answers the answer", Fault.changes(ENDS, answer=rows.closed))
@broken_by("takes the answer for another command", Fault.drops(ENDS))
def answer_to_a_close_is_not_answered(server: Server) -> None:
    """Our CLOSE in answer to the server's is the last word."""
    connection = server.connection()
    other, channel = connection.channel(), connection.channel()
    provoked_by_commit(server, channel)
    answer(channel)
    other.fence()
    channel.got_nothing()


@scenario("fast/3.3.7.close-by-server-rolls-back")
@broken_by("commits", Fault.changes(AGAIN, rows.commit, refuses(NOT_VALID_NOW, "it is open", CHANNEL)))
@broken_by("commits nothing but with a close", Fault.changes("channel commit: is done", effects=()))
def server_that_closes_rolls_back(server: Server) -> None:
    """What was sent and acknowledged before the error is as if it had not been; committed, it is done."""
    for committed in (True, False):
        source, target = server.queue(b"acknowledged"), server.queue()
        handle = transacted(server, source)
        handle.messages(1)
        handle.channel.ack()
        handle.publish(target, b"sent")
        if committed:
            handle.channel.commit()
        provoked_by_open(server, handle.channel)
        answer(handle.channel)
        handle.connection.alive()
        holds(server, target, *([b"sent"] if committed else []))
        holds(server, source, *([] if committed else [b"acknowledged"]))


@scenario("fast/3.3.7.close-by-server-closes-handles")
@broken_by("leaves them open", Fault.changes(AGAIN, close_and_keep_handles, answer=rows.closed))
@broken_by("does not free their numbers", Fault.drops(ENDS))
def server_that_closes_closes_the_handles(server: Server) -> None:
    """A handle of the closed channel is opened on another one; what comes to its queue is for others."""
    queue, connection = server.queue(), server.connection()
    other = connection.channel()
    handle = connection.channel().handle().consume(queue, no_ack=True)
    provoked_by_open(server, handle.channel)
    answer(handle.channel)
    again = other.unopened(handle.id)
    again.confirms(again.opening())
    holds(server, queue)


@scenario("fast/3.3.7.close-by-server-frees-channel")
@broken_by("never frees it", Fault.drops(ENDS))
@broken_by("remembers how it was opened", ignores(Channel.Open, skip=2))
def server_that_closes_frees_the_channel(server: Server) -> None:
    """When the server's CLOSE is answered the channel is opened again, as another one."""
    connection = server.connection()
    connection.channel()
    channel = connection.channel()
    provoked_by_commit(server, channel)
    answer(channel)
    channel.confirms(Channel.Open(channel.id, transacted=True))
    channel.confirms(Channel.Commit(channel.id))


BY_CHANNEL = "555: an error on a channel closes that channel"


@scenario("fast/3.3.10.errors-close-connection")
@broken_by("passes over what is not open", Fault.drops("channel: is not open"))
@broken_by("opens channel 0", Fault.drops("channel open: of number zero is refused"))
@broken_by("tells a success", rewrites(Channel.Close, reply_code=OK))
def errors_of_channels_close_the_connection(server: Server) -> None:
    """ACK, COMMIT, ROLLBACK for no channel, and OPEN for channel 0, close the connection, or the channel."""
    for kind in (Channel.Ack, Channel.Commit, Channel.Rollback, Channel.Open):
        connection = server.connection()
        connection.channel()
        channel = connection.unopened(0 if kind is Channel.Open else None)
        narrow = closed(Channel.Close).recorded(BY_CHANNEL)
        command = kind(channel.id, connection.tag())
        channel.tries(command, closed(Connection.Close), narrow, stream_ends().under(WORDLESS))


@scenario("fast/3.3.10.errors-carry-a-code")
@broken_by("tells a success", rewrites(Channel.Close, reply_code=OK))
@broken_by("tells no code", rewrites(Channel.Close, reply_code=0))
@broken_by("tells a number of its own", rewrites(Channel.Close, reply_code=lambda code: code * 10))
def errors_are_told_by_a_code(server: Server) -> None:
    """COMMIT without a transaction, ACK for no channel, a second OPEN: the close has a code of an error."""
    for kind in (Channel.Commit, Channel.Open, Channel.Ack):
        connection = server.connection()
        channel = connection.unopened() if kind is Channel.Ack else connection.channel()
        channel.tries(kind(channel.id, connection.tag()), closed_anyhow(), stream_ends().under(WORDLESS))
