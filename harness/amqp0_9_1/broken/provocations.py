"""What a server does to a client that is judged: words said unasked, late, in pieces, or not at all.

Interposers change what a server says (`harness.amqp0_9_1.broken.deviations`); what is here adds to it, or
changes when it comes. Both stand before the reference peer, in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.amqp0_9_1.broken.deviations import Interposer
from harness.amqp0_9_1.wire.compiled import Method, Properties
from harness.amqp0_9_1.wire.frames import METHOD, Frame, FrameReader, content_frames, method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic
from harness.peers.interposer import Condition, Rule, always
from harness.peers.peer import ConnectionAround, PeerConnection, PeerServer, ServerAround

Said = Method | Frame | bytes | Callable[[int], bytes]
"""A method on the channel of what it follows, a frame, octets, or what a channel's number makes of these."""


def follows(method: type[Method], *said: Said, when: Condition = always, skip: int = 0) -> Interposer:
    """Says something more behind a method of the server without content."""
    return _beside(method, lambda own, more: own + more, said, when, skip)


def precedes(method: type[Method], *said: Said, when: Condition = always, skip: int = 0) -> Interposer:
    """Says something before a method of the server."""
    return _beside(method, lambda own, more: more + own, said, when, skip)


def says_instead(method: type[Method], *said: Said, when: Condition = always, skip: int = 0) -> Interposer:
    """Says something in place of a method of the server, and of what it carries."""
    return _beside(method, lambda _, more: more, said, when, skip, content=True)


def says_back(method: type[Method], answer: Callable[[Method], Method]) -> Interposer:
    """Answers a method of the client's by what `answer` makes of it; the server never sees it."""

    def act(channel: int, met: Any) -> tuple[list[Any], list[Any]]:
        return [], [method_frame(channel, answer(met))]

    return Interposer((Rule(method, False, act),))


def _beside(
    method: type[Method],
    join: Callable[[bytes, bytes], bytes],
    said: tuple[Said, ...],
    when: Condition,
    skip: int,
    content: bool = False,
) -> Interposer:
    def act(channel: int, met: Any) -> tuple[list[Any], list[Any]]:
        own = method_frame(channel, met).encode()
        return [join(own, b"".join(_octets(channel, each) for each in said))], []

    return Interposer((Rule(method, True, act, when, skip, content),))


def _octets(channel: int, said: Said) -> bytes:
    if isinstance(said, bytes):
        return said
    if isinstance(said, Frame):
        return said.encode()
    return said(channel) if callable(said) else method_frame(channel, said).encode()


def carried(
    method: Method, body: bytes = b"", properties: Properties | None = None, frame_max: int = 4096
) -> Callable[[int], bytes]:
    """Give a method with its content, on the channel of what it is said beside."""
    told = Basic.Properties() if properties is None else properties
    return lambda channel: b"".join(
        frame.encode() for frame in content_frames(channel, method, told, body, frame_max)
    )


@dataclass(frozen=True, slots=True)
class Timing:
    """When what the server says goes out; the method is met once, after `skip` of them.

    From `method` on (that one `included`) all is held back for `seconds`; with None for ever. `ends` closes
    the socket there instead: "fin" or "rst". `piece` is how many octets go at once, all of them unless given.
    """

    method: type[Method] | None = None
    seconds: float | None = None
    ends: str = ""
    included: bool = True
    skip: int = 0
    piece: int = 0

    def before(self, server: PeerServer) -> PeerServer:
        """Make a server whose connections say what they say so."""
        return _Server(self, server)


def delays(method: type[Method], seconds: float, skip: int = 0) -> Timing:
    """Says a method, and all that follows, so many seconds late."""
    return Timing(method, seconds, skip=skip)


def falls_silent(after: type[Method], skip: int = 0) -> Timing:
    """Says nothing more after a method, not even a heartbeat; the socket stays open."""
    return Timing(after, None, included=False, skip=skip)


def says_nothing_from(method: type[Method], skip: int = 0) -> Timing:
    """Says neither a method nor anything that follows; the socket stays open."""
    return Timing(method, None, skip=skip)


def hangs_up(method: type[Method], how: str = "fin", included: bool = True, skip: int = 0) -> Timing:
    """Closes the socket where it should say a method, or right after that where it is not `included`."""
    return Timing(method, ends=how, included=included, skip=skip)


def in_pieces(octets: int = 1) -> Timing:
    """Says everything so many octets at a time."""
    return Timing(piece=octets)


class _Server(ServerAround):
    def __init__(self, timing: Timing, server: PeerServer) -> None:
        super().__init__(server)
        self._timing = timing

    def around(self, connection: PeerConnection) -> PeerConnection:
        return _Timed(self._timing, connection)


_NOW = float("-inf")


class _Timed(ConnectionAround):
    """A server's connection whose words come when a Timing says."""

    def __init__(self, timing: Timing, inner: PeerConnection) -> None:
        super().__init__(inner)
        self._timing = timing
        self._reader = FrameReader(limit=16 << 20)
        self._met = 0
        self._ready, self._held = bytearray(), bytearray()
        self._due: float | None = None
        """When what is held back may go; `_NOW` while nobody has told the time yet."""
        self._stopped = False
        self._ended = ""

    @property
    def closed(self) -> str | None:
        return None if self._ready else self._ended or (None if self._stopped else self.inner.closed)

    def take(self) -> bytes:
        self._fill()
        piece = self._timing.piece or len(self._ready)
        octets = bytes(self._ready[:piece])
        del self._ready[:piece]
        return octets

    def _fill(self) -> None:
        for raw, unit in self._reader.feed(self.inner.take()):
            if self._stopped:
                self._held += raw
                continue
            if not self._meets(unit):
                self._ready += raw
                continue
            self._stopped = True
            self._ended = self._timing.ends
            self._due = None if self._timing.seconds is None else _NOW
            (self._held if self._timing.included else self._ready).extend(raw)

    def _meets(self, unit: object) -> bool:
        kind = self._timing.method
        if kind is None or not isinstance(unit, Frame) or unit.type != METHOD:
            return False
        if unit.payload[:4] != kind.key.to_bytes(4):
            return False
        self._met += 1
        return self._met == self._timing.skip + 1

    def receive(self, octets: bytes) -> None:
        if not self._ended:
            self.inner.receive(octets)

    def next_timer(self) -> float | None:
        inner = self.inner.next_timer()
        return inner if self._due is None else self._due if inner is None else min(self._due, inner)

    def tick(self, now: float) -> None:
        if self._due == _NOW:
            self._due = now + (self._timing.seconds or 0.0)
        elif self._due is not None and now >= self._due:
            self._due, self._stopped = None, False
            self._ready += self._held
            self._held.clear()
        self.inner.tick(now)
