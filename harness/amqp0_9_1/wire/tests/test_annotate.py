import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.amqp0_9_1.wire.annotate import annotate, blank_credentials, says
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import (
    BODY,
    HEADER,
    HEARTBEAT,
    METHOD,
    PROTOCOL_HEADER,
    ContentHeader,
    Frame,
    RawFrame,
    method_frame,
)
from harness.amqp0_9_1.wire.vocabulary import Basic, Connection, Queue
from harness.tests.streams import damaged, thorough
from harness.wire.annotation import Span
from harness.wire.tests.wire import frames, short_text, tables, units


def wire(channel: int, method: Method) -> bytes:
    return method_frame(channel, method).encode()


DECLARE = wire(1, Queue.Declare("q", durable=True, arguments={"a": 1}))


@pytest.mark.parametrize(
    ("octets", "line"),
    [
        (PROTOCOL_HEADER, "protocol header AMQP 0-0-9-1"),
        (DECLARE, "queue.declare channel=1 queue=q durable arguments={'a': 1}"),
        (wire(2, Queue.Declare("q", reserved_1=7)), "queue.declare channel=2 reserved-1=7 queue=q"),
        (
            wire(1, Queue.DeclareOk("q", 0, 3)),
            "queue.declare-ok channel=1 queue=q message-count=0 consumer-count=3",
        ),
        (wire(1, Basic.Qos(0, 1, True)), "basic.qos channel=1 prefetch-size=0 prefetch-count=1 global"),
        (
            wire(0, Connection.StartOk({}, "PLAIN", "\0guest\0guest", "en_US")),
            "connection.start-ok channel=0 mechanism=PLAIN response=(12 octets withheld) locale=en_US",
        ),
        (
            Frame(HEADER, 1, ContentHeader(60, 5, Basic.Properties(delivery_mode=2)).encode()).encode(),
            "content header channel=1 body-size=5 delivery-mode=2",
        ),
        (Frame(BODY, 1, b"\x1b[2J").encode(), "content body channel=1 of 4 octets"),
        (Frame(HEARTBEAT, 0, b"").encode(), "heartbeat channel=0"),
        (Frame(HEARTBEAT, 0, b"x").encode(), "heartbeat channel=0 of 1 octets"),
        (b"HTTP", "4 octets that are no frame: frame type 72 is not defined"),
        (DECLARE[:-2], "26 octets that are no frame: incomplete or more than one frame"),
        (DECLARE + DECLARE, "56 octets that are no frame: incomplete or more than one frame"),
        (
            Frame(METHOD, 1, b"\0\x32\0\x0a\0\0\x05q").encode(),
            "frame type=1 channel=1, not decodable: octet 6 of the payload: "
            "the field queue reaches beyond the payload",
        ),
        (b"", "0 octets that are no frame: incomplete or more than one frame"),
    ],
)
def test_one_line_about_a_unit(octets: bytes, line: str) -> None:
    assert says(octets) == line


def test_every_field_with_its_octets() -> None:
    assert list(annotate(DECLARE)) == [
        Span(0, 1, "frame type", 1),
        Span(1, 2, "channel", 1),
        Span(3, 4, "size", 20),
        Span(7, 2, "class", "50 (queue)"),
        Span(9, 2, "method", "10 (declare)"),
        Span(11, 2, "reserved-1", 0),
        Span(13, 2, "queue", "q"),
        Span(15, 1, "passive", False),
        Span(15, 1, "durable", True),
        Span(15, 1, "exclusive", False),
        Span(15, 1, "auto-delete", False),
        Span(15, 1, "no-wait", False),
        Span(16, 11, "arguments", "{'a': 1}"),
        Span(27, 1, "frame-end", 206),
    ]


