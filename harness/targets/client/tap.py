"""A tap between clients and a server of ours: what passes is heard where it passes, as over a transport.

A client is judged by what it sends; the one who listens has nothing to say, for the server does that.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Protocol

from harness.peers.peer import ConnectionAround, HalfClosing, PeerConnection, PeerServer, ServerAround
from harness.wire.journal import Direction
from harness.wire.transport import End, VirtualClock

Passed = tuple[float, Direction, bytes | End]


class Clock(Protocol):
    """What time it is for those who talk through a tap."""

    def now(self) -> float:
        """Give the time in seconds."""

    def take(self, queue: SimpleQueue[Passed], deadline: float) -> Passed | None:
        """Take what passes next; None when nothing has up to `deadline`."""


@dataclass(slots=True)
class RealClock:
    """Time as it passes, `now` in seconds since the run began."""

    now: Callable[[], float]

    def take(self, queue: SimpleQueue[Passed], deadline: float) -> Passed | None:
        try:
            return queue.get(timeout=max(deadline - self.now(), 0.0))
        except Empty:
            return None


@dataclass(slots=True)
class MemoryClock:
    """Virtual time: whoever talks is in this process, and has said all before anybody waits."""

    virtual: VirtualClock

    def now(self) -> float:
        return self.virtual.seconds

    def take(self, queue: SimpleQueue[Passed], deadline: float) -> Passed | None:
        try:
            return queue.get_nowait()
        except Empty:
            self.virtual.seconds = max(self.virtual.seconds, deadline)
            return None


@dataclass(slots=True)
class Heard:
    """One connection of a client, as a transport (harness.wire.transport) that only receives.

    What the server said goes to `said`. While something is looked at, `now` is when it passed: `at`. Behind
    the end of its stream a client that has closed its socket, too, has reset what the server still said.
    """

    endpoint: str
    clock: Clock
    passed: SimpleQueue[Passed] = field(default_factory=SimpleQueue)
    said: Callable[[bytes], None] = lambda _: None
    at: float | None = None
    ended: End | None = None

    def now(self) -> float:
        return self.clock.now() if self.at is None else self.at

    def send(self, octets: bytes) -> bool:
        raise NotImplementedError("the server talks to the client, not the one who listens")

    def receive(self, deadline: float) -> bytes | End | None:
        while self.ended is None:
            if (next_ := self.clock.take(self.passed, deadline)) is None:
                return None
            self.at, way, octets = next_
            if isinstance(octets, End):
                self.ended = octets
            elif way is Direction.RECEIVED:
                return octets
            else:
                self.said(octets)
        return self.ended

    def shut(self) -> None:
        """Do nothing: the server's stream is the server's."""

    def met_reset(self, deadline: float) -> bool:
        """Say whether by `deadline` the client was gone before the server had ended its own stream."""
        while (next_ := self.clock.take(self.passed, deadline)) is not None:
            _, way, octets = next_
            if octets is End.RST:
                return True
            if way is Direction.SENT and isinstance(octets, bytes):
                self.said(octets)
        return False

    def close(self, reset: bool = False) -> None:
        """Do nothing: the server's sockets are the server's."""


class _Tapped(ConnectionAround):
    """The server's side of a connection, with a tap before it."""

    def __init__(self, inner: PeerConnection, heard: Heard) -> None:
        super().__init__(inner)
        self._heard = heard

    def _pass(self, way: Direction, octets: bytes | End) -> None:
        self._heard.passed.put((self._heard.clock.now(), way, octets))

    def receive(self, octets: bytes) -> None:
        if octets:  # by an empty piece an interposer says that something is on its way
            self._pass(Direction.RECEIVED, octets)
        super().receive(octets)

    def hang_up(self) -> None:
        self._pass(Direction.RECEIVED, End.FIN)
        if self.inner.take() or not self.closed:  # there was more to come
            self._pass(Direction.RECEIVED, End.RST)
        super().hang_up()

    def take(self) -> bytes:
        if octets := super().take():
            self._pass(Direction.SENT, octets)
        return octets


class _HalfTapped(_Tapped):
    """One whose server hears the end of the client's stream, and says on what it has to say."""

    def __init__(self, inner: PeerConnection, ends: HalfClosing, heard: Heard) -> None:
        super().__init__(inner, heard)
        self._ends = ends

    def end_of_stream(self) -> None:
        self._pass(Direction.RECEIVED, End.FIN)
        self._ends.end_of_stream()


class Tap(ServerAround):
    """A server of which every connection is heard: `accepted`, in their order."""

    def __init__(self, server: PeerServer, clock: Clock) -> None:
        super().__init__(server)
        self.accepted: deque[Heard] = deque()
        self._clock = clock

    def around(self, connection: PeerConnection) -> PeerConnection:
        heard = Heard("memory" if isinstance(self._clock, MemoryClock) else "127.0.0.1", self._clock)
        self.accepted.append(heard)
        if isinstance(connection, HalfClosing):
            return _HalfTapped(connection, connection, heard)
        return _Tapped(connection, heard)
