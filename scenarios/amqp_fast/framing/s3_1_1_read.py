"""3.1.1 Frame Syntax: the fields of the commands that a client writes, read by what they lead to.

Ids and tags have two octets that differ, so that whoever reads them at another place, or in another order,
is noticed.
"""

from typing import Any

from harness.amqp_fast.broken.deviations import Fault, answers, hears, hears_fragment, ignores
from harness.amqp_fast.client.channel import FastChannel, FastHandle, carrying
from harness.amqp_fast.client.outcomes import answered, fields, message, replied, that
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.tables.channel import commit
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection, Handle, MessageHead
from scenarios.amqp_fast.talk import dynamic_name, indexed, is_named, sends
from scenarios.registry import broken_by, scenario

CHANNEL, OTHER = 0x0102, 0x0201
HANDLE = 0x0304
TAG = 0x0506
LONG = "text" * 50
"""A short string that is nearly as long as one can be."""
HANDLES_REPLY = "1592 has HANDLE REPLY confirm an ACK"
NOT_NOW = Connection.Close(503)
LEAST = 1024
"""The smallest FRAME_MAX."""
PREPARED = 64


def swapped(number: int) -> int:
    """Take two octets of a number for one another."""
    return number >> 8 | (number & 0xFF) << 8


def on(server: Server, **how: Any) -> FastChannel:
    """Give channel 0x0102 of a new connection."""
    return server.connection().channel(CHANNEL, **how)


def handle_on(server: Server, **how: Any) -> FastHandle:
    """Give handle 0x0304 on channel 0x0102 of a new connection."""
    return on(server, **how).handle(HANDLE)


def is_replied(handle: FastHandle, command: Any) -> None:
    """Judge that a command with the tag 0x0506 is confirmed by HANDLE REPLY of its handle, with its tag."""
    handle.send(command.replace(confirm_tag=TAG))
    handle.expect(fields(Handle.Reply, handle_id=HANDLE, confirm_tag=TAG, reply_code=OK))


# -- the connection ------------------------------------------------------------------------------------


def begins_with_password(response: Connection.Response) -> bool:
    return next(iter(response.responses), "") == "PASSWORD"


@scenario("fast/3.1.1.connection-response-read")
@broken_by("reads no password", hears(Connection.Response, responses=lambda it: {"LOGIN": it["LOGIN"]}))
@broken_by("wants the login first", ignores(Connection.Response, when=begins_with_password))
@broken_by("takes another mechanism", hears(Connection.Response, mechanism="OTHER"))
def response_is_read(server: Server) -> None:
    """PLAIN with LOGIN and PASSWORD leads to CONNECTION TUNE, in whichever order they are."""
    endpoint = server.endpoint
    told = {"LOGIN": endpoint.user, "PASSWORD": endpoint.password}
    for responses in (told, dict(reversed(told.items()))):
        connection = server.begun()
        seen = connection.challenge
        while isinstance(seen, Connection.Challenge):
            said = connection.response(responses=responses)
            seen = connection.tries(said, answered(Connection.Tune, Connection.Challenge))


@scenario("fast/3.1.1.connection-tune-read")
@broken_by("reads no options", hears(Connection.Tune, options={}))
@broken_by("bears no names", answers(Connection.Tune, Connection.Close(502), when=lambda it: it.dictionary))
def tune_is_read(server: Server) -> None:
    """FRAME_MAX of our TUNE is obeyed, and the name in its dictionary borne."""
    connection, sender = server.tuned(), server.handle()
    opening = connection.opening()
    connection.send(Connection.Tune({"FRAME_MAX": LEAST, "HEARTBEAT": 0}, {"ET": "Expiration-Time"}), opening)
    connection.expect(replied(Connection.Reply, opening.confirm_tag))
    connection.is_open()
    handle = connection.channel().handle()
    name, body = dynamic_name(handle), bytes(3000)
    sends(sender, name, body)
    (seen,) = handle.hears(body)
    sizes = [each.fragment_size for each in seen.parts]
    server.judge(f"fragments of {LEAST} octets at most", "larger ones", max(sizes) <= LEAST)


