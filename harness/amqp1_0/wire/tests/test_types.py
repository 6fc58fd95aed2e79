import pickle
from typing import Any

import pytest

from harness.amqp1_0.wire.decoding import (
    decode_whole,
)
from harness.amqp1_0.wire.encoding import array, encode, typed
from harness.amqp1_0.wire.types import (
    Array,
    As,
    Byte,
    Char,
    Decimal32,
    Described,
    Float,
    Int,
    Map,
    Raw,
    Symbol,
    Timestamp,
    Ubyte,
    Uint,
    Ulong,
)
from harness.wire.units import DecodeError, EncodeError

# -- refusals to encode --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1, 2},
        Uint(-1),
        Uint(1 << 32),
        Ulong(1 << 64),
        Ubyte(256),
        Byte(128),
        Int(1 << 31),
        1 << 63,
        Float(1e300),
        Char(""),
        Char("ab"),
        Char("\ud800"),
        "\ud800",
        Symbol("é"),
        Decimal32(b"123"),
        As(0x3F, 1),
        As(0x53, 256),
        As(0x43, 1),
        As(0x56, 300),
        As(0xA1, 5),
        As(0xA0, "text"),
        As(0xA0, bytes(256)),
        As(0xC0, [bytes(256)]),
        As(0xC0, [], size=256),
        As(0xC0, [], count=-1),
        As(0xC0, 5),
        As(0xE0, ()),
        Array(0x99, ()),
        Array(0x50, ("x",)),
        Raw("text"),  # type: ignore[arg-type]
        [object()],
    ],
    ids=lambda value: repr(value).partition(" at 0x")[0],
)
def test_what_has_no_encoding_is_refused(value: Any) -> None:
    with pytest.raises(EncodeError):
        encode(value)
    with pytest.raises(EncodeError):
        encode([value])


def test_a_refusal_does_not_quote_the_value() -> None:
    for secret in (Symbol("secrét"), "secret\ud800"):
        with pytest.raises(EncodeError) as refusal:
            encode(secret)
        assert "secr" not in str(refusal.value)


def test_endless_nesting_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(EncodeError, match="nested too deeply"):
        encode(endless)


# -- what Python does not say --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "result"),
    [
        ("uint", 5, Uint(5)),
        ("uint", Ulong(5), Ulong(5)),
        ("timestamp", 5, Timestamp(5)),
        ("long", 5, 5),
        ("float", 1.5, Float(1.5)),
        ("double", 1.5, 1.5),
        ("symbol", "a", Symbol("a")),
        ("char", "a", Char("a")),
        ("string", "a", "a"),
        ("string", Symbol("a"), Symbol("a")),
        ("list", [1], (1,)),
        ("map", {"a": 1}, Map([("a", 1)])),
        ("*", 5, 5),
        ("*", [5], (5,)),
        ("uint", None, None),
        ("uint", As(0x80, 5), As(0x80, 5)),
    ],
)
def test_plain_values_take_the_type_asked_for(kind: str, value: Any, result: Any) -> None:
    assert repr(typed(kind, value)) == repr(result)


@pytest.mark.parametrize(
    ("kind", "value"), [("uint", "5"), ("uint", True), ("boolean", 1), ("string", b"a"), ("uint", [5])]
)
def test_plain_values_of_another_type_are_refused(kind: str, value: Any) -> None:
    with pytest.raises(EncodeError, match=f"is no {kind}"):
        typed(kind, value)


@pytest.mark.parametrize(
    ("kind", "items", "constructor"),
    [
        ("symbol", [], 0xA3),
        ("symbol", ["a"], 0xA3),
        ("symbol", ["a", "x" * 256], 0xB3),
        ("boolean", [True, True], 0x56),
        ("boolean", [True, False], 0x56),
        ("uint", [0, 0], 0x70),
        ("uint", [1, 2], 0x52),
        ("uint", [0, 2], 0x70),
        ("null", [None], 0x40),
        ("list", [[], [1]], 0xD0),
        ("ulong", [1, 1 << 40], 0x80),
    ],
)
def test_an_array_takes_a_constructor_that_fits_all(kind: str, items: list[Any], constructor: int) -> None:
    made = array(kind, items)
    assert made.constructor == constructor
    assert decode_whole(encode(made)) == made


def test_an_array_holds_one_type() -> None:
    with pytest.raises(EncodeError, match="an array of uint holds nothing with the constructor 0x53"):
        array("uint", [Uint(1), Ulong(1)])


def test_arrays_compare_by_type_and_iterate_with_their_descriptors() -> None:
    assert Array(0xA3, (Symbol("a"),)) == Array(0xB3, (Symbol("a"),))
    assert hash(Array(0xA3, (Symbol("a"),))) == hash(Array(0xB3, (Symbol("a"),)))
    assert Array(0x52, (1,)) != Array(0x53, (1,))
    assert [*Array(0x50, (1, 2), ("outer", "inner"))] == [
        Described("outer", Described("inner", 1)),
        Described("outer", Described("inner", 2)),
    ]


def test_maps_keep_order_and_every_pair() -> None:
    one = Map([("a", 1), ("b", 2), ("a", 3)])
    assert one["a"] == 1
    assert [*one] == ["a", "b"]
    assert len(one) == 2
    assert one.get("c") is None
    assert Map({"a": 1, "b": 2}) != Map({"b": 2, "a": 1})
    assert Map({"a": 1, "b": 2}) == {"b": 2, "a": 1}
    assert Map([(Symbol("product"), "x")])["product"] == "x"
    assert hash(Map({"a": 1})) == hash(Map({"a": 1}))
    assert Map(one).pairs == one.pairs
    assert Map() != 5


def test_keys_of_different_types_are_different_keys() -> None:
    octets = encode(
        Map([(Uint(1), "a"), (Ulong(1), "b"), (True, "c"), (1.0, "d"), (Symbol("x"), 1), ("x", 2)])
    )
    assert len(decode_whole(octets).pairs) == 6


def test_errors_can_be_handed_to_another_process() -> None:
    again = pickle.loads(pickle.dumps(DecodeError(3, "wrong")))
    assert (again.offset, again.what, str(again)) == (3, "wrong", "at octet 3: wrong")
