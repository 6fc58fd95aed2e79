"""3.2.5.1 Connection Tuning Options: how many channels, handles, messages of a transaction."""

from typing import Any

from harness.amqp_fast.broken.deviations import Fault, answers, ignores
from harness.amqp_fast.client.channel import FastChannel, FastHandle
from harness.amqp_fast.client.connection import FastConnection
from harness.amqp_fast.client.outcomes import came, closed, is_error, refused, stream_ends
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.vocabulary import Channel, Handle
from harness.play.expect import Outcome
from scenarios.amqp_fast.connections.negotiation import proposed
from scenarios.registry import broken_by, scenario

FEW = 64
"""As many channels, handles and messages are tried where the limit is higher."""
MANY = 150
"""So many where there is none."""
FAR = 1000
"""A limit that is higher is not gone beyond."""
WORDLESS = "nothing says how what is too many is refused"
RESOURCES = 506


def limit(server: Server, option: str, most: int = FAR) -> int:
    """Give a limit that the server names, where it names one that can be reached."""
    told = proposed(server, option)
    if not 0 < told <= most:
        server.inapplicable(f"the server names no {option} that could be reached")
    return told


def unlimited(server: Server, option: str) -> FastConnection:
    """Give an open connection on which the server says that there is no limit."""
    given = server.facility("unlimited-user")
    connection = server.tuned(user=given["user"], password=given["password"])
    if connection.tune.options.get(option, 0 if option == "TXN_LIMIT" else None) != 0:
        server.inapplicable(f"the server has a limit, or leaves {option} out")
    connection.open()
    return connection


def open_channels(connection: FastConnection, count: int) -> list[FastChannel]:
    """Judge that so many channels open."""
    channels = [connection.unopened() for _ in range(count)]
    for channel in channels:
        channel.confirms(Channel.Open(channel.id))
    return channels


def open_handles(channels: list[FastChannel], count: int) -> list[FastHandle]:
    """Judge that so many handles open, on these channels in turn."""
    handles = [channels[number % len(channels)].unopened() for number in range(count)]
    for handle in handles:
        handle.confirms(handle.opening())
    return handles


def is_beyond(number: int) -> Any:
    """Find the commands that open a channel from the one of this number on."""
    return lambda opening: opening.channel_id >= number


def handles_from(number: int) -> Any:
    """Find the commands that open a handle from the one of this number on."""
    return lambda opening: opening.handle_id >= number


# -- channels ------------------------------------------------------------------------------------------


@scenario("fast/3.2.5.1.channels-up-to-max")
@broken_by("has room for less", answers(Channel.Open, Channel.Close(32, RESOURCES), when=is_beyond(32)))
@broken_by("never counts down", answers(Channel.Open, Channel.Close(33, RESOURCES), when=is_beyond(33)))
def as_many_channels_open_as_are_told(server: Server) -> None:
    """CHANNEL_MAX channels open, the first one serves on, and where one is closed another opens."""
    count = min(limit(server, "CHANNEL_MAX", 0xFFFF), FEW)
    connection = server.connection()
    first, *_, last = open_channels(connection, count)
    handle = first.unopened()
    handle.confirms(handle.opening())
    last.close()
    open_channels(connection, 1)


@scenario("fast/3.2.5.1.channels-beyond-max")
@broken_by("does not count", Fault.drops("channel open: of too many is refused"))
@broken_by("stumbles", Fault.changes("channel open: of too many is refused", effects=()))
def no_more_channels_open_than_are_told(server: Server) -> None:
    """Behind CHANNEL_MAX channels another one is refused."""
    count = limit(server, "CHANNEL_MAX")
    connection = server.connection()
    open_channels(connection, count)
    channel = connection.unopened()
    channel.send(Channel.Open(channel.id, connection.tag()))
    channel.expect(*refused(Channel.Close), stream_ends().under(WORDLESS))


@scenario("fast/3.2.5.1.channel-max-zero", needs=["unlimited-user"])
@broken_by("counts all the same", answers(Channel.Open, Channel.Close(100, RESOURCES), when=is_beyond(100)))
@broken_by("stumbles", ignores(Channel.Open, when=is_beyond(140)))
def channels_without_a_limit_open(server: Server) -> None:
    """Where CHANNEL_MAX is zero, 150 channels open."""
    open_channels(unlimited(server, "CHANNEL_MAX"), MANY)


# -- handles -------------------------------------------------------------------------------------------


@scenario("fast/3.2.5.1.handles-up-to-max")
@broken_by("has room for less", answers(Handle.Open, Handle.Close(64, RESOURCES), when=handles_from(64)))
@broken_by("never counts down", answers(Handle.Open, Handle.Close(65, RESOURCES), when=handles_from(65)))
def as_many_handles_open_as_are_told(server: Server) -> None:
    """HANDLE_MAX handles open on two channels, and where one is closed another opens."""
    count = min(limit(server, "HANDLE_MAX", 0xFFFF), FEW)
    connection = server.connection()
    channels = [connection.channel() for _ in range(2)]
    handles = open_handles(channels, count)
    handles[-1].close()
    open_handles(channels, 1)


