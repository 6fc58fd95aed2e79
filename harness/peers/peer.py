"""What a reference peer looks like from outside, whatever protocol it speaks: octets in, octets out.

Peers are sans-I/O: no socket, no thread, and no clock but the one they are told. A transport carries
their octets, in memory or over TCP.
"""

from typing import Protocol, TypeGuard, runtime_checkable


class PeerConnection(Protocol):
    """The peer's side of one connection."""

    @property
    def closed(self) -> str | None:
        """None while open; "fin" or "rst" once the peer has closed, after the octets still to be taken."""

    def receive(self, octets: bytes) -> None:
        """Take octets the client sent, in pieces of any size; answers are ready when it returns."""

    def hang_up(self) -> None:
        """Note that the client's side of the socket is gone."""

    def take(self) -> bytes:
        """Remove and return what the peer has to say now."""

    def next_timer(self) -> float | None:
        """Say when the peer will act by itself, in seconds of its clock; None for never."""

    def tick(self, now: float) -> None:
        """Let everything that is due at `now` (seconds) happen."""


@runtime_checkable
class HalfClosing(Protocol):
    """A `PeerConnection` that, its stream ended, still hears the client, or turns to "rst"."""

    def end_of_stream(self) -> None:
        """Note that the client sends no more, but still reads: what is left can be said before `closed`."""


def hears_the_end(connection: object) -> TypeGuard[HalfClosing]:
    """Say whether it is `HalfClosing`: asked of each connection, and quicker than `isinstance` by far."""
    return hasattr(connection, "end_of_stream")


@runtime_checkable
class Securing(Protocol):
    """A `PeerServer` that says itself what a client meets on its port for TLS."""

    def secured(self, connection: PeerConnection) -> PeerConnection:
        """Turn a connection of its own into one as it is on that port."""


@runtime_checkable
class Holding(Protocol):
    """A `PeerConnection` that takes only so much at a time."""

    @property
    def full(self) -> bool:
        """True when nothing more should be sent now."""


class PeerServer(Protocol):
    """A peer with its entities; several connections see the same ones."""

    def connect(self, now: float) -> PeerConnection:
        """Accept a connection at time `now` (seconds)."""

    def use(self, facility: str) -> dict[str, str]:
        """Use a facility and return what it made. Raises KeyError with its name where there is none."""

    def restart(self) -> None:
        """Go down and come up again: every connection ends, only what is durable stays."""


class ConnectionAround:
    """A `PeerConnection` that passes all on to the one `inner`, for others that change something of it."""

    def __init__(self, inner: PeerConnection) -> None:
        self.inner = inner

    @property
    def closed(self) -> str | None:
        return self.inner.closed

    def receive(self, octets: bytes) -> None:
        self.inner.receive(octets)

    def hang_up(self) -> None:
        self.inner.hang_up()

    def take(self) -> bytes:
        return self.inner.take()

    def next_timer(self) -> float | None:
        return self.inner.next_timer()

    def tick(self, now: float) -> None:
        self.inner.tick(now)


class HalfClosingAround(ConnectionAround):
    """What stands `around` a connection that hears the end of the client's stream, and passes it on."""

    def __init__(self, around: PeerConnection, inner: HalfClosing) -> None:
        super().__init__(around)
        self.end_of_stream = inner.end_of_stream


class ServerAround:
    """A `PeerServer` that passes all on to the one `inner`; `around` may change its connections."""

    def __init__(self, inner: PeerServer) -> None:
        self.inner = inner

    def connect(self, now: float) -> PeerConnection:
        return self.around(self.inner.connect(now))

    def around(self, connection: PeerConnection) -> PeerConnection:
        """Give a connection as the client is to see it."""
        return connection

    def use(self, facility: str) -> dict[str, str]:
        return self.inner.use(facility)

    def restart(self) -> None:
        self.inner.restart()
