"""When what a server says goes out: late, in pieces, not at all, behind the client's end; of no protocol."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from harness.peers.interposer import Condition, always
from harness.peers.peer import ConnectionAround, PeerConnection, PeerServer, ServerAround
from harness.wire.reader import Reader

At = TypeVar("At")
"""What something is done at: a kind of method, of performative, or of header."""


@dataclass(frozen=True)
class Protocol(Generic[At]):
    """How a server is read: `reader` cuts what it says, `meets` whether a unit is what is waited for."""

    reader: Callable[[], Reader[Any]]
    meets: Callable[[Any, At, Condition], bool]


@dataclass(frozen=True)
class Timing(Generic[At]):
    """When what the server says goes out; what it is done `at` is met once, after `skip` of them.

    From there on (that one `included`) all is held back for `seconds`; with None for ever. `ends` closes the
    socket there instead: "fin" or "rst". `piece` is how many octets go at once, all of them unless given.
    """

    protocol: Protocol[At]
    at: At | None = None
    seconds: float | None = None
    ends: str = ""
    included: bool = True
    when: Condition = always
    skip: int = 0
    piece: int = 0

    def before(self, server: PeerServer) -> PeerServer:
        """Make a server whose connections say what they say so."""
        return _Server(self, server)


@dataclass(frozen=True)
class Words(Generic[At]):
    """The words of a protocol for when something goes out."""

    protocol: Protocol[At]

    def delays(self, at: At, seconds: float, when: Condition = always, skip: int = 0) -> Timing[At]:
        """Says something, and all that follows, so many seconds late."""
        return Timing(self.protocol, at, seconds, when=when, skip=skip)

    def falls_silent(self, after: At, when: Condition = always, skip: int = 0) -> Timing[At]:
        """Says nothing more behind something, not even a sign of life; the socket stays open."""
        return Timing(self.protocol, after, None, included=False, when=when, skip=skip)

    def says_nothing_from(self, at: At, when: Condition = always, skip: int = 0) -> Timing[At]:
        """Says neither this nor anything that follows; the socket stays open."""
        return Timing(self.protocol, at, None, when=when, skip=skip)

    def hangs_up(
        self, at: At, how: str = "fin", included: bool = True, when: Condition = always, skip: int = 0
    ) -> Timing[At]:
        """Closes the socket where it should say something, or behind it where that is not `included`."""
        return Timing(self.protocol, at, ends=how, included=included, when=when, skip=skip)

    def in_pieces(self, octets: int = 1) -> Timing[At]:
        """Says everything so many octets at a time."""
        return Timing(self.protocol, piece=octets)


class _Server(ServerAround):
    def __init__(self, timing: Timing[Any], server: PeerServer) -> None:
        super().__init__(server)
        self._timing = timing

    def around(self, connection: PeerConnection) -> PeerConnection:
        return _Timed(self._timing, connection)


_NOW = float("-inf")


class _Timed(ConnectionAround):
    """A server's connection whose words come when a Timing says."""

    def __init__(self, timing: Timing[Any], inner: PeerConnection) -> None:
        super().__init__(inner)
        self._timing = timing
        self._reader = timing.protocol.reader()
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
        at = self._timing.at
        if at is None or not self._timing.protocol.meets(unit, at, self._timing.when):
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


# -- behind the end of the client's stream -------------------------------------------------------------

EVERY = 0.1
"""Seconds between two things said there: what meets a closed socket is told by the next one alone."""


@dataclass(frozen=True, slots=True)
class WritingOn:
    """Behind the end of the client's stream it says `said`, one after the other, and then ends its own."""

    said: tuple[bytes, ...]

    def before(self, server: PeerServer) -> PeerServer:
        """Make a server whose connections go on so."""
        return _Going(self.said, server)


def writes_on(*said: bytes) -> WritingOn:
    """Says this, one after the other, where the client has ended its stream; the last that a client meets."""
    return WritingOn(said)


class _Going(ServerAround):
    def __init__(self, said: tuple[bytes, ...], server: PeerServer) -> None:
        super().__init__(server)
        self._said = said

    def around(self, connection: PeerConnection) -> PeerConnection:
        return _GoingOn(self._said, connection)


class _GoingOn(ConnectionAround):
    """A connection that implements harness.peers.peer.HalfClosing."""

    def __init__(self, said: tuple[bytes, ...], inner: PeerConnection) -> None:
        super().__init__(inner)
        self._left = deque(said)
        self._ready = b""
        self._now = 0.0
        self._due: float | None = None
        """When the next is said, once the client's stream has ended."""
        self._over = False

    @property
    def closed(self) -> str | None:
        if self._due is not None or self._ready:
            return None
        return "fin" if self._over else self.inner.closed

    def end_of_stream(self) -> None:
        """Go on all the same."""
        if not self.inner.closed:
            self._due = self._now

    def take(self) -> bytes:
        if self._due is None and not self._over and not self._ready:
            return self.inner.take()
        octets, self._ready = self._ready, b""
        return octets

    def next_timer(self) -> float | None:
        return self.inner.next_timer() if self._due is None else self._due

    def tick(self, now: float) -> None:
        self._now = now
        if self._due is None:
            self.inner.tick(now)
        elif now >= self._due:
            self._over = not self._left
            self._ready = self._left.popleft() if self._left else b""
            self._due = None if self._over else now + EVERY

    def hang_up(self) -> None:
        self._over, self._due, self._ready = True, None, b""
        self.inner.hang_up()
