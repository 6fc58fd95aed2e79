"""3.1.1 Frame Syntax: the initiation, sizes, the end of a command."""

from harness.amqp_fast.broken.deviations import (
    Fault,
    begins_with,
    mangles,
    misreads,
    rewrites,
    withholds,
)
from harness.amqp_fast.client.outcomes import Unreadable, answered, closed, replied, silence, stream_ends
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.wire.frames import Frame, Initiation, RawFrame, frame, sized
from harness.amqp_fast.wire.vocabulary import Channel, Connection, Handle
from harness.play.expect import Outcome
from harness.play.watching import Found, came
from harness.wire.units import Garbage
from scenarios.amqp_fast.introduction.s2_2_4_frames import sees_no_escape, skips_the_escaped
from scenarios.amqp_fast.talk import DIALOGUE, gives_up_on, is_read
from scenarios.registry import broken_by, scenario, watch

RESERVED = "831 to 838: another first octet is another protocol's, which a server may speak"
FOREIGN = (0, 127, 129, 200)
"""First octets of other protocols."""
SIZES = (0x0100, 0x7FFF, 0x8000, 0xFFFE)
BY_TEXT = "209 has the long form hold sizes from 0xFFFF on: another one may be malformed"
MALFORMED = "malformed: is refused"
PING = Connection.Ping(respond=True)
PINGED = frame(PING).encode()


# -- initiation ----------------------------------------------------------------------------------------


def something_else() -> Outcome:
    """Allow octets of another protocol, which are no command of this one."""
    return Outcome("octets of another protocol", lambda seen: isinstance(seen, Unreadable))


@scenario("fast/3.1.1.protocol-id-128")
@broken_by("takes any for its own", begins_with(Initiation()))
@broken_by("says nothing", Fault.drops("initiation: of another protocol ends the stream"))
def other_protocols_are_not_this_one(server: Server) -> None:
    """128 is answered by CONNECTION CHALLENGE; 0, 127, 129 and 200 are not, and the connection ends."""
    server.begun()
    for first in FOREIGN:
        told = closed(Connection.Close).recorded(RESERVED)
        server.socket().tries(Initiation(first), stream_ends(), told, something_else().recorded(RESERVED))


@scenario("fast/3.1.1.protocol-version-one")
@broken_by("tells version 2", rewrites(Connection.Challenge, version=2))
@broken_by("tells version 0", rewrites(Connection.Challenge, version=0))
@broken_by("says nothing", withholds(Connection.Challenge))
def second_octet_is_the_version(server: Server) -> None:
    """Nothing comes before the version; 1 is answered by a challenge of version 1, and all goes on."""
    connection = server.socket()
    first, second = Initiation().encode()
    connection.tries(bytes((first,)), silence())
    connection.challenge = connection.tries(bytes((second,)), Connection.Challenge)
    server.judge("the version 1", "another one", connection.challenge.version == 1)
    connection.authenticate()
    opening = connection.opening()
    connection.tries(opening, replied(Connection.Reply, opening.confirm_tag))


# -- what the server writes ----------------------------------------------------------------------------


def without_end(octets: bytes) -> bytes:
    """Leave the end out, and do not count it."""
    return sized(len(octets) - 3) + octets[2:-1]


@watch("fast/3.1.1.command-framed", during=DIALOGUE, looks_at=came(Frame, Garbage))
@broken_by("leaves the end out", mangles(Handle.Reply, without_end))
@broken_by("has a size of zero", mangles(Channel.Reply, lambda it: bytes(2) + it[2:]))
@broken_by("adds octets of no command", mangles(Handle.Reply, lambda it: it + bytes(3)))
def commands_are_size_payload_and_end(each: Passage) -> Found:
    """All that comes is sizes, payloads that begin with a type, and ends."""
    return isinstance(each.unit, Frame) or f"what is no command at {each.at:.4f} s"


@watch("fast/3.1.1.end-octet-written", during=DIALOGUE, looks_at=came(Frame, Garbage))
@broken_by("ends with zero", mangles(Channel.Reply, lambda it: it[:-1] + b"\0"))
@broken_by("ends CONNECTION CHALLENGE with 0xFF", mangles(Connection.Challenge, lambda it: it[:-1] + b"\xff"))
def commands_end_with_the_end_octet(each: Passage) -> Found:
    """The last octet that a size counts is 0xCE."""
    unit = each.unit
    if isinstance(unit, Garbage):
        return unit.why if unit.why.startswith("the frame ends") else None
    return True


