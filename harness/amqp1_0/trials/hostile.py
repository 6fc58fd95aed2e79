"""Servers that mean harm to a 1.0 client: as data (see harness.trials.hostile), and in place of a transport.

The latter is mostly agreeable, so that the client gets far, and says anything then.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import repeat

from harness.amqp1_0.broken.fakes import OFFERED, OPEN, agree, answered
from harness.amqp1_0.trials import odd
from harness.amqp1_0.wire.frames import (
    PROTOCOL_HEADER,
    SASL_HEADER,
    Frame,
    FrameReader,
    RawFrame,
    amqp_frame,
    empty_frame,
    sasl_frame,
)
from harness.amqp1_0.wire.generated import code_of
from harness.amqp1_0.wire.performatives import Attach, Begin, Close, Flow, Open, Role, SaslChallenge, Transfer
from harness.amqp1_0.wire.types import As
from harness.trials import hostile_transport
from harness.trials.fuzz import Draws
from harness.trials.hostile import ANYWHERE, PIECE, Hostile, for_ever, once

OPENED = b"\0\x53\x10"
"""What an honest peer's open begins with: behind it the handshake is done."""
DEEP = 1 << 20
"""Descriptors in descriptors, one octet each."""
MOST = 0xFFFFFFFF
"""The largest count there is."""
_MAP32, _LIST32, _ARRAY32 = (code_of(kind, 4) for kind in ("map", "list", "array"))


def _drip() -> Iterator[bytes]:
    for octet in SASL_HEADER + sasl_frame(OFFERED).encode():
        yield bytes((octet,))
    while True:
        for octet in sasl_frame(SaslChallenge(b"x")).encode():
            yield bytes((octet,))


def _challenges() -> Iterator[bytes]:
    yield SASL_HEADER + sasl_frame(OFFERED).encode()
    yield from for_ever(sasl_frame(SaslChallenge(b"x")))()


def _huge() -> Iterator[bytes]:
    yield SASL_HEADER + RawFrame(size=MOST).encode()
    yield from repeat(bytes(PIECE))


def _frames_of_descriptors() -> Iterator[bytes]:
    yield SASL_HEADER
    yield from repeat(Frame(1, 0, bytes(PIECE)).encode())


def _nested(depth: int) -> bytes:
    value = b"\x45"
    for _ in range(depth):
        size = len(value) + 4
        value = bytes((_LIST32,)) + size.to_bytes(4) + (1).to_bytes(4) + value
    pairs = b"\xa3\x01a" + value
    return amqp_frame(0, Open("deep", properties=As(_MAP32, pairs, count=2))).encode()


def _counting(code: int, items: bytes) -> bytes:
    return amqp_frame(0, Open("many", properties=As(code, items, count=MOST))).encode()


_TRANSFER = amqp_frame(0, Transfer(0, 0, b"tag", 0, more=True), bytes(1024))
_UNASKED = (
    amqp_frame(0, Begin(None, 0, 1, 1)),
    amqp_frame(0, Attach("a-link", 0, Role.SENDER, initial_delivery_count=0)),
    _TRANSFER,
)

HOSTILE: Mapping[str, Hostile] = {
    **ANYWHERE,
    "amqp-0-9-1": Hostile("speaks AMQP 0-9-1 only", once(b"AMQP\x00\x00\x09\x01"), ends="fin"),
    "drip": Hostile("says one octet per second", _drip, pace=1.0),
    "challenges": Hostile("challenges for ever", _challenges),
    "empty-frames": Hostile("sends empty frames for ever", for_ever(empty_frame())),
    "opens": Hostile("sends opens for ever", for_ever(amqp_frame(0, OPEN))),
    "flows": Hostile("sends flows for ever", for_ever(amqp_frame(0, Flow(0, 1, 0, 1)))),
    "other-channels": Hostile(
        "begins sessions for ever", for_ever(*(amqp_frame(n, Begin(None, 0, 1, 1)) for n in range(100))),
    ),
    "transfers": Hostile("sends messages nobody asked for, for ever", for_ever(*_UNASKED)),
    "endless-delivery": Hostile("sends one message without end", for_ever(_TRANSFER)),
    "4-gib": Hostile("announces a frame of 4 GiB and begins it", _huge),
    "nested": Hostile("nests lists 20000 deep", once(PROTOCOL_HEADER, _nested(20_000))),
    "descriptors": Hostile(
        "describes descriptors without end", once(PROTOCOL_HEADER, Frame(0, 0, bytes(DEEP)).encode())
    ),
    "frames-of-descriptors": Hostile("describes descriptors in frames for ever", _frames_of_descriptors),
    "huge-map": Hostile("counts 2^32 - 1 items in a map", once(PROTOCOL_HEADER, _counting(_MAP32, b""))),
    "huge-list": Hostile(
        "counts 2^32 - 1 items in a list", once(PROTOCOL_HEADER, _counting(_LIST32, b"\x40" * 16))
    ),
    "huge-array": Hostile(
        "counts 2^32 - 1 items without width in an array",
        once(PROTOCOL_HEADER, _counting(_ARRAY32, b"\x40")),
    ),
}  # fmt: skip
"""The hostile peers by name."""

ENDLESS = (
    empty_frame().encode(),
    amqp_frame(0, OPEN).encode(),
    amqp_frame(0, Flow(0, 1, 0, 1)).encode(),
    amqp_frame(3, Begin(0, 0, 1, 1)).encode(),
    _TRANSFER.encode(),
    amqp_frame(0, Close()).encode(),
    sasl_frame(SaslChallenge(b"x")).encode(),
    Frame(0, 0, bytes(4096)).encode(),
    PROTOCOL_HEADER,
    b"A",
)
"""What it may say again and again."""


class HostileTransport(hostile_transport.HostileTransport):
    """A transport whose other end decides by `draws`, and is mostly a fake that agrees to everything."""

    def __init__(self, draws: Draws) -> None:
        super().__init__(draws, odd.unit, ENDLESS, FrameReader(), partial(answered, agree))