@scenario("fast/3.1.1.connection-open-read")
@broken_by("reads the tag from low to high", hears(Connection.Open, confirm_tag=swapped))
@broken_by("takes no long name", ignores(Connection.Open, when=lambda it: len(it.client_name) > 100))
@broken_by("reads another path", hears(Connection.Open, virtual_path="elsewhere"))
def open_is_read(server: Server) -> None:
    """The tag comes back, a long client-name is taken, and another path is not opened."""
    connection = server.tuned()
    name = (connection.own + LONG)[:200]
    connection.tries(connection.opening(confirm_tag=TAG, client_name=name), replied(Connection.Reply, TAG))
    elsewhere = server.tuned()
    opening = elsewhere.opening(virtual_path="/" + server.name("host"), confirm_tag=TAG)
    elsewhere.send(opening)
    seen = elsewhere.link.next(0, server.context.patience.close)
    opened = replied(Connection.Reply, TAG).matches(seen)
    server.judge("no such path is opened", "it is", not opened, "a server may know every path")


def asks_nothing(ping: Connection.Ping) -> bool:
    return not ping.respond


@scenario("fast/3.1.1.connection-ping-read")
@broken_by("reads no bit", hears(Connection.Ping, respond=False))
@broken_by("does not bear one that asks for nothing", answers(Connection.Ping, NOT_NOW, when=asks_nothing))
def ping_is_read(server: Server) -> None:
    """PING with the bit is answered, and one without it borne."""
    connection = server.connection()
    connection.tries(Connection.Ping(respond=True), Connection.Ping)
    connection.send(Connection.Ping())
    channel = connection.unopened()
    channel.confirms(Channel.Open(channel.id))
    connection.lives()


@scenario("fast/3.1.1.connection-close-read")
@broken_by("takes no text", ignores(Connection.Close, when=lambda it: bool(it.reply_text)))
@broken_by("wants a text", ignores(Connection.Close, when=lambda it: not it.reply_text))
def connection_close_is_read(server: Server) -> None:
    """CONNECTION CLOSE with a long text and with none is answered."""
    for text in (LONG, ""):
        server.connection().tries(Connection.Close(OK, text), Connection.Close)


# -- channels ------------------------------------------------------------------------------------------


@scenario("fast/3.1.1.channel-open-read")
@broken_by("reads the number from low to high", hears(Channel.Open, channel_id=swapped))
@broken_by("reads the tag from low to high", hears(Channel.Open, confirm_tag=swapped))
@broken_by("reads no transacted", hears(Channel.Open, transacted=False))
@broken_by("reads no restartable", hears(Channel.Open, restartable=False))
def channel_open_is_read(server: Server) -> None:
    """Number and tag come back, a transacted channel commits, a restartable one takes HANDLE PREPARE."""
    connection = server.connection()
    channel, other = connection.unopened(CHANNEL), connection.unopened(OTHER)
    channel.send(Channel.Open(CHANNEL, TAG, True))
    channel.expect(fields(Channel.Reply, channel_id=CHANNEL, confirm_tag=TAG, reply_code=OK))
    channel.confirms(Channel.Commit(CHANNEL))
    other.confirms(Channel.Open(OTHER, 0, False, True))
    handle = other.handle(HANDLE)
    handle.tries(prepared(handle), fields(Handle.Ready, handle_id=HANDLE))


def prepared(handle: FastHandle) -> Any:
    """Give a HANDLE PREPARE with a header and the first octets of a body of several fragments."""
    large = 2 * handle.connection.frame_max
    head = MessageHead(body_size=large, identifier=handle.connection.own + "-m")
    return carrying(Handle.Prepare(handle.id), head.encode() + bytes(PREPARED))


