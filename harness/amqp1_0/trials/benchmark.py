"""The codec beside Qpid Proton's, measured in one run: the same octets, all fields read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import Frame, FrameReader, amqp_frame
from harness.amqp1_0.wire.performatives import Attach, Begin, Open, Role, Source, Target, Transfer
from harness.trials.benchmark import Figure

REPEAT = 5
NUMBER = 2000
PEER = "qpid-proton"

PROPERTIES = {"product": "a broker", "version": "1.0", "platform": "Linux", "pid": 4711}
SAMPLES: dict[str, Composite] = {
    "open": Open("a-container", "localhost", 65536, 255, 30000, properties=PROPERTIES),
    "begin": Begin(0, 1, 2048, 2048, 255),
    "attach": Attach("a-link", 0, Role.SENDER, source=Source("a-queue"), target=Target("a-queue")),
    "transfer": Transfer(0, 4711, b"\0\0\x12\x67", 0, settled=False, more=False),
}


def microseconds(work: Callable[[], object]) -> float:
    """The shortest of several timings of `work`, in microseconds for one call."""
    best = float("inf")
    for _ in range(REPEAT):
        began = time.perf_counter()
        for _ in range(NUMBER):
            work()
        best = min(best, time.perf_counter() - began)
    return best / NUMBER * 1e6


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
        yield Figure(
            f"decode {name}", microseconds(lambda o=octets: _decode(o)),  # type: ignore[misc]
            PEER, microseconds(lambda o=body: _theirs(data, o)),  # type: ignore[misc]
        )  # fmt: skip
        yield Figure(
            f"encode {name}", microseconds(lambda p=performative: amqp_frame(0, p).encode()),  # type: ignore[misc]
            PEER, microseconds(lambda p=parsed: _written(data, p)),  # type: ignore[misc]
        )  # fmt: skip


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
