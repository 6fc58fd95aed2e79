"""2.2.4 Frames: the size before a command, its fields, what stands behind it."""

from collections.abc import Iterator
from typing import Any

from harness.amqp_fast.broken.deviations import (
    Fault,
    adds,
    ignores,
    mangles,
    misreads,
    rewrites,
)
from harness.amqp_fast.client.outcomes import WORDLESS, closed_anyhow, replied, stream_ends
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import UNREAD, Passage
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import ESCAPE, Frame, FrameReader, RawFrame, Unit, frame, sized
from harness.amqp_fast.wire.vocabulary import COMMANDS, Channel, Connection, Handle
from harness.play.watching import Found, came
from harness.wire.units import Garbage
from scenarios.amqp_fast.talk import DIALOGUE, gives_up_on, is_read
from scenarios.registry import broken_by, scenario, watch
from spec.rules import Party

LARGE = 0x10000
"""Octets: what a short size cannot tell."""
FITTING = 0x10010
"""Octets of a command that fits into a FRAME_MAX above LARGE."""
UNKNOWN = (0, 15, 33, 99, 255)
"""Codes of no command."""
SHORTER = "209 has the long form for sizes from 0xFFFF on; 607 allows it for every size"
PING = frame(Connection.Ping(respond=True)).encode()
FROM_SERVER = frozenset(code for code, kind in COMMANDS.items() if kind.spec.by is not Party.CLIENT)


# -- watches -------------------------------------------------------------------------------------------


def cut_short(octets: bytes) -> bytes:
    """Lose the last octet before the end, and leave the size."""
    return octets[:-2] + octets[-1:]


def lengthened(octets: bytes) -> bytes:
    """Put an octet behind the last field."""
    return sized(len(octets) - 1) + octets[2:-1] + bytes(1) + octets[-1:]


def in_long_form(octets: bytes) -> bytes:
    """Write the size of a frame in its long form."""
    return sized(len(octets) - 2, long=True) + octets[2:]


@watch("fast/2.2.4.size-before-command", during=DIALOGUE, looks_at=came(Frame, Garbage))
@broken_by("counts one octet less", mangles(Handle.Reply, lambda it: sized(len(it) - 3) + it[2:]))
@broken_by("leaves the size at zero", mangles(Channel.Reply, lambda it: bytes(2) + it[2:]))
@broken_by("loses an octet", mangles(Handle.Reply, cut_short))
def sizes_lead_from_command_to_command(each: Passage) -> Found:
    """From size to size, all that comes divides into commands."""
    return isinstance(each.unit, Frame) or f"no command at {each.at:.4f} s"


@watch("fast/2.2.4.size-in-its-shortest-form", during=DIALOGUE, looks_at=came(Frame))
@broken_by("writes all sizes in the long form", mangles(Handle.Reply, in_long_form))
def small_sizes_are_short(each: Passage) -> Found:
    """A size that is written in the long form is 0xFFFF or more."""
    frame_ = each.unit
    assert isinstance(frame_, Frame)
    return not frame_.long or len(frame_.payload) + 1 >= ESCAPE or SHORTER


@watch("fast/2.2.4.commands-under-64k", during=DIALOGUE, looks_at=came(Frame))
@broken_by("lists a message thousands of times", rewrites(Handle.Index, message_list=b"1 " * 32765))
def commands_stay_under_64k(each: Passage) -> Found:
    """The size of a command is below 0x10000."""
    assert isinstance(each.unit, Frame)
    return len(each.unit.payload) + 1 < LARGE or "a command of 64k octets or more"


@watch("fast/2.2.4.fields-exact", during=DIALOGUE, looks_at=came(UNREAD), counts=came(*COMMANDS.values()))
@broken_by("leaves out the text", mangles(Handle.Reply, lambda it: sized(8) + it[2:9] + it[-1:]))
@broken_by("adds an octet", mangles(Channel.Reply, lengthened))
def fields_are_as_defined(each: Passage) -> Found:
    """Each command has the fields that are defined for it, and no more."""
    assert isinstance(each.unit, Frame)
    return f"a command of type {each.unit.type} with other fields"