@scenario("fast/3.1.1.channel-ack-read")
@broken_by("reads the tag from low to high", hears(Channel.Ack, confirm_tag=swapped))
@broken_by("reads another number", hears(Channel.Ack, message_nbr=lambda number: number + 1))
@broken_by("reads the number as zero", hears(Channel.Ack, message_nbr=0))
def ack_is_read(server: Server) -> None:
    """The tag comes back, and of two messages the first is acknowledged."""
    queue = server.queue(b"one", b"two")
    handle = handle_on(server).consume(queue)
    first, _ = handle.messages(2)
    handle.send(Channel.Ack(CHANNEL, TAG, first.command.message_nbr))
    handle.expect(replied(Channel.Reply, TAG), replied(Handle.Reply, TAG).under(HANDLES_REPLY))
    handle.connection.close()
    left = server.handle().consume(queue)
    left.hears(b"two")
    left.stays_quiet()


def ends_transaction(server: Server, kind: Any, left: int) -> None:
    """Judge that a second transaction is ended, with its tag; so many messages are in the queue then."""
    queue = server.queue()
    handle = handle_on(server, transacted=True)
    sends(handle, queue, b"before")
    handle.confirms(Channel.Commit(CHANNEL))
    sends(handle, queue, b"sent")
    handle.send(kind(CHANNEL, TAG))
    handle.expect(fields(Channel.Reply, channel_id=CHANNEL, confirm_tag=TAG, reply_code=OK))
    server.judge(f"{left} messages in the queue", "others", len(indexed(server.handle(), queue)) == left)


@scenario("fast/3.1.1.channel-commit-read")
@broken_by("reads the tag from low to high", hears(Channel.Commit, confirm_tag=swapped))
@broken_by("does nothing", Fault.changes("channel commit: is done", lambda _: None))
@broken_by("reads the number from low to high", hears(Channel.Commit, channel_id=swapped))
def commit_is_read(server: Server) -> None:
    """The tag comes back on its channel, and what was sent is in the queue."""
    ends_transaction(server, Channel.Commit, 2)


@scenario("fast/3.1.1.channel-rollback-read")
@broken_by("reads the tag from low to high", hears(Channel.Rollback, confirm_tag=swapped))
@broken_by("takes it for a commit", Fault.changes("channel rollback: is done", commit))
@broken_by("reads the number from low to high", hears(Channel.Rollback, channel_id=swapped))
def rollback_is_read(server: Server) -> None:
    """The tag comes back on its channel, and what was sent is not in the queue."""
    ends_transaction(server, Channel.Rollback, 1)


@scenario("fast/3.1.1.channel-close-read")
@broken_by("closes another", hears(Channel.Close, channel_id=swapped))
@broken_by("takes no text", ignores(Channel.Close, when=lambda it: bool(it.reply_text)))
def channel_close_is_read(server: Server) -> None:
    """The channel that is named is closed, the other one stays open."""
    channel = on(server)
    other = channel.connection.channel(OTHER)
    channel.tries(Channel.Close(CHANNEL, OK, LONG), fields(Channel.Close, channel_id=CHANNEL))
    handle = other.unopened()
    handle.confirms(handle.opening())


# -- handles -------------------------------------------------------------------------------------------


@scenario("fast/3.1.1.handle-open-read")
@broken_by("reads the handle from low to high", hears(Handle.Open, handle_id=swapped))
@broken_by("reads the tag from low to high", hears(Handle.Open, confirm_tag=swapped))
@broken_by("reads the channel from low to high", hears(Handle.Open, channel_id=swapped))
@broken_by("reads no browser", hears(Handle.Open, browser=False))
@broken_by("reads no producer", hears(Handle.Open, producer=False))
def handle_open_is_read(server: Server) -> None:
    """Handle and tag come back; what it was opened for can be done by it: send, browse, consume."""
    handle = on(server).unopened(HANDLE)
    is_replied(handle, handle.opening(mime_type="text/plain", encoding="utf-8"))
    name = handle.tries(handle.consuming("", dynamic=True), Handle.Created).dest_name
    handle.confirms(Handle.Flow(HANDLE, 0, True))
    sends(handle, name, b"all")
    (number,) = indexed(handle, name)
    handle.send(Handle.Browse(HANDLE, 0, number))
    handle.hears(b"all", delivered=False)
    handle.send(Handle.Flow(HANDLE, 0, False))
    handle.hears(b"all", delivered=True)


