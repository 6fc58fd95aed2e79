import copy
import pickle
import tracemalloc
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.amqp1_0.wire.decoding import (
    MAX_DEPTH,
    MAX_WIDTHLESS,
    Form,
    decode,
    decode_whole,
    exact,
    forms,
    plain,
)
from harness.amqp1_0.wire.encoding import encode, type_of
from harness.amqp1_0.wire.generated import CONSTRUCTORS
from harness.amqp1_0.wire.tests.strategies import of_type, refusal_of, values
from harness.amqp1_0.wire.types import (
    Array,
    As,
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    Float,
    Int,
    Map,
    Raw,
    Short,
    Symbol,
    Timestamp,
    Ubyte,
    Uint,
    Ulong,
    Ushort,
)
from harness.tests.streams import brief, damaged, thorough
from harness.wire.units import DecodeError

# -- octets written out by hand ------------------------------------------------------------------------

GOLDEN: list[tuple[Any, str]] = [
    (None, "40"),
    (True, "41"),
    (False, "42"),
    (Ubyte(0), "50 00"),
    (Ubyte(255), "50 ff"),
    (Ushort(258), "60 0102"),
    (Uint(0), "43"),
    (Uint(255), "52 ff"),
    (Uint(256), "70 00000100"),
    (Uint(4294967295), "70 ffffffff"),
    (Ulong(0), "44"),
    (Ulong(16), "53 10"),
    (Ulong(1 << 32), "80 0000000100000000"),
    (Byte(-1), "51 ff"),
    (Short(-2), "61 fffe"),
    (Int(-128), "54 80"),
    (Int(127), "54 7f"),
    (Int(128), "71 00000080"),
    (Int(-129), "71 ffffff7f"),
    (0, "55 00"),
    (-1, "55 ff"),
    (128, "81 0000000000000080"),
    (Float(1.5), "72 3fc00000"),
    (-2.0, "82 c000000000000000"),
    (Decimal32(b"\x22\x50\0\1"), "74 22500001"),
    (Decimal64(bytes(7) + b"\1"), "84 0000000000000001"),
    (Decimal128(bytes(15) + b"\1"), "94 00000000000000000000000000000001"),
    (Char("A"), "73 00000041"),
    (Char("\U0001f600"), "73 0001f600"),
    (Timestamp(-1), "83 ffffffffffffffff"),
    (Timestamp(0x13167ADB8A1), "83 0000013167adb8a1"),
    (UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"), "98 f81d4fae7dec11d0a76500a0c91e6bf6"),
    (b"", "a0 00"),
    (b"\xff\0", "a0 02 ff00"),
    (b"x" * 256, "b0 00000100" + "78" * 256),
    ("é", "a1 02 c3a9"),
    ("x" * 256, "b1 00000100" + "78" * 256),
    (Symbol("ab"), "a3 02 6162"),
    (Symbol("x" * 256), "b3 00000100" + "78" * 256),
    ((), "45"),
    ((None, Uint(1)), "c0 04 02 40 5201"),
    ((None,) * 256, "d0 00000104 00000100" + "40" * 256),
    (("x" * 252,), "c0 ff 01 a1 fc" + "78" * 252),
    (("x" * 253,), "d0 00000103 00000001 a1 fd" + "78" * 253),
    (Map(), "c1 01 00"),
    (Map([("a", 1), (Symbol("a"), 2)]), "c1 0b 04 a10161 5501 a30161 5502"),
    (Array(0xA3, (Symbol("a"), Symbol("bc"))), "e0 07 02 a3 0161 026263"),
    (Array(0x70, ()), "e0 02 00 70"),
    (Array(0x40, (None, None)), "e0 02 02 40"),
    (Array(0xC0, ((), (None,))), "e0 07 02 c0 0100 020140"),
    (Array(0xE0, (Array(0x50, (Ubyte(1),)),)), "e0 06 01 e0 03 01 50 01"),
    (Array(0x70, (Uint(1),) * 64), "f0 00000105 00000040 70" + "00000001" * 64),
    (Array(0x50, (Ubyte(7),), (Symbol("d"),)), "e0 07 01 00 a30164 50 07"),
    (Described(Ulong(0x10), ("c",)), "00 5310 c0 04 01 a10163"),
    (Described(Described(1, 2), 3), "00 00 5501 5502 5503"),
]


@pytest.mark.parametrize(("value", "octets"), GOLDEN, ids=lambda each: repr(each)[:30])
def test_values_stand_on_the_wire_as_the_standard_has_them(value: Any, octets: str) -> None:
    assert encode(value) == bytes.fromhex(octets)
    read = decode_whole(bytes.fromhex(octets))
    assert read == value
    assert repr(read) == repr(value)
    assert type_of(read) != ""


OTHER_WAYS: list[tuple[As, str, Any]] = [
    (As(0x56, True), "56 01", True),
    (As(0x56, False), "56 00", False),
    (As(0x41, True), "41", True),
    (As(0x70, 0), "70 00000000", Uint(0)),
    (As(0x52, 0), "52 00", Uint(0)),
    (As(0x43, 0), "43", Uint(0)),
    (As(0x80, 16), "80 0000000000000010", Ulong(16)),
    (As(0x53, 16), "53 10", Ulong(16)),
    (As(0x71, -1), "71 ffffffff", Int(-1)),
    (As(0x81, -1), "81 ffffffffffffffff", -1),
    (As(0xB0, b"a"), "b0 00000001 61", b"a"),
    (As(0xB1, "a"), "b1 00000001 61", "a"),
    (As(0xB3, "a"), "b3 00000001 61", Symbol("a")),
    (As(0x45, ()), "45", ()),
    (As(0x45, []), "45", ()),
    (As(0xC0, ()), "c0 01 00", ()),
    (As(0xD0, ()), "d0 00000004 00000000", ()),
    (As(0xD0, [None]), "d0 00000005 00000001 40", (None,)),
    (As(0xD1, {"a": None}), "d1 00000008 00000002 a10161 40", Map([("a", None)])),
    (As(0xD1, ["a", None]), "d1 00000008 00000002 a10161 40", Map([("a", None)])),
    (As(0xF0, Array(0x50, (Ubyte(1),))), "f0 00000006 00000001 50 01", Array(0x50, (Ubyte(1),))),
    (As(0xF0, b"\x50\x01", count=1), "f0 00000006 00000001 50 01", Array(0x50, (Ubyte(1),))),
]


@pytest.mark.parametrize(("given_value", "octets", "value"), OTHER_WAYS, ids=lambda each: repr(each)[:30])
def test_every_other_encoding_can_be_sent_and_is_read_alike(given_value: As, octets: str, value: Any) -> None:
    assert encode(given_value) == bytes.fromhex(octets)
    read = decode_whole(bytes.fromhex(octets))
    assert repr(read) == repr(value)
    assert encode(exact(bytes.fromhex(octets))) == bytes.fromhex(octets)
    assert exact(bytes.fromhex(octets)).code == given_value.code


def test_every_encoding_of_the_grammar_is_written_above() -> None:
    codes = {bytes.fromhex(octets)[0] for _, octets in GOLDEN} | {each.code for each, _, _ in OTHER_WAYS}
    assert codes == {*CONSTRUCTORS, 0}


# -- malformed on purpose ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "octets", "offset", "what"),
    [
        (Raw(b""), "", 0, "a value is missing"),
        (Raw(b"\x3f"), "3f", 0, "no type has the constructor 0x3f"),
        (As(0x56, 2), "56 02", 1, "a boolean is 0 or 1"),
        (As(0x70, b"\0\0"), "70 0000", 1, "uint reaches beyond"),
        (As(0x73, b"\0\x11\0\0"), "73 00110000", 1, "no Unicode character"),
        (As(0x73, b"\0\0\xd8\0"), "73 0000d800", 1, "no Unicode character"),
        (As(0xA1, "abc", size=4), "a1 04 616263", 1, "string reaches beyond"),
        (As(0xB1, "abc", size=0xFFFFFFFF), "b1 ffffffff 616263", 1, "string reaches beyond"),
        (Raw(b"\xb1\0\0"), "b1 0000", 1, "string reaches beyond"),
        (As(0xA1, b"ok\xff"), "a1 03 6f6bff", 4, "not UTF-8"),
        (As(0xA1, b"\xed\xa0\x80"), "a1 03 eda080", 2, "not UTF-8"),
        (As(0xA3, "é".encode()), "a3 02 c3a9", 2, "not ASCII"),
        (As(0xC0, [None], size=9), "c0 09 01 40", 1, "reaches 7 octets beyond"),
        (As(0xC0, [None], size=0), "c0 00 01 40", 1, "no room for its count"),
        (As(0xD0, [], size=3), "d0 00000003 00000000", 1, "no room for its count"),
        (As(0xC0, [None], count=2), "c0 02 02 40", 2, "counts 2 items, at most 1 fit"),
        (As(0xC0, [1, 1], count=3), "c0 05 03 5501 5501", 7, "counts 3 items and has 2"),
        (As(0xC0, [1, 1], count=1), "c0 05 01 5501 5501", 5, "2 octets follow the last item"),
        (As(0xC0, ["a"], size=2), "c0 02 01 a10161", 4, "string reaches beyond"),
        (As(0xC1, ["a"]), "c1 04 01 a10161", 1, "a key without a value"),
        (As(0xC1, {"a": 1}, count=1), "c1 06 01 a10161 5501", 6, "2 octets follow"),
        (Map([(Uint(1), 1), (Uint(1), 2)]), "c1 09 04 5201 5501 5201 5502", 1, "a key occurs twice"),
        (
            As(0xC1, [As(0x52, 1), 1, As(0x70, 1), 2]),
            "c1 0c 04 5201 5501 7000000001 5502",
            1,
            "a key occurs twice in the map: Uint",
        ),
        (As(0xD1, {}, count=0xFFFFFFFF), "d1 00000004 ffffffff", 5, "at most 0 fit"),
        (As(0xE0, b""), "e0 01 00", 3, "an array has no constructor"),
        (As(0xE0, b"\0\x40", count=1), "e0 03 01 0040", 5, "an array has no constructor"),
        (As(0xE0, b"\x99", count=1), "e0 02 01 99", 3, "no type has the constructor 0x99"),
        (As(0xE0, Array(0x70, ()), count=1), "e0 02 01 70", 1, "counts 1 items, at most 0 fit"),
        (As(0xF0, Array(0x50, (1,)), count=2), "f0 00000006 00000002 5001", 1, "at most 1 fit"),
        (As(0xF0, Array(0x50, (1, 2)), count=1), "f0 00000007 00000001 500102", 11, "1 octets follow"),
        (As(0xF0, Array(0x40, ()), count=0xFFFFFFFF), "f0 00000005 ffffffff 40", 1, "at most 256 fit"),
        (As(0xF0, Array(0x45, ()), count=257), "f0 00000005 00000101 45", 1, "at most 256 fit"),
        (Described(Raw(b""), Raw(b"")), "00", 1, "a value is missing"),
        (Described(1, Raw(b"")), "00 5501", 3, "a value is missing"),
    ],
    ids=str,
)
def test_what_is_malformed_can_be_sent_and_is_refused_where_it_hurts(
    value: Any, octets: str, offset: int, what: str
) -> None:
    assert encode(value) == bytes.fromhex(octets)
    for read in (decode, exact, forms):
        with pytest.raises(DecodeError, match=what) as refusal:
            read(bytes.fromhex(octets))
        assert refusal.value.offset == offset


