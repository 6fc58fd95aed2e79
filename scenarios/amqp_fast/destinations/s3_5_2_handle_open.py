"""3.5.1 Destination Command Summary, 3.5.2 HANDLE OPEN Command."""

from typing import Any

from harness.amqp_fast.broken.channel_faults import on_all_channels
from harness.amqp_fast.broken.deviations import Fault, answers, hears, hears_fragment, rewrites, withholds
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.outcomes import (
    CLOSES,
    WIDER,
    answered,
    closed,
    fields,
    message,
    refused,
    replied,
)
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.tables import channel
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection, Handle, MessageHead
from scenarios.amqp_fast.channels.preparing import large, uploaded
from scenarios.amqp_fast.destinations.common import NOT_REFUSED, REFUSED
from scenarios.registry import broken_by, scenario


def accepts(row: str) -> Fault:
    """Confirms what a row refuses."""

    def confirmed(turn: AnyTurn) -> Any:
        return (Handle.Reply(turn.event.handle_id, turn.event.confirm_tag, OK),)

    return Fault.changes(row, effects=(), answer=confirmed)


@scenario("fast/3.5.1.created-tells-of-the-queue")
@broken_by("tells another name", rewrites(Handle.Created, dest_name=b"elsewhere"))
def created_queue_can_be_used(server: Server) -> None:
    """When HANDLE CREATED has come a message that another connection sends to the name is delivered."""
    consumer = server.handle()
    consumer.send(consumer.consuming("", dynamic=True))
    name = consumer.expect(Handle.Created).dest_name
    sender = server.handle(new_connection=True)
    sender.send(*sender.carries(name, b"there"))
    consumer.hears(b"there")


@scenario("fast/3.5.1.browsing-leaves-the-message")
@broken_by("takes it away", Fault.changes("handle browse: is answered", effects=()))
@broken_by("marks it", rewrites(Handle.Notify, lambda it: it.delivered, redelivered=True))
def browsed_message_stays(server: Server) -> None:
    """A message can be browsed twice, and is then delivered as new."""
    queue, handle = server.queue(b"stays"), server.handle()
    (number,) = handle.listed(queue)
    for _ in range(2):
        handle.send(Handle.Browse(handle.id, 0, number))
        handle.observe(message(b"stays", delivered=False))
    handle.consume(queue)
    handle.observe(message(b"stays", delivered=True, redelivered=False))


@scenario("fast/3.5.1.query-lists-what-waits")
@broken_by("lists nothing", rewrites(Handle.Index, message_list=b""))
def query_lists_what_waits(server: Server) -> None:
    """Of three messages in a queue three are listed."""
    queue, handle = server.queue(b"1", b"2", b"3"), server.handle()
    server.judge("three messages", "others", len(handle.listed(queue)) == 3)


@scenario("fast/3.5.1.ready-tells-that-it-can-be-transferred")
@broken_by("does not take it", Fault.changes("handle send: is done", effects=()))
def prepared_message_is_taken(server: Server) -> None:
    """When HANDLE READY has come the rest of the message is taken, and it is delivered whole."""
    queue, handle = server.queue(), server.channel(restartable=True).handle()
    sent = large(server, handle, queue)
    uploaded(handle, sent)
    server.handle().consume(queue).hears(sent.body)


@scenario("fast/3.5.1.close-is-confirmed")
@scenario("fast/3.5.15.answered-by-close")
@scenario("fast/3.5.16.close-answered")
@broken_by("says nothing", withholds(Handle.Close))
@broken_by(
    "closes the channel",
    Fault.changes("handle close: is answered", answer=lambda turn: (Channel.Close(turn.channel.id, OK),)),
)
@broken_by("leaves it open", Fault.changes("handle close: is answered", effects=()))
def close_is_answered(server: Server) -> None:
    """HANDLE CLOSE of a handle, and of one that consumes, is answered by its like; then it is not open."""
    queue = server.queue()
    for handle in (server.handle(), server.handle().consume(queue)):
        handle.tries(Handle.Close(handle.id, OK, "done"), fields(Handle.Close, handle_id=handle.id))
    handle.tries(Handle.Flow(handle.id, handle.connection.tag()), *REFUSED)


@scenario("fast/3.5.2.belongs-to-its-channel")
@broken_by(
    "acknowledges on every channel",
    Fault.changes("channel ack: is taken", on_all_channels(channel.acknowledge)),
)
@broken_by("numbers by the connection", rewrites(Handle.Notify, lambda it: it.handle_id == 3, message_nbr=9))
def handle_belongs_to_its_channel(server: Server) -> None:
    """Two channels number their messages apart, and an ACK covers those of its own channel."""
    queue = server.queue(b"1", b"2", b"3", b"4")
    first, second = server.handle(), server.handle()
    numbers = [first.consume(queue, prefetch=1).messages(1)[0].command.message_nbr]
    numbers.append(second.consume(queue, prefetch=1).messages(1)[0].command.message_nbr)
    server.judge("the first number of each channel", "others", numbers[0] == numbers[1])
    second.channel.ack(numbers[1])
    second.messages(1)
    first.channel.stays_quiet()