@scenario("fast/3.1.1.handle-send-read")
@broken_by("reads the tag from low to high", hears(Handle.Send, confirm_tag=swapped))
@broken_by("reads no partial", hears(Handle.Send, partial=False))
@broken_by("reads a topic", hears(Handle.Send, service_type=2))
@broken_by("loses the end of fragments", hears_fragment(Handle.Send, lambda octets: octets[:-1]))
def send_is_read(server: Server) -> None:
    """Two fragments of different size become one message in the queue that is named; the tag comes back."""
    queue, handle = server.queue(), handle_on(server)
    body = bytes(range(200))
    handle.send(*handle.carries(queue, body, tag=TAG, most=150))
    handle.expect(fields(Handle.Reply, handle_id=HANDLE, confirm_tag=TAG, reply_code=OK))
    server.handle().consume(queue).hears(body)


@scenario("fast/3.1.1.handle-consume-read")
@broken_by("reads the tag from low to high", hears(Handle.Consume, confirm_tag=swapped))
@broken_by("reads another prefetch", hears(Handle.Consume, prefetch=lambda prefetch: prefetch + 1))
@broken_by("reads no dynamic", hears(Handle.Consume, dynamic=False))
def consume_is_read(server: Server) -> None:
    """A queue is made, the tag comes back, and of three messages two come until they are acknowledged."""
    handle, sender = handle_on(server), server.handle()
    tagged = handle.consuming("", confirm_tag=TAG, prefetch=2, dynamic=True)
    name = is_named(handle, tagged, TAG)
    sender.publish(name, b"one", b"two", b"three")
    handle.hears(b"one", b"two", handle_id=HANDLE)
    handle.stays_quiet()
    handle.channel.ack()
    handle.hears(b"three")


@scenario("fast/3.1.1.handle-flow-read")
@broken_by("reads the tag from low to high", hears(Handle.Flow, confirm_tag=swapped))
@broken_by("reads no bit", hears(Handle.Flow, flow_pause=False))
@broken_by("reads a bit that is not set", hears(Handle.Flow, flow_pause=True))
def flow_is_read(server: Server) -> None:
    """The tag comes back; a message comes after the bit has been taken back, and not before."""
    handle = handle_on(server)
    name = dynamic_name(handle)
    is_replied(handle, Handle.Flow(HANDLE, 0, True))
    server.handle().publish(name, b"later")
    handle.stays_quiet()
    handle.send(Handle.Flow(HANDLE, 0, False))
    handle.hears(b"later")


@scenario("fast/3.1.1.handle-unget-read")
@broken_by("reads the tag from low to high", hears(Handle.Unget, confirm_tag=swapped))
@broken_by("reads another number", hears(Handle.Unget, message_nbr=lambda number: number + 1))
@broken_by("does nothing", Fault.changes("handle unget: is done", lambda _: None))
def unget_is_read(server: Server) -> None:
    """The tag comes back, and the first of two messages is delivered again, here or to another consumer."""
    queue = server.queue(b"one", b"two")
    handle = handle_on(server).consume(queue)
    first, _ = handle.messages(2)
    other = server.handle(new_connection=True).consume(queue)
    handle.send(Handle.Unget(HANDLE, TAG, first.command.message_nbr))
    confirmed, again = fields(Handle.Reply, confirm_tag=TAG, reply_code=OK), message(b"one")
    seen = handle.expect(confirmed | again)
    here = isinstance(seen, Handle.Notify)
    if here:
        handle.expect(confirmed)
        return
    handle.fence()
    other.fence()
    came = [each.body for each in (*handle.arrived(), *other.arrived())]
    server.judge("that message once more", "others", came == [b"one"])


