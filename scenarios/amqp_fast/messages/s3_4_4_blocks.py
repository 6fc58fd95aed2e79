"""3.4.4 Message Header: header and body, and the fragments that they are cut into."""

from harness.amqp_fast.broken.deviations import (
    Fault,
    answers,
    carries,
    hears_fragment,
    ignores,
    rewrites,
    together,
    withholds,
)
from harness.amqp_fast.broken.message_faults import hand_on_whatever, with_body, with_head
from harness.amqp_fast.client.outcomes import Received, closed_anyhow, message, replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.peer.tables.handle import confirmed
from harness.amqp_fast.peer.tables.sending import forget
from harness.amqp_fast.wire.vocabulary import OK, Handle, MessageHead
from harness.play.watching import Found, Gaps
from scenarios.amqp_fast.channels.common import arrives, holds
from scenarios.amqp_fast.channels.preparing import pattern
from scenarios.amqp_fast.messages.common import ENDED, TOLD, cut_at, octets_of, small_reader
from scenarios.amqp_fast.messages.watched import MESSAGES, Fragments
from scenarios.registry import broken_by, scenario, watch

SPLIT = "fast/3.4.2.long-messages-split"
HEADER = len(MessageHead().encode())
"""Octets of the shortest header."""


def is_partial(carrier: Handle.Notify | Handle.Send) -> bool:
    return carrier.partial


# -- what is watched -------------------------------------------------------------------------------------


@watch("fast/3.4.4.header-then-body", during=SPLIT, looks_at=MESSAGES, start=Fragments, gap=Gaps.STOPS)
@broken_by("sends the body alone", carries(Handle.Notify, lambda octets: octets[HEADER:]))
@broken_by("has a field less", carries(Handle.Notify, lambda octets: octets[:5] + octets[9:]))
@broken_by("puts the body first", carries(Handle.Notify, lambda octets: octets[HEADER:] + octets[:HEADER]))
def message_begins_with_a_header(messages: Fragments, each: Passage) -> Found:
    """The octets of each message begin with a header that decodes."""
    message = messages.see(each)
    if message is None or not message.is_whole:
        return None
    missing = message.missing
    return missing == 0 or f"a message that is no header and body, at {each.at:.4f} s"


@watch(
    "fast/3.4.4.header-in-first-fragment", during=SPLIT, looks_at=MESSAGES, start=Fragments, gap=Gaps.STOPS
)
@broken_by("cuts the header", carries(Handle.Notify, lambda octets: octets[: HEADER - 2]))
@broken_by("begins with nothing", carries(Handle.Notify, lambda _: b""))
def header_is_in_the_first_fragment(messages: Fragments, each: Passage) -> Found:
    """The header decodes from the first fragment of each message."""
    message = messages.see(each)
    if message is None or not message.begins:
        return None
    return message.head is not None or f"a first fragment without a whole header, at {each.at:.4f} s"


@watch("fast/3.4.4.body-size-told", during=SPLIT, looks_at=MESSAGES, start=Fragments, gap=Gaps.STOPS)
@broken_by("counts the header", carries(Handle.Notify, with_head(body_size=lambda size: size + HEADER)))
@broken_by("does not count", carries(Handle.Notify, with_head(body_size=0)))
def body_is_as_long_as_told(messages: Fragments, each: Passage) -> Found:
    """The body of each message is as long as its header says."""
    message = messages.see(each)
    if message is None or not message.is_whole or message.missing is None:
        return None
    return message.missing == 0 or f"{message.missing} octets short of what was told, at {each.at:.4f} s"


@watch(
    "fast/3.4.4.fragments-make-the-message", during=SPLIT, looks_at=MESSAGES, start=Fragments, gap=Gaps.STOPS
)
@broken_by("loses a fragment", withholds(Handle.Notify, is_partial, skip=2))
@broken_by("cuts with an overlap", carries(Handle.Notify, lambda octets: octets + octets[-9:], is_partial))
@broken_by("leaves something between", carries(Handle.Notify, lambda octets: octets[:-9], is_partial))
def fragments_make_header_and_body(messages: Fragments, each: Passage) -> Found:
    """The fragments of a message, when the last one has come, are its header and its body and no more."""
    message = messages.see(each)
    if message is None or not message.is_whole or len(message.parts) == 1:
        return None
    return message.missing == 0 or f"fragments that make no message, at {each.at:.4f} s"


# -- what is sent ----------------------------------------------------------------------------------------

ANOTHER_SIZE = "handle send: of another size is refused"