@watch(
    "fast/2.2.4.data-only-where-defined",
    during=DIALOGUE,
    looks_at=came(Garbage),
    counts=came(*COMMANDS.values()),
)
@broken_by("puts data behind a reply", mangles(Handle.Reply, lambda it: it + b"\0\0data"))
@broken_by("tells a smaller fragment", rewrites(Handle.Notify, fragment_size=0))
def data_stands_behind_messages_alone(each: Passage) -> Found:
    """Behind each command, and behind the data of those that have some, another command begins."""
    return f"octets of no command at {each.at:.4f} s"


@watch("fast/2.2.4.type-known", during=DIALOGUE, looks_at=came(Frame))
@broken_by("says what nobody knows", mangles(Handle.Reply, lambda it: it[:2] + b"\x32" + it[3:]))
@broken_by("says what only clients say", adds(Channel.Reply, Channel.Commit(1)))
def types_are_those_of_servers(each: Passage) -> Found:
    """The type of a command is one that the grammar has, and one that servers send."""
    assert isinstance(each.unit, Frame)
    return each.unit.type in FROM_SERVER or f"a command of type {each.unit.type}"


# -- sizes ---------------------------------------------------------------------------------------------


def sees_no_escape(reader: FrameReader, octets: bytes) -> Iterator[tuple[bytes, Unit]]:
    """Takes the escape for a size, and waits for so many octets."""
    if (bytes(reader.pending) + octets).startswith(b"\xff\xff"):
        reader.pending += octets
        return
    yield from reader.feed(octets)


def skips_the_escaped(reader: FrameReader, octets: bytes) -> Iterator[tuple[bytes, Unit]]:
    """Reads commands with a long size, and forgets them."""
    for raw, unit in reader.feed(octets):
        if not (isinstance(unit, Frame) and unit.long):
            yield raw, unit


def needs_room(server: Server) -> Any:
    """Give a handle on a connection that takes commands of more than 64k. Raises Inapplicable."""
    handle = server.handle()
    if handle.connection.frame_max < FITTING + 6:
        server.inapplicable("FRAME_MAX allows no command of 64k octets")
    return handle


@scenario("fast/2.2.4.long-size-is-large")
@broken_by("takes the escape for a size", Fault.swaps(cut=sees_no_escape))
@broken_by("forgets what has a long size", Fault.swaps(cut=skips_the_escaped))
def large_commands_have_a_long_size(server: Server) -> None:
    """A command of 0xFFFF octets and a larger one are read by the four octets of their size."""
    needs_room(server)
    for size in (64, ESCAPE, FITTING):
        is_read(server.handle(), size)


@scenario("fast/2.2.4.escape-handled")
@broken_by("takes the escape for a size", Fault.swaps(cut=sees_no_escape))
@broken_by("forgets what has a long size", Fault.swaps(cut=skips_the_escaped))
def escape_is_understood(server: Server) -> None:
    """A command with an escaped size is read where FRAME_MAX allows it, and given up where it does not."""
    handle = server.handle()
    handle.connection.alive()
    if handle.connection.frame_max >= FITTING + 6:
        is_read(handle, FITTING)
    beyond = server.handle(new_connection=True)
    size = max(beyond.connection.frame_max, LARGE) + 64
    gives_up_on(beyond, RawFrame(bytes((Handle.Consume.code,)) + bytes(size - 2), long=True))


# -- what is malformed ---------------------------------------------------------------------------------


def altered(command: Command, by: Any) -> RawFrame:
    """Give a command whose payload is altered; size and end are true."""
    return RawFrame(by(frame(command).payload))


def without_field(server: Server) -> Iterator[tuple[Any, Command, Any]]:
    """Give three commands and what takes a field from each, with where they are said."""
    channel = server.connection().unopened()
    yield channel, Connection.Ping(respond=True), lambda it: it[:1]
    channel = server.connection().unopened()
    yield channel, Channel.Open(channel.id, channel.connection.tag()), lambda it: it[:6]
    handle = server.channel(new_connection=True).unopened()
    yield handle, handle.opening(), lambda it: it[:-2]


def with_more(server: Server) -> Iterator[tuple[Any, Command, Any]]:
    """Give three commands and what adds to each, with where they are said."""
    channel = server.connection().unopened()
    yield channel, Connection.Ping(respond=True), lambda it: it + bytes(2)
    channel = server.connection().unopened()
    yield channel, Channel.Open(channel.id, channel.connection.tag()), lambda it: it + bytes(1)
    handle = server.channel(new_connection=True).unopened()
    yield handle, handle.opening(), lambda it: it + bytes(2)


