"""3.3.2.2 Restartable Mode: who asks for it, and what a client prepares."""

from typing import Any

from harness.amqp_fast.broken.deviations import Fault, answers, hears, ignores, repeats, rewrites
from harness.amqp_fast.broken.message_faults import (
    deliver_what_is_held,
    hand_on_parts,
    passes_over,
    ready_with_header,
)
from harness.amqp_fast.client.channel import FastHandle, carrying
from harness.amqp_fast.client.outcomes import (
    answered,
    closed_anyhow,
    fields,
    replied,
    stream_ends,
    that,
)
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.tables import sending
from harness.amqp_fast.wire.vocabulary import (
    INVALID_MESSAGE_CONTENTS,
    NOT_IMPLEMENTED,
    OK,
    Channel,
    Handle,
    MessageHead,
)
from scenarios.amqp_fast.channels.common import WORDLESS, arrives, holds
from scenarios.amqp_fast.channels.preparing import (
    Large,
    hashed,
    large,
    pattern,
    ready_for,
    uploaded,
    uploads,
)
from scenarios.registry import broken_by, scenario

PREPARE, PART = "handle prepare: is answered", "handle send: of a part is kept"
WRONG_HASH = "handle send: of another hash is told"
ANY_HANDLE = "2405: HANDLE PREPARE is answered by HANDLE READY on each open handle"
NOT_CHECKED = "the server does not check the hash, as it need not (1405)"


def restartable(server: Server, *, new_connection: bool = False) -> FastHandle:
    """Give a handle of a channel in restartable mode."""
    return server.channel(new_connection=new_connection, restartable=True).handle()


@scenario("fast/3.3.2.2.asked-for")
@broken_by("says nothing", ignores(Handle.Prepare, skip=1))
@broken_by(
    "confirms what it does not do", answers(Handle.Prepare, lambda it: Handle.Reply(it.handle_id), skip=1)
)
def prepare_on_a_plain_channel_is_refused(server: Server) -> None:
    """HANDLE PREPARE is answered on a restartable channel; on a plain one it is refused, or answered."""
    first = restartable(server)
    first.send(ready_for(first))
    first.control("HANDLE PREPARE", Handle.Ready)
    plain = server.handle()
    ready = answered(Handle.Ready).under(ANY_HANDLE)
    plain.tries(ready_for(plain), closed_anyhow(), ready, stream_ends().under(WORDLESS))


@scenario("fast/3.3.2.2.client-may-prepare")
@broken_by("does not answer", ignores(Handle.Prepare))
@broken_by(
    "has no such command", answers(Handle.Prepare, lambda it: Handle.Close(it.handle_id, NOT_IMPLEMENTED))
)
@broken_by("has no such mode", hears(Channel.Open, restartable=False))
def client_prepares_a_message(server: Server) -> None:
    """On a restartable channel HANDLE PREPARE with the first part of a large message is answered."""
    handle = restartable(server)
    handle.tries(large(server, handle).prepared(handle, 200), fields(Handle.Ready, handle_id=handle.id))


@scenario("fast/3.3.2.2.prepare-answered")
@broken_by("answers for another handle", rewrites(Handle.Ready, handle_id=lambda number: number - 1))
@broken_by("answers twice", repeats(Handle.Ready))
@broken_by("does not answer", ignores(Handle.Prepare))
@broken_by("tells more than it got", rewrites(Handle.Ready, message_size=lambda size: size + 1))
def prepare_is_answered_for_its_handle(server: Server) -> None:
    """Of two handles the one that HANDLE PREPARE is about has one HANDLE READY, and no more than was sent."""
    channel = server.channel(restartable=True)
    channel.handle()
    handle = channel.handle()
    ready = that(
        fields(Handle.Ready, handle_id=handle.id),
        "with no more than was sent",
        lambda seen: seen.command.message_size <= 200,
    )
    handle.tries(large(server, handle).prepared(handle, 200), ready)
    handle.stays_quiet()


@scenario("fast/3.3.2.2.broken-off-not-delivered")
@broken_by("delivers parts as they come", Fault.changes(PART, hand_on_parts))
@broken_by("delivers what it holds", Fault.changes("hang-up: ends all", deliver_what_is_held))
def part_of_a_message_is_not_delivered(server: Server) -> None:
    """Of a message whose transfer breaks off nothing is in the queue; one sent then is the only one."""
    queue = server.queue()
    broken_off(server, queue)
    server.handle().publish(queue, b"whole")
    holds(server, queue, b"whole")