@scenario("fast/3.4.4.body-size-counts")
@broken_by("delivers it", Fault.changes(ANOTHER_SIZE, hand_on_whatever, forget, answer=confirmed))
@broken_by("passes over it", Fault.changes(ANOTHER_SIZE, forget))
@broken_by("confirms and drops it", Fault.changes(ANOTHER_SIZE, forget, answer=confirmed))
def body_of_another_size_is_refused(server: Server) -> None:
    """A body of ten octets is taken; announced as twenty, or as five, it is refused."""
    queue = server.queue()
    for size in (20, 5):
        handle = server.handle(new_connection=True)
        handle.publish(queue, pattern(10))
        tag = handle.connection.tag()
        handle.send(*handle.carries(queue, pattern(10), body_size=size, tag=tag))
        handle.expect(TOLD, ENDED)
        holds(server, queue, pattern(10))


@scenario("fast/3.4.4.largest-size-announced")
@broken_by(
    "takes it for complete",
    Fault.changes("handle send: of a large message is refused", hand_on_whatever, forget),
)
@broken_by(
    "hears no more",
    together(ignores(Handle.Send, is_partial, skip=1), ignores(Handle.Flow, lambda it: not it.flow_pause)),
)
def largest_size_is_taken_or_refused(server: Server) -> None:
    """A message that is to be 4 GB long is begun: its fragment is taken or refused, and nothing delivered."""
    queue, handle = server.queue(), server.handle(new_connection=True)
    handle.publish(queue, pattern(100), most=80)
    tag = handle.connection.tag()
    begun = cut_at(handle, queue, octets_of(pattern(100), body_size=0xFFFFFFFF), 100)[0]
    handle.send(begun, Handle.Flow(handle.id, tag))
    handle.expect(replied(Handle.Reply, tag).recorded(), closed_anyhow().recorded(), ENDED)
    handle.connection.close()
    holds(server, queue, pattern(100))


@scenario("fast/3.4.4.split-header")
@broken_by(
    "confirms and loses it",
    together(
        ignores(Handle.Send, is_partial),
        answers(Handle.Send, lambda it: Handle.Reply(it.handle_id, it.confirm_tag, OK), skip=1),
    ),
)
@broken_by("passes over it", ignores(Handle.Send, skip=1))
def header_that_is_cut_is_joined_or_refused(server: Server) -> None:
    """A message whose header is cut by the end of a fragment arrives or is refused: that is recorded."""
    queue, handle = server.queue(), server.handle(new_connection=True)
    octets = octets_of(pattern(50), identifier=b"cut")
    for place, legal in ((HEADER + 10, ()), (9, (TOLD.recorded(), ENDED))):
        tag = handle.connection.tag()
        handle.send(*cut_at(handle, queue, octets, place, tag=tag))
        taken = handle.expect(replied(Handle.Reply, tag), *legal)
        if isinstance(taken, Handle.Reply) and taken.reply_code == OK:
            arrives(server, queue, pattern(50), identifier=b"cut")
    holds(server, queue)


@scenario("fast/3.4.4.body-begins-behind-header")
@broken_by(
    "takes the body for what comes next", hears_fragment(Handle.Send, lambda it: it[:HEADER], is_partial)
)
@broken_by("loses the first octet", carries(Handle.Notify, with_body(lambda body: body[1:] + body[:1])))
def body_begins_behind_the_header(server: Server) -> None:
    """With none, one or thirty octets of its body in the first fragment a message arrives as it was."""
    queue, handle = server.queue(), server.handle()
    for octets in (0, 1, 30):
        tag = handle.connection.tag()
        handle.send(*cut_at(handle, queue, octets_of(pattern(60)), HEADER + octets, tag=tag))
        handle.expect(replied(Handle.Reply, tag))
        arrives(server, queue, pattern(60))


@scenario("fast/3.4.4.message-put-together")
@broken_by("loses a fragment", ignores(Handle.Send, is_partial, skip=4))
@broken_by("delivers the first fragment alone", rewrites(Handle.Notify, partial=False))
@broken_by("loses one on its way out", withholds(Handle.Notify, is_partial, skip=1))
def messages_of_all_sizes_are_put_together(server: Server) -> None:
    """In fragments of at most 1000 octets messages are sent, and in those of 4096 they come, as they were."""
    queue, handle = server.queue(), server.handle()
    reader = small_reader(server, queue)
    for size in (0, 1, 4095, 4096, 4097, 12288):
        tag = handle.connection.tag()
        handle.send(*handle.carries(queue, pattern(size), most=1000, tag=tag))
        handle.expect(replied(Handle.Reply, tag))
        seen: Received = reader.observe(message(pattern(size)))
        server.judge(
            "the size that was told", "another one", seen.head is not None and seen.head.body_size == size
        )
