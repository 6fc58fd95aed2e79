"""3.1.2 Notes: how bits lie in octets. The frames are written octet by octet."""

from collections.abc import Iterator

from harness.amqp_fast.broken.deviations import Fault, hears, mangles
from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.client.outcomes import fields, refused, replied
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.client.transcript import Passage
from harness.amqp_fast.peer.tables.channel import open_
from harness.amqp_fast.wire.frames import Frame, FrameReader, RawFrame, Unit
from harness.amqp_fast.wire.vocabulary import OK, Channel, Connection, Handle
from harness.play.watching import Found, came
from scenarios.amqp_fast.talk import DIALOGUE, indexed, is_named
from scenarios.registry import broken_by, scenario, watch

BITS = {Handle.Notify.code: (11, 0x1F), Connection.Ping.code: (1, 0x01)}
"""Where in a payload the octet of bits stands, and which of its bits are those of fields."""
IN_FRAME = 2 + BITS[Handle.Notify.code][0]
"""Where the bits of HANDLE NOTIFY stand in a frame with a short size."""


def channel_open(number: int, tag: int, bits: int) -> RawFrame:
    """Write CHANNEL OPEN with these bits, without options and out-of-band."""
    return RawFrame(bytes((20, 0, number, 0, tag, bits, 0, 0, 0)))


def handle_open(channel: int, number: int, tag: int, bits: int) -> RawFrame:
    """Write HANDLE OPEN with these bits, without mime-type, encoding and options."""
    return RawFrame(bytes((30, 0, channel, 0, number, 0, tag, bits, 0, 0, 0, 0)))


def handle_consume(number: int, tag: int, bits: int) -> RawFrame:
    """Write HANDLE CONSUME with these bits, of a queue without a name, with a prefetch of one."""
    return RawFrame(bytes((32, 0, number, 0, tag, 0, 1, 0, 1, bits, 0, 0, 0)))


def an_octet_a_bit(reader: FrameReader, octets: bytes) -> Iterator[tuple[bytes, Unit]]:
    """Reads the second bit of CHANNEL OPEN from an octet of its own."""
    for raw, unit in reader.feed(octets):
        if isinstance(unit, Frame) and unit.type == Channel.Open.code:
            yield raw, Frame(unit.payload[:6] + unit.payload[7:])
        else:
            yield raw, unit


def one_more(octets: bytes) -> bytes:
    """Write an octet more behind the bits of HANDLE NOTIFY."""
    return bytes((octets[0], octets[1] + 1)) + octets[2:IN_FRAME] + bytes(1) + octets[IN_FRAME:]


@scenario("fast/3.1.2.bits-share-an-octet")
@broken_by("reads an octet for each bit", Fault.swaps(cut=an_octet_a_bit))
@broken_by("writes an octet more", mangles(Handle.Notify, one_more))
def bits_share_octets(server: Server) -> None:
    """Commands with two, three and four bits in one octet are read, and HANDLE NOTIFY has one for five."""
    connection = server.connection()
    channel = connection.unopened(1)
    channel.tries(channel_open(1, 2, 0x01), replied(Channel.Reply, 2))
    handle = channel.unopened(1)
    handle.send(handle_open(1, 1, 3, 0x07))
    handle.expect(replied(Handle.Reply, 3))
    name = is_named(handle, handle_consume(1, 4, 0x0C), 4)
    server.handle(new_connection=True).publish(name, b"bits")
    handle.hears(b"bits")
    connection.lives()


def other_way_round(turn: AnyTurn) -> None:
    """Takes the second bit for the first one."""
    open_(turn)
    turn.channel.transacted, turn.channel.restartable = turn.channel.restartable, turn.channel.transacted


def from_the_top(octets: bytes) -> bytes:
    """Write the bits of HANDLE NOTIFY the other way round."""
    bits = int(f"{octets[IN_FRAME]:05b}"[::-1], 2)
    return octets[:IN_FRAME] + bytes((bits,)) + octets[IN_FRAME + 1 :]


@scenario("fast/3.1.2.first-bit-lowest")
@broken_by("reads the bits the other way round", Fault.changes("channel open: is accepted", other_way_round))
@broken_by("writes the bits the other way round", mangles(Handle.Notify, from_the_top))
@broken_by("reads another bit for dynamic", hears(Handle.Consume, dynamic=False))
def first_bit_is_the_lowest(server: Server) -> None:
    """0x01 is transacted and 0x02 is not; 0x04 makes a queue dynamic; what is delivered has 0x08."""
    connection = server.connection()
    for number, bits, outcomes in (
        (1, 0x01, [replied(Channel.Reply, 9)]),
        (2, 0x02, refused(Channel.Close)),
    ):
        channel = connection.unopened(number)
        channel.send(channel_open(number, 8, bits))
        channel.expect(fields(Channel.Reply, confirm_tag=8, reply_code=OK))
        channel.tries(Channel.Commit(number, 9), *outcomes)
    handle = server.channel(new_connection=True).handle(1)
    name = handle.tries(handle_consume(1, 0, 0x04), Handle.Created).dest_name
    handle.pause()
    server.handle(new_connection=True).publish(name, b"bits")
    handle.send(Handle.Browse(1, 0, indexed(handle, name)[0]))
    handle.hears(b"bits", delivered=False)
    handle.send(Handle.Flow(1, 0, False))
    handle.hears(b"bits", delivered=True)


@watch("fast/3.1.2.unused-bits-zero", during=DIALOGUE, looks_at=came(Handle.Notify, Connection.Ping))
@broken_by("sets all bits of PING", mangles(Connection.Ping, lambda it: it[:3] + b"\xfe" + it[4:]))
@broken_by(
    "sets a bit behind redelivered",
    mangles(Handle.Notify, lambda it: it[:IN_FRAME] + bytes((it[IN_FRAME] | 0x20,)) + it[IN_FRAME + 1 :]),
)
def unused_bits_are_zero(each: Passage) -> Found:
    """In the octets of bits of HANDLE NOTIFY and PING, no bit is set that no field has."""
    assert isinstance(each.unit, Frame)
    place, used = BITS[each.unit.type]
    return not each.unit.payload[place] & ~used or f"{each.said.full_name} with a bit that no field has"
