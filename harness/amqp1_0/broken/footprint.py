"""What a deviation may look at in an exchange of AMQP 1.0 (see harness.peers.footprint)."""

from collections.abc import Iterable, Iterator

from harness.amqp1_0.client.transcript import performative_of
from harness.amqp1_0.wire.frames import FrameReader
from harness.wire.journal import Direction, Octets
from harness.wire.units import ANY_SIZE


def units(exchange: Iterable[Octets]) -> Iterator[tuple[Direction, object]]:
    for passed in exchange:
        for _, unit in FrameReader(limit=ANY_SIZE).feed(passed.octets):
            yield passed.direction, unit
            if (performative := performative_of(unit)) is not None:
                yield passed.direction, performative
