"""The codec beside `pamqp`, measured in one run: the same octets, all fields read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import HEADER, ContentHeader, Frame, FrameReader, method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Connection, Queue
from harness.trials.benchmark import Figure

REPEAT = 5
NUMBER = 4000

ARGUMENTS = {"x-expires": 60000, "x-max-length": 1000, "x-mode": "lazy", "x-flag": True, "x-none": None}
PROPERTIES = {"product": "a broker", "version": "1.0", "capabilities": {"basic.nack": True, "confirm": True}}
SAMPLES: dict[str, Method] = {
    "basic.deliver": Basic.Deliver("ctag1.0123456789abcdef", 4711, True, "an-exchange", "a.routing.key"),
    "basic.publish": Basic.Publish("an-exchange", "a.routing.key", mandatory=True),
    "queue.declare with arguments": Queue.Declare("a-queue", durable=True, arguments=ARGUMENTS),
    "connection.start": Connection.Start(0, 9, PROPERTIES, b"PLAIN AMQPLAIN", b"en_US"),
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
    """Decode and encode of typical frames, ours and pamqp's. Yields nothing where pamqp is not installed."""
    try:
        from pamqp import frame as theirs
        from pamqp import header as their_header
    except ImportError:
        return
    for name, method in SAMPLES.items():
        octets = method_frame(1, method).encode()
        parsed = theirs.unmarshal(octets)[2]
        yield Figure(
            f"decode {name}", microseconds(lambda o=octets: _decode(o)),  # type: ignore[misc]
            "pamqp", microseconds(lambda o=octets: theirs.unmarshal(o)),  # type: ignore[misc]
        )  # fmt: skip
        yield Figure(
            f"encode {name}", microseconds(lambda m=method: method_frame(1, m).encode()),  # type: ignore[misc]
            "pamqp", microseconds(lambda p=parsed: theirs.marshal(p, 1)),  # type: ignore[misc]
        )  # fmt: skip
    properties = Basic.Properties(content_type="text/plain", delivery_mode=2, message_id="4711")
    header = ContentHeader(60, 5, properties)
    octets = Frame(HEADER, 1, header.encode()).encode()
    assert isinstance(theirs.unmarshal(octets)[2], their_header.ContentHeader)
    parsed = theirs.unmarshal(octets)[2]
    yield Figure(
        "decode content header", microseconds(lambda: _header(octets)),
        "pamqp", microseconds(lambda: theirs.unmarshal(octets)),
    )  # fmt: skip
    yield Figure(
        "encode content header", microseconds(lambda: Frame(HEADER, 1, header.encode()).encode()),
        "pamqp", microseconds(lambda: theirs.marshal(parsed, 1)),
    )  # fmt: skip


READER = FrameReader()
"""One reader for all: a connection cuts its whole stream with one."""


def _decode(octets: bytes) -> Method:
    ((_, unit),) = READER.feed(octets)
    assert isinstance(unit, Frame)
    return unit.method()


def _header(octets: bytes) -> ContentHeader:
    ((_, unit),) = READER.feed(octets)
    assert isinstance(unit, Frame)
    return unit.content_header()
