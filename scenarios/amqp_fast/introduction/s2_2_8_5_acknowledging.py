"""2.2.8.5 Acknowledging Messages, 2.2.8.6 Handling Errors."""

from harness.amqp_fast.broken.deviations import (
    Fault,
    answers,
    ignores,
    replaces,
    rewrites,
)
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.channel import FastChannel, FastHandle
from harness.amqp_fast.client.outcomes import (
    closed,
    closed_anyhow,
    replied,
)
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.events import ChannelState
from harness.amqp_fast.peer.tables.channel import closed as insist
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection, Handle
from scenarios.amqp_fast.talk import indexed, sends
from scenarios.registry import broken_by, scenario

HANDLES_REPLY = "1592 has HANDLE REPLY confirm an ACK"
ALL = "3.3.10 and 485: the connection may be closed as well"
NO_SUCH_SERVICE = 77
OPENS_ANOTHER = "the handle that HANDLE OPEN would have made may be refused"


# -- acknowledging -------------------------------------------------------------------------------------


def confirms_ack(channel: FastChannel, number: int) -> None:
    """Judge that an ACK is confirmed, by the one reply or by the other."""
    tag = channel.connection.tag()
    channel.send(Channel.Ack(channel.id, tag, number))
    channel.expect(replied(Channel.Reply, tag), replied(Handle.Reply, tag).under(HANDLES_REPLY))


def are_left(server: Server, queue: str, *bodies: bytes) -> None:
    """Judge that a queue has these messages, in this order, and no others."""
    reader = server.handle(new_connection=True).consume(queue)
    reader.hears(*bodies)
    reader.stays_quiet()


def numbers(handle: FastHandle, count: int) -> list[int]:
    """Take so many messages; give their numbers. Raises ControlFailed."""
    return [each.command.message_nbr for each in handle.messages(count)]


@scenario("fast/2.2.8.5.acknowledged-as-liked")
@broken_by("takes one ACK for a channel", ignores(Channel.Ack, skip=1))
@broken_by(
    "acknowledges the first message that waits alone",
    Fault.swaps(covered=lambda waiting, _: waiting[:1]),
)
def acknowledgements_come_as_the_client_likes(server: Server) -> None:
    """One message is acknowledged at once, three by one ACK, two by two; then none is left."""
    queue = server.queue()
    reader, sender = server.handle(new_connection=True).consume(queue), server.handle()
    sender.publish(queue, b"1")
    confirms_ack(reader.channel, numbers(reader, 1)[0])
    sender.publish(queue, b"2", b"3", b"4", b"5", b"6")
    *_, fourth, fifth, sixth = numbers(reader, 5)
    confirms_ack(reader.channel, fourth)
    reader.send(Channel.Ack(reader.channel.id, 0, fifth))
    confirms_ack(reader.channel, sixth)
    reader.connection.close()
    are_left(server, queue)


