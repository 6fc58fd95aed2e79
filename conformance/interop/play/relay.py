"""The tap between a client and a broker: octets pass as they are, and what they say is noted.

`harness.peers.proxy` looks at its broker a thousand times a second, so that an interposer can act by a clock.
Here nothing acts: what comes goes on at once, and with sixty clients before five brokers nobody is looked at.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from conformance.interop.play.passing import Content, Ended, Stream

PIECE = 1 << 18
"""Octets that are passed on at once."""
STALLED = 10.0
"""Seconds after which a side that takes nothing is given up."""


@dataclass(eq=False)
class _Side:
    """One of the two sockets of a connection; `stream` reads what comes from it."""

    socket: socket.socket
    stream: Stream
    client: bool
    era: int
    other: _Side = field(init=False)


class Relay:
    """Listens on loopback for one client, from `with` to its end, and passes on to a broker."""

    def __init__(self, place: tuple[str, int], stream: Callable[[], Stream]) -> None:
        self._place, self._make = place, stream
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.port: int = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._wake, self._waker = socket.socketpair()
        self._changed = threading.Condition()
        self._sent: deque[Content] = deque()
        self._delivered: deque[Content] = deque()
        self._ended: deque[Ended] = deque()
        self._era = 0
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=f"relay {self.port}", daemon=True)

    def __enter__(self) -> Self:
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping = True
        self._waker.send(b"!")
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]  # all of them are sockets
        self._selector.close()
        self._waker.close()

    # -- what has been seen ----------------------------------------------------------------------------

    def forget(self) -> None:
        """Forget all that has been seen so far; how what is connected now will end is not noted."""
        with self._changed:
            self._era += 1
            for each in (self._sent, self._delivered, self._ended):
                each.clear()

    def sent(self, within: float) -> Content | Ended | None:
        """Take what the client has sent next, or why the broker ended it; None when nothing has come."""
        return self._taken(self._sent, within)

    def delivered(self, within: float) -> Content | Ended | None:
        """Take what the broker has delivered next, or why it ended the client; None for nothing."""
        return self._taken(self._delivered, within)

    def _taken(self, queue: deque[Content], within: float) -> Content | Ended | None:
        with self._changed:
            self._changed.wait_for(lambda: queue or self._ended, within)
            if queue:
                return queue.popleft()
            return self._ended[0] if self._ended else None

    def ended(self) -> Ended | None:
        """Say why the broker has ended the client's connection or channel, if it has."""
        with self._changed:
            return self._ended[0] if self._ended else None

    # -- passing on ------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._stopping:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.data, _Side):
                    self._pass(key.data)

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return
        try:
            broker = socket.create_connection(self._place, timeout=STALLED)
        except OSError:
            client.close()  # nobody is there behind us
            return
        one, other = (
            _Side(client, self._make(), True, self._era),
            _Side(broker, self._make(), False, self._era),
        )
        one.other, other.other = other, one
        for side in (one, other):
            side.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            side.socket.settimeout(STALLED)
            self._selector.register(side.socket, selectors.EVENT_READ, side)

    def _pass(self, side: _Side) -> None:
        if side.socket.fileno() < 0:
            return  # closed with its other side, just before
        try:
            octets = side.socket.recv(PIECE)
            if octets:
                self._note(side, octets)
                side.other.socket.sendall(octets)
                return
        except OSError:
            pass
        if not side.client:
            self._noted(side, Ended("connection", "", "the broker ended it without a word"))
        for each in (side, side.other):
            self._selector.unregister(each.socket)
            each.socket.close()

    def _note(self, side: _Side, octets: bytes) -> None:
        for seen in side.stream.feed(octets):
            self._noted(side, seen)

    def _noted(self, side: _Side, seen: Content | Ended) -> None:
        with self._changed:
            if side.era != self._era:
                return
            if isinstance(seen, Content):
                (self._sent if side.client else self._delivered).append(seen)
            elif not side.client:
                self._ended.append(seen)
            self._changed.notify_all()


def until(condition: Callable[[], bool], within: float, pause: float = 0.002) -> bool:
    """Ask again and again, with growing pauses, until it is so; False when it has not come to be."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    return True
