"""3.5.12 HANDLE PREPARE, 3.5.13 HANDLE READY: what clients prepare, and servers answer."""

from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    answers,
    hears,
    ignores,
    repeats,
    replaces,
    rewrites,
)
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.broken.message_faults import hand_on_parts, passes_over, read, ready_with_header
from harness.amqp_fast.client.channel import FastHandle
from harness.amqp_fast.client.outcomes import answered, closed_anyhow, fields, refused, replied, that
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.tables import sending
from harness.amqp_fast.wire.frames import Frame
from harness.amqp_fast.wire.vocabulary import (
    MESSAGE_TOO_LARGE,
    OK,
    Channel,
    Connection,
    Handle,
)
from scenarios.amqp_fast.channels.common import arrives
from scenarios.amqp_fast.channels.preparing import Large, hashed, large, ready_for
from scenarios.amqp_fast.channels.s3_3_2_2_restartable_mode import restartable, sends_with_wrong_hash
from scenarios.amqp_fast.replies.s3_5_12_13_prepared_by_servers import waits_for_an_answer
from scenarios.registry import broken_by, scenario

PREPARE, PART = "handle prepare: is answered", "handle send: of a part is kept"
UNOPENED, TOO_LARGE = "handle: is not open", "handle prepare: of a large message is refused"
WRONG_HASH = "handle send: of another hash is told"
STRAY = 77
"""A handle that is never opened."""
HUGE = 0xFFFFFFFF
NAIVE = "2277: a naive server answers with a message size of zero"
MINIMUM = "1381: the minimum is to discard what was broken off"
ROOM = "the server has room for it: what it cannot accept, is its affair (2280)"


def is_stray(command: Any) -> bool:
    return bool(command.handle_id == STRAY)


def begins(handle: FastHandle, message: Large, octets: int) -> int:
    """Judge that HANDLE PREPARE with so many octets of the body is answered; give how many are held."""
    ready = handle.tries(message.prepared(handle, octets), fields(Handle.Ready, handle_id=handle.id))
    return int(ready.message_size)


def completes(handle: FastHandle, message: Large, octets: int, **how: Any) -> None:
    """Judge that a message is prepared with so many octets of its body, and confirmed with the rest."""
    held = begins(handle, message, octets)
    handle.send(*message.rest(handle, held, tag := handle.connection.tag(), **how))
    handle.expect(replied(Handle.Reply, tag))


# -- who prepares, and how ------------------------------------------------------------------------------


@scenario("fast/3.5.12.client-may-prepare")
@scenario("fast/3.5.13.answers-prepare")
@scenario("fast/3.5.16.prepare-answered")
@broken_by("says nothing", ignores(Handle.Prepare))
@broken_by("confirms it", answers(Handle.Prepare, lambda it: Handle.Reply(it.handle_id, 0, OK)))
@broken_by("answers for another handle", rewrites(Handle.Ready, handle_id=lambda number: number - 1))
@broken_by("sends its own PREPARE back", answers(Handle.Prepare, lambda it: Handle.Prepare(it.handle_id)))
@broken_by("has no such mode", hears(Channel.Open, restartable=False))
@broken_by("answers twice", repeats(Handle.Ready))
def prepare_is_answered_by_ready(server: Server) -> None:
    """On a restartable channel HANDLE PREPARE is answered by one HANDLE READY for its handle."""
    channel = server.channel(restartable=True)
    channel.handle()
    handle = channel.handle()
    handle.tries(ready_for(handle), fields(Handle.Ready, handle_id=handle.id))
    handle.stays_quiet()


