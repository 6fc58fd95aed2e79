"""A slow way to a peer: octets that take their time in both directions, in whatever pieces.

Sans-I/O like the peers themselves: it stands before one in memory, on a virtual clock, or with a socket on
either side before a real broker.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from weakref import WeakSet

from harness.peers.peer import HalfClosing, Holding, PeerConnection, PeerServer, ServerAround

SEGMENT = 1024
"""Octets that arrive together where a way has no pieces of its own."""
ROOM = 1 << 14
"""Octets that are under way in one direction, from which on nothing more is taken from who sends."""


@dataclass(frozen=True, slots=True)
class Way:
    """What a connection goes through: `rate` in octets a second, `delay` in seconds, octets of a `piece`."""

    rate: float = math.inf
    delay: float = 0.0
    piece: int = SEGMENT

    def before(self, server: PeerServer, clock: Callable[[], float], *, virtual: bool = False) -> PeerServer:
        """Put such a way before each connection of a server; `clock` says seconds.

        On a `virtual` clock time passes for all of them when one waits.
        """
        return _Server(self, server, clock, virtual)


STRAIGHT = Way()
"""As if it were not there."""


@dataclass(slots=True)
class _Lane:
    """One direction: pieces with the time when they arrive, and when the next one can set out."""

    way: Way
    coming: deque[tuple[float, bytes]] = field(default_factory=deque)
    octets: int = 0
    free: float = 0.0

    def put(self, octets: bytes, now: float) -> None:
        self.octets += len(octets)
        for start in range(0, len(octets), self.way.piece):
            piece = octets[start : start + self.way.piece]
            self.free = max(self.free, now) + len(piece) / self.way.rate
            self.coming.append((self.free + self.way.delay, piece))

    def arrived(self, now: float) -> bytes:
        """Remove and return the next piece that has arrived by `now`."""
        if not self.coming or self.coming[0][0] > now:
            return b""
        _, piece = self.coming.popleft()
        self.octets -= len(piece)
        return piece

    @property
    def due(self) -> float | None:
        return self.coming[0][0] if self.coming else None


class _Server(ServerAround):
    def __init__(self, way: Way, server: PeerServer, clock: Callable[[], float], virtual: bool) -> None:
        super().__init__(server)
        self._way, self._clock, self._virtual = way, clock, virtual
        self._all: WeakSet[Slowed] = WeakSet()

    def around(self, connection: PeerConnection) -> PeerConnection:
        slowed = Slowed(self._way, connection, self._clock, self._all)
        if self._virtual:
            self._all.add(slowed)
        return slowed


class Slowed:
    """A peer's connection at the other end of a slow way. An end arrives after what was said before it.

    Looking at one of the connections in `others` lets octets arrive on all of them.
    """

    def __init__(
        self, way: Way, inner: PeerConnection, clock: Callable[[], float], others: Collection[Slowed]
    ) -> None:
        self._inner, self._clock, self._delay, self._others = inner, clock, way.delay, others
        # Asked once: looking whether an object fits a protocol costs more than passing an octet on.
        self._holding = inner if isinstance(inner, Holding) else None
        self._to_peer, self._to_client = _Lane(way), _Lane(way)
        self._ends: float | None = None
        self._ended = False

    @property
    def closed(self) -> str | None:
        """How the peer ended, once that has arrived."""
        gone = self._inner.closed is not None and not self._to_client.coming
        return self._inner.closed if gone and self._clock() >= self._end_arrives() else None

    def _end_arrives(self) -> float:
        if self._ends is None:
            self._ends = self._clock() + self._delay
        return self._ends

    @property
    def full(self) -> bool:
        """True when so much is on its way to the peer that nothing more should be sent now."""
        return self._to_peer.octets >= ROOM

    def outgoing(self) -> int:
        """Count the octets that the peer has not been given yet."""
        return self._to_peer.octets

    def receive(self, octets: bytes) -> None:
        """Take octets of the client; they arrive later."""
        self._to_peer.put(octets, self._clock())
        self._deliver()

    def hang_up(self) -> None:
        """End the client's side; what it sent still arrives where nothing delays it."""
        while self._to_peer.coming:
            self._inner.receive(self._to_peer.coming.popleft()[1])
        self._inner.hang_up()

    def end_of_stream(self) -> None:
        """End the client's stream; the end arrives after what it sent."""
        self._ended = True
        self._deliver()

    def take(self) -> bytes:
        """Return the next piece of what the peer says that has arrived."""
        self._deliver()
        return self._to_client.arrived(self._clock())

    def next_timer(self) -> float | None:
        """Say when the next piece arrives, or the peer acts by itself."""
        held = self._holding and self._holding.full
        times = [
            self._to_client.due,
            None if held else self._to_peer.due,
            *(each._to_peer.due for each in self._others),
        ]
        if self._to_client.octets < ROOM:
            times.append(self._inner.next_timer())
        if self._inner.closed and not self.closed and not self._to_client.coming:
            times.append(self._end_arrives())
        return min((each for each in times if each is not None), default=None)

    def tick(self, now: float) -> None:
        timer = self._inner.next_timer()
        if timer is not None and timer <= now:
            self._inner.tick(now)
        for each in list(self._others) or [self]:
            each._deliver()

    def _deliver(self) -> None:
        now = self._clock()
        while not (self._holding and self._holding.full) and (piece := self._to_peer.arrived(now)):
            self._inner.receive(piece)
        if self._ended and not self._to_peer.coming:
            self._ended = False
            if isinstance(self._inner, HalfClosing):
                self._inner.end_of_stream()
            else:
                self._inner.hang_up()
        while self._to_client.octets < ROOM and (said := self._inner.take()):
            self._to_client.put(said, now)