def test_every_property_with_its_octets() -> None:
    header = ContentHeader(60, 5, Basic.Properties(delivery_mode=2, message_id="m"))
    assert list(annotate(Frame(HEADER, 1, header.encode()).encode()))[3:-1] == [
        Span(7, 2, "class", 60),
        Span(9, 2, "weight", 0),
        Span(11, 8, "body size", 5),
        Span(19, 2, "property-flags", "00010000100000"),
        Span(21, 1, "delivery-mode", 2),
        Span(22, 2, "message-id", "m"),
    ]


def test_what_cannot_be_read_begins_behind_what_could() -> None:
    octets = Frame(METHOD, 1, bytes.fromhex("0032 000a 0000 0171 00 00000003 016178")).encode()
    *_, bad, end = annotate(octets)
    assert bad == Span(16, 7, "not decodable", "octet 15 of the payload: no table type has the tag 'x'")
    assert end == Span(23, 1, "frame-end", 206)


def covered(octets: bytes) -> None:
    behind, last = 0, None
    for span in annotate(octets):
        shares = last is not None and span[:2] == last[:2] and isinstance(span.value, bool)
        assert span.offset == behind or shares
        assert span.length >= 0
        behind, last = span.offset + span.length, span
        shown = str(span.value)
        assert shown.isprintable()
        assert len(shown) <= 200
    assert behind == len(octets)


@thorough
@given(units | damaged(units) | st.binary(max_size=40))
def test_spans_leave_no_octet_out_and_lines_are_safe(octets: bytes) -> None:
    covered(octets)
    line = says(octets)
    assert line.isprintable()
    assert len(line) <= 2000


@thorough
@given(st.sampled_from([METHOD, HEADER]), st.binary(max_size=60), st.booleans())
def test_frames_of_random_payload_are_covered(kind: int, payload: bytes, known: bool) -> None:
    head = {METHOD: b"\0\x32\0\x0a", HEADER: b"\0\x3c\0\0" + bytes(8)}[kind] if known else b""
    octets = Frame(kind, 1, head + payload).encode()
    covered(octets)
    assert says(octets).isprintable()


@pytest.mark.parametrize("text", ["\x1b[2J", "two\nlines", "\u202ereversed", "\x9b31m", "\r", "\u2028"])
def test_control_characters_of_the_peer_stay_out(text: str) -> None:
    for octets in (
        wire(0, Connection.Close(541, text)),
        wire(0, Connection.Start(0, 9, {text: [text]}, text, text.encode() + b"\xff")),
        Frame(
            METHOD, 0, wire(1, Queue.Declare(arguments={text: 1}))[7:-1].replace(b"I\0\0\0\x01", b"?")
        ).encode(),
    ):
        assert says(octets).isprintable()
        covered(octets)
    assert text.encode("unicode_escape").decode() in says(wire(0, Connection.Close(541, text)))


def test_long_text_is_cut() -> None:
    line = says(wire(0, Connection.Close(541, "\x1b" * 255)))
    assert len(line) < 200
    assert "..." in line
    covered(wire(0, Connection.Start(0, 9, {"x": "y" * 100_000}, b"z" * 100_000, "")))


# -- credentials ------------------------------------------------------------------------------------------


def plain(user: str, password: str) -> bytes:
    return f"\0{user}\0{password}".encode()


some_text = st.text(st.characters(codec="utf-8"), max_size=20)


@thorough
@given(tables, short_text, some_text, some_text, short_text)
def test_the_response_is_blanked_at_equal_length(
    about: dict[str, object], mechanism: str, user: str, password: str, locale: str
) -> None:
    response = plain(user, password)
    octets = wire(0, Connection.StartOk(about, mechanism, response, locale))
    stars = wire(0, Connection.StartOk(about, mechanism, b"*" * len(response), locale))
    assert blank_credentials(octets) == stars
    assert blank_credentials(wire(3, Connection.SecureOk(response))) == wire(
        3, Connection.SecureOk(b"*" * len(response))
    )
    assert blank_credentials(stars) == stars