@scenario("fast/3.5.12.carries-header-and-body")
@broken_by("counts the header", Fault.changes(PREPARE, answer=ready_with_header))
@broken_by("wants a part of the body", ignores(Handle.Prepare, when=lambda it: it.fragment_size < 100))
@broken_by("keeps nothing and says it does", rewrites(Handle.Ready, message_size=lambda size: size or 100))
def header_and_body_are_prepared(server: Server) -> None:
    """With none of its body or a hundred octets a message is prepared; with the rest it arrives, whole."""
    queue, handle = server.queue(), restartable(server)
    for octets in (0, 100):
        completes(handle, message := large(server, handle, queue), octets)
        arrives(server, queue, message.body, identifier=message.head.identifier)


@scenario("fast/3.5.12.fragment-size-is-exact")
@broken_by("takes an octet more", hears(Handle.Prepare, fragment_size=lambda size: size + 1))
@broken_by("takes an octet less", hears(Handle.Prepare, fragment_size=lambda size: size - 1))
@broken_by("takes nothing", hears(Handle.Prepare, fragment_size=0))
def next_frame_is_read_behind_what_was_prepared(server: Server) -> None:
    """Behind the header and a hundred octets of the body a PING is read, and answered."""
    handle = restartable(server)
    handle.send(large(server, handle).prepared(handle, 100), Connection.Ping(respond=True))
    handle.expect(Handle.Ready)
    handle.connection.expect(Connection.Ping)


def two_at_once(server: Server, handle: FastHandle) -> list[Frame]:
    """Give two HANDLE PREPAREs of a handle."""
    return [large(server, handle).prepared(handle, octets) for octets in (100, 200)]


@scenario("fast/3.5.12.handle-must-be-open")
@broken_by("passes over it", Fault.drops(UNOPENED))
@broken_by("answers it", answers(Handle.Prepare, lambda it: Handle.Ready(it.handle_id), when=is_stray))
@broken_by("closes it as if all were well", rewrites(Handle.Close, reply_code=OK))
def prepare_by_no_handle_is_refused(server: Server) -> None:
    """HANDLE PREPARE by an open handle is answered; by one that nobody opened it is refused."""
    handle = restartable(server)
    handle.send(ready_for(handle))
    handle.control("HANDLE PREPARE", Handle.Ready)
    stray = handle.channel.unopened(STRAY)
    if isinstance(stray.tries(ready_for(stray), *refused(Handle.Close)), Handle.Close):
        handle.connection.lives()
        handle.confirms(Handle.Flow(handle.id, 0, False))


@scenario("fast/3.5.12.verifies-the-space")
@scenario("fast/3.5.13.too-large-closes-channel")
@broken_by("gives another code", rewrites(Channel.Close, reply_code=541))
@broken_by("says nothing", Fault.changes(TOO_LARGE, effects=()))
@broken_by("closes the handle", replaces(Channel.Close, lambda it: Handle.Close(2, it.reply_code)))
@broken_by("replies", replaces(Channel.Close, Handle.Reply(2, 0, MESSAGE_TOO_LARGE)))
def message_that_is_too_large_closes_the_channel(server: Server) -> None:
    """A message of two fragments is prepared; for one of 2^32-1 octets there is no room, or there is."""
    first = restartable(server)
    first.send(ready_for(first))
    first.control("HANDLE PREPARE", Handle.Ready)
    handle = restartable(server)
    no_room = refused(Channel.Close, MESSAGE_TOO_LARGE)
    handle.tries(ready_for(handle, body_size=HUGE), *no_room, answered(Handle.Ready).recorded(ROOM))


# -- hashes -----------------------------------------------------------------------------------------------


@scenario("fast/3.5.12.wrong-hash-noticed")
@broken_by("takes every hash for wrong", Fault.swaps(is_right=lambda _, told: not told))
@broken_by("gives another code", rewrites(Handle.Reply, when=lambda it: it.reply_code != OK, reply_code=502))
@broken_by("delivers it all the same", Fault.changes(WRONG_HASH, sending.send, sending.forget))
@broken_by("says nothing", Fault.changes(WRONG_HASH, answer=None))
@broken_by("confirms what it drops", Fault.changes(WRONG_HASH, answer=passes_over))
def wrong_hash_is_noticed(server: Server) -> None:
    """A message with the right hash arrives; one with the hash of another is refused with 542, or arrives."""
    queue, handle = server.queue(), restartable(server)
    completes(handle, good := hashed(large(server, handle, queue)), 200)
    arrives(server, queue, good.body)
    sends_with_wrong_hash(server, handle, queue, recorded=False)


