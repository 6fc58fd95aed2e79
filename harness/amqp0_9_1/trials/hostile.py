"""Servers that mean harm to a 0-9-1 client: as data (`harness.trials.hostile`), and in place of a transport.

The latter is mostly agreeable, so that the client gets far, and says anything then.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import repeat

from harness.amqp0_9_1.broken.fakes import agree, answered
from harness.amqp0_9_1.trials import odd
from harness.amqp0_9_1.wire.frames import (
    BODY,
    HEARTBEAT,
    METHOD,
    ContentHeader,
    Frame,
    FrameReader,
    RawFrame,
    method_frame,
)
from harness.amqp0_9_1.wire.frames import HEADER as CONTENT_HEADER
from harness.amqp0_9_1.wire.vocabulary import Basic, Connection, Queue
from harness.trials import hostile_transport
from harness.trials.fuzz import Draws
from harness.trials.hostile import ANYWHERE, PIECE, Hostile, for_ever, once

OPENED = Connection.OpenOk().encode()
"""What an honest peer says at the end of the handshake."""


def _drip() -> Iterator[bytes]:
    while True:
        for octet in method_frame(0, Connection.Start(0, 9, {}, b"PLAIN", b"en_US")).encode():
            yield bytes((octet,))


def _huge() -> Iterator[bytes]:
    yield RawFrame(METHOD, 0, size=0xFFFFFFFF, end=b"").encode()
    yield from repeat(bytes(PIECE))


def _endless_body() -> Iterator[bytes]:
    method = Basic.Deliver("tag", 1, False, "", "key")
    header = ContentHeader(Basic.Properties.class_index, 1 << 62, Basic.Properties())
    yield method_frame(1, method).encode() + Frame(CONTENT_HEADER, 1, header.encode()).encode()
    yield from repeat(Frame(BODY, 1, bytes(PIECE)).encode())


def _nested(depth: int) -> bytes:
    table = b""
    for _ in range(depth):
        table = b"\x01aF" + len(table).to_bytes(4) + table
    start = Connection.Start(0, 9, {}, b"PLAIN", b"en_US").encode()
    return RawFrame(METHOD, 0, start[:6] + len(table).to_bytes(4) + table + start[10:]).encode()


_DELIVERY = (
    method_frame(1, Basic.Deliver("tag", 1, False, "", "key")),
    Frame(CONTENT_HEADER, 1, ContentHeader(Basic.Properties.class_index, 1, Basic.Properties()).encode()),
    Frame(BODY, 1, b"x"),
)

HOSTILE: Mapping[str, Hostile] = {
    **ANYWHERE,
    "amqp-1-0": Hostile("speaks AMQP 1.0 only", once(b"AMQP\x00\x01\x00\x00"), ends="fin"),
    "drip": Hostile("says one octet per second", _drip, pace=1.0),
    "heartbeats": Hostile("sends heartbeats for ever", for_ever(Frame(HEARTBEAT, 0, b""))),
    "channel-0": Hostile(
        "sends methods on channel 0 for ever", for_ever(method_frame(0, Connection.Secure(b"x"))),
    ),
    "other-channels": Hostile(
        "sends methods on other channels for ever",
        for_ever(*(method_frame(number, Queue.BindOk()) for number in range(2000, 2100))),
    ),
    "deliveries": Hostile("sends messages nobody asked for, for ever", for_ever(*_DELIVERY)),
    "endless-body": Hostile("sends one message without end", _endless_body),
    "4-gib": Hostile("announces a frame of 4 GiB and begins it", _huge),
    "nested": Hostile("nests tables 20000 deep", once(_nested(20_000))),
}  # fmt: skip
"""The hostile peers by name."""

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
    """A transport whose other end decides by `draws`, and is mostly a fake that agrees to everything."""

    def __init__(self, draws: Draws) -> None:
        super().__init__(draws, odd.unit, ENDLESS, FrameReader(), partial(answered, agree))