@pytest.mark.parametrize(
    "octets",
    [
        bytes(1 << 20),  # descriptors without end
        b"\x00\x40" * (1 << 19),
        b"\xd1\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xd1\0\0\0\x05\xff\xff\xff\xff\x40",
        b"\xf0\0\0\0\x05\xff\xff\xff\xff\x40",
        b"\xd0\0\xff\xff\xff" * 1000,
        b"\xf0\0\x0f\xff\xff\0\0\0\1" + b"\x00\x40" * (1 << 19),
        encode(tuple(As(0xF0, Array(0x40, ()), count=n % 256) for n in range(4000))),
        encode(As(0xD1, [Uint(n) for n in range(2000)])),
    ],
    ids=lambda octets: octets[:12].hex(),
)
def test_hostile_octets_cost_next_to_nothing(octets: bytes) -> None:
    decode(b"\x40")
    tracemalloc.start()
    refusal_of(decode, octets)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64_000 + 60 * len(octets)


@pytest.mark.parametrize("code", [0xC0, 0xC1, 0xE0, 0x00])
def test_values_are_nested_to_a_bound(code: int) -> None:
    def nested(depth: int) -> bytes:
        value: Any = None
        for _ in range(depth):
            if code == 0:
                value = Described(value, None)
            else:
                inside = {0xC0: [value], 0xC1: [None, value]}.get(code)
                value = As(0xD0 | code & 15, inside) if inside else _array_of(value)
        return encode(value)

    assert decode_whole(nested(MAX_DEPTH))
    with pytest.raises(DecodeError, match="nested more than 64 deep"):
        decode(nested(MAX_DEPTH + 1))