@scenario("fast/3.5.12.empty-hash-not-checked")
@broken_by("wants a hash", Fault.swaps(is_right=lambda _, told: bool(told)))
@broken_by("drops what has none", Fault.changes("handle send: is done", sending.forget))
@broken_by("does not prepare what has none", ignores(Handle.Prepare, when=lambda it: not it.content_hash))
def message_without_a_hash_is_taken(server: Server) -> None:
    """A message that is prepared with an empty content-hash is confirmed, and arrives whole."""
    queue, handle = server.queue(), restartable(server)
    completes(handle, message := large(server, handle, queue), 200)
    arrives(server, queue, message.body)


# -- what is held -------------------------------------------------------------------------------------------


def breaks_off(server: Server, queue: str, octets: int, more: int = 0) -> tuple[Large, int]:
    """Prepare a message on a new connection, send `more` of the rest, drop it; give what was sent in all."""
    handle = restartable(server, new_connection=True)
    message = large(server, handle, queue)
    handle.send(message.prepared(handle, octets))
    held = min(octets, handle.control("HANDLE PREPARE", Handle.Ready).message_size)
    if more:
        handle.send(message.rest(handle, held, most=more)[0])
    handle.connection.alive()
    handle.connection.drop()
    return message, held + more if more else octets


def of_the_same_identifier(turn: AnyTurn) -> None:
    """Takes a message for one that is held if its identifier is the same."""
    told = read(turn.fragment)
    for held in turn.peer.partial.values():
        other = read(held.header)
        if told and other and told.head.identifier == other.head.identifier:
            turn.handle.prepared = held
            return
    sending.prepare(turn)


@scenario("fast/3.5.12.identity-is-the-header")
@broken_by("looks at the identifier alone", Fault.changes(PREPARE, of_the_same_identifier))
@broken_by("counts the header", Fault.changes(PREPARE, answer=ready_with_header))
@broken_by("tells the same of all", rewrites(Handle.Ready, message_size=200))
def message_is_identified_by_its_header(server: Server) -> None:
    """With another priority a message is another one, of which just what is sent now is held."""
    message, _ = breaks_off(server, "", 200)
    handle = restartable(server, new_connection=True)
    other = Large("", message.body, message.head.replace(priority=message.head.priority + 1))
    new = fields(Handle.Ready, message_size=100)
    handle.tries(other.prepared(handle, 100), new, fields(Handle.Ready, message_size=0).recorded(NAIVE))
    again = restartable(server, new_connection=True)
    size = begins(again, message, 100)
    server.judge("what was prepared before, or nothing", "another number", size in (0, 100, 200))


@scenario("fast/3.5.12.not-in-batches")
@broken_by("passes over the second", ignores(Handle.Prepare, skip=1))
@broken_by("says nothing of it", Fault.changes("handle prepare: amid another is refused", effects=()))
@broken_by("prepares twice", repeats(Handle.Prepare))
def nothing_is_prepared_in_batches(server: Server) -> None:
    """The second of two HANDLE PREPAREs at once is refused or answered; a server waits for our answer."""
    handle = restartable(server, new_connection=True)
    handle.send(*two_at_once(server, handle))
    legal = answered(Handle.Ready) | closed_anyhow()
    if isinstance(handle.expect(legal), Handle.Ready):
        handle.expect(legal)
    waits_for_an_answer(server)


