"""The codec beside Qpid Proton's, measured in one run: the same octets, all fields read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any

from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import Frame, FrameReader, amqp_frame
from harness.amqp1_0.wire.performatives import Attach, Begin, Open, Role, Source, Target, Transfer
from harness.trials.benchmark import Figure, beside

PEER = "qpid-proton"

PROPERTIES = {"product": "a broker", "version": "1.0", "platform": "Linux", "pid": 4711}
SAMPLES: dict[str, Composite] = {
    "open": Open("a-container", "localhost", 65536, 255, 30000, properties=PROPERTIES),
    "begin": Begin(0, 1, 2048, 2048, 255),
    "attach": Attach("a-link", 0, Role.SENDER, source=Source("a-queue"), target=Target("a-queue")),
    "transfer": Transfer(0, 4711, b"\0\0\x12\x67", 0, settled=False, more=False),
}


def figures() -> Iterator[Figure]:
    """Decode and encode of typical performatives. Yields nothing where Proton's binding is not installed."""
    try:
        # By name: the type checker need not have it.
        data = import_module("proton").Data
    except ImportError:
        return
    for name, performative in SAMPLES.items():
        frame = amqp_frame(0, performative)
        octets, body = frame.encode(), frame.body
        parsed = _theirs(data, body)
        yield beside(f"decode {name}", partial(_decode, octets), PEER, partial(_theirs, data, body))
        encode, written = partial(_encode, performative), partial(_written, data, parsed)
        yield beside(f"encode {name}", encode, PEER, written)


def _encode(performative: Composite) -> bytes:
    return amqp_frame(0, performative).encode()


READER = FrameReader()
"""One reader for all: a connection cuts its whole stream with one."""


def _decode(octets: bytes) -> Composite | None:
    ((_, unit),) = READER.feed(octets)
    assert isinstance(unit, Frame)
    return unit.performative()


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
