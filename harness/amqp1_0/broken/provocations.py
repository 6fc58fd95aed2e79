"""When what a server says to a client that is judged goes out: late, in pieces, not at all.

What it says otherwise or more, the interposers say (`deviations`); both stand before the reference peer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.amqp1_0.client.transcript import performative_of
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import FrameReader
from harness.peers.interposer import Condition, always
from harness.peers.peer import ConnectionAround, PeerConnection, PeerServer, ServerAround
from harness.wire.units import Header

Met = type[Composite] | type[Header]
"""What something is done at: a performative, or a protocol header."""


@dataclass(frozen=True, slots=True)
class Timing:
    """When what the server says goes out; what it is done `at` is met once, after `skip` of them.

    From there on (that one `included`) all is held back for `seconds`; with None for ever. `ends` closes the
    socket there instead: "fin" or "rst". `piece` is how many octets go at once, all of them unless given.
    """

    at: Met | None = None
    seconds: float | None = None
    ends: str = ""
    included: bool = True
    when: Condition = field(default=always)
    skip: int = 0
    piece: int = 0

    def before(self, server: PeerServer) -> PeerServer:
        """Make a server whose connections say what they say so."""
        return _Server(lambda connection: _Timed(self, connection), server)


def delays(at: Met, seconds: float, when: Condition = always, skip: int = 0) -> Timing:
    """Says something, and all that follows, so many seconds late."""
    return Timing(at, seconds, when=when, skip=skip)


def falls_silent(after: Met, when: Condition = always, skip: int = 0) -> Timing:
    """Says nothing more behind something, not even an empty frame; the socket stays open."""
    return Timing(after, None, included=False, when=when, skip=skip)


def says_nothing_from(at: Met, when: Condition = always, skip: int = 0) -> Timing:
    """Says neither this nor anything that follows; the socket stays open."""
    return Timing(at, None, when=when, skip=skip)


def hangs_up(
    at: Met, how: str = "fin", included: bool = True, when: Condition = always, skip: int = 0
) -> Timing:
    """Closes the socket where it should say something, or behind it where that is not `included`."""
    return Timing(at, ends=how, included=included, when=when, skip=skip)


def in_pieces(octets: int = 1) -> Timing:
    """Says everything so many octets at a time."""
    return Timing(piece=octets)


class _Server(ServerAround):
    def __init__(self, wrap: Callable[[PeerConnection], PeerConnection], server: PeerServer) -> None:
        super().__init__(server)
        self._wrap = wrap

    def around(self, connection: PeerConnection) -> PeerConnection:
        return self._wrap(connection)


_NOW = float("-inf")


class _Timed(ConnectionAround):
    """A server's connection whose words come when a Timing says."""

    def __init__(self, timing: Timing, inner: PeerConnection) -> None:
        super().__init__(inner)
        self._timing = timing
        self._reader = FrameReader(limit=16 << 20)
        self._met = 0
        self._ready, self._held = bytearray(), bytearray()
        self._due: float | None = None
        """When what is held back may go; `_NOW` while nobody has told the time yet."""
        self._stopped = False
        self._ended = ""

    @property
    def closed(self) -> str | None:
        return None if self._ready else self._ended or (None if self._stopped else self.inner.closed)

    def take(self) -> bytes:
        self._fill()
        piece = self._timing.piece or len(self._ready)
        octets = bytes(self._ready[:piece])
        del self._ready[:piece]
        return octets

    def _fill(self) -> None:
        for raw, unit in self._reader.feed(self.inner.take()):
            if self._stopped:
                self._held += raw
            elif not self._meets(unit):
                self._ready += raw
            else:
                self._stopped = True
                self._ended = self._timing.ends
                self._due = None if self._timing.seconds is None else _NOW
                (self._held if self._timing.included else self._ready).extend(raw)
        if self._reader.broken:
            (self._held if self._stopped else self._ready).extend(self._reader.rest())
            self._reader.pending.clear()

    def _meets(self, unit: Any) -> bool:
        met = unit if isinstance(unit, Header) else performative_of(unit)
        if self._timing.at is None or not isinstance(met, self._timing.at) or not self._timing.when(met):
            return False
        self._met += 1
        return self._met == self._timing.skip + 1

    def receive(self, octets: bytes) -> None:
        if not self._ended:
            self.inner.receive(octets)

    def next_timer(self) -> float | None:
        inner = self.inner.next_timer()
        return inner if self._due is None else self._due if inner is None else min(self._due, inner)

    def tick(self, now: float) -> None:
        if self._due == _NOW:
            self._due = now + (self._timing.seconds or 0.0)
        elif self._due is not None and now >= self._due:
            self._due, self._stopped = None, False
            self._ready += self._held
            self._held.clear()
        self.inner.tick(now)
