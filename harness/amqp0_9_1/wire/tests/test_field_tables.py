import decimal
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.amqp0_9_1.wire.field_tables import (
    MAX_DEPTH,
    TAGS,
    As,
    Timestamp,
    decode_array,
    decode_table,
    decode_value,
    encode_array,
    encode_table,
    encode_value,
    longstr,
    shortstr,
)
from harness.tests.streams import thorough
from harness.wire.tests.wire import refusal_of, tables
from harness.wire.units import DecodeError, EncodeError

# Tag, value, the octets behind the tag written out from the grammar (4.2.1), what is read.
GOLDEN: list[tuple[str, Any, str, Any]] = [
    ("t", True, "01", True),
    ("t", False, "00", False),
    ("b", -128, "80", -128),
    ("B", 255, "ff", 255),
    ("U", -32768, "8000", -32768),
    ("u", 65535, "ffff", 65535),
    ("I", -2, "fffffffe", -2),
    ("i", 4294967295, "ffffffff", 4294967295),
    ("L", -(1 << 63), "8000000000000000", -(1 << 63)),
    ("l", (1 << 64) - 1, "ffffffffffffffff", (1 << 64) - 1),
    ("f", 1.5, "3fc00000", 1.5),
    ("d", -0.1, "bfb999999999999a", -0.1),
    ("D", Decimal("3.14"), "020000013a", Decimal("3.14")),
    ("D", Decimal(4294967295), "00ffffffff", Decimal(4294967295)),
    ("s", "Gruß", "05477275c39f", "Gruß"),
    ("S", "text", "0000000474657874", "text"),
    ("S", b"\0\xff", "0000000200ff", b"\0\xff"),
    ("S", b"text", "0000000474657874", "text"),
    ("A", [1, "x"], "0000000b49000000015300000001 78", [1, "x"]),
    ("T", Timestamp(1 << 40), "0000010000000000", Timestamp(1 << 40)),
    ("T", 5, "0000000000000005", Timestamp(5)),
    ("F", {"k": None}, "00000003016b56", {"k": None}),
    ("F", {}, "00000000", {}),
    ("V", None, "", None),
]


@pytest.mark.parametrize(("tag", "value", "octets", "read"), GOLDEN)
def test_each_type_stands_on_the_wire_as_the_grammar_has_it(
    tag: str, value: Any, octets: str, read: Any
) -> None:
    wire = tag.encode() + bytes.fromhex(octets)
    assert encode_value(As(tag, value)) == wire
    assert decode_value(wire, 0, len(wire)) == (read, len(wire))
    table = encode_table({"name": As(tag, value)})
    assert decode_table(b"xx" + table, 2) == ({"name": read}, 2 + len(table))
    assert type(decode_table(table, 0)[0]["name"]) is type(read)


def test_the_golden_list_knows_every_type() -> None:
    assert {tag for tag, *_ in GOLDEN} == TAGS
    # The document's own list of letters.
    assert set("tbBUuIiLlfdDsSATFV") == TAGS


@pytest.mark.parametrize(
    ("value", "tag"),
    [
        (True, "t"),
        (1, "I"),
        (-(1 << 31), "I"),
        (1 << 31, "L"),
        (0.5, "d"),
        (Decimal("0.5"), "D"),
        ("x", "S"),
        (b"x", "S"),
        (Timestamp(1), "T"),
        (None, "V"),
        ({}, "F"),
        ([], "A"),
        ((), "A"),
    ],
)
def test_plain_values_take_their_usual_type(value: Any, tag: str) -> None:
    assert encode_value(value)[:1] == tag.encode()


def test_a_subclass_is_written_as_its_base() -> None:
    class Text(str):
        pass

    class Number(int):
        pass

    assert encode_value(Text("x")) == encode_value("x")
    assert encode_value(Number(7)) == encode_value(7)


@thorough
@given(tables)
def test_tables_return_as_plain_python(table: dict[str, Any]) -> None:
    octets = encode_table(table)
    assert decode_table(octets, 0) == (table, len(octets))
    assert decode_array(encode_array([table, table]), 0)[0] == [table, table]


@pytest.mark.parametrize("octet", [1, 2, 255])
def test_every_boolean_but_zero_is_true(octet: int) -> None:
    assert decode_value(bytes((0x74, octet)), 0, 2) == (True, 2)


def test_a_decimal_does_not_depend_on_the_context() -> None:
    with decimal.localcontext(prec=2):
        assert decode_value(b"D\x05\xff\xff\xff\xff", 0, 6) == (Decimal("42949.67295"), 6)


def test_not_a_number_travels() -> None:
    value, _ = decode_value(encode_value(float("nan")), 0, 9)
    assert value != value


def table_of(body: str) -> bytes:
    octets = bytes.fromhex(body)
    return len(octets).to_bytes(4) + octets


