import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.amqp0_9_1.wire.frames import (
    BODY,
    FRAME_END,
    FRAME_MIN_SIZE,
    HEADER,
    HEARTBEAT,
    METHOD,
    OVERHEAD,
    PROTOCOL_HEADER,
    ContentHeader,
    Frame,
    FrameReader,
    RawFrame,
    Unit,
    content_frames,
    method_frame,
)
from harness.amqp0_9_1.wire.vocabulary import Basic, Queue
from harness.tests.streams import both_ways, chunked_alike, damaged, thorough
from harness.wire.tests.wire import refusal_of, units
from harness.wire.units import EncodeError, Garbage


def read(octets: bytes, limit: int = 1 << 20) -> tuple[list[tuple[bytes, Unit]], bytes]:
    reader = FrameReader(limit=limit)
    return list(reader.feed(octets)), reader.rest()


def test_constants_are_the_documents() -> None:
    assert (METHOD, HEADER, BODY, HEARTBEAT) == (1, 2, 3, 8)
    assert (FRAME_END, FRAME_MIN_SIZE) == (0xCE, 4096)
    assert PROTOCOL_HEADER == b"AMQP\0\0\x09\x01"


def test_a_frame_stands_on_the_wire_as_the_document_has_it() -> None:
    octets = bytes.fromhex("01 0102 00000004 003c006f ce")
    assert method_frame(0x102, Basic.RecoverOk()).encode() == octets
    assert read(octets) == ([(octets, Frame(1, 0x102, octets[7:-1]))], b"")
    assert Frame(1, 0x102, octets[7:-1]).method() == Basic.RecoverOk()


# -- malformed on purpose ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "octets"),
    [
        (RawFrame(1, 2, b"ab"), "01 0002 00000002 6162 ce"),
        (RawFrame(9, 65535, b"ab", size=1), "09 ffff 00000001 6162 ce"),
        (RawFrame(1, 0, b"ab", size=4294967295), "01 0000 ffffffff 6162 ce"),
        (RawFrame(1, 0, b"ab", end=b""), "01 0000 00000002 6162"),
        (RawFrame(1, 0, b"", end=b"\0\0"), "01 0000 00000000 0000"),
        (RawFrame(0, 0), "00 0000 00000000 ce"),
    ],
)
def test_a_raw_frame_lies_as_told(frame: RawFrame, octets: str) -> None:
    assert frame.encode() == bytes.fromhex(octets)


@pytest.mark.parametrize(
    "frame",
    [
        RawFrame(256, 0),
        RawFrame(1, 65536),
        RawFrame(1, 0, size=1 << 32),
        RawFrame(1, 0, size=-1),
        RawFrame(1, 0, "text"),  # type: ignore[arg-type]
        Frame(1, -1, b""),
        Frame(1, 0, None),  # type: ignore[arg-type]
    ],
)
def test_what_does_not_fit_a_frame_is_refused(frame: Frame | RawFrame) -> None:
    with pytest.raises(EncodeError):
        frame.encode()


