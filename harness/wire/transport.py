"""Ways to carry octets: a TCP socket, and an in-memory pair on a virtual clock."""

import errno
import fcntl
import select
import socket
import struct
import sys
import termios
import time
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from typing import Protocol, TypeGuard, runtime_checkable

from harness.peers import peer
from harness.peers.peer import PeerConnection, PeerServer


class Unreachable(Exception):
    """No connection could be opened; the message is one sentence."""


class NotSpoken(Unreachable):
    """Something answers, in another protocol than the one that was asked for."""


class End(StrEnum):
    """How a peer ended its side of the connection."""

    FIN = "fin"
    RST = "rst"


class Transport(Protocol):
    """One connection. Times are in seconds on this transport's own clock."""

    endpoint: str

    def now(self) -> float: ...

    def send(self, octets: bytes) -> bool:
        """Send all octets; return False when the peer is gone (what it said before can still be received)."""

    def receive(self, deadline: float) -> bytes | End | None:
        """Return the next octets, how the peer ended, or None when `deadline` passes in silence."""

    def close(self, reset: bool = False) -> None:
        """Close our side; with `reset` so that the peer sees RST."""


@runtime_checkable
class HalfClosing(Protocol):
    """A `Transport` whose two directions end apart."""

    def shut(self) -> None:
        """End our stream; what the peer still says can be received."""

    def met_reset(self, deadline: float) -> bool:
        """Say whether by `deadline` the peer has reset what was sent after the end of its own stream."""


@runtime_checkable
class Locatable(Protocol):
    """A `Transport` that knows whether its peer is on this machine."""

    @property
    def local(self) -> bool:
        """True over the loopback interface, where no segment is lost or late."""


@runtime_checkable
class Nameable(Protocol):
    """A `Transport` whose own end the other side sees by a name."""

    @property
    def client(self) -> str:
        """The port of our end; "memory" for a peer in this process."""


@runtime_checkable
class Queueing(Protocol):
    """A `Transport` that knows what of ours is still on its way."""

    def outgoing(self) -> int:
        """Count the octets that have been sent and not been taken by the other end yet."""


def queues(transport: object) -> TypeGuard[Queueing]:
    """Say whether it is `Queueing`: asked of each connection, and quicker than `isinstance` by far."""
    return hasattr(transport, "outgoing")


STALLED = 10.0
"""Seconds after which a peer that takes none of our octets counts as gone."""
LOOK = 0.5
"""Seconds between two looks at whether it takes any."""
_RESETS = (errno.ECONNRESET, errno.EPIPE)


class TcpTransport:
    """A TCP connection; `started` is zero on time.monotonic(). Raises Unreachable after `timeout`."""

    def __init__(self, host: str, port: int, started: float, timeout: float = 5.0) -> None:
        self.endpoint = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._started = started
        self._end: End | None = None
        try:
            self._socket = socket.create_connection((host, port), timeout=timeout)
        except OSError as failure:
            raise Unreachable(f"{self.endpoint} cannot be reached: {failure.strerror or failure}") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        # Of one that was reset already only our own end has a name; both are loopback, or none is.
        self._local = ip_address(self._socket.getsockname()[0].partition("%")[0]).is_loopback

    @property
    def local(self) -> bool:
        return self._local

    @property
    def client(self) -> str:
        return str(self._socket.getsockname()[1])

    def now(self) -> float:
        """Give the seconds since the run began."""
        return time.monotonic() - self._started

    def send(self, octets: bytes) -> bool:
        """Send all octets; a peer that has taken none for `STALLED` seconds counts as gone."""
        left, moved, waiting = memoryview(octets), self.now(), 1 << 62
        self._socket.settimeout(LOOK)
        while left:
            try:
                left = left[self._socket.send(left) :]
                moved = self.now()
            except TimeoutError:
                # The kernel takes more only when much has gone: what has gone shows earlier.
                before, waiting = waiting, self.outgoing()
                moved = self.now() if waiting < before else moved
                if self.now() - moved > STALLED:
                    return False
            except OSError:
                return False
        return True

    def offer(self, octets: bytes) -> int:
        """Send what can be sent without waiting; return how many octets, all of them if the peer is gone."""
        try:
            self._socket.settimeout(0)
            return self._socket.send(octets)
        except BlockingIOError:
            return 0
        except OSError:
            return len(octets)

    def outgoing(self) -> int:
        """Count the octets sent that the other end has not acknowledged; 0 where nobody knows."""
        try:
            return int.from_bytes(fcntl.ioctl(self._socket, termios.TIOCOUTQ, bytes(4)), sys.byteorder)
        except (OSError, ValueError):  # the latter once it is closed
            return 0

    def receive(self, deadline: float) -> bytes | End | None:
        if self._end is not None:
            return self._end
        try:
            # A deadline already passed waits for nothing, and still takes what has arrived.
            self._socket.settimeout(max(deadline - self.now(), 0.0))
            octets = self._socket.recv(65536)
        except (TimeoutError, BlockingIOError):
            return None
        except OSError as failure:
            if failure.errno not in (errno.ECONNRESET, errno.EPIPE, errno.ETIMEDOUT, errno.ECONNABORTED):
                raise
            self._end = End.RST
            return self._end
        if not octets:
            self._end = End.FIN
            return self._end
        return octets

    def shut(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError as failure:
            if failure.errno not in (*_RESETS, errno.ENOTCONN):
                raise

    def met_reset(self, deadline: float) -> bool:
        if self._end is End.RST:
            return True
        # Behind the peer's FIN nothing can be read any more: a reset shows as an error of the socket alone.
        poll = select.poll()
        poll.register(self._socket, 0)
        poll.poll(max(deadline - self.now(), 0.0) * 1000)
        return self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) in _RESETS

    def close(self, reset: bool = False) -> None:
        if reset:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()