def broken_off(server: Server, queue: str) -> Large:
    """Prepare a message on a new connection, send one fragment more, and drop it. Raises ControlFailed."""
    handle = restartable(server, new_connection=True)
    message = large(server, handle, queue)
    handle.send(message.prepared(handle, 100))
    held = handle.control("HANDLE PREPARE", Handle.Ready).message_size
    handle.send(message.rest(handle, held, most=4000)[0])
    handle.connection.alive()
    handle.connection.drop()
    return message


@scenario("fast/3.3.2.2.new-message-announced")
@broken_by("counts the header", Fault.changes(PREPARE, answer=ready_with_header))
@broken_by("has seen it before", rewrites(Handle.Ready, message_size=lambda size: size + 1000))
@broken_by("does not answer", ignores(Handle.Prepare))
def new_message_is_told_as_new(server: Server) -> None:
    """A message that nobody has seen is answered by the size of what came of its body, or by 0."""
    handle = restartable(server)
    came, nothing = (fields(Handle.Ready, message_size=size) for size in (100, 0))
    handle.tries(large(server, handle).prepared(handle, 100), came | nothing)


def is_held(ready: Handle.Ready) -> bool:
    return ready.message_size > 100


@scenario("fast/3.3.2.2.held-parts-told")
@broken_by("tells more than was sent", rewrites(Handle.Ready, is_held, message_size=9000))
@broken_by("tells more than it holds", rewrites(Handle.Ready, is_held, message_size=lambda size: size + 10))
@broken_by("tells less than it holds", rewrites(Handle.Ready, is_held, message_size=lambda size: size - 10))
def transfer_goes_on_where_it_broke_off(server: Server) -> None:
    """After a break the same HANDLE PREPARE tells what the server has; with the rest the message is whole."""
    queue = server.queue()
    begun = broken_off(server, queue)
    handle = restartable(server)
    size: Any = handle.tries(begun.prepared(handle, 100), Handle.Ready).message_size
    server.judge("at most what was sent", "more than was sent", size <= 4100)
    server.note("parts of messages are held" if size > 100 else "parts of messages are not held")
    handle.send(*begun.rest(handle, size, tag := handle.connection.tag()))
    handle.expect(replied(Handle.Reply, tag))
    arrives(server, queue, begun.body, identifier=begun.head.identifier)


@scenario("fast/3.3.2.2.hash-may-be-checked")
@scenario("fast/3.3.2.2.full-checks-hash")
@broken_by("takes every hash for wrong", Fault.swaps(is_right=lambda _, told: not told))
@broken_by("delivers what it has refused", Fault.changes(WRONG_HASH, sending.send, sending.forget))
@broken_by("says neither", Fault.changes(WRONG_HASH, answer=None))
@broken_by("wants a hash", Fault.swaps(is_right=lambda _, told: bool(told)))
def hash_is_checked_or_not(server: Server) -> None:
    """Messages with the right hash and with none arrive; whether a wrong one is noticed, is recorded."""
    queue, handle = server.queue(), restartable(server)
    for good in (hashed(large(server, handle, queue)), large(server, handle, queue)):
        uploads(handle, good)
        handle.expect(Handle.Reply)
        arrives(server, queue, good.body)
    taken = sends_with_wrong_hash(server, handle, queue, recorded=True)
    server.note("a wrong content-hash is not noticed" if taken else "a wrong content-hash is refused")


def sends_with_wrong_hash(server: Server, handle: FastHandle, queue: str, *, recorded: bool) -> bool:
    """Judge what becomes of a message with the hash of another one; True where it arrives. Raises Unmet."""
    wrong = hashed(large(server, handle, queue), b"another body")
    tag = handle.connection.tag()
    invalid = closed_anyhow(INVALID_MESSAGE_CONTENTS)
    # So much at first that the rest is one fragment, where the server keeps what it was told.
    first = handle.tries(wrong.prepared(handle, 4100), answered(Handle.Ready), invalid)
    if isinstance(first, Handle.Ready):
        *parts, last = wrong.rest(handle, first.message_size)
        handle.send(*parts, carrying(last.command().replace(confirm_tag=tag), last.fragment))
        told = replied(Handle.Reply, tag, INVALID_MESSAGE_CONTENTS) | invalid
        taken = replied(Handle.Reply, tag).recorded(NOT_CHECKED)
        answer = handle.expect(told.recorded() if recorded else told, taken)
        if isinstance(answer, Handle.Reply) and answer.reply_code == OK:
            holds(server, queue, wrong.body)
            return True
    holds(server, queue)
    return False


