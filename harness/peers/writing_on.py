"""A server that goes on where the client has ended its stream: that shows who still reads; of no protocol."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from harness.peers.peer import ConnectionAround, PeerConnection, PeerServer, ServerAround

EVERY = 0.1
"""Seconds between two things said: what meets a closed socket is told by the next one alone."""


@dataclass(frozen=True, slots=True)
class WritingOn:
    """Behind the end of the client's stream it says `said`, one after the other, and then ends its own."""

    said: tuple[bytes, ...]

    def before(self, server: PeerServer) -> PeerServer:
        """Make a server whose connections go on so."""
        return _Server(self.said, server)


def writes_on(*said: bytes) -> WritingOn:
    """Says this, one after the other, where the client has ended its stream; the last that a client meets."""
    return WritingOn(said)


class _Server(ServerAround):
    def __init__(self, said: tuple[bytes, ...], server: PeerServer) -> None:
        super().__init__(server)
        self._said = said

    def around(self, connection: PeerConnection) -> PeerConnection:
        return _Connection(self._said, connection)


class _Connection(ConnectionAround):
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
