"""Our server told what to do while a client is connected: what it does itself, and words put into its mouth.

What is told is done where the server runs, in its thread, before it says anything else; over TCP that is a
moment later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from harness.amqp1_0.peer import Peer
from harness.amqp1_0.peer.driver import Connection
from harness.peers.peer import (
    ConnectionAround,
    HalfClosing,
    HalfClosingAround,
    PeerConnection,
    PeerServer,
    ServerAround,
)

LOOKS = 0.01
"""Seconds between two looks at what is to be done, where nobody else would ask."""


class Stage(Peer):
    """The reference peer, whose connections can be had: `accepted`, in their order."""

    def begin(self) -> None:
        super().begin()
        self.accepted: list[Connection] = []

    def connect(self, now: float) -> Connection:
        accepted = super().connect(now)
        self.accepted.append(accepted)
        return accepted


class Ending(ServerAround):
    """A server that ends a connection where the client ends its stream, unless told otherwise."""

    def around(self, connection: PeerConnection) -> PeerConnection:
        return ConnectionAround(connection)


class Voice(ConnectionAround):
    """A server's connection that does what it is told, and says octets of ours behind its own."""

    def __init__(self, inner: PeerConnection, looks: bool) -> None:
        super().__init__(inner)
        self._looks = looks
        self._acts: deque[Callable[[], bytes]] = deque()
        self._said = b""
        self._now = 0.0

    def does(self, act: Callable[[], bytes]) -> None:
        """Have something done; the octets that it gives are said behind what the server says."""
        self._acts.append(act)

    def receive(self, octets: bytes) -> None:
        # What was told before the client has spoken is said before it is answered.
        self._act()
        self.inner.receive(octets)

    def _act(self) -> None:
        while self._acts:
            said = self._acts.popleft()()
            self._said += self.inner.take() + said

    def take(self) -> bytes:
        self._act()
        octets, self._said = self._said + self.inner.take(), b""
        return octets

    def next_timer(self) -> float | None:
        timer = self.inner.next_timer()
        if not self._looks or self.closed:
            return timer
        look = self._now + LOOKS
        return look if timer is None else min(timer, look)

    def tick(self, now: float) -> None:
        self._now = now
        self.inner.tick(now)


class Voiced(ServerAround):
    """A server of which every connection can be told what to do: `voices`, in their order.

    With `looks` it is asked every moment whether something is to be done, as is needed over TCP.
    """

    def __init__(self, server: PeerServer) -> None:
        super().__init__(server)
        self.voices: list[Voice] = []
        self.looks = False

    def around(self, connection: PeerConnection) -> PeerConnection:
        voice = Voice(connection, self.looks)
        self.voices.append(voice)
        return HalfClosingAround(voice, connection) if isinstance(connection, HalfClosing) else voice