@scenario("fast/3.3.2.2.wrong-hash-told")
@broken_by("gives another code", rewrites(Handle.Reply, when=lambda it: it.reply_code != OK, reply_code=502))
@broken_by("delivers it all the same", Fault.changes(WRONG_HASH, sending.send, sending.forget))
@broken_by("says nothing", Fault.changes(WRONG_HASH, answer=None))
@broken_by("confirms what it drops", Fault.changes(WRONG_HASH, answer=passes_over))
def wrong_hash_is_told_with_542(server: Server) -> None:
    """A message with the right hash arrives; one with a wrong one is refused with 542, or not checked."""
    queue, handle = server.queue(), restartable(server)
    uploaded(handle, good := hashed(large(server, handle, queue)))
    arrives(server, queue, good.body)
    if sends_with_wrong_hash(server, handle, queue, recorded=False):
        server.inapplicable(NOT_CHECKED)


@scenario("fast/3.3.2.2.minimum-supported")
@broken_by(
    "has no such mode",
    answers(
        Channel.Open, lambda it: Channel.Close(it.channel_id, NOT_IMPLEMENTED), when=lambda it: it.restartable
    ),
)
@broken_by("delivers parts as they come", Fault.changes(PART, hand_on_parts))
@broken_by("counts the header", Fault.changes(PREPARE, answer=ready_with_header))
@broken_by("does not answer", ignores(Handle.Prepare))
def each_server_has_restartable_mode(server: Server) -> None:
    """A prepared message arrives whole; one that is broken off by closing the channel never does."""
    queue, connection = server.queue(), server.connection()
    channel = connection.unopened()
    channel.confirms(Channel.Open(channel.id, restartable=True))
    handle = channel.handle()
    message, broken = large(server, handle, queue), large(server, handle, queue)
    for each, whole in ((message, True), (broken, False)):
        held = handle.tries(each.prepared(handle, 200), Handle.Ready).message_size
        tag = connection.tag() if whole else 0
        frames = each.rest(handle, held, tag, most=4000)
        handle.send(*(frames if whole else frames[:1]))
        if whole:
            handle.expect(replied(Handle.Reply, tag))
    channel.close()
    holds(server, queue, message.body)


@scenario("fast/3.3.2.2.single-fragment-prepared-by-client")
@broken_by("says nothing", ignores(Handle.Prepare, skip=1))
def small_message_that_is_prepared_is_answered(server: Server) -> None:
    """A HANDLE PREPARE for a message that fits into one fragment is refused or answered; it is recorded."""
    handle = restartable(server)
    handle.send(ready_for(handle))
    handle.control("HANDLE PREPARE", Handle.Ready)
    another, body = restartable(server), pattern(10)
    small = Large("", body, MessageHead(10, identifier=server.name("message")))
    legal = closed_anyhow().recorded(), answered(Handle.Ready).recorded(ANY_HANDLE)
    another.tries(small.prepared(another, 10), *legal, stream_ends().under(WORDLESS))


@scenario("fast/3.3.2.2.prepare-has-first-fragment")
@broken_by("counts the header", Fault.changes(PREPARE, answer=ready_with_header))
@broken_by("keeps nothing and says it does", rewrites(Handle.Ready, message_size=lambda size: size or 200))
@broken_by("wants a part of the body", ignores(Handle.Prepare, when=lambda it: it.fragment_size < 100))
def prepare_carries_header_and_body(server: Server) -> None:
    """With its header alone, or with two hundred octets of its body, a message is prepared, and arrives."""
    queue, handle = server.queue(), restartable(server)
    for first in (0, 200):
        message = large(server, handle, queue)
        held = handle.tries(message.prepared(handle, first), Handle.Ready).message_size
        handle.send(*message.rest(handle, held, tag := handle.connection.tag()))
        handle.expect(replied(Handle.Reply, tag))
        arrives(server, queue, message.body, identifier=message.head.identifier)


@scenario("fast/3.3.2.2.client-sends-the-rest")
@scenario("fast/3.4.3.recovery-is-the-rest")
@broken_by("does not look at recovery", hears(Handle.Send, recovery=False))
@broken_by("loses a fragment", ignores(Handle.Send, when=lambda it: it.partial))
@broken_by("counts the header", Fault.changes(PREPARE, answer=ready_with_header))
def rest_completes_the_message(server: Server) -> None:
    """What comes by HANDLE SEND with recovery set, in two fragments, completes what was prepared."""
    queue, handle = server.queue(), restartable(server)
    message = large(server, handle, queue, priority=3)
    held = handle.tries(message.prepared(handle, 300), Handle.Ready).message_size
    frames = message.rest(handle, held, tag := handle.connection.tag(), most=len(message.body) // 2 + 1)
    handle.send(*frames)
    handle.expect(replied(Handle.Reply, tag))
    holds_one(server, queue, message)


def holds_one(server: Server, queue: str, message: Large) -> None:
    """Judge that a message is in a queue, once, with header and body as they were. Raises Unmet."""
    arrives(server, queue, message.body, **{name: getattr(message.head, name) for name in message.head.names})
    holds(server, queue)
