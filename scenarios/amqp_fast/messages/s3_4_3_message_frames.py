"""3.4.3 Message Frames: how they are read, and what is not read from the stream."""

from harness.amqp_fast.broken.deviations import (
    Fault,
    answers,
    hears,
    hears_fragment,
    ignores,
    together,
)
from harness.amqp_fast.broken.message_faults import hand_on_parts
from harness.amqp_fast.client.outcomes import answered, closed_anyhow, fields, replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.frames import frame
from harness.amqp_fast.wire.vocabulary import MESSAGE_NOT_FOUND, OK, QUEUE, Channel, Handle
from scenarios.amqp_fast.channels.common import arrives, holds, staged
from scenarios.amqp_fast.channels.preparing import pattern
from scenarios.amqp_fast.messages.common import ENDED, TOLD, cut_at, octets_of
from scenarios.registry import broken_by, scenario

ENOUGH = 40
"""Octets that are told to be out of band."""


def restarts(flow: Handle.Flow) -> bool:
    return not flow.flow_pause


@scenario("fast/3.4.3.read-outside-commands")
@scenario("fast/3.4.4.fragment-follows-command")
@broken_by("takes the first octet for a part of the command", hears_fragment(Handle.Send, lambda it: it[1:]))
@broken_by("takes an octet more", hears_fragment(Handle.Send, lambda it: it + b"\x00"))
@broken_by("passes over what is behind a message", ignores(Handle.Flow, restarts))
def message_is_read_behind_its_command(server: Server) -> None:
    """Messages and a command behind them are read, sent in one write, in two, or octet by octet."""
    queue = server.queue()
    for step in (0, 30, 1):
        handle = server.handle(new_connection=True)
        tag = handle.connection.tag()
        sent = [*handle.carries(queue, b"first"), *handle.carries(queue, b"second")]
        octets = b"".join(each.encode() for each in (*sent, frame(Handle.Flow(handle.id, tag))))
        for start in range(0, len(octets), step or len(octets)):
            handle.send(octets[start : start + (step or len(octets))])
        handle.expect(replied(Handle.Reply, tag))
        holds(server, queue, b"first", b"second")


@scenario("fast/3.4.3.only-after-these-commands")
@broken_by("takes what is behind HANDLE FLOW for a message", ignores(Handle.Query))
@broken_by("takes what is behind HANDLE CLOSE for a message", ignores(Channel.Commit))
def other_commands_have_no_message(server: Server) -> None:
    """Each other command of a client is read directly behind the one before it; a message arrives then."""
    queue, channel = server.queue(), server.channel(new_connection=True, transacted=True)
    handle, other = channel.handle(), channel.handle()
    first, second, third, fourth, fifth = (channel.connection.tag() for _ in range(5))
    channel.send(
        Channel.Ack(channel.id, 0, 1),
        Handle.Flow(other.id, first, True),
        Handle.Query(handle.id, 0, queue),
        Handle.Browse(handle.id, second, 77),
        handle.consuming(queue, confirm_tag=third),
        Handle.Close(other.id, OK, "done"),
        Channel.Commit(channel.id, fourth),
        *handle.carries(queue, b"a message", tag=fifth),
        Channel.Commit(channel.id, fifth),
    )
    legal = (
        replied(Handle.Reply, first),
        answered(Handle.Index),
        replied(Handle.Reply, second, MESSAGE_NOT_FOUND),
        replied(Handle.Reply, third),
        fields(Handle.Close, handle_id=other.id),
        replied(Channel.Reply, fourth),
        replied(Handle.Reply, fifth),
        replied(Channel.Reply, fifth),
    )
    for each in legal:
        channel.expect(each)
    channel.hears(b"a message")


@scenario("fast/3.4.3.fragment-size-read")
@broken_by("reads less than it is told", hears_fragment(Handle.Send, lambda octets: octets[:-1]))
@broken_by("reads more than it is told", hears_fragment(Handle.Send, lambda octets: octets + b"\x00"))
@broken_by("obeys what is within a message", answers(Handle.Send, lambda it: Handle.Close(it.handle_id, OK)))
def server_reads_what_fragment_size_says(server: Server) -> None:
    """Bodies that end with what looks like a command, in one fragment or three, arrive as they were sent."""
    queue, handle = server.queue(), server.handle(new_connection=True)
    body = pattern(60) + frame(Channel.Close(handle.channel.id, OK)).encode()
    octets, tags = octets_of(body), [handle.connection.tag() for _ in range(4)]
    whole = cut_at(handle, queue, octets, tag=tags[0])
    handle.send(*whole, Handle.Flow(handle.id, tags[1]))
    for tag in tags[:2]:
        handle.expect(replied(Handle.Reply, tag))
    arrives(server, queue, body)
    # The one in the middle has no octet at all.
    in_three = cut_at(handle, queue, octets, 40, 40, tag=tags[2])
    handle.send(*in_three, Handle.Flow(handle.id, tags[3]))
    refused = closed_anyhow().under("a fragment without an octet is one that nobody needs")
    if isinstance(handle.expect(replied(Handle.Reply, tags[2]), refused), Handle.Reply):
        handle.expect(replied(Handle.Reply, tags[3]))
        arrives(server, queue, body)