START_OK = wire(0, Connection.StartOk({"product": "p"}, "PLAIN", plain("guest", "secret-word"), "en_US"))
SECURE_OK = wire(0, Connection.SecureOk(plain("guest", "secret-word")))


def blanked(octets: bytes) -> bytes:
    after = blank_credentials(octets)
    assert len(after) == len(octets)
    assert b"secret" not in after
    assert b"word" not in after
    assert "secret" not in says(octets)
    assert "secret" not in str(list(annotate(octets)))
    return after


@thorough
@given(st.lists(units, max_size=2).map(b"".join), st.sampled_from([START_OK, SECURE_OK]), units)
def test_several_units_in_one_piece_are_all_looked_at(before: bytes, secret: bytes, after: bytes) -> None:
    # Hypothesis tries words that it finds in the modules loaded: by chance those of the password.
    assume(not any(word in before + after for word in (b"secret", b"word")))
    once = blank_credentials(secret)
    assert blanked(before + secret + after + secret) == (
        blank_credentials(before) + once + blank_credentials(after) + once
    )


@pytest.mark.parametrize("octets", [START_OK, SECURE_OK])
def test_a_cut_frame_is_blanked(octets: bytes) -> None:
    for end in range(len(octets)):
        blanked(octets[:end])
        blanked(PROTOCOL_HEADER + DECLARE + octets[:end])


@pytest.mark.parametrize("octets", [START_OK, SECURE_OK])
@pytest.mark.parametrize("octet", [0, 1, 0x2A, 0x7F, 0xFF])
def test_a_damaged_frame_is_blanked(octets: bytes, octet: int) -> None:
    mark = range(7, 11)
    for place in (place for place in range(len(octets)) if place not in mark):
        damaged_frame = bytearray(octets)
        damaged_frame[place] = octet
        blanked(bytes(damaged_frame))


@pytest.mark.parametrize("octets", [START_OK, SECURE_OK])
def test_a_frame_that_lies_is_blanked(octets: bytes) -> None:
    payload = octets[7:-1]
    for frame in (
        RawFrame(METHOD, 0, payload, size=5),
        RawFrame(METHOD, 0, payload, size=4000),
        RawFrame(METHOD, 0, payload, size=0xFFFFFFFF),
        RawFrame(METHOD, 0, payload, end=b"\0"),
        RawFrame(METHOD, 0, payload + b"more"),
        RawFrame(METHOD, 0, b"more" + payload),
        RawFrame(HEADER, 0, payload),
        RawFrame(BODY, 0, payload),
        RawFrame(HEARTBEAT, 0, payload),
        RawFrame(77, 0, payload),
    ):
        blanked(frame.encode())
        blanked(frame.encode() + DECLARE)


def test_a_malformed_frame_keeps_its_head_and_its_end() -> None:
    octets = Frame(METHOD, 0, START_OK[7:-1] + b"more").encode()
    assert blank_credentials(octets) == octets[:11] + b"*" * (len(octets) - 12) + b"\xce"


@thorough
@given(frames.filter(lambda frame: frame.payload[:4] not in (START_OK[7:11], SECURE_OK[7:11])))
def test_nothing_else_is_touched(frame: Frame) -> None:
    assert blank_credentials(frame.encode()) == frame.encode()


def test_numbers_that_look_like_a_mark_are_left_alone() -> None:
    header = Frame(HEADER, 1, ContentHeader(60, 0x000A000B, Basic.Properties(user_id="u")).encode()).encode()
    body = Frame(BODY, 1, b"some \0\x0a\0\x0b body").encode()
    ack = wire(1, Basic.Ack(0x000A0015))
    for octets in (header, body, ack):
        assert blank_credentials(octets) == octets


@thorough
@given(damaged(units) | st.binary(max_size=40))
def test_any_octets_keep_their_length(octets: bytes) -> None:
    assert len(blank_credentials(octets)) == len(octets)