@scenario("fast/3.5.13.handle-must-be-open")
@broken_by("passes over it", Fault.drops(UNOPENED))
@broken_by("confirms it", answers(Handle.Ready, lambda it: Handle.Reply(it.handle_id, 0, OK)))
@broken_by("closes it as if all were well", rewrites(Handle.Close, reply_code=OK))
def ready_by_no_handle_is_refused(server: Server) -> None:
    """HANDLE READY for a handle that nobody opened is refused; the connection can be used as before."""
    handle = restartable(server)
    stray = handle.channel.unopened(STRAY)
    if isinstance(stray.tries(Handle.Ready(STRAY, 0), *refused(Handle.Close)), Handle.Close):
        handle.connection.lives()
        handle.confirms(Handle.Flow(handle.id, 0, False))


@scenario("fast/3.5.13.tells-what-is-held")
@broken_by("tells more than was sent", rewrites(Handle.Ready, message_size=lambda size: size + 1))
@broken_by("tells the size of the body", rewrites(Handle.Ready, message_size=0x10000000))
@broken_by("counts the header", Fault.changes(PREPARE, answer=ready_with_header))
def what_is_held_is_told(server: Server) -> None:
    """Of a message whose transfer broke off HANDLE READY tells as much as had been sent, or less."""
    message, sent = breaks_off(server, "", 100, 4000)
    handle = restartable(server, new_connection=True)
    less = that(answered(Handle.Ready), "with less", lambda seen: seen.command.message_size < sent)
    all_of_it = fields(Handle.Ready, message_size=sent)
    handle.tries(message.prepared(handle, 100), all_of_it, less.recorded(MINIMUM))


@scenario("fast/3.5.13.tells-of-a-new-message")
@broken_by("counts the header", Fault.changes(PREPARE, answer=ready_with_header))
@broken_by("tells more", rewrites(Handle.Ready, message_size=lambda size: size + 1))
@broken_by("tells less", rewrites(Handle.Ready, message_size=lambda size: size // 2))
def size_of_a_new_message_is_told(server: Server) -> None:
    """Of a new message HANDLE READY tells the hundred octets that were prepared, or 0."""
    handle = restartable(server)
    naive = fields(Handle.Ready, message_size=0).recorded(NAIVE)
    handle.tries(large(server, handle).prepared(handle, 100), fields(Handle.Ready, message_size=100), naive)


@scenario("fast/3.5.13.held-until-complete")
@broken_by("delivers parts as they come", Fault.changes(PART, hand_on_parts))
@broken_by("holds it for ever", Fault.changes("handle send: is done", effects=()))
@broken_by("forgets parts", ignores(Handle.Send, when=lambda it: it.partial))
def parts_are_held_until_all_are_there(server: Server) -> None:
    """A consumer gets nothing while a part of a message is missing, and all of it then."""
    queue, handle = server.queue(), restartable(server)
    reader = server.handle(new_connection=True).consume(queue, no_ack=True)
    message = large(server, handle, queue)
    held = begins(handle, message, 200)
    *parts, last = message.rest(handle, held, tag := handle.connection.tag(), most=4000)
    handle.send(*parts)
    handle.connection.alive()
    reader.stays_quiet()
    handle.send(last)
    handle.expect(replied(Handle.Reply, tag))
    reader.hears(message.body)


@scenario("fast/3.5.13.finds-a-match")
@broken_by("tells more", rewrites(Handle.Ready, message_size=lambda size: size + 1))
@broken_by("tells a part", rewrites(Handle.Ready, message_size=lambda size: size // 2))
@broken_by("counts the header", Fault.changes(PREPARE, answer=ready_with_header))
def match_is_found_by_its_header(server: Server) -> None:
    """Of a message that was prepared before, the header alone finds what is held of it, or nothing is."""
    message, sent = breaks_off(server, "", 200)
    handle = restartable(server, new_connection=True)
    nothing = fields(Handle.Ready, message_size=0).recorded(MINIMUM)
    handle.tries(message.prepared(handle, 0), fields(Handle.Ready, message_size=sent), nothing)
