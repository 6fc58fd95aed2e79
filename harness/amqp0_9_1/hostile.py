"""A hostile server in place of a transport: mostly agreeable, so that the client gets far, then anything."""

from __future__ import annotations

from harness.amqp0_9_1 import odd
from harness.amqp0_9_1.fakes import START, agree
from harness.amqp0_9_1.frames import METHOD, Frame, FrameReader, Header, method_frame
from harness.amqp0_9_1.tables import DecodeError
from harness.amqp0_9_1.vocabulary import Basic, Connection
from harness.fuzz import Draws
from harness.transport import End

LATENCY = 0.125
"""Seconds that pass with everything received, so that time never stands still."""
ENDLESS = (
    b"\x08\0\0\0\0\0\0\xce",
    method_frame(0, Connection.Tune(0, 4096, 0)).encode(),
    b"".join(
        each.encode()
        for each in (
            method_frame(1, Basic.Deliver("t", 1)),
            Frame(2, 1, b"\0\x3c" + bytes(12)),
        )
    ),
    method_frame(1, Basic.Deliver("t", 1)).encode()
    + Frame(2, 1, b"\0\x3c\0\0" + b"\xff" * 8 + b"\0\0").encode(),
    Frame(3, 1, b"octets").encode(),
    method_frame(1, Basic.GetEmpty()).encode(),
    b"A",
)
"""What it may say again and again."""


class HostileTransport:
    """A transport whose other end decides by `draws`. Its clock passes with what is received."""

    endpoint = "hostile"

    def __init__(self, draws: Draws) -> None:
        self._draws = draws
        self._time = 0.0
        self._reader = FrameReader()
        self._says: list[bytes] = []
        self._endless = b""
        self._end: End | None = None
        self.said = 0
        """Octets it has said so far."""
        self.pieces = 0
        """Pieces they came in."""
        self.closed = False
        """Whether the client has closed its side."""

    def now(self) -> float:
        """Seconds on a clock of its own."""
        return self._time

    def send(self, octets: bytes) -> bool:
        """Hear what the client says, and agree unless the draws are against it."""
        for _, unit in self._reader.feed(octets):
            if isinstance(unit, Header):
                self._say(method_frame(0, START).encode())
            elif isinstance(unit, Frame) and unit.type == METHOD:
                try:
                    heard = unit.method()
                except DecodeError:
                    continue
                self._say(b"".join(each.encode() for each in agree(unit.channel, heard)))
        return self._end is None

    def _say(self, agreeable: bytes) -> None:
        draws = self._draws
        choice = draws.number()
        if choice < 128:
            self._says.append(agreeable)
        elif choice < 192:
            before, after = odd.unit(draws), odd.unit(draws) if choice & 1 else b""
            self._says += draws.cut(before + agreeable + after)
        elif choice < 216:
            self._says += draws.cut(odd.unit(draws))
        elif choice < 232:
            octets = bytearray(agreeable or b"\0")
            octets[draws.number() % len(octets)] = draws.number()
            self._says.append(bytes(octets))
        elif choice < 244:
            self._endless = draws.one_of(ENDLESS)
        elif choice < 250:
            self._says += [agreeable[: draws.number()], b""]
            self._end = draws.one_of(tuple(End))

    def receive(self, deadline: float) -> bytes | End | None:
        """What it says next; else its end, or silence."""
        while self._says:
            if octets := self._says.pop(0):
                return self._heard(octets)
        if self._end is not None:
            return self._end
        if self._endless:
            return self._heard(self._endless)
        self._time = max(self._time, deadline)
        return None

    def _heard(self, octets: bytes) -> bytes:
        self._time += LATENCY
        self.said += len(octets)
        self.pieces += 1
        return octets

    def close(self, reset: bool = False) -> None:  # noqa: ARG002 - it is all the same to it
        """The client is gone, for good or with RST."""
        self.closed = True
