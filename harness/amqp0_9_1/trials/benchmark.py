"""The codec beside `pamqp`, measured in one run: the same octets, all fields read."""

from collections.abc import Iterator
from functools import partial

from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import (
    HEADER,
    PROTOCOL_HEADER,
    ContentHeader,
    Frame,
    FrameReader,
    content_frames,
    method_frame,
)
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Connection, Queue
from harness.trials.benchmark import Figure, beside
from harness.wire.journal import Direction
from harness.wire.transcript import Piece

PEER = "pamqp"

ARGUMENTS = {"x-expires": 60000, "x-max-length": 1000, "x-mode": "lazy", "x-flag": True, "x-none": None}
PROPERTIES = {"product": "a broker", "version": "1.0", "capabilities": {"basic.nack": True, "confirm": True}}
SAMPLES: dict[str, Method] = {
    "basic.deliver": Basic.Deliver("ctag1.0123456789abcdef", 4711, True, "an-exchange", "a.routing.key"),
    "basic.publish": Basic.Publish("an-exchange", "a.routing.key", mandatory=True),
    "queue.declare with arguments": Queue.Declare("a-queue", durable=True, arguments=ARGUMENTS),
    "connection.start": Connection.Start(0, 9, PROPERTIES, b"PLAIN AMQPLAIN", b"en_US"),
}


def packets(count: int) -> Iterator[Piece]:
    """Yield so many packets, 1 ms apart, by turns a content and its acknowledgement."""
    spoken = (
        (Direction.SENT, PROTOCOL_HEADER),
        (Direction.RECEIVED, _framed(0, SAMPLES["connection.start"])),
        (Direction.SENT, _framed(0, Connection.StartOk({}, "PLAIN", b"", "en_US"))),
        (Direction.RECEIVED, _framed(0, Connection.Tune(2047, 131072, 60))),
        (Direction.SENT, _framed(0, Connection.TuneOk(2047, 131072, 60))),
        (Direction.SENT, _framed(0, Connection.Open("/"))),
        (Direction.RECEIVED, _framed(0, Connection.OpenOk())),
        (Direction.SENT, _framed(1, Channel.Open())),
        (Direction.RECEIVED, _framed(1, Channel.OpenOk())),
        (Direction.SENT, _framed(1, Basic.Consume("a-queue"))),
        (Direction.RECEIVED, _framed(1, Basic.ConsumeOk("ctag1"))),
    )
    properties = Basic.Properties(content_type="text/plain", delivery_mode=2)
    for number in range(count):
        if number < len(spoken):
            yield (number * 1e-3, *spoken[number])
        elif number % 2:
            method = Basic.Deliver("ctag1", number, False, "an-exchange", "a.routing.key")
            frames = content_frames(1, method, properties, bytes(200), 131072)
            yield number * 1e-3, Direction.RECEIVED, b"".join(frame.encode() for frame in frames)
        else:
            yield number * 1e-3, Direction.SENT, _framed(1, Basic.Ack(number - 1))


def _framed(channel: int, method: Method) -> bytes:
    return method_frame(channel, method).encode()


def figures() -> Iterator[Figure]:
    """Measure decode and encode of typical frames, ours and pamqp's. Yields nothing without pamqp."""
    try:
        from pamqp import frame as theirs
        from pamqp import header as their_header
    except ImportError:
        return
    for name, method in SAMPLES.items():
        octets = method_frame(1, method).encode()
        parsed = theirs.unmarshal(octets)[2]
        encode, marshal = partial(_encode, method), partial(theirs.marshal, parsed, 1)
        yield beside(f"decode {name}", partial(_decode, octets), PEER, partial(theirs.unmarshal, octets))
        yield beside(f"encode {name}", encode, PEER, marshal)
    properties = Basic.Properties(content_type="text/plain", delivery_mode=2, message_id="4711")
    header = ContentHeader(60, 5, properties)
    octets = Frame(HEADER, 1, header.encode()).encode()
    parsed = theirs.unmarshal(octets)[2]
    assert isinstance(parsed, their_header.ContentHeader)
    unmarshal, marshal = partial(theirs.unmarshal, octets), partial(theirs.marshal, parsed, 1)
    yield beside("decode content header", partial(_header, octets), PEER, unmarshal)
    yield beside("encode content header", partial(_encode_header, header), PEER, marshal)


def _encode(method: Method) -> bytes:
    return method_frame(1, method).encode()


def _encode_header(header: ContentHeader) -> bytes:
    return Frame(HEADER, 1, header.encode()).encode()


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
