"""3.5.3 HANDLE SEND Command."""

from harness.amqp_fast.broken.deviations import (
    Fault,
    answers,
    hears,
    hears_fragment,
    ignores,
    takes,
    withholds,
)
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.channel import FastHandle, carrying
from harness.amqp_fast.client.outcomes import WORDLESS, answered, closed_anyhow, replied, stream_ends
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.tables import sending
from harness.amqp_fast.wire.frames import frame
from harness.amqp_fast.wire.vocabulary import OK, QUEUE, Connection, Handle, MessageHead
from scenarios.amqp_fast.channels.preparing import large, uploaded, uploads
from scenarios.amqp_fast.destinations.common import HEAD, REFUSED
from scenarios.registry import broken_by, scenario

PING = frame(Connection.Ping(respond=True)).encode()
LOOKS_LIKE_A_FRAME = frame(Connection.Close(OK, "no")).encode()


def accepts(*rows: str) -> Fault:
    """Confirms what rows refuse, and does nothing about it."""

    def confirmed(turn: AnyTurn) -> tuple[Handle.Reply, ...]:
        return (Handle.Reply(turn.event.handle_id, turn.event.confirm_tag, OK),)

    return Fault.together(*(Fault.changes(row, effects=(), answer=confirmed) for row in rows))


def ignores_all(*rows: str) -> Fault:
    """Says nothing to what rows refuse."""
    return Fault.together(*(Fault.changes(row, effects=()) for row in rows))


def has(server: Server, queue: str, *bodies: bytes) -> None:
    """Judge that a consumer of its own gets these messages first, in this order."""
    server.handle().consume(queue, no_ack=True).hears(*bodies)


def sends(handle: FastHandle, queue: str, body: bytes, most: int = 0) -> None:
    """Send a message and judge that it is confirmed."""
    tag = handle.connection.tag()
    handle.send(*handle.carries(queue, body, tag=tag, most=most))
    handle.expect(replied(Handle.Reply, tag))


def _everywhere(turn: AnyTurn) -> None:
    message = sending.whole(turn)
    assert message is not None
    assert turn.connection.host is not None
    for queue in turn.connection.host.queues.values():
        queue.store(message)


def _in_one(turn: AnyTurn) -> None:
    sending.gather(turn)
    for each in turn.connection.channels.values():
        each.assembly, each.assembling = turn.channel.assembly, None


def _forgets_header(turn: AnyTurn) -> None:
    sending.prepare(turn)
    if turn.handle.prepared is not None:
        turn.handle.prepared.header = HEAD


@scenario("fast/3.5.3.fragment-of-refused-skipped")
@broken_by("takes it for a frame", answers(Handle.Send, LOOKS_LIKE_A_FRAME))
@broken_by("says nothing more", withholds(Connection.Ping))
def fragment_of_what_is_refused_is_skipped(server: Server) -> None:
    """Behind a refused HANDLE SEND, whose fragment looks like a frame, PING is answered unless all ends."""
    handle = server.handle().channel.unopened()
    handle.send(carrying(Handle.Send(handle.id, 0, QUEUE), LOOKS_LIKE_A_FRAME), PING)
    seen = handle.expect(closed_anyhow())
    if not isinstance(seen, Connection.Close):
        handle.connection.expect(Connection.Ping)


@scenario("fast/3.5.3.confirmed-once")
@broken_by(
    "confirms the parts",
    Fault.changes(
        "handle send: of a part is kept",
        answer=lambda turn: (Handle.Reply(turn.handle.id, turn.event.confirm_tag, 299),),
    ),
)
@broken_by(
    "confirms it twice",
    takes(
        Handle.Send, lambda it: Handle.Reply(it.handle_id, it.confirm_tag, OK), when=lambda it: not it.partial
    ),
)
def message_is_confirmed_once(server: Server) -> None:
    """A message in three fragments with one tag is confirmed once; or each fragment is."""
    queue, handle = server.queue(), server.handle()
    tag, handle.link.hears_parts = handle.connection.tag(), True
    pieces = handle.carries(queue, b"x" * 60, tag=tag, most=30)
    handle.send(*pieces, Handle.Flow(handle.id, tag + 1))
    handle.expect(replied(Handle.Reply, tag))
    each = replied(Handle.Reply, tag).recorded("each fragment has a tag of its own to confirm")
    replies = 1
    while handle.expect(replied(Handle.Reply, tag + 1), each).confirm_tag == tag:
        replies += 1
    server.judge("one confirmation, or one for each fragment", "others", replies in (1, len(pieces)))