class VirtualClock:
    """Time that passes only when somebody waits."""

    def __init__(self) -> None:
        self.seconds = 0.0


@dataclass
class Pause:
    """A switch: while it is `on` the peers of a target get no time, and what is sent to them waits."""

    on: bool = False


class MemoryTransport:
    """A connection to a peer in this process. Silence is known at once: the clock jumps to the deadline."""

    endpoint = "memory"
    client = "memory"

    def __init__(self, server: PeerServer, clock: VirtualClock, pause: Pause | None = None) -> None:
        self._clock = clock
        self._pause = pause or Pause()
        self._waiting = b""
        self._peer: PeerConnection = server.connect(clock.seconds)
        self._queueing = self._peer if queues(self._peer) else None
        self._open = True

    def now(self) -> float:
        """Give the seconds of virtual time."""
        return self._clock.seconds

    def send(self, octets: bytes) -> bool:
        """Hand the octets to the peer; return False when it has closed and does not read on."""
        if self._peer.closed and not (
            self._peer.closed == "fin" and isinstance(self._peer, peer.HalfClosing)
        ):
            return False
        self._waiting += octets
        self._hand_over()
        return True

    def _hand_over(self) -> None:
        if self._waiting and not self._pause.on:
            octets, self._waiting = self._waiting, b""
            self._peer.receive(octets)

    def outgoing(self) -> int:
        """Count the octets that a slow peer has not been given yet."""
        return self._queueing.outgoing() if self._queueing else 0

    def shut(self) -> None:
        if isinstance(self._peer, peer.HalfClosing):
            self._peer.end_of_stream()
        else:
            self._peer.hang_up()

    def met_reset(self, deadline: float) -> bool:
        """Say whether the peer has reset; if it has not, time passes up to `deadline`."""
        if self._peer.closed != "rst":
            self._clock.seconds = max(self._clock.seconds, deadline)
        return self._peer.closed == "rst"

    def receive(self, deadline: float) -> bytes | End | None:
        """Return what the peer has said, else what it says when its next timer comes before `deadline`."""
        if self._pause.on:
            self._clock.seconds = max(self._clock.seconds, deadline)
            return None
        self._hand_over()
        while True:
            if octets := self._peer.take():
                return octets
            if self._peer.closed:
                return End(self._peer.closed)
            timer = self._peer.next_timer()
            if timer is None or timer > deadline:
                self._clock.seconds = max(self._clock.seconds, deadline)
                return None
            self._clock.seconds = max(self._clock.seconds, timer)
            self._peer.tick(self._clock.seconds)

    def close(self, reset: bool = False) -> None:  # noqa: ARG002 - in memory there is no RST
        """Close our side, and tell the peer that it is gone."""
        if self._open:
            self._open = False
            self._peer.hang_up()
