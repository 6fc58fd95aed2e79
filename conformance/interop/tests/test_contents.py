"""Contents of 0-9-1 by hand: every octet of a value, both ways, and what a form is called."""

from typing import Any

import pytest

from conformance.interop.amqp0_9_1.content import form_of, key, readings, with_value
from conformance.interop.amqp0_9_1.stream import Stream
from conformance.interop.amqp0_9_1.values import DEEPEST, Reader, Unread, encode
from conformance.interop.cases import cases
from conformance.interop.comparing import compare_messages, described
from conformance.interop.outcomes import Form, Outcome
from conformance.interop.play.passing import Content, Ended


@pytest.mark.parametrize(
    ("value", "octets"),
    [
        ({"i8": "-2"}, b"b\xfe"),
        ({"u8": "254"}, b"B\xfe"),
        ({"i16": "-2"}, b"U\xff\xfe"),
        ({"u16": "258"}, b"u\x01\x02"),
        ({"i32": "-2"}, b"I\xff\xff\xff\xfe"),
        ({"u32": "1"}, b"i\x00\x00\x00\x01"),
        ({"i64": "-1"}, b"L" + b"\xff" * 8),
        ({"u64": "1"}, b"l" + bytes(7) + b"\x01"),
        ({"f32": "3f000000"}, b"f\x3f\x00\x00\x00"),
        ({"f64": "3fe0000000000000"}, b"d\x3f\xe0" + bytes(6)),
        ({"dec": [2, "31415"]}, b"D\x02\x00\x00\x7a\xb7"),
        ({"time": "1"}, b"T" + bytes(7) + b"\x01"),
        ({"short": "ab"}, b"s\x02ab"),
        ("ab", b"S\x00\x00\x00\x02ab"),
        ({"bin": "ff"}, b"S\x00\x00\x00\x01\xff"),
        (True, b"t\x01"),
        (None, b"V"),
        ({"list": [True, None]}, b"A\x00\x00\x00\x03t\x01V"),
        ({"map": [["a", None]]}, b"F\x00\x00\x00\x03\x01aV"),
    ],
)
def test_each_type_has_its_letter(value: Any, octets: bytes) -> None:
    assert encode(value) == octets
    reader = Reader(octets)
    assert (reader.value(), reader.at) == (value, len(octets))


def test_errata_read_two_letters_otherwise() -> None:
    assert Reader(b"s\xff\xfe", errata=True).value() == {"i16": "-2"}
    assert Reader(b"l" + b"\xff" * 8, errata=True).value() == {"i64": "-1"}
    assert Reader(b"x\x00\x00\x00\x01a").value() == {"bin": "61"}


@pytest.mark.parametrize(
    "octets",
    [
        b"I\x00",
        b"?",
        b"",
        b"A\x00\x00\x00\x09t\x01",
        b"A\x00\x00\x00\x01I\x00\x00\x00\x01",
        b"S\xff\xff\xff\xff",
    ],
)
def test_what_is_no_value_is_said_to_be_none(octets: bytes) -> None:
    with pytest.raises(Unread):
        Reader(octets).value()


def test_depth_is_bounded() -> None:
    deep = b""
    for _ in range(DEEPEST + 2):
        deep = b"A" + len(deep).to_bytes(4) + deep
    with pytest.raises(Unread, match="deep"):
        Reader(deep).value()


def test_every_case_can_be_written_and_read_back() -> None:
    for case in cases("0-9-1"):
        found = [
            compare_messages(described(case.message), each, exact=True).outcome
            for each in readings(form_of(case.message))
        ]
        assert Outcome.SAME in found, case.name
        for octets in case.forms:
            assert readings(with_value(case.message, octets)), case.name


def form(*fields: list[Any], **properties: Any) -> Form:
    return form_of({"body": "m", "properties": {"headers": {"map": list(fields)}, **properties}})


ASKED: dict[str, Any] = {"properties": {"headers": {}}}


def test_a_form_is_named_by_what_was_asked_for() -> None:
    here = key(form(["a", "1"], ["b", "2"]), ASKED, True)
    assert key(form(["b", "2"], ["a", "1"]), ASKED, True) == here, "fields have no order"
    assert key(form(["a", "1"], ["b", "3"]), ASKED, True) != here
    assert key(form(["a", "1"], ["b", {"short": "2"}]), ASKED, True) != here


def test_what_nobody_asked_for_hardly_counts() -> None:
    one, other = form(**{"message-id": "1"}), form(**{"message-id": "2"})
    assert key(one, ASKED, False) == key(form(), ASKED, False)
    assert key(one, ASKED, True) == key(other, ASKED, True), "some make up another one each time"
    assert key(one, ASKED, True) != key(form(), ASKED, True)
    asked = {"properties": {"message-id": "1"}}
    assert key(one, asked, False) != key(other, asked, False)


def test_letters_are_kept_apart_that_read_alike() -> None:
    octets = b"\x00\x00\x00\x01a"
    long, other = (with_value({"body": "m"}, letter + octets) for letter in (b"S", b"x"))
    assert key(long, ASKED, False) != key(other, ASKED, False)


DELIVER = b"\x00\x3c\x00\x3c\x01c" + bytes(7) + b"\x05\x01\x00\x01q"
HEADER = b"\x00\x3c\x00\x00" + bytes(7) + b"\x03" + b"\x08\x00\x07"


def frame(kind: int, payload: bytes, channel: int = 1) -> bytes:
    return bytes((kind, 0, channel)) + len(payload).to_bytes(4) + payload + b"\xce"


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_contents_are_seen_in_pieces_of_any_size(piece: int) -> None:
    octets = b"AMQP\x00\x00\x09\x01" + frame(1, DELIVER) + frame(8, b"", 0)
    octets += frame(2, HEADER) + frame(3, b"ab") + frame(3, b"c")
    octets += frame(1, b"\x00\x14\x00\x28\x01\x94\x04gone\x00\x00\x00\x00")
    stream, seen = Stream(), []
    for at in range(0, len(octets), piece):
        seen += list(stream.feed(octets[at : at + piece]))
    assert seen == [
        Content(Form(b"\x08\x00\x07", b"abc"), again=True, tag=5),
        Ended("channel", "404", "gone"),
    ]


def test_contents_of_two_channels_are_kept_apart() -> None:
    stream = Stream()
    octets = b"".join(frame(1, DELIVER, each) + frame(2, HEADER, each) for each in (1, 2))
    octets += frame(3, b"abc", 2) + frame(3, b"def", 1)
    assert [each.form.body for each in stream.feed(octets) if isinstance(each, Content)] == [b"abc", b"def"]
