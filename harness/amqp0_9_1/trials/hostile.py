"""A hostile server in place of a transport: mostly agreeable, so that the client gets far, then anything."""

from __future__ import annotations

from collections.abc import Iterator

from harness.amqp0_9_1.broken.fakes import START, agree
from harness.amqp0_9_1.trials import odd
from harness.amqp0_9_1.wire.field_tables import DecodeError
from harness.amqp0_9_1.wire.frames import METHOD, Frame, FrameReader, Header, method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Connection
from harness.trials import hostile_transport
from harness.trials.fuzz import Draws

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


class HostileTransport(hostile_transport.HostileTransport):
    """A transport whose other end decides by `draws`."""

    def __init__(self, draws: Draws) -> None:
        super().__init__(draws, odd.unit, ENDLESS)
        self._reader = FrameReader()

    def agreeable(self, octets: bytes) -> Iterator[bytes]:
        """Start to a header, the answer of success to a method."""
        for _, unit in self._reader.feed(octets):
            if isinstance(unit, Header):
                yield method_frame(0, START).encode()
            elif isinstance(unit, Frame) and unit.type == METHOD:
                try:
                    heard = unit.method()
                except DecodeError:
                    continue
                yield b"".join(each.encode() for each in agree(unit.channel, heard))
