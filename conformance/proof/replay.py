"""What a client did to a peer in memory, kept so that it can be done to another one: does that say the same?

A client does the same wherever its server says the same at the same times, so it comes to the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.peers.peer import (
    ConnectionAround,
    HalfClosing,
    HalfClosingAround,
    PeerConnection,
    PeerServer,
    Securing,
    ServerAround,
    hears_the_end,
)

Call = tuple[float, int, str, tuple[Any, ...], Any]
"""When, in seconds of the clock; the number of the connection; what was called, with what; what that gave."""
_SERVER = -1
"""Stands for the server where a connection has its number."""


class Replay:
    """Keeps what was called of a server and of its connections, in order; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._calls: list[Call] = []
        self._asked: dict[tuple[int, str], Any] = {}
        self._whole = True

    def before(self, server: PeerServer) -> PeerServer:
        """Give a server that keeps here what is done to it."""
        return _Securing(server, self) if isinstance(server, Securing) else _Kept(server, self)

    def is_the_same(self, make: Callable[[Callable[[], float]], PeerServer]) -> bool:
        """Say whether another server gives the same for each call; `make` makes it with the clock it sees."""
        if not self._whole:
            return False
        now = 0.0
        server = make(lambda: now)
        connections: list[Any] = []
        for now, number, name, values, gave in self._calls:  # noqa: B007 - the clock of the server
            came = _called(server if number == _SERVER else connections[number], name, values)
            if name == "connect" and not isinstance(came, str):
                connections.append(came)
            elif came != gave:
                return False
        return True

    def did(self, number: int, name: str, values: tuple[Any, ...], gave: Any) -> None:
        """Keep a call after which all may be otherwise."""
        self._asked.clear()
        self._calls.append((self._clock(), number, name, values, gave))

    def asked(self, number: int, name: str, gave: Any) -> None:
        """Keep what was asked, once while nothing else is done."""
        if self._asked.get((number, name), self) != gave:
            self._asked[number, name] = gave
            self._calls.append((self._clock(), number, name, (), gave))

    def is_partial(self) -> None:
        """Note that something is done that is not kept."""
        self._whole = False


def _called(on: Any, name: str, values: tuple[Any, ...]) -> Any:
    if name == "closed":
        return on.closed
    try:
        return getattr(on, name)(*values)
    except Exception as failure:  # whatever it is, it is compared: a server that breaks says something else
        return repr(failure)


class _Kept(ServerAround):
    def __init__(self, inner: PeerServer, replay: Replay) -> None:
        super().__init__(inner)
        self._replay, self._connections = replay, 0

    def connect(self, now: float) -> PeerConnection:
        self._replay.did(_SERVER, "connect", (now,), None)
        return super().connect(now)

    def around(self, connection: PeerConnection) -> PeerConnection:
        kept = _KeptConnection(connection, self._replay, self._connections)
        self._connections += 1
        return _HalfClosing(kept, connection) if hears_the_end(connection) else kept

    def use(self, facility: str) -> dict[str, str]:
        gave: Any = None
        try:
            gave = super().use(facility)
        except KeyError as failure:
            gave = repr(failure)
            raise
        finally:
            self._replay.did(_SERVER, "use", (facility,), gave)
        return dict(gave)

    def restart(self) -> None:
        super().restart()
        self._replay.did(_SERVER, "restart", (), None)


class _Securing(_Kept):
    def secured(self, connection: PeerConnection) -> PeerConnection:
        """Give what the server says stands on its port for TLS: what happens there is not kept."""
        self._replay.is_partial()
        assert isinstance(self.inner, Securing)
        return self.inner.secured(connection)


class _KeptConnection(ConnectionAround):
    def __init__(self, inner: PeerConnection, replay: Replay, number: int) -> None:
        super().__init__(inner)
        self.replay, self.number = replay, number

    @property
    def closed(self) -> str | None:
        closed = self.inner.closed
        self.replay.asked(self.number, "closed", closed)
        return closed

    def receive(self, octets: bytes) -> None:
        self.inner.receive(octets)
        self.replay.did(self.number, "receive", (octets,), None)

    def hang_up(self) -> None:
        self.inner.hang_up()
        self.replay.did(self.number, "hang_up", (), None)

    def take(self) -> bytes:
        octets = self.inner.take()
        if octets:
            self.replay.did(self.number, "take", (), octets)
        else:
            self.replay.asked(self.number, "take", octets)
        return octets

    def next_timer(self) -> float | None:
        timer = self.inner.next_timer()
        self.replay.asked(self.number, "next_timer", timer)
        return timer

    def tick(self, now: float) -> None:
        self.inner.tick(now)
        self.replay.did(self.number, "tick", (now,), None)


class _HalfClosing(HalfClosingAround):
    def __init__(self, kept: _KeptConnection, inner: HalfClosing) -> None:
        super().__init__(kept, inner)
        end = self.end_of_stream

        def ended() -> None:
            end()
            kept.replay.did(kept.number, "end_of_stream", (), None)

        self.end_of_stream = ended
