"""What 3.3.3 to 3.3.5, 3.3.8 and 3.3.9 say of commands where they are out of place."""

from harness.amqp_fast.broken.deviations import Fault, ignores, rewrites
from harness.amqp_fast.client.channel import FastChannel
from harness.amqp_fast.client.outcomes import closed, replied, stream_ends
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.tables import channel as rows
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection, Handle
from scenarios.amqp_fast.channels.common import MARK, OF_CHANNEL, OF_UNOPENED, WORDLESS, holds
from scenarios.registry import broken_by, scenario, scenarios_for

MARKED = Channel.Reply(1, 1, OK, MARK)
UNOPENED, AGAIN = "channel: is not open", "channel open: again is refused"
NARROW = "555: an error on a channel closes that channel"
ENOUGH = 1000
"""The most messages that are sent only to go beyond a limit."""


def control(channel: FastChannel, kind: type[Command]) -> None:
    """Have a command confirmed where it is in place. Raises ControlFailed."""
    if kind is Channel.Ack:
        channel.ack()
    elif kind is not Channel.Open:
        channel.ask(kind(channel.id))


def no_transaction(kind: type[Command]) -> str:
    return f"{kind.full_name.lower()}: is refused"


@scenarios_for(
    [
        ("fast/3.3.3.ack-needs-open-channel", Channel.Ack),
        ("fast/3.3.4.commit-needs-open-channel", Channel.Commit),
        ("fast/3.3.5.rollback-needs-open-channel", Channel.Rollback),
    ]
)
@broken_by("passes over it", Fault.drops(UNOPENED))
@broken_by("confirms it", Fault.changes(UNOPENED, effects=(), answer=rows.confirmed))
def command_for_a_channel_that_is_not_open_is_refused(server: Server, kind: type[Command]) -> None:
    """The command is confirmed on an open channel; for one never opened, or closed, it is refused."""
    for once in (False, True):
        connection = server.connection()
        channel = connection.channel(transacted=True)
        control(channel, kind)
        if once:
            channel.close()
        else:
            channel = connection.unopened()
        channel.tries(kind(channel.id, connection.tag()), *OF_UNOPENED)


@scenarios_for(
    [
        ("fast/3.3.4.commit-needs-transacted", Channel.Commit),
        ("fast/3.3.5.rollback-needs-transacted", Channel.Rollback),
        ("fast/3.3.9.rollback-impossible-not-confirmed", Channel.Rollback),
    ]
)
@broken_by("passes over it", lambda kind: Fault.drops(no_transaction(kind)))
@broken_by("confirms it", lambda kind: Fault.changes(no_transaction(kind), effects=(), answer=rows.confirmed))
def command_without_a_transaction_is_refused(server: Server, kind: type[Command]) -> None:
    """The command is confirmed on a transacted channel; on a plain one beside it it is refused."""
    connection = server.connection()
    control(connection.channel(transacted=True), kind)
    plain = connection.channel()
    plain.tries(kind(plain.id, connection.tag()), *OF_CHANNEL)


@scenario("fast/3.3.9.commit-impossible-not-confirmed")
@broken_by("passes over it", Fault.drops("channel commit: is refused"))
@broken_by("confirms it", Fault.changes("channel commit: is refused", effects=(), answer=rows.confirmed))
def commit_that_cannot_be_done_is_not_confirmed(server: Server) -> None:
    """COMMIT is refused where nothing is transacted."""
    command_without_a_transaction_is_refused(server, kind=Channel.Commit)


@scenario("fast/3.3.9.commit-impossible-not-confirmed")
@broken_by(
    "drops what is beyond the limit",
    Fault.changes("handle send: beyond the transaction is refused", effects=()),
)
def transaction_beyond_its_limit_is_not_committed(server: Server) -> None:
    """A transaction with more messages than TXN_LIMIT is not committed, or else it is committed whole."""
    queue = server.queue()
    handle = server.channel(new_connection=True, transacted=True).handle()
    most = handle.connection.tune.options.get("TXN_LIMIT", 0)
    if not 0 < most < ENOUGH:
        server.inapplicable(f"the server tells no TXN_LIMIT below {ENOUGH}")
    bodies = [b"%04d" % number for number in range(most + 1)]
    tag = handle.connection.tag()
    handle.send(*(frame for body in bodies for frame in handle.carries(queue, body)))
    handle.send(Channel.Commit(handle.channel.id, tag))
    legal = (*OF_CHANNEL, closed(Handle.Close).under("555: the error may be taken for one of the handle"))
    took = handle.expect(*legal, replied(Channel.Reply, tag).under("the server was able to"))
    holds(server, queue, *(bodies if isinstance(took, Channel.Reply) else []))