# -- content ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 4088, 4089, 10000])
def test_content_is_cut_to_fit_the_frames(size: int) -> None:
    body = bytes(number % 251 for number in range(size))
    first, header, *bodies = content_frames(
        3, Basic.Publish("e", "k"), Basic.Properties(priority=1), body, 4096
    )
    assert first.method() == Basic.Publish("e", "k")
    assert header.content_header() == ContentHeader(60, size, Basic.Properties(priority=1))
    assert b"".join(frame.payload for frame in bodies) == body
    assert all(frame.type == BODY and 0 < len(frame.payload) <= 4096 - OVERHEAD for frame in bodies)
    assert len(bodies) == -(-size // 4088)
    assert {frame.channel for frame in (first, header, *bodies)} == {3}


def test_no_limit_and_no_room() -> None:
    frames = list(content_frames(1, Basic.Publish(), Basic.Properties(), bytes(1 << 17), 0))
    assert sum(len(frame.payload) for frame in frames[2:]) == 1 << 17
    for too_small in (1, OVERHEAD, -5):
        with pytest.raises(EncodeError, match="no room"):
            list(content_frames(1, Basic.Publish(), Basic.Properties(), b"x", too_small))


# -- reading ----------------------------------------------------------------------------------------------


@thorough
@given(st.lists(units, max_size=5), st.lists(st.integers(0, 400), max_size=8))
def test_any_chunking_gives_the_same_units(whole: list[bytes], cuts: list[int]) -> None:
    for raw, unit in chunked_alike(FrameReader, whole, cuts):
        assert raw == (unit.encode() if isinstance(unit, Frame) else unit.octets)


@thorough
@given(st.lists(units, max_size=2).map(b"".join), damaged(units), st.integers(1, 5))
def test_any_octets_are_units_garbage_or_rest(whole: bytes, broken: bytes, step: int) -> None:
    at_once, seen = both_ways(FrameReader, whole + broken, step)
    # Only how much of the garbage had arrived may differ.
    assert [unit.why if isinstance(unit, Garbage) else unit for unit in seen] == [
        unit.why if isinstance(unit, Garbage) else unit for unit in at_once
    ]
    assert all(not isinstance(unit, Garbage) for unit in seen[:-1])
    for unit in seen:
        if isinstance(unit, Frame):
            for decode in (unit.method, unit.content_header):
                refusal = refusal_of(decode)
                assert refusal is None or 0 <= refusal.offset <= len(unit.payload)


@thorough
@given(st.binary(max_size=30))
def test_random_octets_are_read_or_garbage(octets: bytes) -> None:
    seen, rest = read(octets)
    assert b"".join(raw for raw, _ in seen) + rest == octets


@pytest.mark.parametrize(
    ("octets", "why"),
    [
        (b"\0", "frame type 0 is not defined"),
        (b"\x04\0\0", "frame type 4 is not defined"),
        (b"HTTP/1.1 400", "frame type 72 is not defined"),
        (b"AMQX", "neither a frame nor a protocol header"),
        (b"AB", "neither a frame nor a protocol header"),
        (b"\x01\0\0\0\0\0\x01x\xcd", "the frame ends with 0xcd, not 0xce"),
        (b"\x01\0\0\xff\xff\xff\xff", "4294967303 octets is announced"),
    ],
)
def test_garbage_stops_the_reader(octets: bytes, why: str) -> None:
    reader = FrameReader()
    good = Frame(HEARTBEAT, 0, b"").encode()
    [(raw, first), (last, unit)] = reader.feed(good + octets)
    assert (raw, first, last) == (good, Frame(HEARTBEAT, 0, b""), octets)
    assert isinstance(unit, Garbage)
    assert why in unit.why
    assert unit.octets == octets
    assert list(reader.feed(good)) == []
    assert reader.rest() == good
    assert reader.broken


def test_an_unfinished_unit_is_the_rest() -> None:
    for octets in (b"\x01\0\0", b"AMQP\0", Frame(METHOD, 1, b"abc").encode()[:-1], b""):
        assert read(octets) == ([], octets)


def test_the_limit_counts_the_whole_frame() -> None:
    octets = Frame(BODY, 1, bytes(92)).encode()
    assert len(octets) == 100
    assert isinstance(read(octets, limit=100)[0][0][1], Frame)
    assert isinstance(read(octets, limit=99)[0][0][1], Garbage)


def test_a_flood_after_a_huge_announcement_costs_no_memory() -> None:
    reader = FrameReader(limit=1000)
    flood = bytes(100_000)
    tracemalloc.start()
    try:
        assert len(list(reader.feed(b"\x01\0\0\xff\xff\xff\xff"))) == 1
        for _ in range(20):
            assert list(reader.feed(flood)) == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50_000
    assert len(reader.rest()) == 1000


def test_octets_are_taken_even_when_nobody_looks_at_the_units() -> None:
    reader = FrameReader()
    octets = method_frame(1, Queue.Declare("q")).encode()
    reader.feed(octets[:5])
    assert [unit for _, unit in reader.feed(octets[5:])] == [method_frame(1, Queue.Declare("q"))]