def _array_of(value: Any) -> Array:
    return Array(0x40, (None,)) if value is None else Array(0xF0, (value,))


def test_few_items_without_width_are_read() -> None:
    for code in (0x40, 0x41, 0x42, 0x43, 0x44, 0x45):
        octets = encode(As(0xF0, Array(code, ()), count=MAX_WIDTHLESS))
        assert len(decode_whole(octets)) == MAX_WIDTHLESS


# -- there and back ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(of_type))
def test_every_type_returns_unchanged(kind: str) -> None:
    @brief
    @given(of_type[kind])
    def returns(value: Any) -> None:
        assert repr(decode_whole(encode(value))) == repr(value)
        assert type_of(value) == kind

    returns()


@thorough
@given(values)
def test_any_value_returns_unchanged(value: Any) -> None:
    octets = encode(value)
    read = decode_whole(octets)
    assert repr(read) == repr(value)
    assert encode(read) == octets
    assert hash(read) == hash(read)
    assert repr(copy.deepcopy(read)) == repr(pickle.loads(pickle.dumps(read))) == repr(value)


@thorough
@given(values | st.just(None), st.binary(min_size=1, max_size=4))
def test_what_stands_around_a_value_is_left_alone(value: Any, more: bytes) -> None:
    octets = encode(value)
    assert repr(decode(more + octets + more, len(more))) == repr((value, len(more + octets)))
    with pytest.raises(DecodeError, match=f"{len(more)} octets follow the value") as refusal:
        decode_whole(octets + more)
    assert refusal.value.offset == len(octets)
    assert refusal_of(decode, octets + more, 0, len(octets) - 1) is not None