@scenario("fast/3.5.3.service-types")
@broken_by("takes any", accepts("handle send: to no service is refused"))
@broken_by("says nothing", ignores_all("handle send: to no service is refused"))
def service_type_is_one_of_three(server: Server) -> None:
    """The service type 1 is taken; 0, 4 and 65535 are refused."""
    queue = server.queue()
    server.handle().publish(queue, b"allowed")
    for service in (0, 4, 0xFFFF):
        handle = server.handle()
        handle.tries(handle.carries(queue, b"no", service=service, tag=7)[0], *REFUSED)


@scenario("fast/3.5.3.fragment-size-counts")
@scenario("fast/3.5.3.message-behind-the-frame")
@broken_by(
    "changes what looks like a frame",
    hears_fragment(Handle.Send, lambda octets: octets.replace(b"\xce", b"\x00")),
)
def message_is_as_long_as_it_says(server: Server) -> None:
    """Bodies that look like a frame, in one write or long behind their frames, arrive as they were sent."""
    queue, handle = server.queue(), server.handle()
    handle.send(*handle.carries(queue, b"\xce"), *handle.carries(queue, LOOKS_LIKE_A_FRAME))
    late = handle.carries(queue, PING, tag=7)[0].encode()
    handle.send(late[:-20])
    handle.waits()
    handle.send(late[-20:])
    handle.expect(replied(Handle.Reply, 7))
    has(server, queue, b"\xce", LOOKS_LIKE_A_FRAME, PING)


@scenario("fast/3.5.3.fragment-within-frame-max")
@broken_by(
    "takes it",
    answers(
        Handle.Send,
        lambda it: Handle.Reply(it.handle_id, it.confirm_tag, OK),
        when=lambda it: it.fragment_size > 72_000,
    ),
)
@broken_by("says nothing", ignores(Handle.Send, lambda it: it.fragment_size > 72_000))
def fragment_is_within_frame_max(server: Server) -> None:
    """Fragments of FRAME_MAX are taken; one well beyond it is refused, at any level."""
    queue, handle = server.queue(), server.handle()
    largest = handle.connection.frame_max
    if largest > 1 << 20:
        server.inapplicable("its FRAME_MAX is larger than a message that is sent for this alone")
    sends(handle, queue, b"x" * (largest + 100))
    legal = closed_anyhow(), stream_ends().recorded(WORDLESS)
    handle.tries(handle.carries(queue, b"x" * (largest + 5000), most=largest * 2, tag=7)[0], *legal)


@scenario("fast/3.5.3.partial-until-the-last")
@broken_by("delivers the parts", hears(Handle.Send, lambda it: it.partial, partial=False))
@broken_by("loses them", Fault.changes("handle send: of a part is kept", effects=()))
def message_is_whole_with_its_last_fragment(server: Server) -> None:
    """Two fragments reach nobody; with the last one the message is delivered whole."""
    queue, handle = server.queue(), server.handle()
    reader = server.handle(new_connection=True).consume(queue)
    *first, last = handle.carries(queue, b"abc" * 20, most=30)
    handle.send(*first)
    handle.channel.stays_quiet()
    reader.channel.stays_quiet()
    handle.send(last)
    reader.hears(b"abc" * 20)


@scenario("fast/3.5.3.fragments-may-be-many")
@broken_by("loses the parts", Fault.changes("handle send: of a part is kept", effects=()))
def message_comes_in_any_fragments(server: Server) -> None:
    """The same message in one fragment, in two, and octet by octet behind its header arrives the same."""
    queue, handle, body = server.queue(), server.handle(), b"abcdefghij"
    head = MessageHead(len(body)).encode()
    sends(handle, queue, body)
    sends(handle, queue, body, most=len(head) + 5)
    said = Handle.Send(handle.id, 7, QUEUE, dest_name=queue)
    handle.send(carrying(said.replace(partial=True), head))
    handle.send(*(carrying(said.replace(partial=at < 9), body[at : at + 1]) for at in range(10)))
    handle.expect(replied(Handle.Reply, 7))
    has(server, queue, body, body, body)