@watch("fast/3.1.1.end-counted-in-size", during=DIALOGUE, looks_at=came(Frame, Garbage))
@broken_by("does not count it", mangles(Handle.Reply, lambda it: sized(len(it) - 3) + it[2:]))
@broken_by("counts the size, too", mangles(Handle.Reply, lambda it: sized(len(it)) + it[2:]))
def sizes_count_the_end(each: Passage) -> Found:
    """The size of a command reaches over its end octet, and no further."""
    return isinstance(each.unit, Frame) or f"a size that does not lead to its end at {each.at:.4f} s"


# -- what it reads -------------------------------------------------------------------------------------


@scenario("fast/3.1.1.size-too-small-refused")
@broken_by("takes no notice", Fault.drops(MALFORMED))
@broken_by("passes over a size of zero", misreads(b"\0\0" + PINGED, PINGED))
@broken_by("passes over an end alone", misreads(b"\0\x01\xce" + PINGED, PINGED))
def sizes_of_no_command_are_refused(server: Server) -> None:
    """Sizes of 0 and 1 end the connection."""
    server.connection().alive()
    gives_up_on(server.connection().unopened(), RawFrame(b"", end=b""))
    gives_up_on(server.connection().unopened(), RawFrame(b""))


@scenario("fast/3.1.1.short-size-to-its-end")
@broken_by("takes the higher octet of a size for zero", misreads(b"\x01\x00\x20", b"\x00\x00\x20"))
@broken_by("takes 0xFFFE for the escape", misreads(b"\xff\xfe\x20", b"\xff\xff\x20"))
@broken_by("knows no size with the highest bit", misreads(b"\x80\x00\x20", b"\x00\x00\x20"))
def short_sizes_are_read_to_their_end(server: Server) -> None:
    """Commands of 3 octets, and of sizes up to 0xFFFE, are read by two octets of size."""
    first = server.handle()
    first.connection.lives()
    for size in SIZES:
        if size + 8 <= first.connection.frame_max:
            is_read(server.handle(), size)


@scenario("fast/3.1.1.long-size-of-small-command")
@broken_by("takes the escape for a size", Fault.swaps(cut=sees_no_escape))
@broken_by("forgets what has a long size", Fault.swaps(cut=skips_the_escaped))
def small_commands_may_have_a_long_size(server: Server) -> None:
    """PING and CHANNEL OPEN with a size in the long form are obeyed, or refused."""
    connection = server.connection()
    connection.alive()
    channel = connection.unopened()
    opening = Channel.Open(channel.id, connection.tag())
    ended = closed(Connection.Close).recorded(BY_TEXT), stream_ends().recorded(BY_TEXT)
    seen = connection.tries(Frame(frame(PING).payload, long=True), answered(Connection.Ping), *ended)
    if isinstance(seen, Connection.Ping):
        channel.tries(Frame(frame(opening).payload, long=True), replied(Channel.Reply, opening.confirm_tag))


@scenario("fast/3.1.1.wrong-end-refused")
@broken_by("takes no notice", Fault.drops(MALFORMED))
@broken_by("takes any end", misreads(PINGED[:-1] + b"\0", PINGED))
@broken_by("takes what is nearly an end", misreads(b"\0\0\0\xcd", b"\0\0\0\xce"))
def other_ends_are_refused(server: Server) -> None:
    """PING and CHANNEL OPEN with another last octet end the connection."""
    server.channel().connection.alive()
    gives_up_on(server.connection().unopened(), RawFrame(frame(PING).payload, end=b"\0"))
    channel = server.connection().unopened()
    said = frame(Channel.Open(channel.id, channel.connection.tag()))
    gives_up_on(channel, RawFrame(said.payload, end=b"\xcd"))


@scenario("fast/3.1.1.end-not-counted-refused")
@broken_by("takes no notice", Fault.drops(MALFORMED))
@broken_by("counts without the end", misreads(b"\0\x02" + PINGED[2:], PINGED))
@broken_by("counts with the size", misreads(b"\0\x04" + PINGED[2:], PINGED))
def sizes_without_the_end_are_refused(server: Server) -> None:
    """PING whose size is 2 or 4 in place of 3 ends the connection."""
    server.connection().alive()
    for size in (2, 4):
        channel = server.connection().unopened()
        opening = Channel.Open(channel.id, channel.connection.tag())
        gives_up_on(channel, RawFrame(frame(PING).payload, size=size), opening)