@scenario("fast/3.1.1.handle-query-read")
@broken_by("reads the number as zero", hears(Handle.Query, message_nbr=0))
@broken_by("answers another handle", answers(Handle.Query, Handle.Index(1)))
@broken_by("reads no name", hears(Handle.Query, dest_name="none"))
def query_is_read(server: Server) -> None:
    """Two messages are listed from 0 on, one from the second on, each time for the handle that asked."""
    queue, handle = server.queue(b"one", b"two"), handle_on(server)
    listed = indexed(handle, queue)
    server.judge("two numbers", "others", len(listed) == 2)
    second = fields(Handle.Index, handle_id=HANDLE, message_list=b"%d" % listed[1])
    handle.tries(Handle.Query(HANDLE, listed[1], queue), second)


@scenario("fast/3.1.1.handle-browse-read")
@broken_by("reads the number as zero", hears(Handle.Browse, message_nbr=0))
@broken_by("says nothing to a tag", ignores(Handle.Browse, when=lambda it: it.confirm_tag > 0))
def browse_is_read(server: Server) -> None:
    """The second of two messages comes, on the handle that asked."""
    queue, handle = server.queue(b"one", b"two"), handle_on(server)
    handle.send(Handle.Browse(HANDLE, TAG, indexed(handle, queue)[1]))
    handle.hears(b"two", handle_id=HANDLE)


@scenario("fast/3.1.1.handle-prepare-read")
@broken_by("says nothing", ignores(Handle.Prepare))
@broken_by("answers another handle", answers(Handle.Prepare, Handle.Ready(1, 0)))
@broken_by("has more than came", answers(Handle.Prepare, lambda it: Handle.Ready(it.handle_id, 9999)))
def prepare_is_read(server: Server) -> None:
    """HANDLE READY names the handle and no more octets than were sent, and PING behind it is answered."""
    handle = handle_on(server, restartable=True)
    handle.send(prepared(handle), Connection.Ping(respond=True))
    few = that(
        fields(Handle.Ready, handle_id=HANDLE),
        f"with {PREPARED} octets at most",
        lambda seen: seen.command.message_size <= PREPARED,
    )
    handle.expect(few)
    handle.connection.expect(Connection.Ping)


@scenario("fast/3.1.1.handle-prepare-read")
@broken_by("prepares in vain", ignores(Handle.Ready))
def what_a_server_prepares_is_answered(server: Server) -> None:
    """Where the server prepares a large message for a consumer, HANDLE READY has the message come."""
    reader = server.connection({"FRAME_MAX": LEAST}).channel(CHANNEL, restartable=True).handle(HANDLE)
    name = dynamic_name(reader)
    server.handle().publish(name, bytes(3 * LEAST))
    if isinstance(reader.expect(answered(Handle.Prepare, Handle.Notify)), Handle.Prepare):
        reader.tries(Handle.Ready(HANDLE, 0), fields(Handle.Notify, recovery=True))


@scenario("fast/3.1.1.handle-close-read")
@broken_by("closes another", hears(Handle.Close, handle_id=swapped))
@broken_by("takes no text", ignores(Handle.Close, when=lambda it: bool(it.reply_text)))
def handle_close_is_read(server: Server) -> None:
    """The handle that is named is closed, the other one stays open."""
    channel = server.channel()
    first, second = channel.handle(CHANNEL), channel.handle(OTHER)
    first.tries(Handle.Close(CHANNEL, OK, LONG), fields(Handle.Close, handle_id=CHANNEL))
    second.confirms(Handle.Flow(OTHER, 0, False))
