"""A protocol's client in the hands of a hostile server: what holds whatever that server says."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from harness.play.context import Context, Patience
from harness.play.expect import Stop
from harness.play.fixture import Fixture
from harness.play.link import MOST_OCTETS, MOST_UNITS, Link
from harness.targets.target import Endpoint
from harness.trials.fuzz import Draws
from harness.trials.hostile_transport import HostileTransport
from harness.wire.journal import Direction, Event, Octets

PATIENCE = Patience(answer=1.0, close=2.0, quiet=0.25, budget=8.0)
SPARE = 1000
"""Pieces taken while waiting within patience, on one connection of a dozen steps."""

AnyLink = TypeVar("AnyLink", bound=Link[Any, Any])
AnyFixture = TypeVar("AnyFixture", bound=Fixture[Any])


@dataclass
class Kept:
    """A journal in memory."""

    events: list[Event] = field(default_factory=list)

    def write(self, event: Event) -> None:
        self.events.append(event)


def adds_up(link: Link[Any, Any], kept: Kept, transport: HostileTransport) -> None:
    """Check that no more is in a transcript than was kept, and no more was kept than the server said."""
    heard = [
        each for each in kept.events if isinstance(each, Octets) and each.direction is Direction.RECEIVED
    ]
    assert len([each for each in link.transcript if each.direction is Direction.RECEIVED]) <= len(heard)
    assert sum(len(each.octets) for each in heard) <= transport.said


def is_bounded(transport: HostileTransport, data: bytes) -> None:
    """Check that no more is taken than the client's own caps allow, beside what these octets make it say."""
    assert transport.pieces <= MOST_UNITS + 16 * len(data) + SPARE
    assert transport.said <= MOST_OCTETS + 16 * len(data) + 65536


@contextmanager
def heard(transport: HostileTransport, link: Callable[[Context], AnyLink], data: bytes) -> Iterator[AnyLink]:
    """Use a link to a hostile transport; nothing but a Stop may end that, and what was kept must add up."""
    kept = Kept()
    made = link(Context(kept, "fuzz", patience=PATIENCE))
    with suppress(Stop):
        yield made
    made.finish()
    is_bounded(transport, data)
    adds_up(made, kept, transport)


def play(
    data: bytes,
    server: Callable[[Draws], HostileTransport],
    fixture: Callable[[Callable[[], HostileTransport], Endpoint, Context, str], AnyFixture],
    protocol: str,
    steps: Callable[[Draws, AnyFixture], None],
) -> int:
    """Play a scenario that only a Stop may end, and leave it; returns how many connections it had."""
    draws = Draws(data)
    transports: list[HostileTransport] = []

    def connect() -> HostileTransport:
        transports.append(server(draws))
        return transports[-1]

    played = fixture(connect, Endpoint("hostile", 0), Context(Kept(), "fuzz", patience=PATIENCE), protocol)
    try:
        with suppress(Stop):
            steps(draws, played)
    finally:
        with suppress(Stop):
            played.leave()
    for each in transports:
        is_bounded(each, data)
        assert each.closed
    return len(transports)