@scenario("fast/3.5.2.needs-an-open-channel")
@broken_by("takes it", accepts("handle open: without a channel is refused"))
@broken_by("says nothing", Fault.changes("handle open: without a channel is refused", effects=()))
def handle_needs_an_open_channel(server: Server) -> None:
    """HANDLE OPEN is confirmed on an open channel, and refused on one that is not."""
    opened = server.handle()
    stranger = opened.connection.unopened(900).unopened()
    stranger.tries(
        stranger.opening(),
        closed(Channel.Close),
        closed(Handle.Close).recorded("2.2.10: the error is that of a handle"),
        closed(Connection.Close).recorded(WIDER),
    )


@scenario("fast/3.5.2.unique-within-the-connection")
@broken_by("takes it", accepts("handle open: again is refused"))
@broken_by("says nothing", Fault.drops("handle open: again is refused"))
def handle_is_unique_within_the_connection(server: Server) -> None:
    """A handle that is open on one channel is not opened on another."""
    first, other = server.handle(), server.channel()
    again = other.unopened(first.id)
    again.send(again.opening())
    legal = [closed(each) for each in CLOSES]
    again.expect(legal[0], *(each.recorded(WIDER) for each in legal[1:]))


@scenario("fast/3.5.2.not-already-open")
@scenario("fast/3.5.16.open-on-open-closed")
@broken_by("takes it", accepts("handle open: again is refused"))
@broken_by("says nothing", Fault.drops("handle open: again is refused"))
def open_handle_is_not_opened_again(server: Server) -> None:
    """The second HANDLE OPEN of a handle is refused."""
    handle = server.handle()
    handle.tries(handle.opening(), *REFUSED)


@scenario("fast/3.5.2.not-zero")
@broken_by("takes it", accepts("handle open: of number zero is refused"))
@broken_by("says nothing", Fault.changes("handle open: of number zero is refused", effects=()))
def handle_is_not_zero(server: Server) -> None:
    """Handle 1 is opened, handle 0 is refused."""
    opened = server.channel()
    opened.handle(1)
    zero = opened.unopened(0)
    first, *others = (closed(each) for each in reversed(CLOSES))
    zero.tries(
        zero.opening(), first, *(each.recorded("the part that it is about may be closed") for each in others)
    )


@scenario("fast/3.5.2.highest-number")
@broken_by(
    "knows no large numbers",
    answers(Handle.Open, lambda it: Handle.Close(it.handle_id, 502), when=lambda it: it.handle_id > 0x7FFF),
)
def handle_may_have_any_number(server: Server) -> None:
    """Handles 255, 256 and 65535 are opened, and the last one sends a message."""
    queue, opened = server.queue(), server.channel()
    for number in (255, 256, 65535):
        last = opened.unopened(number)
        last.confirms(last.opening())
    last.publish(queue, b"by the last")
    server.handle().consume(queue).hears(b"by the last")


@scenario("fast/3.5.2.producer-for-sending")
@broken_by("says nothing", Fault.changes("handle send: by no producer is refused", effects=()))
@broken_by("loses it", accepts("handle send: by no producer is refused"))
def producer_is_for_sending(server: Server) -> None:
    """A producer sends. By another handle the message is refused, or taken and not lost."""
    queue = server.queue()
    server.handle(consumer=False, browser=False).publish(queue, b"allowed")
    other = server.handle(producer=False)
    other.send(*other.carries(queue, b"taken", tag=7))
    seen = other.expect(*REFUSED, replied(Handle.Reply, 7).recorded(NOT_REFUSED))
    bodies = [b"allowed", b"taken"] if isinstance(seen, Handle.Reply) else [b"allowed"]
    if not isinstance(seen, Connection.Close):
        server.judge(
            "as many messages as were confirmed", "others", len(server.handle().listed(queue)) == len(bodies)
        )


@scenario("fast/3.5.2.consumer-for-consuming")
@broken_by("says nothing", Fault.changes("handle consume: by no consumer is refused", effects=()))
@broken_by("delivers nothing", accepts("handle consume: by no consumer is refused"))
def consumer_is_for_consuming(server: Server) -> None:
    """A consumer consumes. By another handle HANDLE CONSUME is refused, or messages come."""
    queue = server.queue(b"one", b"two")
    server.handle(producer=False, browser=False).consume(queue, prefetch=1).messages(1)
    other = server.handle(consumer=False)
    other.send(other.consuming(queue, confirm_tag=7, prefetch=1))
    if isinstance(other.expect(*REFUSED, replied(Handle.Reply, 7).recorded(NOT_REFUSED)), Handle.Reply):
        other.hears(b"two")


