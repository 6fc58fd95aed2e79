"""What a deviation may look at in an exchange of AMQP/Fast (see harness.peers.footprint)."""

from collections.abc import Iterable, Iterator

from harness.amqp_fast.client.transcript import command_of
from harness.amqp_fast.wire.frames import Frame, FrameReader
from harness.wire.journal import Direction, Octets


def units(exchange: Iterable[Octets]) -> Iterator[tuple[Direction, object]]:
    """Yield initiations, frames and the commands in them, and octets that are no frame."""
    readers: dict[tuple[str, Direction], FrameReader] = {}
    for passed in exchange:
        way = passed.connection, passed.direction
        # Only the client begins with an initiation.
        reader = readers.setdefault(way, FrameReader(limit=16 << 20, initiated=way[1] is not Direction.SENT))
        for _, unit in reader.feed(passed.octets):
            yield passed.direction, unit
            if isinstance(unit, Frame) and (command := command_of(unit)) is not None:
                yield passed.direction, command