@scenario("fast/3.2.5.1.handles-beyond-max")
@broken_by("does not count", Fault.drops("handle open: of too many is refused"))
@broken_by("stumbles", Fault.changes("handle open: of too many is refused", effects=()))
def no_more_handles_open_than_are_told(server: Server) -> None:
    """Behind HANDLE_MAX handles on two channels another one is refused."""
    count = limit(server, "HANDLE_MAX")
    connection = server.connection()
    channels = [connection.channel() for _ in range(2)]
    open_handles(channels, count)
    handle = channels[0].unopened()
    handle.send(handle.opening())
    handle.expect(*refused(Handle.Close), stream_ends().under(WORDLESS))


@scenario("fast/3.2.5.1.handle-max-zero", needs=["unlimited-user"])
@broken_by("counts all the same", answers(Handle.Open, Handle.Close(100, RESOURCES), when=handles_from(100)))
@broken_by("stumbles", ignores(Handle.Open, when=handles_from(140)))
def handles_without_a_limit_open(server: Server) -> None:
    """Where HANDLE_MAX is zero, 150 handles open."""
    open_handles([unlimited(server, "HANDLE_MAX").channel()], MANY)


# -- transactions --------------------------------------------------------------------------------------


def send_in_transaction(handle: FastHandle, queue: str, count: int) -> list[bytes]:
    """Send so many messages on a transacted channel, and do not commit; give their bodies."""
    bodies = [b"%d" % number for number in range(count)]
    for body in bodies:
        handle.send(*handle.carries(queue, body))
    return bodies


def commits(server: Server, connection: FastConnection, count: int) -> None:
    """Judge that so many messages are committed, and delivered."""
    queue = server.queue()
    handle = connection.channel(transacted=True).handle()
    bodies = send_in_transaction(handle, queue, count)
    handle.channel.confirms(Channel.Commit(handle.channel.id))
    server.handle().consume(queue, no_ack=True).hears(*bodies)


def not_done(tag: int) -> Outcome:
    """Allow that the commit is answered by a reply that tells an error."""

    def matches(seen: Any) -> bool:
        return came(seen, Channel.Reply, {"confirm_tag": tag}) and is_error(seen.command.reply_code)

    return Outcome("CHANNEL REPLY with a code of 3xx to 5xx", matches).recorded("a commit may fail")


@scenario("fast/3.2.5.1.transaction-up-to-limit")
@broken_by("has room for less", ignores(Handle.Send, skip=63))
@broken_by("refuses the last", answers(Handle.Send, Channel.Close(1, RESOURCES), skip=63))
def as_many_messages_are_committed_as_are_told(server: Server) -> None:
    """TXN_LIMIT messages are committed and delivered."""
    count = min(limit(server, "TXN_LIMIT", 1 << 31), FEW)
    commits(server, server.connection(), count)


@scenario("fast/3.2.5.1.transaction-beyond-limit")
@broken_by("does not count", Fault.drops("handle send: beyond the transaction is refused"))
@broken_by("loses it and tells nobody", ignores(Handle.Send, skip=128))
def no_more_messages_are_committed_than_are_told(server: Server) -> None:
    """One message more than TXN_LIMIT ends handle, channel or connection, and nothing of it is delivered."""
    count, queue = limit(server, "TXN_LIMIT"), server.queue()
    handle = server.connection().channel(transacted=True).handle()
    send_in_transaction(handle, queue, count)
    handle.channel.commit()
    send_in_transaction(handle, queue, count + 1)
    tag = handle.connection.tag()
    handle.send(Channel.Commit(handle.channel.id, tag))
    channel, *wider = refused(Channel.Close)
    narrower = closed(Handle.Close).recorded("the handle that it was sent on may be closed (555)")
    handle.expect(channel, *wider, narrower, not_done(tag), stream_ends().under(WORDLESS))
    other = server.handle(new_connection=True).consume(queue, no_ack=True)
    other.messages(count)
    other.stays_quiet()


@scenario("fast/3.2.5.1.no-transaction-limit", needs=["unlimited-user"])
@broken_by("counts all the same", answers(Handle.Send, Channel.Close(1, RESOURCES), skip=100))
@broken_by("loses what is too many", ignores(Handle.Send, skip=140))
def transactions_without_a_limit_are_committed(server: Server) -> None:
    """Where TXN_LIMIT is zero or absent, 150 messages are committed and delivered."""
    commits(server, unlimited(server, "TXN_LIMIT"), MANY)
