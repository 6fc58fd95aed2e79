"""A peer in memory that gets what we say all at once, when we listen: over TCP it may come so."""

from __future__ import annotations

from collections.abc import Mapping

from harness.peers.peer import PeerServer
from harness.targets.embedded import EmbeddedTarget
from harness.wire.transport import End, MemoryTransport, Transport


class Together(EmbeddedTarget):
    """Reference peers to which nothing has come until somebody listens, on whatever connection."""

    def __init__(self) -> None:
        super().__init__()
        self._ways: list[_Held] = []

    def connect(self, document: str) -> Transport:
        self.let_through()
        self._ways.append(_Held(self, self.peer(document)))
        return self._ways[-1]

    def _use(self, facility: str, last: str = "") -> Mapping[str, str]:
        self.let_through()
        return super()._use(facility, last)

    def let_through(self) -> None:
        """Hand over what was said on all connections, in the order in which they were made."""
        for each in self._ways:
            each.let_through()


class _Held(MemoryTransport):
    def __init__(self, target: Together, server: PeerServer) -> None:
        super().__init__(server, target._clock, target._pause)
        self._target = target

    def let_through(self) -> None:
        said, self._waiting = self._waiting, b""
        if said:
            super().send(said)

    def send(self, octets: bytes) -> bool:
        self._waiting += octets
        return True

    def receive(self, deadline: float) -> bytes | End | None:
        self._target.let_through()
        return super().receive(deadline)

    def shut(self) -> None:
        self._target.let_through()
        super().shut()

    def close(self, reset: bool = False) -> None:
        self._target.let_through()
        super().close(reset)
