"""What our server bears of a client under test, so that the rest can be seen; watches find it anyway."""

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce

from harness.amqp0_9_1.broken.deviations import FrameRule, Interposer, forwards, mends, rewrites
from harness.amqp0_9_1.peer.policy import DEFAULT
from harness.amqp0_9_1.wire.frames import BODY, HEADER, OVERHEAD, ContentHeader, Frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Connection
from harness.peers.interposer import Passed
from harness.peers.peer import PeerServer
from harness.wire.units import DecodeError

LENIENT = replace(DEFAULT, illegal_field_name="accept", mechanisms=("PLAIN", "AMQPLAIN"))
"""Most clients' properties have a dot in a name."""
LOCALE = "en_US"


def _is_unreadable_header(frame: Frame) -> bool:
    if frame.type != HEADER or len(frame.payload) < 14:
        return False
    try:
        frame.content_header()
    except DecodeError:
        return True
    return False


def _bare(frame: Frame) -> Frame:
    """Give a content header without what cannot be read of it."""
    size = int.from_bytes(frame.payload[4:12])
    return Frame(HEADER, frame.channel, ContentHeader(60, size, Basic.Properties()).encode())


def _is_too_long(frame: Frame) -> bool:
    return frame.type == BODY and len(frame.payload) + OVERHEAD > DEFAULT.frame_max


def _cut(frame: Frame) -> Passed:
    room = DEFAULT.frame_max - OVERHEAD
    pieces = [frame.payload[at : at + room] for at in range(0, len(frame.payload), room)]
    return [Frame(BODY, frame.channel, each) for each in pieces], []


LENIENCIES: Mapping[str, Interposer] = {
    "another locale than those offered": forwards(
        Connection.StartOk, when=lambda it: it.locale != LOCALE, locale=LOCALE
    ),
    "a product that tells no capabilities is not borne": rewrites(
        Connection.Start, server_properties=lambda told: {**told, "capabilities": {}}
    ),
    "headers of the errata's types": mends(_is_unreadable_header, _bare),
    "body frames above the size agreed upon": Interposer(frames=(FrameRule(_is_too_long, False, _cut),)),
}
"""By what is borne."""


def leniently(server: PeerServer) -> PeerServer:
    """Make a server that bears what a client gets wrong."""
    return reduce(lambda behind, each: each.before(behind), LENIENCIES.values(), server)
