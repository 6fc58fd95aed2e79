"""A proxy before a real broker, so that an interposer can make it deviate.

The broker's connection is dressed up as a peer's, the interposer stands before it, and both are served
over TCP like any reference peer.
"""

import time
from collections.abc import Callable

from harness.peers.peer import PeerConnection
from harness.wire.transport import End, HalfClosing, TcpTransport, Transport

POLL = 0.001
"""Seconds between two looks at what the broker has said."""
MOST_AHEAD = 1 << 16
"""Octets that are taken from the broker ahead of who reads them."""
RESETS = 0.02
"""Seconds within which a broker on this machine resets what came behind its end."""


class _Upstream:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._said = b""
        self._unsent = bytearray()
        self._end: End | None = None
        self._next = 0.0

    @property
    def closed(self) -> str | None:
        return None if self._end is None or self._said else self._end.value

    @property
    def full(self) -> bool:
        """True when the broker does not take what is sent: the others behind the same port must not wait."""
        return len(self._unsent) >= MOST_AHEAD

    def receive(self, octets: bytes) -> None:
        self._unsent += octets
        self._offer()
        if self._end is End.FIN and octets and isinstance(self._transport, HalfClosing):
            # Sent behind its end: whether it reads on shows at once on the same machine.
            met = self._transport.met_reset(self._transport.now() + RESETS)
            self._end = End.RST if met else End.FIN

    def _offer(self) -> None:
        if isinstance(self._transport, TcpTransport):
            del self._unsent[: self._transport.offer(bytes(self._unsent))]
        elif self._unsent:
            self._transport.send(bytes(self._unsent))
            self._unsent.clear()

    def hang_up(self) -> None:
        self._transport.close()
        self._end = self._end or End.FIN

    def end_of_stream(self) -> None:
        if isinstance(self._transport, HalfClosing):
            self._transport.shut()
        else:
            self.hang_up()

    def take(self) -> bytes:
        now = time.monotonic()
        if now >= self._next:
            self.tick(now)
        said, self._said = self._said, b""
        return said

    def next_timer(self) -> float | None:
        return None if self._end else self._next

    def tick(self, now: float) -> None:
        self._next = now + POLL
        if self._unsent:
            self._offer()
        self._look()

    def _look(self) -> None:
        while self._end is None and len(self._said) < MOST_AHEAD:
            octets = self._transport.receive(self._transport.now())
            if octets is None:
                return
            if isinstance(octets, End):
                self._end = octets
            else:
                self._said += octets


class Broker:
    """The broker, presented as a server of peers' connections."""

    def __init__(self, connect: Callable[[], Transport]) -> None:
        self._connect = connect

    def connect(self, now: float) -> PeerConnection:
        """Connect to the broker. Raises Unreachable."""
        del now
        return _Upstream(self._connect())

    def use(self, facility: str) -> dict[str, str]:
        raise KeyError(facility)

    def restart(self) -> None:
        raise KeyError("restart")