@scenario("fast/3.5.2.browser-for-browsing")
@broken_by("says nothing", Fault.changes("handle query: by no browser is refused", effects=()))
def browser_is_for_browsing(server: Server) -> None:
    """A browser gets a list. By another handle HANDLE QUERY is refused, or answered."""
    queue = server.queue()
    server.handle(producer=False, consumer=False).listed(queue)
    other = server.handle(browser=False)
    other.tries(Handle.Query(other.id, 0, queue), *REFUSED, answered(Handle.Index).recorded(NOT_REFUSED))


def _arrives(server: Server, field: str, own: bytes, *legal: bytes, **opened: Any) -> None:
    """Judge what becomes of a field of a message's header that is empty, and of one that is not."""
    queue = server.queue()
    handle = server.handle(**opened)
    handle.publish(queue, b"empty")
    handle.publish(queue, b"named", **{field: own})
    first, second = server.handle().consume(queue).messages(2)
    told = bytes(getattr(first.head, field))
    server.judge("what was sent, or the default", "another value", told in (b"", *legal))
    server.note(f"an empty {field.replace('_', '-')} arrives as {told.decode() or 'empty'}")
    server.judge("the value of the message", "another value", getattr(second.head, field) == own)


def _filled(field: str) -> Any:
    def by(octets: bytes) -> bytes:
        head, behind = MessageHead.decode(octets)
        return head.replace(**{field: b"text/x-other"}).encode() + octets[behind:]

    return hears_fragment(Handle.Send, by)


@scenario("fast/3.5.2.default-mime-type")
@broken_by("makes up another", _filled("mime_type"))
def mime_type_of_the_handle(server: Server) -> None:
    """A message without MIME type arrives without, or with that of its handle; another keeps its own."""
    _arrives(server, "mime_type", b"text/plain", b"text/xml", mime_type="text/xml")


@scenario("fast/3.5.2.binary-by-default")
@broken_by("makes up another", _filled("mime_type"))
def mime_type_by_default(server: Server) -> None:
    """Without any MIME type a message arrives without, or with application/octet-stream."""
    _arrives(server, "mime_type", b"text/plain", b"application/octet-stream")


@scenario("fast/3.5.2.default-encoding")
@broken_by("makes up another", _filled("encoding"))
def encoding_of_the_handle(server: Server) -> None:
    """A message without encoding arrives without, or with that of its handle; another keeps its own."""
    _arrives(server, "encoding", b"gzip", b"zip", encoding="zip")


@scenario("fast/3.5.2.encoding-binary-by-default")
@broken_by("makes up another", _filled("encoding"))
def encoding_by_default(server: Server) -> None:
    """Without any encoding a message arrives without, or with binary."""
    _arrives(server, "encoding", b"gzip", b"binary")


@scenario("fast/3.5.2.unknown-options-ignored")
@broken_by(
    "closes the connection",
    answers(Handle.Open, Connection.Close(502), when=lambda it: bool(it.options)),
)
@broken_by("says nothing", hears(Handle.Open, lambda it: bool(it.options), confirm_tag=0))
def unknown_option_does_no_harm(server: Server) -> None:
    """HANDLE OPEN with an option of our own is confirmed, or refused in its place."""
    handle = server.channel().unopened()
    legal = refused(Handle.Close)[:2]
    opening = handle.opening(options={"X-CONFORMANCE": 1})
    handle.tries(
        opening,
        replied(Handle.Reply, opening.confirm_tag),
        *(each.recorded("what is not known may be refused") for each in legal),
    )


def _keeps_handles(turn: AnyTurn) -> None:
    kept = dict(turn.connection.handles)
    channel.close(turn)
    turn.connection.handles.update(kept)


@scenario("fast/3.5.2.closed-with-its-channel")
@broken_by("keeps its number", Fault.changes("channel close: is answered", _keeps_handles))
def handle_is_closed_with_its_channel(server: Server) -> None:
    """When a channel is closed its handle can be opened anew, and consumes nothing."""
    queue, first = server.queue(), server.channel()
    first.handle(50).consume(queue)
    first.close()
    again = first.connection.channel(first.id).unopened(50)
    again.confirms(again.opening())
    again.publish(queue, b"for nobody")
    again.channel.stays_quiet()


@scenario("fast/3.5.2.needs-no-channel-id")
@broken_by("writes all to one queue", hears(Handle.Send, lambda it: it.handle_id == 21, dest_name=b"20"))
def handle_is_used_by_its_number(server: Server) -> None:
    """Handles on two channels send each to its own queue."""
    queues = server.queue(), server.queue()
    connection = server.connection()
    for number, on, queue in ((20, 5, queues[0]), (21, 6, queues[1])):
        handle = connection.channel(on).handle(number)
        tag = connection.tag()
        handle.send(*handle.carries(queue, b"%d" % number, tag=tag))
        handle.expect(replied(Handle.Reply, tag))
    for number, queue in zip((20, 21), queues, strict=True):
        server.handle().consume(queue).hears(b"%d" % number)