@scenario("fast/3.5.3.out-of-band-not-read")
@broken_by("waits for it", hears(Handle.Send, lambda it: it.out_of_band, out_of_band=False))
@broken_by("says nothing more", withholds(Connection.Ping))
def message_out_of_band_is_not_read(server: Server) -> None:
    """Behind HANDLE SEND with out-of-band and no fragment PING is answered, unless all ends."""
    queue, handle = server.queue(), server.handle()
    handle.connection.lives()
    said = Handle.Send(handle.id, 0, QUEUE, len(PING), out_of_band=True, dest_name=queue)
    handle.send(frame(said), PING)
    seen = handle.expect(closed_anyhow() | answered(Connection.Ping))
    if not isinstance(seen, Connection.Close | Connection.Ping):
        handle.connection.expect(Connection.Ping)


@scenario("fast/3.5.3.recovery-needs-prepare")
@broken_by("takes it", accepts("handle send: of an unknown rest is refused"))
@broken_by("says nothing", ignores_all("handle send: of an unknown rest is refused"))
def rest_needs_a_beginning(server: Server) -> None:
    """The rest of a prepared message is taken; one of which nothing was prepared is refused."""
    queue, channel = server.queue(), server.channel(restartable=True)
    handle = channel.handle()
    uploaded(handle, large(server, handle, queue))
    said = Handle.Send(handle.id, 7, QUEUE, recovery=True, dest_name=queue)
    handle.tries(carrying(said, b"a rest"), *REFUSED)


@scenario("fast/3.5.3.goes-to-its-destination")
@broken_by("writes to another", Fault.changes("handle send: is done", _everywhere, sending.forget))
def message_goes_to_its_destination(server: Server) -> None:
    """Of two queues only the one that is named has the message."""
    one, other, handle = server.queue(), server.queue(), server.handle()
    sends(handle, one, b"here")
    listed = [len(handle.listed(queue)) for queue in (one, other)]
    server.judge("one message in the queue that was named", "others", listed == [1, 0])


@scenario("fast/3.5.3.no-such-queue")
@broken_by("takes it", accepts("handle send: to no queue is refused"))
@broken_by("says nothing", ignores_all("handle send: to no queue is refused"))
def queue_has_to_exist(server: Server) -> None:
    """A message to a queue is confirmed; one to a queue that nobody made is refused."""
    queue, handle = server.queue(), server.handle()
    handle.publish(queue, b"allowed")
    handle.tries(handle.carries(server.name("queue"), b"no", tag=7)[0], *REFUSED)


@scenario("fast/3.5.3.interleaved-on-channels")
@broken_by("mixes them", Fault.changes("handle send: of a part is kept", _in_one))
def messages_are_mixed_on_channels(server: Server) -> None:
    """Two messages whose fragments go by turns on two channels arrive whole."""
    handles = server.handle(), server.handle()
    queues = server.queue(), server.queue()
    pieces = [
        handle.carries(queue, body * 60, tag=7, most=30)
        for handle, queue, body in zip(handles, queues, (b"a", b"b"), strict=True)
    ]
    handles[0].send(*(each for both in zip(*pieces, strict=True) for each in both))
    for handle, queue, body in zip(handles, queues, (b"a", b"b"), strict=True):
        handle.expect(replied(Handle.Reply, 7))
        has(server, queue, body * 60)


@scenario("fast/3.5.3.rest-after-ready")
@scenario("fast/3.5.3.header-in-prepare")
@broken_by("takes the rest for all", Fault.changes("handle prepare: is answered", _forgets_header))
@broken_by("loses the rest", Fault.changes("handle send: is done", effects=(sending.forget,)))
def rest_is_joined_to_what_was_prepared(server: Server) -> None:
    """Header and part of the body are prepared, the rest is sent: the message arrives, field by field."""
    queue, handle = server.queue(), server.channel(restartable=True).handle()
    sent = large(server, handle, queue, priority=7, mime_type=b"text/plain")
    uploads(handle, sent)
    handle.expect(Handle.Reply)
    (came,) = server.handle().consume(queue, no_ack=True).hears(sent.body)
    server.judge("the header that was prepared", "another one", came.head == sent.head)
