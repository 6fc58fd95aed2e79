"""A reference peer behind a TCP port on the loopback interface, for clients that need a real socket."""

from __future__ import annotations

import heapq
import selectors
import socket
import struct
import threading
import time
from dataclasses import dataclass, field

from harness.peers.peer import HalfClosing, Holding, PeerConnection, PeerServer
from harness.wire.transport import Unreachable

_RESET = struct.pack("ii", 1, 0)


BACKED_UP = 1 << 18
"""Octets a socket has not taken, from which on the peer is left with what it says next."""


TURN = 0.05
"""Seconds that what is due may take before those who knock are looked at again."""


LONGEST = 3600.0
"""Seconds that are waited in one go: a heartbeat of years is more than the system can wait for."""


@dataclass(slots=True, eq=False)
class _Line:
    """One accepted socket: what is on its way in either direction, and what the socket did not take yet."""

    socket: socket.socket
    peer: PeerConnection
    unsent: bytearray = field(default_factory=bytearray)
    said: bool = False
    """The peer has closed and everything it said is scheduled."""
    finished: bool = False
    """Everything the peer said has left, and our side is shut."""
    heard: bool = False
    """The client has ended its stream."""
    held: bool = False
    """So much is on its way to the peer that nothing more is read."""
    holding: Holding | None = field(init=False)
    """The peer, where it takes only so much at a time."""

    def __post_init__(self) -> None:
        self.holding = self.peer if isinstance(self.peer, Holding) else None