@scenario("fast/2.2.8.5.acknowledged-by-channel")
@broken_by(
    "acknowledges what one handle received",
    Fault.swaps(covered=lambda waiting, _: [e for e in waiting if e.consumer is waiting[-1].consumer]),
)
@broken_by(
    "counts on each handle by itself", rewrites(Handle.Notify, message_nbr=lambda number: (number + 1) // 2)
)
def channel_is_one_stream_of_messages(server: Server) -> None:
    """Messages on two handles have numbers of one row, and one ACK covers those of both."""
    queues = server.queue(), server.queue()
    channel = server.channel(new_connection=True)
    handles = [channel.handle().consume(queue) for queue in queues]
    sender = server.handle()
    for body in (b"one", b"two"):
        for queue in queues:
            sender.publish(queue, body)
    came = numbers(handles[0], 4)
    server.judge("four numbers", "some twice", len({*came}) == len(came))
    confirms_ack(channel, max(came))
    channel.connection.close()
    for queue in queues:
        are_left(server, queue)


@scenario("fast/2.2.8.5.acknowledged-up-to")
@broken_by("acknowledges all", Fault.swaps(covered=lambda waiting, _: list(waiting)))
@broken_by(
    "acknowledges that one alone",
    Fault.swaps(covered=lambda waiting, number: [each for each in waiting if each.number == number]),
)
@broken_by("acknowledges nothing", Fault.swaps(covered=lambda *_: []))
def ack_covers_all_up_to_its_number(server: Server) -> None:
    """Of five messages the first three are acknowledged; the others are still there."""
    queue = server.queue(b"1", b"2", b"3", b"4", b"5")
    reader = server.handle(new_connection=True).consume(queue)
    confirms_ack(reader.channel, numbers(reader, 5)[2])
    reader.connection.close()
    are_left(server, queue, b"4", b"5")


# -- errors --------------------------------------------------------------------------------------------


@scenario("fast/2.2.8.6.errors-told-by-close")
@broken_by("says nothing of the handle", Fault.drops("handle open: again is refused"))
@broken_by("says nothing of the service", ignores(Handle.Consume))
@broken_by(
    "tells it by a reply", replaces(Handle.Close, lambda it: Handle.Reply(it.handle_id, 1, it.reply_code))
)
@broken_by("closes as if all were well", rewrites(Handle.Close, reply_code=OK))
def errors_are_told_by_a_close(server: Server) -> None:
    """Opening an open handle, and consuming from no service, is told by a close with an error."""
    again = server.handle(new_connection=True)
    of_no_service = server.handle(new_connection=True)
    tag = of_no_service.connection.tag()
    strange = of_no_service.consuming("none", service_type=NO_SUCH_SERVICE, confirm_tag=tag)
    for handle, command in ((again, again.opening()), (of_no_service, strange)):
        narrow = closed(Handle.Close) | closed(Channel.Close)
        handle.tries(command, narrow, closed(Connection.Close).recorded(ALL))


def is_closed_by_server(server: Server) -> FastChannel | None:
    """Have the server close a channel for an error, and answer; None where it closes the connection."""
    channel = server.channel(new_connection=True)
    channel.send(Channel.Open(channel.id, channel.connection.tag()))
    seen = channel.control("CHANNEL OPEN of an open channel", Channel.Close, Connection.Close)
    if isinstance(seen, Connection.Close):
        return None
    channel.send(Channel.Close(channel.id, OK))
    return channel


@scenario("fast/2.2.8.6.our-close-ends-the-handshake")
@broken_by("answers the answer", Fault.changes("channel closing: ends with close", answer=insist))
@broken_by("takes no notice of it", Fault.drops("channel closing: ends with close"))
def our_close_is_the_last_of_its_channel(server: Server) -> None:
    """Our answer to CHANNEL CLOSE is not answered; the channel can be opened again."""
    channel = is_closed_by_server(server)
    if channel is None:
        server.inapplicable("the server closes the connection, not the channel")
    channel.connection.alive()
    channel.got_nothing()
    channel.confirms(Channel.Open(channel.id))


def leaves_handles(turn: AnyTurn) -> None:
    """Closes the channel, and leaves its handles."""
    turn.connection.channels.pop(turn.channel.id, None)


@scenario("fast/2.2.8.6.handle-ids-free-again")
@broken_by("leaves them open", Fault.changes("channel close: is answered", leaves_handles))
def handles_can_be_opened_again(server: Server) -> None:
    """The ids of two handles whose channel was closed are opened on another channel, and used."""
    queue, connection = server.queue(), server.connection()
    first = connection.channel()
    for number in (1, 2):
        first.handle(number)
    first.close()
    second = connection.channel()
    for number in (1, 2):
        handle = second.unopened(number)
        handle.confirms(handle.opening())
        sends(handle, queue, b"%d" % number)
    server.judge("both messages", "others", len(indexed(server.handle(), queue)) == 2)


@scenario("fast/2.2.8.6.closed-handle-refused")
@broken_by("obeys it", Fault.changes("channel close: is answered", leaves_handles))
@broken_by("says nothing", Fault.drops("handle: is not open"))
def handle_of_a_closed_channel_is_refused(server: Server) -> None:
    """HANDLE FLOW is confirmed on an open handle, and refused once its channel is closed."""
    handle = server.handle()
    handle.pause(False)
    handle.channel.close()
    handle.tries(Handle.Flow(handle.id, handle.connection.tag(), False), closed_anyhow())


def never_ends(turn: AnyTurn) -> None:
    """Answers a close, and waits for another one."""
    turn.channel.state = ChannelState.CLOSING


@scenario("fast/2.2.8.6.closed-channel-opens-again")
@broken_by("leaves it closed", Fault.changes("channel close: is answered", never_ends))
@broken_by("opens no handle on it", ignores(Handle.Open, skip=1))
def closed_channel_is_opened_again(server: Server) -> None:
    """A channel that we closed, and one that the server closed, is opened again and used."""
    ours = server.channel(new_connection=True)
    ours.close()
    for place, channel in enumerate((ours, is_closed_by_server(server))):
        if channel is None:
            continue
        queue = server.queue()
        channel.confirms(Channel.Open(channel.id))
        handle = channel.unopened()
        handle.confirms(handle.opening())
        sends(handle, queue, b"%d" % place)
        handle.consume(queue).hears(b"%d" % place)


def on_channel(handle: FastHandle) -> list[Command]:
    """Give commands that need their channel open."""
    channel, tag = handle.channel.id, handle.connection.tag()
    return [
        Channel.Ack(channel, tag, 1),
        Channel.Commit(channel, tag),
        Channel.Rollback(channel, tag),
        handle.opening(),
    ]


@scenario("fast/2.2.8.6.closed-channel-only-opens")
@broken_by("says nothing", Fault.drops("channel: is not open"))
@broken_by("leaves it open", Fault.changes("channel close: is answered", lambda _: None))
@broken_by(
    "opens handles anywhere",
    answers(Handle.Open, lambda it: Handle.Reply(it.handle_id, it.confirm_tag, OK), skip=1),
)
def closed_channel_takes_open_alone(server: Server) -> None:
    """On a channel that was closed ACK, COMMIT, ROLLBACK and HANDLE OPEN are refused."""
    for place in range(4):
        handle = server.channel(new_connection=True, transacted=True).handle()
        handle.channel.commit()
        handle.channel.close()
        late = handle.channel.unopened()
        narrow = closed(Channel.Close), closed(Handle.Close).recorded(OPENS_ANOTHER)
        late.tries(on_channel(late)[place], *narrow, closed(Connection.Close).recorded(ALL))
