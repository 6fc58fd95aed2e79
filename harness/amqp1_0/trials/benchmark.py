"""The codec beside Qpid Proton's, measured in one run: the same octets, all fields read."""

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any

from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import AMQP, PROTOCOL_HEADER, Frame, amqp_frame
from harness.amqp1_0.wire.performatives import (
    Accepted,
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    Role,
    Source,
    Target,
    Transfer,
)
from harness.trials.benchmark import Figure, beside
from harness.wire.journal import Direction
from harness.wire.transcript import Piece

PEER = "qpid-proton"

PROPERTIES = {"product": "a broker", "version": "1.0", "platform": "Linux", "pid": 4711}
SAMPLES: dict[str, Composite] = {
    "open": Open("a-container", "localhost", 65536, 255, 30000, properties=PROPERTIES),
    "begin": Begin(0, 1, 2048, 2048, 255),
    "attach": Attach("a-link", 0, Role.SENDER, source=Source("a-queue"), target=Target("a-queue")),
    "flow": Flow(4711, 2048, 0, 2048, 0, 4711, 100),
    "transfer": Transfer(0, 4711, b"\0\0\x12\x67", 0, settled=False, more=False),
    "disposition": Disposition(Role.RECEIVER, 4711, 4720, settled=True, state=Accepted()),
    "detach": Detach(0, closed=True),
    "end": End(),
    "close": Close(),
}
"""Each performative as it is typically said."""


def packets(count: int) -> Iterator[Piece]:
    """Yield so many packets, 1 ms apart, by turns a message and its settlement."""
    opening = [
        PROTOCOL_HEADER,
        *(amqp_frame(0, SAMPLES[name]).encode() for name in ("open", "begin", "attach")),
    ]
    for number in range(count):
        at, way = number * 1e-3, Direction.RECEIVED if number % 2 else Direction.SENT
        if number < 2 * len(opening):
            yield at, way, opening[number // 2]
        elif way is Direction.RECEIVED:
            transfer = Transfer(0, number, number.to_bytes(8), 0, settled=False, more=False)
            yield at, way, amqp_frame(0, transfer, bytes(200)).encode()
        else:
            settled = Disposition(Role.RECEIVER, number - 1, settled=True, state=Accepted())
            yield at, way, amqp_frame(0, settled).encode()


def figures() -> Iterator[Figure]:
    """Measure decode and encode of typical performatives. Yields nothing without Proton's binding."""
    try:
        # By name: the type checker need not have it.
        data = import_module("proton").Data
    except ImportError:
        return
    # Bodies alone: frames are cut and put together by neither side.
    for name, performative in SAMPLES.items():
        body = performative.encode()
        parsed = _theirs(data, body)
        yield beside(f"decode {name}", partial(_decode, body), PEER, partial(_theirs, data, body))
        yield beside(f"encode {name}", performative.encode, PEER, partial(_written, data, parsed))


def _decode(body: bytes) -> Composite | None:
    return Frame(AMQP, 0, body).performative()


def _theirs(data: Any, octets: bytes) -> Any:
    read = data()
    read.decode(octets)
    read.rewind()
    read.next()
    return read.get_object()


def _written(data: Any, parsed: Any) -> Any:
    made = data()
    made.put_object(parsed)
    return made.encode()
