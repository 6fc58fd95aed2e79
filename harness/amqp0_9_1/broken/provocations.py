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
from harness.peers.timing import Protocol, Words

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


def _meets(unit: Any, at: type[Method], when: Condition) -> bool:
    if not isinstance(unit, Frame) or unit.type != METHOD:
        return False
    return unit.payload[:4] == at.key.to_bytes(4) and when(unit.method())


_WORDS: Words[type[Method]] = Words(Protocol(lambda: FrameReader(limit=16 << 20), _meets))
delays = _WORDS.delays
falls_silent = _WORDS.falls_silent
says_nothing_from = _WORDS.says_nothing_from
hangs_up = _WORDS.hangs_up
in_pieces = _WORDS.in_pieces


# -- without end ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flood:
    """Says something over and over `behind` a method of its own, `most` times, `until` the client says one.

    `said` makes it of the channel and that method. It is said `every` so many seconds, and later to a client
    that does not take it so fast.
    """

    behind: type[Method]
    said: Callable[[int, Any], bytes]
    until: type[Method]
    most: int
    every: float

    def before(self, server: PeerServer) -> PeerServer:
        """Make a server whose connections say it."""
        return _Flooding(self, server)


class _Flooding(ServerAround):
    def __init__(self, flood: Flood, server: PeerServer) -> None:
        super().__init__(server)
        self._flood = flood

    def around(self, connection: PeerConnection) -> PeerConnection:
        return _Flooded(self._flood, connection)


class _Flooded(ConnectionAround):
    """A server's connection that says something over and over."""

    def __init__(self, flood: Flood, inner: PeerConnection) -> None:
        super().__init__(inner)
        self._flood = flood
        self._own, self._clients = FrameReader(limit=16 << 20), FrameReader(limit=16 << 20)
        self._left, self._said, self._due, self._is_due = 0, b"", float("-inf"), False

    def take(self) -> bytes:
        if octets := self.inner.take():
            for _, unit in self._own.feed(octets):
                if isinstance(unit, Frame) and _meets(unit, self._flood.behind, always):
                    self._left, self._said = self._flood.most, self._flood.said(unit.channel, unit.method())
            return octets
        if not (self._left and self._is_due):
            return b""
        self._left, self._is_due = self._left - 1, False
        return self._said

    def receive(self, octets: bytes) -> None:
        if any(_meets(unit, self._flood.until, always) for _, unit in self._clients.feed(octets)):
            self._left = 0
        self.inner.receive(octets)

    def next_timer(self) -> float | None:
        inner = self.inner.next_timer()
        return inner if not self._left else self._due if inner is None else min(self._due, inner)

    def tick(self, now: float) -> None:
        if self._left and now >= self._due:
            self._due, self._is_due = now + self._flood.every, True
        self.inner.tick(now)
