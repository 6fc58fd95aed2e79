import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.amqp1_0.wire.frames import (
    AMQP,
    FRAME_HEADER,
    MIN_MAX_FRAME_SIZE,
    PROTOCOL_HEADER,
    SASL,
    SASL_HEADER,
    TLS_HEADER,
    Frame,
    FrameReader,
    RawFrame,
    Unit,
    amqp_frame,
    empty_frame,
    sasl_frame,
)
from harness.amqp1_0.wire.performatives import Close, Open, SaslInit, Source, Transfer
from harness.amqp1_0.wire.tests.strategies import refusal_of, units
from harness.amqp1_0.wire.types import Raw
from harness.tests.streams import both_ways, chunked_alike, damaged, thorough
from harness.wire.units import DecodeError, EncodeError, Garbage, Header


def read(octets: bytes, limit: int = 1 << 20) -> tuple[list[tuple[bytes, Unit]], bytes]:
    reader = FrameReader(limit=limit)
    return list(reader.feed(octets)), reader.rest()


def test_constants_are_the_documents() -> None:
    assert (AMQP, SASL, FRAME_HEADER, MIN_MAX_FRAME_SIZE) == (0, 1, 8, 512)
    assert PROTOCOL_HEADER == b"AMQP\0\1\0\0"
    assert SASL_HEADER == b"AMQP\3\1\0\0"
    assert TLS_HEADER == b"AMQP\2\1\0\0"


def test_frames_stand_on_the_wire_as_the_document_has_them() -> None:
    for frame, octets in (
        (amqp_frame(0x102, Close()), "0000000c 02 00 0102 00531845"),
        (amqp_frame(1, Transfer(0), b"pay"), "00000012 02 00 0001 005314 c0 02 01 43 706179"),
        (empty_frame(3), "00000008 02 00 0003"),
        (sasl_frame(SaslInit("A")), "00000011 02 01 0000 005341 c0 04 01 a30141"),
        (Frame(AMQP, 0, b"\x00\x53\x18\x45", b"extended"), "00000014 04 00 0000 657874656e646564 00531845"),
    ):
        assert frame.encode() == bytes.fromhex(octets)
        assert read(frame.encode()) == ([(frame.encode(), frame)], b"")


def test_a_frame_gives_its_performative_and_its_payload() -> None:
    assert amqp_frame(0, Open("c")).read() == (Open("c"), b"")
    assert amqp_frame(0, Transfer(1), b"pay").read() == (Transfer(1), b"pay")
    assert Frame(AMQP, 0, Close().encode(), bytes(4)).performative() == Close()
    assert sasl_frame(SaslInit("A")).performative() == SaslInit("A")
    assert empty_frame().read() == (None, b"")
    assert Frame(7, 0).read() == (None, b"")


@pytest.mark.parametrize(
    ("frame", "what"),
    [
        (Frame(7, 0, Close().encode()), "frame type 7 is not defined"),
        (Frame(SASL, 0, Close().encode()), "close is no performative of a frame of type 1"),
        (amqp_frame(0, SaslInit("A")), "sasl-init is no performative of a frame of type 0"),
        (amqp_frame(0, Source()), "source is no performative"),
        (Frame(AMQP, 0, b"\x40"), "a null stands where a described list must"),
    ],
)
def test_what_is_no_performative_is_refused(frame: Frame, what: str) -> None:
    with pytest.raises(DecodeError, match=what):
        frame.read()


# -- malformed on purpose ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "octets"),
    [
        (RawFrame(b"ab", 2), "0000000a 02 00 0002 6162"),
        (RawFrame(b"ab", size=4294967295), "ffffffff 02 00 0000 6162"),
        (RawFrame(b"ab", 65535, 255, size=0), "00000000 02 ff ffff 6162"),
        (RawFrame(doff=1), "00000008 01 00 0000"),
        (RawFrame(b"ab", doff=255), "0000000a ff 00 0000 6162"),
        (RawFrame(b"ab", extended=b"xyz"), "0000000d 02 00 0000 78797a 6162"),
        (RawFrame(b"", extended=bytes(4), doff=2), "0000000c 02 00 0000 00000000"),
    ],
)
def test_a_raw_frame_lies_as_told(frame: RawFrame, octets: str) -> None:
    assert frame.encode() == bytes.fromhex(octets)


@pytest.mark.parametrize(
    "frame",
    [
        RawFrame(channel=65536),
        RawFrame(type=256),
        RawFrame(size=1 << 32),
        RawFrame(size=-1),
        RawFrame(doff=256),
        RawFrame("text"),  # type: ignore[arg-type]
        Frame(0, -1),
        Frame(0, 0, b"", b"abc"),
        Frame(0, 0, b"", bytes(1016)),
        Frame(0, 0, None),  # type: ignore[arg-type]
    ],
)
def test_what_does_not_fit_a_frame_is_refused(frame: Frame | RawFrame) -> None:
    with pytest.raises(EncodeError):
        frame.encode()


