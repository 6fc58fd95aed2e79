"""The octets of the second implementation: by hand from the document, there and back, cut, malformed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.amqp_fast.tests.second.codec import (
    COMMANDS,
    HEADER,
    Command,
    Field,
    Incomplete,
    decode,
    decode_header,
    encode,
    encode_header,
)
from harness.amqp_fast.tests.second.stream import Command as Heard
from harness.amqp_fast.tests.second.stream import Fragment, Initiation, Item, Malformed, Splitter
from harness.amqp_fast.tests.second.types import Octets, Time, Value, first, table
from harness.tests.streams import damaged, thorough

# -- octets written out by hand ------------------------------------------------------------------------

LOGIN = "001c 05 4c4f47494e 53 0005 4a6f68616e 08 50415353574f5244 53 0002 4f6b"
"""LOGIN and PASSWORD of Johan, as the document has them."""

GOLDEN: list[tuple[str, dict[str, Any], str]] = [
    ("connection-ping", {}, "0003 0e 00 ce"),
    ("connection-ping", {"respond": True}, "0003 0e 01 ce"),
    ("connection-close", {"reply_code": 200, "reply_text": b"OK"}, "0007 13 00c8 02 4f4b ce"),
    (
        "connection-challenge",
        {"version": 1, "mechanisms": b"PLAIN"},
        "000b 0a 01 05 504c41494e 0000 ce",
    ),
    (
        "connection-response",
        {"mechanism": b"PLAIN", "responses": [(b"LOGIN", b"Johan"), (b"PASSWORD", b"Ok")]},
        f"0026 0b 05 504c41494e {LOGIN} ce",
    ),
    (
        "connection-tune",
        {"options": [(b"FRAME_MAX", 1024)]},
        "0015 0c 000f 09 4652414d455f4d4158 49 00000400 0000 ce",
    ),
    (
        "connection-open",
        {"confirm_tag": 1, "virtual_path": b"/"},
        "0009 0d 0001 01 2f 00 0000 ce",
    ),
    ("channel-open", {"channel_id": 5, "restartable": True}, "000a 14 0005 0000 02 0000 00 ce"),
    ("channel-ack", {"channel_id": 1, "message_nbr": 2**32 - 1}, "000a 15 0001 0000 ffffffff ce"),
    ("channel-commit", {"channel_id": 1, "confirm_tag": 258}, "0008 16 0001 0102 0000 ce"),
    (
        "handle-open",
        {"channel_id": 1, "handle_id": 2, "confirm_tag": 3, "producer": True, "browser": True},
        "000d 1e 0001 0002 0003 05 00 00 0000 ce",
    ),
    (
        "handle-send",
        {"handle_id": 2, "service_type": 1, "fragment_size": 16, "recovery": True, "dest_name": b"q"},
        "000f 1f 0002 0000 0001 00000010 04 01 71 ce",
    ),
    (
        "handle-consume",
        {"handle_id": 2, "service_type": 2, "prefetch": 9, "no_local": True, "exclusive": True},
        "000e 20 0002 0000 0002 0009 09 00 0000 ce",
    ),
    (
        "handle-query",
        {"handle_id": 2, "message_nbr": 1, "dest_name": b"q", "selector": b"\x00"},
        "000e 24 0002 00000001 01 71 0001 00 00 ce",
    ),
    (
        "handle-notify",
        {"handle_id": 2, "message_nbr": 7, "fragment_size": 3, "delivered": True, "redelivered": True},
        "000e 29 0002 00000007 00000003 18 00 ce",
    ),
    ("handle-index", {"handle_id": 2, "message_list": b"1-3"}, "000d 2a 0002 00000000 0003 312d33 ce"),
    ("handle-ready", {"handle_id": 2, "message_size": 4}, "0008 2c 0002 00000004 ce"),
]


def octets(hexadecimal: str) -> bytes:
    return bytes.fromhex(hexadecimal)


def command(name: str) -> Command:
    return next(each for each in COMMANDS if each.name == name)


@pytest.mark.parametrize(("name", "fields", "expected"), GOLDEN)
def test_octets_are_those_of_the_document(name: str, fields: dict[str, Any], expected: str) -> None:
    assert encode(name, **fields).hex() == expected.replace(" ", "")
    found, values = decode(octets(expected))
    assert found == name
    assert {key: value for key, value in values.items() if value} == {
        key: value for key, value in fields.items() if value
    }


def test_a_table_is_that_of_the_document() -> None:
    assert table({"LOGIN": "Johan", "PASSWORD": "Ok"}) == octets(LOGIN)


def test_values_of_each_type() -> None:
    values: dict[str, Value] = {"$s": "", "#i": -2, "d": Decimal("-1.05"), "T_1": Time(2**32 - 1)}
    expected = "001f 02 2473 53 0000 02 2369 49 fffffffe 01 64 44 02 ffffff97 03 545f31 54 ffffffff"
    assert table(values).hex() == expected.replace(" ", "")
    assert Octets(octets(expected)).table() == [
        (b"$s", b""),
        (b"#i", -2),
        (b"d", Decimal("-1.05")),
        (b"T_1", Time(2**32 - 1)),
    ]


def test_of_a_field_that_occurs_twice_the_first_counts() -> None:
    twice = Octets(table([("A", 1), ("B", 2), ("A", 3)])).table()
    assert twice == [(b"A", 1), (b"B", 2), (b"A", 3)]
    assert first(twice) == {b"A": 1, b"B": 2}


def test_the_header_of_a_message() -> None:
    expected = octets("00000002 01 04 00000000 0a 746578742f706c61696e 00 01 69 0007 01 41 49 00000001")
    fields = {"body_size": 2, "persistent": True, "priority": 4, "mime_type": "text/plain", "identifier": "i"}
    assert encode_header(**fields, headers={"A": 1}) == expected
    read, size = decode_header(expected + b"hi")
    assert size == len(expected)
    assert read["headers"] == [(b"A", 1)]
    assert (read["priority"], read["identifier"], read["body_size"]) == (4, b"i", 2)


@pytest.mark.parametrize(("size", "start"), [(0xFFFE, "fffe"), (0xFFFF, "ffff0000ffff")])
def test_a_large_frame_tells_its_size_in_four_octets(size: int, start: str) -> None:
    beside_the_list = 1 + 2 + 4 + 2 + 1
    frame = encode("handle-index", message_list=bytes(size - beside_the_list))
    assert frame.startswith(octets(start))
    assert decode(frame)[1]["message_list"] == bytes(size - beside_the_list)


def test_a_small_frame_may_tell_its_size_in_four_octets() -> None:
    assert decode(octets("ffff 00000003 0e 01 ce")) == ("connection-ping", {"respond": True})


# -- there and back ------------------------------------------------------------------------------------

short_strings = st.binary(max_size=20).map(lambda each: each.replace(b"\0", b"0"))
integers = st.integers(-(2**31), 2**31 - 1)
decimals = st.builds(lambda digits, places: Decimal(digits).scaleb(-places), integers, st.integers(0, 20))
values = st.binary(max_size=20) | integers | decimals | st.integers(0, 2**32 - 1).map(Time)
names = st.from_regex(r"[A-Za-z$#][A-Za-z0-9_$#]{0,20}", fullmatch=True).map(str.encode)
OF_KIND: dict[str, st.SearchStrategy[Any]] = {
    "octet": st.integers(0, 0xFF),
    "short": st.integers(0, 0xFFFF),
    "long": st.integers(0, 0xFFFFFFFF),
    "bit": st.booleans(),
    "short-string": short_strings,
    "long-string": st.binary(max_size=40),
    "table": st.lists(st.tuples(names, values), max_size=4),
}


def of(fields: tuple[Field, ...]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({field.name: OF_KIND[field.kind] for field in fields})


whole = st.sampled_from(COMMANDS).flatmap(lambda each: st.tuples(st.just(each.name), of(tuple(each.fields))))


@pytest.mark.parametrize("name", [each.name for each in COMMANDS])
def test_every_field_has_a_default(name: str) -> None:
    found, fields = decode(encode(name))
    assert found == name
    assert not any(fields.values())
    assert list(fields) == [field.name for field in command(name).fields]


def test_there_are_all_commands_of_the_grammar() -> None:
    assert len(COMMANDS) == len({each.code for each in COMMANDS}) == 27


@thorough
@given(whole)
def test_commands_come_back(given: tuple[str, dict[str, Any]]) -> None:
    name, fields = given
    assert decode(encode(name, **fields)) == given


@thorough
@given(of(tuple(HEADER)), st.binary(max_size=5))
def test_headers_come_back(fields: dict[str, Any], body: bytes) -> None:
    header = encode_header(**fields)
    assert decode_header(header + body) == (fields, len(header))


@thorough
@given(of(tuple(HEADER)), st.data())
def test_a_header_that_is_cut_off_is_incomplete(fields: dict[str, Any], data: st.DataObject) -> None:
    header = encode_header(**fields)
    with pytest.raises(Incomplete):
        decode_header(header[: data.draw(st.integers(0, len(header) - 1))])


@thorough
@given(damaged(whole.map(lambda each: encode(each[0], **each[1]))))
def test_whatever_comes_it_is_read_or_refused(anything: bytes) -> None:
    try:
        name, fields = decode(anything)
    except ValueError:
        return
    assert decode(encode(name, **fields)) == (name, fields)


# -- malformed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        ("", "before its size"),
        ("00", "before its size"),
        ("ffff 0000", "before its size"),
        ("0000", "at least a command"),
        ("0001 ce", "at least a command"),
        ("0003 0e 01 cf", "0xcf in place of 0xce"),
        ("0003 0e 01", "tells of 3 octets, and 2 follow"),
        ("0003 0e 01 ce 00", "tells of 3 octets, and 4 follow"),
        ("0003 0f 01 ce", "code 15"),
        ("0002 0e ce", "connection-ping is malformed: 1 octets are wanted where 0 are left"),
        ("0004 0e 01 00 ce", "1 octets behind its last field"),
        ("0006 13 00c8 01 00 ce", "zero octet"),
        ("0008 13 00c8 09 4f4b4b ce", "9 octets are wanted"),
        ("000d 0c 0007 01 2d 49 00000000 0000 ce", "no name of a field"),
        ("0009 0c 0003 01 41 58 0000 ce", "no type"),
        ("0009 0c 0003 01 41 49 0000 ce", "ends inside a field"),
        ("0007 0c 0001 00 0000 ce", "no name of a field"),
    ],
)
def test_what_is_malformed_is_refused(frame: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        decode(octets(frame))


@pytest.mark.parametrize(
    ("name", "fields", "why"),
    [
        ("handle-cancel", {}, "no command is called"),
        ("connection-ping", {"tag": 1}, "no field tag"),
        ("connection-ping", {"respond": 2}, "is a bit"),
        ("connection-close", {"reply_code": 65536}, "does not fit into 2 octets"),
        ("connection-close", {"reply_code": "200"}, "no integer"),
        ("connection-close", {"reply_code": -1}, "does not fit"),
        ("connection-close", {"reply_text": "x" * 256}, "at most 255"),
        ("connection-close", {"reply_text": "\0"}, "zero octet"),
        ("connection-close", {"reply_text": 1}, "no string"),
        ("handle-index", {"message_list": bytes(65536)}, "at most 65535"),
        ("connection-tune", {"options": {"A-B": 1}}, "no name"),
        ("connection-tune", {"options": {"A" * 129: 1}}, "no name"),
        ("connection-tune", {"options": {"A": 2**31}}, "does not fit"),
        ("connection-tune", {"options": {"A": Decimal("NaN")}}, "decimal"),
        ("connection-tune", {"options": {"A": Decimal("1E-256")}}, "decimal"),
        ("connection-tune", {"options": {"A": Time(-1)}}, "does not fit"),
    ],
)
def test_what_cannot_be_written_is_refused(name: str, fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        encode(name, **fields)


# -- the stream ----------------------------------------------------------------------------------------

SAID = (
    b"\x80\x01"
    + encode("connection-ping")
    + encode("handle-send", fragment_size=3, partial=True)
    + b"abc"
    + encode("handle-send", fragment_size=0, recovery=True)
    + encode("handle-prepare", fragment_size=2)
    + b"de"
    + encode("handle-notify", fragment_size=9, out_of_band=True)
    + encode("connection-close")
)


def told(items: list[Item]) -> list[str | bytes]:
    return [each.name if isinstance(each, Heard) else getattr(each, "octets", b"?") for each in items]


@thorough
@given(st.lists(st.integers(1, 20), max_size=30))
def test_a_stream_is_cut_whatever_pieces_it_comes_in(sizes: list[int]) -> None:
    splitter, items, rest = Splitter(initiation=True), list[Item](), SAID
    for size in [*sizes, len(SAID)]:
        items += splitter.feed(rest[:size])
        rest = rest[size:]
    assert items[0] == Initiation(128, 1)
    assert told(items[1:]) == [
        "connection-ping",
        *("handle-send", b"abc", "handle-send", b""),
        *("handle-prepare", b"de", "handle-notify", "connection-close"),
    ]


def test_what_is_not_read_is_there_for_the_next() -> None:
    splitter = Splitter()
    unread = splitter.feed(encode("connection-ping") * 2)
    assert next(unread)
    assert told(list(splitter.feed(encode("connection-close")))) == ["connection-ping", "connection-close"]


@pytest.mark.parametrize("size", [1, 7, 5000])
def test_what_is_malformed_or_too_large_is_passed_over(size: int) -> None:
    said = octets("0003 0e 01 cf") + encode("handle-index", message_list=bytes(1100))
    said += (
        encode("handle-send", fragment_size=1025) + bytes(1025) + encode("handle-send", fragment_size=1024)
    )
    said += bytes(1024)
    splitter = Splitter(limit=1024)
    items = [
        item for start in range(0, len(said), size) for item in splitter.feed(said[start : start + size])
    ]
    assert [type(item) for item in items] == [Malformed, Malformed, Malformed, Heard, Fragment]