UNDECODABLE = "undecodable: is refused"


@scenario("fast/2.2.4.missing-field-refused")
@broken_by("takes no notice", Fault.drops(UNDECODABLE))
@broken_by("makes the field up", misreads(b"\0\x02\x0e\xce", PING))
def missing_field_is_refused(server: Server) -> None:
    """PING, CHANNEL OPEN and HANDLE OPEN with a field less are refused by a close."""
    server.handle().connection.alive()
    for place, command, by in without_field(server):
        gives_up_on(place, altered(command, by))


@scenario("fast/2.2.4.surplus-octets-refused")
@broken_by("takes no notice", Fault.drops(UNDECODABLE))
@broken_by("passes over them", misreads(b"\0\x05\x0e\x01\0\0\xce", PING))
def surplus_octets_are_refused(server: Server) -> None:
    """PING, CHANNEL OPEN and HANDLE OPEN with octets behind their fields are refused by a close."""
    server.handle().connection.alive()
    for place, command, by in with_more(server):
        gives_up_on(place, altered(command, by))


@scenario("fast/2.2.4.string-beyond-command-refused")
@broken_by("takes no notice", Fault.drops(UNDECODABLE))
@broken_by("takes what there is", misreads(b"\xc8abc\0\0\0\xce", b"\x03abc\0\0\0\xce"))
def string_that_goes_beyond_is_refused(server: Server) -> None:
    """A short and a long string that would end behind their command are refused by a close."""
    server.handle(mime_type="abc")
    handle = server.channel(new_connection=True).unopened()
    gives_up_on(handle, altered(handle.opening(mime_type="abc"), lambda it: it[:8] + b"\xc8" + it[9:]))
    handle = server.channel(new_connection=True).unopened()
    gives_up_on(handle, altered(handle.opening(), lambda it: it[:-2] + b"\x13\x88"))


@scenario("fast/2.2.4.unknown-type-refused")
@broken_by("takes no notice", Fault.drops(UNDECODABLE))
@broken_by("takes 99 for PING", misreads(b"\0\x02\x63\xce", b"\0\x03\x0e\x01\xce"))
def unknown_type_is_refused(server: Server) -> None:
    """A command of a type that nobody defines ends the connection."""
    server.connection().alive()
    for code in UNKNOWN:
        place = server.connection().unopened()
        gives_up_on(place, RawFrame(bytes((code,))))


# -- what is skipped -----------------------------------------------------------------------------------


def reads_fragments(reader: FrameReader, octets: bytes) -> Iterator[tuple[bytes, Unit]]:
    """Looks for commands in the fragment behind a HANDLE SEND of handle 9."""
    for raw, unit in reader.feed(octets):
        yield raw, unit
        if isinstance(unit, Frame) and unit.payload[1:3] == b"\0\x09" and unit.fragment:
            yield from FrameReader(limit=reader.limit).feed(unit.fragment)


@scenario("fast/2.2.4.refused-fragment-skipped")
@broken_by("looks for commands in it", Fault.swaps(cut=reads_fragments))
@broken_by("says nothing more", ignores(Channel.Open, when=lambda it: it.channel_id == 4))
@broken_by("says nothing of it", Fault.drops("handle: is not open"))
def fragment_of_what_is_refused_is_no_command(server: Server) -> None:
    """A HANDLE SEND on no open handle is refused; its fragment, which looks like commands, is none."""
    queue, connection = server.queue(), server.connection()
    handle = connection.channel(1).handle(1)
    handle.publish(queue, b"control")
    stranger, fourth = connection.unopened(1).unopened(9), connection.unopened(4)
    hidden = PING + frame(Channel.Open(3, 77)).encode()
    said = Handle.Send(9, connection.tag(), 1, len(hidden), dest_name=queue)
    tag = connection.tag()
    stranger.send(frame(said, hidden), Channel.Open(4, tag))
    seen = stranger.expect(closed_anyhow(), stream_ends().recorded(WORDLESS))
    if isinstance(seen, Handle.Close | Channel.Close):
        fourth.expect(replied(Channel.Reply, tag))
        connection.unopened(3).got_nothing()
        connection.lives()
        connection.unopened(0).got_nothing()