def test_a_performative_that_cannot_be_encoded_is_refused() -> None:
    with pytest.raises(EncodeError, match="open, field container-id"):
        amqp_frame(0, Open("\ud800"))


# -- reading -------------------------------------------------------------------------------------------


@thorough
@given(st.lists(units, max_size=5), st.lists(st.integers(0, 400), max_size=8))
def test_any_chunking_gives_the_same_units(whole: list[bytes], cuts: list[int]) -> None:
    for raw, unit in chunked_alike(FrameReader, whole, cuts):
        assert raw == (unit.encode() if isinstance(unit, Frame) else unit.octets)


@thorough
@given(st.lists(units, max_size=2).map(b"".join), damaged(units), st.integers(1, 5))
def test_any_octets_are_units_garbage_or_rest(whole: bytes, broken: bytes, step: int) -> None:
    at_once, seen = both_ways(FrameReader, whole + broken, step)
    assert seen[:-1] == at_once[: len(seen) - 1]
    for unit in at_once:
        if isinstance(unit, Frame):
            refusal = refusal_of(unit.read)
            assert refusal is None or 0 <= refusal.offset <= len(unit.body)


def test_headers_may_come_wherever_frames_may() -> None:
    init, opened = sasl_frame(SaslInit("A")).encode(), amqp_frame(0, Open("c")).encode()
    stream = SASL_HEADER + init + PROTOCOL_HEADER + opened + b"AMQP\0\1\0\1"
    found, rest = read(stream)
    assert [raw for raw, _ in found] == [SASL_HEADER, init, PROTOCOL_HEADER, opened, b"AMQP\0\1\0\1"]
    headers = [unit for _, unit in found if isinstance(unit, Header)]
    assert [each.protocol_id for each in headers] == [3, 0, 0]
    assert [each.version for each in headers] == [(1, 0, 0), (1, 0, 0), (1, 0, 1)]
    assert rest == b""
    assert read(b"AMQP\0")[1] == b"AMQP\0"
    assert read(b"AM") == ([], b"AM")


@pytest.mark.parametrize(
    ("octets", "why"),
    [
        (RawFrame(size=7).encode(), "a frame of 7 octets is announced, its header alone has 8"),
        (bytes(4), "a frame of 0 octets is announced"),
        (b"HTTP/1.1 400", "a frame of 1213486160 octets is announced, the limit is 1048576"),
        (RawFrame(size=0xFFFFFFFF).encode(), "a frame of 4294967295 octets is announced"),
    ],
)
def test_behind_a_size_that_cannot_be_nothing_is_read(octets: bytes, why: str) -> None:
    good = empty_frame().encode()
    reader = FrameReader()
    (_, first), (raw, garbage) = reader.feed(good + octets)
    assert first == empty_frame()
    assert isinstance(garbage, Garbage)
    assert garbage.octets == raw == octets
    assert garbage.why.startswith(why)
    assert not garbage.delimited
    assert reader.broken
    assert list(reader.feed(good)) == []
    assert reader.rest() == good


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (RawFrame(doff=0), "the body begins at octet 0 of a frame of 8"),
        (RawFrame(doff=1), "the body begins at octet 4 of a frame of 8"),
        (RawFrame(b"abc", doff=3), "the body begins at octet 12 of a frame of 11"),
        (RawFrame(b"ab", doff=255), "the body begins at octet 1020 of a frame of 10"),
    ],
)
def test_behind_a_wrong_offset_what_follows_is_read(frame: RawFrame, why: str) -> None:
    octets = frame.encode()
    found, rest = read(octets + empty_frame().encode())
    assert [unit for _, unit in found] == [Garbage(octets, why, delimited=True), empty_frame()]
    assert rest == b""


def test_the_limit_counts_the_whole_frame_and_can_be_changed() -> None:
    frame = Frame(AMQP, 0, bytes(504))
    assert read(frame.encode(), limit=512)[0] == [(frame.encode(), frame)]
    reader = FrameReader(limit=511)
    ((_, garbage),) = reader.feed(frame.encode()[:4])
    assert isinstance(garbage, Garbage)
    reader = FrameReader(limit=512)
    assert list(reader.feed(empty_frame().encode()))
    reader.limit = 8192
    assert len([*reader.feed(Frame(AMQP, 0, bytes(8184)).encode())]) == 1


def test_a_large_frame_costs_its_octets_however_it_comes() -> None:
    octets = Frame(AMQP, 0, bytes(1 << 19)).encode()
    reader = FrameReader()
    tracemalloc.start()
    seen = [each for start in range(0, len(octets), 64) for each in reader.feed(octets[start : start + 64])]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [raw for raw, _ in seen] == [octets]
    assert peak < 6 * len(octets)


def test_octets_that_say_no_value_are_a_frame_all_the_same() -> None:
    frame = Frame(AMQP, 0, Open(Raw(b"\xff")).encode())
    ((_, unit),) = FrameReader().feed(frame.encode())
    assert unit == frame
    with pytest.raises(DecodeError, match="0xff"):
        frame.read()
