"""Messages of 1.0 by hand: every constructor both ways, sections, and what is cut out of frames."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.interop.amqp1_0.message import asked, form_of, key, readings, with_value
from conformance.interop.amqp1_0.stream import Stream
from conformance.interop.amqp1_0.values import DEEPEST, Reader, Unread, encode
from conformance.interop.cases import cases
from conformance.interop.comparing import compare_messages, described
from conformance.interop.outcomes import Form, Outcome
from conformance.interop.play.passing import Content, Ended

UUID = "00112233-4455-6677-8899-aabbccddeeff"


@pytest.mark.parametrize(
    ("value", "octets"),
    [
        (None, "40"),
        (True, "41"),
        (False, "42"),
        ({"u8": "255"}, "50 ff"),
        ({"u16": "258"}, "60 0102"),
        ({"u32": "1"}, "70 00000001"),
        ({"u64": "1"}, "80 0000000000000001"),
        ({"i8": "-1"}, "51 ff"),
        ({"i16": "-2"}, "61 fffe"),
        ({"i32": "-2"}, "71 fffffffe"),
        ({"i64": "-2"}, "81 fffffffffffffffe"),
        ({"f32": "3f000000"}, "72 3f000000"),
        ({"f64": "3fe0000000000000"}, "82 3fe0000000000000"),
        ({"d32": "32800001"}, "74 32800001"),
        ({"d64": "31c0000000000001"}, "84 31c0000000000001"),
        ({"d128": "30400000000000000000000000000001"}, "94 30400000000000000000000000000001"),
        ({"char": "ä"}, "73 000000e4"),
        ({"time": "-1"}, "83 ffffffffffffffff"),
        ({"uuid": UUID}, "98 00112233445566778899aabbccddeeff"),
        ({"bin": "00ff"}, "b0 00000002 00ff"),
        ("ab", "b1 00000002 6162"),
        ({"sym": "ab"}, "b3 00000002 6162"),
        ({"list": [True, None]}, "d0 00000006 00000002 41 40"),
        ({"map": [["a", None]]}, "d1 0000000b 00000002 b1 00000001 61 40"),
        ({"array": ["i8", ["1", "-1"]]}, "f0 00000007 00000002 51 01 ff"),
        ({"array": ["i32", []]}, "f0 00000005 00000000 71"),
        ({"desc": [{"u64": "1"}, "a"]}, "00 80 0000000000000001 b1 00000001 61"),
    ],
)
def test_each_type_has_its_constructor(value: Any, octets: str) -> None:
    assert encode(value) == bytes.fromhex(octets)
    reader = Reader(bytes.fromhex(octets))
    assert (reader.value(), reader.at) == (value, len(bytes.fromhex(octets)))


@pytest.mark.parametrize(
    ("octets", "value"),
    [
        ("56 01", True),
        ("43", {"u32": "0"}),
        ("52 05", {"u32": "5"}),
        ("44", {"u64": "0"}),
        ("53 05", {"u64": "5"}),
        ("54 ff", {"i32": "-1"}),
        ("55 ff", {"i64": "-1"}),
        ("a0 01 ff", {"bin": "ff"}),
        ("a1 01 61", "a"),
        ("a3 01 61", {"sym": "a"}),
        ("45", {"list": []}),
        ("c0 03 02 41 40", {"list": [True, None]}),
        ("c1 05 02 a1 01 61 40", {"map": [["a", None]]}),
        ("e0 04 02 54 01 ff", {"array": ["i32", ["1", "-1"]]}),
        ("e0 06 02 a1 01 61 01 62", {"array": ["text", ["a", "b"]]}),
        ("e0 08 02 00 a3 01 64 50 01 02", {"list": [{"desc": [{"sym": "d"}, {"u8": n}]} for n in "12"]}),
    ],
)
def test_compact_encodings_say_the_same(octets: str, value: Any) -> None:
    reader = Reader(bytes.fromhex(octets))
    assert (reader.value(), reader.at) == (value, len(bytes.fromhex(octets)))


@pytest.mark.parametrize(
    "octets", ["", "70 00", "3f", "c0 09 01 41", "c0 04 01 41 41 41", "b1 ffffffff", "e0 ff"]
)
def test_what_is_no_value_is_said_to_be_none(octets: str) -> None:
    with pytest.raises(Unread):
        Reader(bytes.fromhex(octets)).value()


def test_depth_is_bounded() -> None:
    deep = b"\x40"
    for _ in range(DEEPEST + 2):
        deep = b"\xd0" + (len(deep) + 4).to_bytes(4) + b"\0\0\0\x01" + deep
    with pytest.raises(Unread, match="deep"):
        Reader(deep).value()


def test_every_case_can_be_written_and_read_back() -> None:
    for case in cases("1-0"):
        forms = [form_of(case.message), *(with_value(case.message, octets) for octets in case.forms)]
        for form in forms:
            (read,) = readings(form)
            found = compare_messages(described(case.message), read, exact=True)
            assert found.outcome is Outcome.SAME, (case.name, found)


def test_sections_stand_in_the_order_of_the_standard() -> None:
    told = {
        "properties": {"subject": "s"},
        "header": {"durable": True},
        "annotations": {"map": []},
        "body": "m",
    }
    octets = form_of(told | {"application": {"map": [["a", True]]}}).body
    places = [octets.index(b"\x00\x53" + bytes((code,))) for code in (0x70, 0x72, 0x73, 0x74, 0x75)]
    assert places == sorted(places)


def test_a_form_is_named_by_what_was_asked_for() -> None:
    asked = {"body": "m", "properties": {"subject": "s"}}
    here = key(form_of(asked), asked, exact=False)
    assert key(form_of(asked | {"header": {"durable": True}}), asked, exact=False) == here
    assert key(form_of(asked | {"header": {"durable": True}}), asked, exact=True) != here
    assert key(form_of(asked | {"properties": {"subject": "t"}}), asked, exact=False) != here
    assert key(form_of(asked | {"body": "n"}), asked, exact=False) != here
    one, other = (
        {"body": {"value": {"map": pairs}}} for pairs in ([["a", 1], ["b", 2]], [["b", 2], ["a", 1]])
    )
    assert key(form_of(one), one, exact=True) == key(form_of(other), one, exact=True)
    wide, compact = (with_value({}, octets) for octets in (b"\x70\0\0\0\0", b"\x43"))
    assert key(wide, {}, exact=False) != key(compact, {}, exact=False)


def test_an_encoding_of_an_application_property_is_a_form_of_its_own() -> None:
    message = {"body": "m", "application": {"map": [["v", True]]}}
    long, short = (
        Form(b"", bytes.fromhex("005374 c1 05 02 a10176" + each + "005375a0016d")) for each in ("41", "5601")
    )
    short = Form(b"", short.body.replace(b"\xc1\x05", b"\xc1\x06"))
    assert readings(long) == readings(short)
    assert key(long, message, False) != key(short, message, False)


def test_an_empty_section_counts_where_a_case_is_about_all() -> None:
    without, with_one = (Form(b"", bytes.fromhex(each + "005375a0016d")) for each in ("", "00537345"))
    assert key(without, {"body": "m"}, True) != key(with_one, {"body": "m"}, True)
    assert key(without, {"body": "m"}, False) == key(with_one, {"body": "m"}, False)


def test_a_lifetime_names_no_form() -> None:
    message = {"body": "m", "header": {"ttl": 5}}
    one, other = (form_of({"body": "m", "header": {"ttl": each}}) for each in (5, 4))
    assert key(one, message, False) == key(other, message, False)


def test_a_case_asks_for_the_types_of_the_standard() -> None:
    told = asked({"body": "m", "header": {"priority": 7}, "properties": {"user-id": {"bin": "00"}}})
    assert told == {
        "body": "m",
        "header": {"priority": {"u8": "7"}},
        "properties": {"user-id": {"bin": "00"}},
    }


def test_several_pieces_of_data_are_one_body() -> None:
    (read,) = readings(Form(b"", b"\x00\x53\x75\xa0\x01a\x00\x53\x75\xa0\x01b"))
    assert read == {key: each for key, each in described({"body": "ab"}).items() if key in ("size", "crc32")}


def frame(*fields: Any, code: int, payload: bytes = b"", kind: int = 0) -> bytes:
    said = encode({"desc": [{"u64": str(code)}, {"list": list(fields)}]}) + payload
    return (len(said) + 8).to_bytes(4) + bytes((2, kind, 0, 0)) + said


def number(value: int) -> Any:
    return {"u32": str(value)}


ERROR = {"desc": [{"u64": "29"}, {"list": [{"sym": "amqp:not-found"}, "nobody"]}]}


@pytest.mark.parametrize("piece", [1, 9, 4096])
def test_messages_are_seen_in_pieces_of_any_size(piece: int) -> None:
    octets = b"AMQP\x03\x01\x00\x00" + frame({"array": ["sym", ["PLAIN"]]}, code=0x40, kind=1)
    octets += b"AMQP\x00\x01\x00\x00" + b"\0\0\0\x08\x02\0\0\0"
    octets += frame(number(3), number(7), {"bin": "00"}, None, None, True, code=0x14, payload=b"ab")
    octets += frame(number(4), number(8), {"bin": "01"}, code=0x14, payload=b"other")
    octets += frame(number(3), None, None, None, None, False, code=0x14, payload=b"c")
    octets += frame(number(3), True, ERROR, code=0x16) + frame(code=0x18)
    stream, seen = Stream(), []
    for at in range(0, len(octets), piece):
        seen += list(stream.feed(octets[at : at + piece]))
    assert seen == [
        Content(Form(b"", b"other"), tag=8),
        Content(Form(b"", b"abc"), tag=7),
        Ended("link", "amqp:not-found", "nobody"),
    ]


def test_an_aborted_message_is_none() -> None:
    begun = frame(number(0), number(0), {"bin": "00"}, None, None, True, code=0x14, payload=b"ab")
    aborted = frame(number(0), None, None, None, None, False, None, None, None, True, code=0x14)
    assert list(Stream().feed(begun + aborted)) == []