@scenario("fast/3.3.8.error-closes-channel")
@broken_by("opens a channel again", Fault.changes(AGAIN, rows.open_, answer=rows.confirmed))
@broken_by("passes over a second open", Fault.drops(AGAIN))
@broken_by("passes over a commit", Fault.drops("channel commit: is refused"))
@broken_by("passes over a rollback", Fault.drops("channel rollback: is refused"))
def error_in_these_commands_closes_the_channel(server: Server) -> None:
    """A second CHANNEL OPEN, and COMMIT and ROLLBACK without a transaction, are answered by CHANNEL CLOSE."""
    for kind in (Channel.Open, Channel.Commit, Channel.Rollback):
        channel = server.channel(new_connection=True)
        channel.tries(kind(channel.id, channel.connection.tag()), *OF_CHANNEL)


@scenario("fast/3.3.9.channel-reply-never-expected")
@broken_by("passes over it", ignores(Channel.Reply))
@broken_by("answers it", Fault.changes("never expected: is refused", effects=(), answer=lambda _: (MARKED,)))
def channel_reply_ends_the_connection(server: Server) -> None:
    """A server that gets CHANNEL REPLY closes the connection."""
    channel = server.channel()
    reply = Channel.Reply(channel.id, 1, OK)
    by_channel = closed(Channel.Close).under(NARROW)
    channel.tries(reply, closed(Connection.Close), stream_ends().recorded(), by_channel)


@scenario("fast/3.3.9.ack-on-open-destination")
@broken_by("passes over it", ignores(Channel.Ack, skip=1))
@broken_by("confirms with another tag", rewrites(Channel.Reply, confirm_tag=lambda tag: tag + 9, skip=3))
def ack_without_a_destination_is_confirmed_or_refused(server: Server) -> None:
    """CHANNEL ACK on a channel without a handle is confirmed or refused; which one, is recorded."""
    connection = server.connection()
    first, second = connection.channel(), connection.channel()
    first.handle()
    first.ack(1)
    tag = connection.tag()
    confirmed = replied(Channel.Reply, tag).recorded("1439: what it names need not exist")
    refused = closed(Channel.Close) | closed(Connection.Close)
    second.tries(Channel.Ack(second.id, tag, 1), confirmed, refused.recorded(), stream_ends().under(WORDLESS))


@scenario("fast/3.3.9.open-on-open-channel")
@broken_by("passes over it", Fault.drops(AGAIN))
@broken_by("opens it again", Fault.changes(AGAIN, rows.open_))
@broken_by("closes all channels", rewrites(Channel.Close, channel_id=lambda number: number + 1))
def open_on_an_open_channel_is_answered_by_close(server: Server) -> None:
    """A second CHANNEL OPEN, with another bit and no tag, is answered by CHANNEL CLOSE; others go on."""
    connection = server.connection()
    channel, other = connection.channel(), connection.channel()
    wide = closed(Connection.Close).under("3.3.10: errors in channel commands close the connection")
    if isinstance(
        channel.tries(Channel.Open(channel.id, 0, True), closed(Channel.Close), wide), Channel.Close
    ):
        other.stays_quiet()


@scenario("fast/3.3.9.open-on-closed-channel")
@broken_by("opens each channel once", ignores(Channel.Open, skip=1))
@broken_by("remembers that it was open", Fault.changes("channel close: is answered", effects=()))
@broken_by("is deaf behind its close", ignores(Channel.Open, skip=2))
def closed_channel_is_opened_again(server: Server) -> None:
    """A channel that was closed is opened again, in the same write as CLOSE and after its answer."""
    connection = server.connection()
    channel = connection.unopened()
    channel.confirms(Channel.Open(channel.id))
    tag = connection.tag()
    channel.tries(Channel.Close(channel.id, OK), Channel.Close)
    channel.confirms(Channel.Open(channel.id))
    channel.send(Channel.Close(channel.id, OK), Channel.Open(channel.id, tag))
    channel.expect(Channel.Close, acknowledge=False)
    channel.expect(replied(Channel.Reply, tag))
