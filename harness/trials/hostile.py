"""Peers that mean harm, as data: what each says, how fast, and how it ends.

They are served like any reference peer, in memory or over TCP in one thread. What they say is made piece by
piece and never ahead of the client by more than `AHEAD` octets, so that an endless peer costs no memory.
"""

import random
import ssl
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Protocol

from harness.peers.fakes import Fake
from harness.peers.peer import ConnectionAround, PeerConnection, PeerServer, ServerAround

AHEAD = 1 << 18
"""Octets the client has not read, from which on a peer waits with what it says next."""
PIECE = 1 << 14
"""Octets, about, of one piece of an endless stream."""


@dataclass(frozen=True, slots=True)
class Hostile:
    """A peer that `says` a piece every `pace` seconds, and `ends` by "fin", "rst" or not at all."""

    about: str
    says: Callable[[], Iterator[bytes]]
    pace: float = 0.0
    ends: str | None = None


class Died(Exception):
    """The peer is dead, listener and all."""


class Encoded(Protocol):
    """A frame of any protocol."""

    def encode(self) -> bytes: ...


def once(*pieces: bytes) -> Callable[[], Iterator[bytes]]:
    """Make a peer's words of these pieces, and no more."""
    return lambda: iter(pieces)


def for_ever(*frames: Encoded) -> Callable[[], Iterator[bytes]]:
    """Make a peer's words of these frames, again and again."""
    octets = b"".join(frame.encode() for frame in frames)
    return lambda: repeat(octets * (PIECE // len(octets) + 1))


def _garbage() -> Iterator[bytes]:
    # The same in every run; the first octet is neither a frame type nor the A of a protocol header.
    source = random.Random(91)
    yield b"\xfe"
    while True:
        yield source.randbytes(PIECE)


ANYWHERE: Mapping[str, Hostile] = {
    "http": Hostile(
        "speaks HTTP", once(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"), ends="fin"
    ),
    "silent": Hostile("accepts and never answers", once()),
    "garbage": Hostile("says random octets for ever", _garbage),
    "closes": Hostile("closes at once", once(), ends="fin"),
    "resets": Hostile("resets at once", once(), ends="rst"),
}
"""Hostile peers that speak no protocol of ours."""


class _Saying(Fake):
    def __init__(self, hostile: Hostile, now: float) -> None:
        super().__init__()
        self._hostile = hostile
        self._pieces: Iterator[bytes] | None = hostile.says()
        self._due = now

    def receive(self, octets: bytes) -> None: ...

    def hang_up(self) -> None:
        self._pieces = None
        super().hang_up()

    def next_timer(self) -> float | None:
        return None if self._pieces is None else self._due

    def tick(self, now: float) -> None:
        if self._pieces is None or now < self._due:
            return
        if len(self.said) >= AHEAD:
            self._due = now + 0.01
            return
        piece = next(self._pieces, None)
        if piece is None:
            self._pieces, self.closed = None, self._hostile.ends
            return
        self.said += piece
        self._due = now + self._hostile.pace


class _Turning:
    """An honest connection that turns hostile once the peer has said `behind`, or is hostile `beside`."""

    def __init__(self, honest: PeerConnection, hostile: Hostile, behind: bytes, beside: bool) -> None:
        self._honest, self._hostile, self._behind, self._beside = honest, hostile, behind, beside
        self._saying: _Saying | None = None
        self._now = 0.0

    @property
    def _listening(self) -> bool:
        return self._saying is None or self._beside

    @property
    def closed(self) -> str | None:
        if self._saying is not None and not self._beside:
            return self._saying.closed
        return self._honest.closed

    def receive(self, octets: bytes) -> None:
        if self._listening:
            self._honest.receive(octets)

    def hang_up(self) -> None:
        self._honest.hang_up()
        if self._saying is not None:
            self._saying.hang_up()

    def take(self) -> bytes:
        said = self._honest.take() if self._listening else b""
        if self._saying is not None:
            return said + self._saying.take()
        if self._behind in said:
            self._saying = _Saying(self._hostile, self._now)
        return said

    def next_timer(self) -> float | None:
        talking = [each for each in (self._honest, self._saying) if each is not None]
        times = [timer for each in talking if (timer := each.next_timer()) is not None]
        return min(times, default=None)

    def tick(self, now: float) -> None:
        self._now = now
        self._honest.tick(now)
        if self._saying is not None:
            self._saying.tick(now)


class _Cut(ConnectionAround):
    def __init__(self, honest: PeerConnection, octets: int, how: str) -> None:
        super().__init__(honest)
        self._left, self._how = octets, how

    @property
    def closed(self) -> str | None:
        return super().closed if self._left > 0 else self._how

    def take(self) -> bytes:
        said = super().take()[: self._left]
        self._left -= len(said)
        return said


class _Server(ServerAround):
    """An honest server that harms only connections after the first `spared`, as `tampered` says."""

    def __init__(self, honest: PeerServer, spared: int = 0) -> None:
        super().__init__(honest)
        self._spared = spared
        self._connections = 0
        self.now = 0.0

    def connect(self, now: float) -> PeerConnection:
        self.now = now
        return super().connect(now)

    def around(self, connection: PeerConnection) -> PeerConnection:
        self._connections += 1
        return connection if self._connections <= self._spared else self.tampered(connection)

    @abstractmethod
    def tampered(self, connection: PeerConnection) -> PeerConnection:
        """Give a connection as the client is to see it."""


class Harming(_Server):
    """An honest server that harms all but the `spared` connections, from the start or `behind` something."""

    def __init__(
        self, hostile: Hostile, honest: PeerServer, spared: int = 0, behind: bytes = b"", beside: bool = False
    ) -> None:
        super().__init__(honest, spared)
        self._hostile, self._behind, self._beside = hostile, behind, beside

    def tampered(self, connection: PeerConnection) -> PeerConnection:
        if not self._behind:
            return _Saying(self._hostile, self.now)
        return _Turning(connection, self._hostile, self._behind, self._beside)


class Cutting(_Server):
    """An honest server whose connections end after the peer has said `octets`, by `how` ("fin", "rst")."""

    def __init__(self, honest: PeerServer, octets: int, how: str = "fin", spared: int = 0) -> None:
        super().__init__(honest, spared)
        self._octets, self._how = octets, how

    def tampered(self, connection: PeerConnection) -> PeerConnection:
        return _Cut(connection, self._octets, self._how)


class Dying(_Server):
    """An honest server that dies at the connection after the first `lives`, and takes its listener along."""

    def __init__(self, honest: PeerServer, lives: int) -> None:
        super().__init__(honest, spared=lives)

    def tampered(self, connection: PeerConnection) -> PeerConnection:  # noqa: ARG002 - none gets one
        """Raise Died: its time has come."""
        raise Died(f"after {self._spared} connections")


class Tls(_Server):
    """A server that wants TLS. It never gets as far as a certificate with a client that speaks plainly."""

    def tampered(self, connection: PeerConnection) -> PeerConnection:
        connection.hang_up()
        return _TlsConnection()


class _TlsConnection(Fake):
    def __init__(self) -> None:
        super().__init__()
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).wrap_bio(self._in, self._out, server_side=True)

    def receive(self, octets: bytes) -> None:
        self._in.write(octets)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return
        except ssl.SSLError:
            self.closed = "fin"

    def take(self) -> bytes:
        return self._out.read()
