"""What a deviation may look at in an exchange of AMQP 0-9-1 (see harness.peers.footprint)."""

from collections.abc import Iterable, Iterator

from harness.amqp0_9_1.wire.frames import FRAME_MIN_SIZE, METHOD, PROTOCOL_HEADER, Frame, FrameReader
from harness.wire.journal import Direction, Octets
from harness.wire.units import DecodeError, Garbage, Header

_BEGIN_A_FRAME = (b"\x01", b"\x02", b"\x03", b"\x08")


def units(exchange: Iterable[Octets]) -> Iterator[tuple[Direction, object]]:
    """Yield frames (large ones once a size), methods, unexpected headers, and octets that are no frame."""
    large: set[tuple[Direction, int, int]] = set()
    for passed in exchange:
        way, octets = passed.direction, passed.octets
        if way is Direction.SENT and octets != PROTOCOL_HEADER and octets[:1] not in _BEGIN_A_FRAME:
            yield way, Header(octets)
        for _, unit in FrameReader(limit=len(octets)).feed(octets):
            match unit:
                case Header() if way is Direction.RECEIVED:
                    yield way, unit
                case Garbage() if way is Direction.SENT:
                    yield way, unit
                case Frame():
                    like = (way, unit.type, len(unit.payload))
                    if len(unit.payload) <= FRAME_MIN_SIZE or like not in large:
                        yield way, unit
                    large.add(like)
                    if unit.type == METHOD:
                        try:
                            yield way, unit.method()
                        except DecodeError:
                            continue
