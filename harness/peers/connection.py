"""A reference peer's side of one connection, whatever protocol it speaks: what it has to say, and its times.

Time is what the transport says. Whether octets came since it was told last is all that is known of them.
"""

from abc import ABC, abstractmethod
from collections import deque

from harness.peers.events import Event, HungUp, Restarting, Waited


class Connection(ABC):
    """One connection; implements harness.peers.peer.PeerConnection, all but `receive`."""

    def __init__(self, now: float, number: int) -> None:
        self.number = number
        self.closed: str | None = None
        self.user = ""
        self.mechanism = ""
        self.channel_max = 0
        self.interval = 0.0
        """Seconds between frames that were agreed upon, or that the client requires; zero for none."""
        self.unread = 0
        """Octets said but not taken yet."""
        self._out: deque[bytes] = deque()
        self._now = self._last_heard = now
        self._heard = False
        self._deadline: float | None = None

    @property
    @abstractmethod
    def over(self) -> bool:
        """True when nothing can happen to it any more."""

    @abstractmethod
    def happens(self, event: Event) -> None:
        """Take the row for what happens to the connection, and its next state."""

    @abstractmethod
    def _times(self) -> list[float]:
        """List when something is due beside the end of what is waited for, in seconds of the peer's clock."""

    def put(self, octets: bytes) -> None:
        self._out.append(octets)
        self.unread += len(octets)

    def take(self) -> bytes:
        """Remove and return what the peer has to say now."""
        if not self._out:
            return b""
        said = b"".join(self._out)
        self._out.clear()
        self.unread -= len(said)
        return said

    def hang_up(self) -> None:
        """Note that the client's side of the socket is gone."""
        self.happens(HungUp())

    def restart(self) -> None:
        """Go down with the server; the first row may be a farewell, which leaves the end to another one."""
        self.happens(Restarting())
        if not self.over:
            self.happens(Restarting())

    def wait(self, seconds: float) -> None:
        """Let Waited happen after so many seconds."""
        self._deadline = self._now + seconds

    def next_timer(self) -> float | None:
        """Say when something is due, in seconds of the peer's clock."""
        if self.over:
            return None
        times = self._times()
        if self._deadline is not None:
            times.append(self._deadline)
        return max(min(times), self._now) if times else None

    def _see(self, now: float) -> None:
        self._now = now
        if self._heard:
            self._heard, self._last_heard = False, now

    def _end_waiting(self, now: float) -> None:
        if self._deadline is not None and now >= self._deadline:
            self._deadline = None
            self.happens(Waited())