@pytest.mark.parametrize(
    ("octets", "offset", "what"),
    [
        (b"", 0, "length of a table is cut short"),
        (b"\0\0\0", 0, "length of a table is cut short"),
        (b"\0\0\0\x01", 0, "reaches 1 octets beyond"),
        (b"\xff\xff\xff\xff", 0, "reaches 4294967295 octets beyond"),
        (table_of("05 6162"), 4, "field name"),
        (table_of("02 6162"), 4, "field name"),
        (table_of("01 ff 56"), 4, "not UTF-8"),
        (table_of("02 6100 56"), 4, "zero octet"),
        (table_of("0161 56 0161 56"), 7, "occurs twice"),
        (table_of("0161 78"), 6, "no table type has the tag 'x'"),
        (table_of("0161 00"), 6, "no table type has the tag"),
        (table_of("0161 49 000000"), 6, "type 'I' reaches beyond"),
        (table_of("0161 74"), 6, "type 't' reaches beyond"),
        (table_of("0161 54 00"), 6, "type 'T' reaches beyond"),
        (table_of("0161 44 00000000"), 6, "type 'D' reaches beyond"),
        (table_of("0161 53 0000"), 6, "type 'S' reaches beyond"),
        (table_of("0161 53 00000002 78"), 6, "type 'S' reaches beyond"),
        (table_of("0161 53 ffffffff 78"), 6, "type 'S' reaches beyond"),
        (table_of("0161 73"), 6, "type 's' reaches beyond"),
        (table_of("0161 73 0278"), 6, "type 's' reaches beyond"),
        (table_of("0161 73 0100"), 6, "zero octet"),
        (table_of("0161 73 01ff"), 6, "not UTF-8"),
        (table_of("0161 46 000000"), 7, "length of a table is cut short"),
        (table_of("0161 46 00000001"), 7, "reaches 1 octets beyond"),
        (table_of("0161 41 00000002 49"), 7, "array reaches 1 octets beyond"),
        (table_of("0161 41 00000001 49"), 11, "type 'I' reaches beyond"),
        (table_of("0161 41 00000003 000000"), 11, "no table type"),
    ],
)
def test_what_is_malformed_is_refused_at_its_octet(octets: bytes, offset: int, what: str) -> None:
    # Octets behind the table must not tempt the reader beyond its end.
    for behind in (b"", b"\0" * 40) if offset else (b"",):
        with pytest.raises(DecodeError, match=what) as refusal:
            decode_table(octets + behind, 0)
        assert refusal.value.offset == offset


def test_offsets_count_from_the_start_of_the_payload() -> None:
    with pytest.raises(DecodeError) as refusal:
        decode_table(b"12345" + table_of("0161 78"), 5)
    assert refusal.value.offset == 11


def test_a_value_must_lie_before_the_end() -> None:
    for offset in (4, 3):
        with pytest.raises(DecodeError, match="missing"):
            decode_value(b"VVVV", offset, 3)


@pytest.mark.parametrize("wrap", [lambda inner: {"k": inner}, lambda inner: [inner]])
def test_nesting_is_bounded(wrap: Any) -> None:
    value: Any = {}
    for _ in range(MAX_DEPTH - 1):
        value = wrap(value)
    octets = encode_table({"k": value})
    assert decode_table(octets, 0) == ({"k": value}, len(octets))
    with pytest.raises(DecodeError, match="nested more than"):
        decode_table(encode_table({"k": wrap(value)}), 0)


def test_a_bomb_of_nested_tables_does_not_reach_the_stack() -> None:
    octets = bytes(4)
    for _ in range(5000):
        inner = b"\x01aF" + octets
        octets = len(inner).to_bytes(4) + inner
    with pytest.raises(DecodeError, match="nested more than"):
        decode_table(octets, 0)


@thorough
@given(st.binary(max_size=60), st.booleans())
def test_any_octets_are_read_or_refused(octets: bytes, announced: bool) -> None:
    if announced:
        octets = len(octets).to_bytes(4) + octets
    refusal = refusal_of(decode_table, octets, 0)
    if refusal is None:
        assert decode_table(octets, 0)[1] == 4 + int.from_bytes(octets[:4])
    else:
        assert 0 <= refusal.offset <= len(octets)


@thorough
@given(tables, st.data())
def test_any_damage_is_read_or_refused(table: dict[str, Any], data: st.DataObject) -> None:
    octets = bytearray(encode_table(table))
    octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.integers(0, 255))
    refusal = refusal_of(decode_table, bytes(octets), 0)
    assert refusal is None or 0 <= refusal.offset <= len(octets)


def itself() -> dict[str, Any]:
    table: dict[str, Any] = {}
    table["itself"] = table
    return table


@pytest.mark.parametrize(
    "value",
    [
        frozenset(),
        {1, 2},
        1 << 64,
        As("x", b"octets"),
        As("", 1),
        As("b", 128),
        As("b", "1"),
        As("u", -1),
        As("l", -1),
        As("f", 1e300),
        As("T", -1),
        As("s", "x" * 256),
        As("s", 5),
        As("S", 5),
        As("S", None),
        As("S", "\ud800"),
        As("s", "\ud800"),
        As("A", 5),
        As("F", [1]),
        As("F", 5),
        As("V", 5),
        As("D", 1),
        Decimal("-1"),
        Decimal("NaN"),
        Decimal("Infinity"),
        Decimal(1 << 32),
        Decimal("1E+1"),
        Decimal("1E-256"),
        Timestamp(1 << 64),
        Timestamp("soon"),  # type: ignore[arg-type]
        {5: "a name that is a number"},
        {"x" * 256: 1},
        itself(),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_has_no_encoding_is_refused(value: Any) -> None:
    for write in (
        encode_value,
        lambda value: encode_table({"k": value}),
        lambda value: encode_array([value]),
    ):
        with pytest.raises(EncodeError):
            write(value)


def test_strings_take_octets_that_are_not_text() -> None:
    assert shortstr("\udcff\0") == b"\x02\xff\0"
    assert longstr("\udcff") == longstr(b"\xff") == b"\0\0\0\x01\xff"
    assert shortstr("x" * 255)[0] == 255