@thorough
@given(values.map(encode) | damaged(values.map(encode)) | st.binary(max_size=40))
def test_any_octets_are_read_or_refused_alike_in_every_view(octets: bytes) -> None:
    refusal = refusal_of(decode, octets)
    assert str(refusal_of(forms, octets)) == str(refusal)
    if refusal is not None:
        assert 0 <= refusal.offset <= len(octets)
        assert str(refusal_of(exact, octets)) == str(refusal)
        return
    value, behind = decode(octets)
    view = exact(octets[:behind])
    assert encode(view) == octets[:behind]
    assert repr(plain(view)) == repr(plain(forms(octets))) == repr(value)


@thorough
@given(values)
def test_every_cut_is_refused(value: Any) -> None:
    octets = encode(value)
    for end in range(len(octets)):
        assert refusal_of(decode, octets[:end]) is not None


def test_not_a_number_keeps_its_octets() -> None:
    for octets in ("72 ff800001", "82 7ff0000000000001", "e0 06 01 72 ff800001", "c0 06 01 72 ff800001"):
        assert encode(exact(bytes.fromhex(octets))) == bytes.fromhex(octets)
        assert repr(plain(exact(bytes.fromhex(octets)))) == repr(decode_whole(bytes.fromhex(octets)))


def test_forms_say_where_each_value_stands() -> None:
    octets = encode(Described(Ulong(5), ("ab", Map([(Symbol("k"), True)]))))
    key, truth = Form(13, 3, 0xA3, Symbol("k")), Form(16, 1, 0x41, True)
    fields = Form(6, 4, 0xA1, "ab"), Form(10, 7, 0xC1, (key, truth))
    described = Described(Form(1, 2, 0x53, Ulong(5)), Form(3, 14, 0xC0, fields))
    assert forms(octets) == Form(0, 17, 0, described)
    assert forms(b"\x40" + octets, 1).offset == 1