class TcpPeer:
    """Serves `server` on a loopback address in a thread of its own, from `with` to its end.

    `latency` delays octets in both directions, in seconds. `port` is chosen by the system unless given. With
    `buffer` the sockets hold about so many octets; without it what is on its way fills the kernel's buffers
    first. The peer's clock is time.monotonic().
    """

    def __init__(
        self,
        server: PeerServer,
        latency: float = 0.0,
        port: int = 0,
        host: str = "127.0.0.1",
        buffer: int = 0,
    ) -> None:
        self.server = server
        self.latency = latency
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family, backlog=256)
        self._listener.setblocking(False)
        for each in (socket.SO_RCVBUF, socket.SO_SNDBUF) if buffer else ():
            self._listener.setsockopt(socket.SOL_SOCKET, each, buffer)
        self.port: int = self._listener.getsockname()[1]
        self._wake, self._waker = socket.socketpair()
        self._wake.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._lines: dict[socket.socket, _Line] = {}
        self._due: list[tuple[float, int, _Line, bool, bytes]] = []
        self._scheduled = 0
        self._stopping = False
        self._failure: Exception | None = None
        self._lock = threading.Lock()
        self._awake = threading.Event()
        self._awake.set()
        self._thread = threading.Thread(target=self._run, name=f"peer on port {self.port}", daemon=True)

    def __enter__(self) -> TcpPeer:
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping = True
        self.resume()
        self._waker.send(b"!")
        self._thread.join()
        for line in list(self._lines.values()):
            self._drop(line)
        self._selector.close()
        for each in (self._listener, self._wake, self._waker):
            each.close()
        if self._failure is not None:
            raise self._failure

    def use(self, facility: str) -> dict[str, str]:
        """Use a facility of the server behind the port; may be called from any thread."""
        with self._lock:
            made = self.server.use(facility)
        self._waker.send(b"!")
        return made

    def pause(self) -> None:
        """Give the server no time until `resume`: clients can connect, and what they send waits."""
        self._awake.clear()
        self._waker.send(b"!")

    def resume(self) -> None:
        self._awake.set()

    def restart(self) -> None:
        """Restart the server behind the port; may be called from any thread."""
        with self._lock:
            self.server.restart()
        self._waker.send(b"!")

    def _run(self) -> None:
        try:
            self._loop()
        except Exception as failure:
            # Raised where `with` ends; until then clients see their connections closed.
            self._failure = failure
            for line in list(self._lines.values()):
                self._drop(line)
            self._listener.close()

    def _loop(self) -> None:
        while not self._stopping:
            ready = self._selector.select(self._patience())
            self._awake.wait()
            for key, mask in ready:
                self._serve(key.fileobj, mask)
            with self._lock:
                self._let_time_pass()

    def _serve(self, ready: object, mask: int) -> None:
        if ready is self._listener:
            self._accept()
        elif ready is self._wake:
            self._wake.recv(4096)
        elif isinstance(ready, socket.socket) and (line := self._lines.get(ready)) is not None:
            if mask & selectors.EVENT_READ:
                self._read(line)
            if mask & selectors.EVENT_WRITE and ready in self._lines:
                self._write(line)

    def _accept(self) -> None:
        try:
            accepted, _ = self._listener.accept()
        except OSError:
            # The client gave up before we came.
            return
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        try:
            with self._lock:
                line = _Line(accepted, self.server.connect(time.monotonic()))
        except Unreachable:
            # Nobody is there behind us: the client sees its connection end.
            accepted.close()
            return
        except Exception:
            accepted.close()
            raise
        self._lines[accepted] = line
        self._selector.register(accepted, selectors.EVENT_READ)

    def _read(self, line: _Line) -> None:
        try:
            octets = line.socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            octets = b""
        if not octets and line.finished:
            line.peer.hang_up()
            self._drop(line)
        elif not octets:
            # Nothing more can come: watching on would report the end again and again.
            self._watch(line, reading=False)
            self._schedule(line, True, b"")
        else:
            self._schedule(line, True, octets)

    def _schedule(self, line: _Line, inwards: bool, octets: bytes) -> None:
        self._scheduled += 1
        heapq.heappush(self._due, (time.monotonic() + self.latency, self._scheduled, line, inwards, octets))

    def _let_time_pass(self) -> None:
        now = time.monotonic()
        for line in list(self._lines.values()):
            timer = line.peer.next_timer()
            if timer is not None and timer <= now:
                line.peer.tick(now)
        self._deliver(now)
        # Timers only once: a peer that always has one due must not keep the others from being served.
        while not self.latency and self._due and time.monotonic() < now + TURN:
            self._deliver(time.monotonic())

    def _deliver(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            _, _, line, inwards, octets = heapq.heappop(self._due)
            self._arrive(line, inwards, octets)
        for line in list(self._lines.values()):
            self._collect(line)
            self._hold(line)

    def _hold(self, line: _Line) -> None:
        full = line.holding is not None and line.holding.full
        if full is not line.held and line.socket in self._lines and not line.heard:
            line.held = full
            self._watch(line, reading=not full)

    def _arrive(self, line: _Line, inwards: bool, octets: bytes) -> None:
        if line.socket not in self._lines:
            return
        if not inwards:
            line.unsent += octets
            self._write(line)
        elif octets:
            line.peer.receive(octets)
            if line.finished and line.peer.closed == "rst":
                self._reset(line)
        elif isinstance(line.peer, HalfClosing) and not line.said:
            line.heard = True
            line.peer.end_of_stream()
        else:
            line.peer.hang_up()
            self._drop(line)

    def _collect(self, line: _Line) -> None:
        if len(line.unsent) >= BACKED_UP:
            return  # the client does not read: the peer must notice it
        octets = line.peer.take()
        if octets:
            self._schedule(line, False, octets)
        elif line.peer.closed and not line.said:
            line.said = True
            self._schedule(line, False, b"")

    def _write(self, line: _Line) -> None:
        try:
            while line.unsent:
                del line.unsent[: line.socket.send(line.unsent)]
        except BlockingIOError:
            pass
        except OSError:
            line.peer.hang_up()
            self._drop(line)
            return
        self._watch(line, writing=bool(line.unsent))
        if line.said and not line.unsent and not any(each[2] is line and not each[3] for each in self._due):
            self._finish(line)

    def _finish(self, line: _Line) -> None:
        if line.finished:
            return
        line.finished = True
        if line.peer.closed == "rst":
            self._reset(line)
            return
        if line.heard:
            self._drop(line)
            return
        # Shut, but go on reading: closing with octets unread sends RST, which may cost the client the end.
        try:
            line.socket.shutdown(socket.SHUT_WR)
        except OSError:  # the client's end has come already
            line.peer.hang_up()
            self._drop(line)

    def _reset(self, line: _Line) -> None:
        line.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._drop(line)

    def _watch(self, line: _Line, reading: bool | None = None, writing: bool | None = None) -> None:
        try:
            now = self._selector.get_key(line.socket).events
        except KeyError:
            now = 0
        wanted = now
        for mask, wish in ((selectors.EVENT_READ, reading), (selectors.EVENT_WRITE, writing)):
            if wish is not None:
                wanted = wanted | mask if wish else wanted & ~mask
        if wanted == now:
            return
        if not wanted:
            self._selector.unregister(line.socket)
        elif not now:
            self._selector.register(line.socket, wanted)
        else:
            self._selector.modify(line.socket, wanted)

    def _drop(self, line: _Line) -> None:
        if self._lines.pop(line.socket, None) is not None:
            self._watch(line, reading=False, writing=False)
            line.socket.close()

    def _patience(self) -> float | None:
        times = [self._due[0][0]] if self._due else []
        with self._lock:
            for line in self._lines.values():
                timer = line.peer.next_timer()
                if timer is not None:
                    times.append(timer)
        return min(max(0.0, min(times) - time.monotonic()), LONGEST) if times else None