def taken(send: Handle.Send) -> Handle.Reply:
    return Handle.Reply(send.handle_id, send.confirm_tag, OK)


def is_short(send: Handle.Send) -> bool:
    return send.fragment_size < 5


@scenario("fast/3.4.3.fragment-size-without-header")
@broken_by("passes over it", ignores(Handle.Send, is_short))
@broken_by(
    "confirms it",
    answers(Handle.Send, lambda it: Handle.Reply(it.handle_id, it.confirm_tag, OK), when=is_short),
)
def fragment_without_a_header_is_refused(server: Server) -> None:
    """A message with an empty body arrives; one with none or four octets in place of its header does not."""
    queue = server.queue()
    for size in (0, 4):
        handle = server.handle(new_connection=True)
        handle.publish(queue, b"")
        handle.send(*cut_at(handle, queue, bytes(size), tag=handle.connection.tag()))
        handle.expect(TOLD, ENDED)
        holds(server, queue, b"")


@scenario("fast/3.4.3.partial-read")
@broken_by("delivers fragments as they come", Fault.changes("handle send: of a part is kept", hand_on_parts))
@broken_by("takes each fragment for the last", hears(Handle.Send, partial=False))
@broken_by(
    "takes the last fragment for another one",
    hears(Handle.Send, partial=True, when=lambda it: it.fragment_size == 45),
)
def partial_says_that_more_is_to_come(server: Server) -> None:
    """Of a message with its first half nothing is delivered; with the second one it is, whole."""
    stage, handle = staged(server), server.handle(new_connection=True)
    first, rest = handle.carries(stage.queue, pattern(100), most=70)
    handle.send(first)
    handle.stays_quiet()
    stage.shows()
    handle.send(rest)
    handle.stays_quiet()
    stage.shows(pattern(100))


def is_elsewhere(send: Handle.Send) -> bool:
    return send.out_of_band


@scenario("fast/3.4.3.out-of-band-elsewhere")
@broken_by(
    "takes what is behind it for the message",
    together(ignores(Handle.Send, is_elsewhere), ignores(Handle.Flow, restarts)),
)
@broken_by("takes it for one within the stream", hears(Handle.Send, is_elsewhere, out_of_band=False))
def message_out_of_band_is_refused_or_passed_over(server: Server) -> None:
    """HANDLE SEND with out-of-band set, of which nothing was agreed, is refused or passed over."""
    queue, handle = server.queue(), server.handle(new_connection=True)
    handle.publish(queue, b"within the stream")
    tag = handle.connection.tag()
    handle.send(
        Handle.Send(handle.id, 0, QUEUE, out_of_band=True, dest_name=queue), Handle.Flow(handle.id, tag)
    )
    legal = closed_anyhow().recorded(), replied(Handle.Reply, tag).recorded("it may be there later")
    handle.expect(*legal, ENDED)
    holds(server, queue, b"within the stream")


@scenario("fast/3.4.3.out-of-band-leaves-stream")
@broken_by("looks for it in the stream", ignores(Channel.Ack, skip=1))
@broken_by("says nothing more", ignores(Handle.Flow, restarts))
def message_out_of_band_is_not_in_the_stream(server: Server) -> None:
    """Behind HANDLE SEND with out-of-band set the next commands are read; or all has ended."""
    connection = server.connection()
    other, handle = connection.channel().handle(), connection.channel().handle()
    other.channel.ack(1)
    tags = [connection.tag() for _ in range(3)]
    said = Handle.Send(handle.id, 0, QUEUE, ENOUGH, out_of_band=True, dest_name="nobody")
    behind = [Handle.Flow(other.id, tag) for tag in tags]
    connection.send(said, Channel.Ack(other.channel.id, tags[0], 1), *behind[1:])
    ended = closed_anyhow() | ENDED
    ack = replied(Channel.Reply, tags[0]) | replied(Handle.Reply, tags[0])
    if isinstance(other.expect(ack, ended), Channel.Reply | Handle.Reply):
        for tag in tags[1:]:
            other.expect(replied(Handle.Reply, tag))


@scenario("fast/3.4.3.recovery-needs-prepare")
@broken_by("passes over it", ignores(Handle.Send, when=lambda it: it.recovery))
@broken_by("confirms it", answers(Handle.Send, taken, when=lambda it: it.recovery))
def rest_of_what_was_not_prepared_is_refused(server: Server) -> None:
    """A message without recovery arrives; the rest of one that was never prepared is refused."""
    queue = server.queue()
    handle = server.channel(new_connection=True, restartable=True).handle()
    handle.publish(queue, b"without recovery")
    tag = handle.connection.tag()
    said = Handle.Send(handle.id, tag, QUEUE, 100, recovery=True, dest_name=queue)
    handle.send(frame(said, octets_of(pattern(100))[:100]))
    handle.expect(TOLD, ENDED)
    holds(server, queue, b"without recovery")
