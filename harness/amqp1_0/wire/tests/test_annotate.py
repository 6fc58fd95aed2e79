import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.amqp1_0.client.credentials import blank_credentials
from harness.amqp1_0.wire.annotate import annotate, says
from harness.amqp1_0.wire.frames import (
    AMQP,
    PROTOCOL_HEADER,
    SASL,
    SASL_HEADER,
    Frame,
    RawFrame,
    amqp_frame,
    empty_frame,
    sasl_frame,
)
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Close,
    Error,
    Flow,
    Open,
    Rejected,
    Role,
    SaslInit,
    SaslOutcome,
    SaslResponse,
    SenderSettleMode,
    Source,
    Transfer,
)
from harness.amqp1_0.wire.tests.strategies import frames, units
from harness.amqp1_0.wire.types import Array, As, Described, Map, Symbol, Uint, Ulong
from harness.tests.streams import damaged, thorough
from harness.wire.annotation import Span

OPEN = amqp_frame(0, Open("c", max_frame_size=512, offered_capabilities=["a", "b"])).encode()
REJECTED = Rejected(Error(AmqpError.NOT_FOUND))


@pytest.mark.parametrize(
    ("octets", "line"),
    [
        (PROTOCOL_HEADER, "protocol header AMQP 0 1-0-0"),
        (SASL_HEADER, "protocol header AMQP 3 1-0-0"),
        (OPEN, "open channel=0 container-id=c max-frame-size=512 offered-capabilities=[a, b]"),
        (
            amqp_frame(1, Attach("l", 0, Role.SENDER, SenderSettleMode.MIXED, source=Source("q"))).encode(),
            "attach channel=1 name=l handle=0 role=sender snd-settle-mode=mixed source=source(address=q)",
        ),
        (
            amqp_frame(1, Transfer(0, 1, b"\0t", state=REJECTED), b"pay").encode(),
            "transfer channel=1 handle=0 delivery-id=1 delivery-tag=\\x00t "
            "state=rejected(error=error(condition=amqp:not-found)) and 3 octets of payload",
        ),
        (
            amqp_frame(0, Close(Error(AmqpError.NOT_FOUND, "no\nsuch", {"a": 1}))).encode(),
            "close channel=0 error=error(condition=amqp:not-found description=no\\nsuch info={a: 1})",
        ),
        (amqp_frame(2, Flow(None, 0, 1, 2, drain=True)).encode(),
         "flow channel=2 incoming-window=0 next-outgoing-id=1 outgoing-window=2 drain=true"),
        (amqp_frame(0, Close().sent_as(unknown=(1,))).encode(), "close channel=0 and 1 more element"),
        (amqp_frame(0, Close(Described(Ulong(9), (None,)))).encode(),
         "close channel=0 error=9:[null], malformed: error is a described value, not an error"),
        (amqp_frame(0, Open()).encode(),
         "open channel=0, malformed: container-id is mandatory, and null or absent"),
        (empty_frame(4).encode(), "empty frame channel=4"),
        (Frame(AMQP, 0, b"", bytes(4)).encode(), "empty frame channel=0 behind 4 octets of extended header"),
        (Frame(SASL, 0).encode(), "empty sasl frame"),
        (Frame(9, 0).encode(), "empty frame type=9 channel=0"),
        (
            sasl_frame(SaslInit("PLAIN", b"\0guest\0guest", "h")).encode(),
            "sasl-init mechanism=PLAIN initial-response=(12 octets withheld) hostname=h",
        ),
        (sasl_frame(SaslResponse(b"secret")).encode(), "sasl-response response=(6 octets withheld)"),
        (sasl_frame(SaslOutcome(1)).encode(), "sasl-outcome code=auth"),
        (Frame(SASL, 5, SaslOutcome(0).encode()).encode(), "sasl-outcome channel=5 code=ok"),
        (
            Frame(AMQP, 1, b"\0\x53\x10\xc0\2\2\x40").encode(),
            "frame type=0 channel=1, not decodable: octet 5 of the body: "
            "the list counts 2 items, at most 1 fit into it",
        ),
        (b"HTTP", "4 octets that are no frame: incomplete or more than one frame"),
        (RawFrame(doff=1).encode(), "8 octets that are no frame: the body begins at octet 4 of a frame of 8"),
        (bytes(8), "8 octets that are no frame: a frame of 0 octets is announced, its header alone has 8"),
        (OPEN + OPEN, f"{2 * len(OPEN)} octets that are no frame: incomplete or more than one frame"),
        (b"", "0 octets that are no frame: incomplete or more than one frame"),
    ],
)  # fmt: skip
def test_one_line_about_a_unit(octets: bytes, line: str) -> None:
    assert says(octets) == line


def test_every_field_with_its_octets() -> None:
    assert list(annotate(OPEN)) == [
        Span(0, 4, "size", 35),
        Span(4, 1, "doff", 2),
        Span(5, 1, "type", 0),
        Span(6, 2, "channel", 0),
        Span(8, 3, "descriptor", "16 (open)"),
        Span(11, 3, "list", "list8 of 8"),
        Span(14, 3, "container-id", "c"),
        Span(17, 1, "hostname", "null"),
        Span(18, 5, "max-frame-size", 512),
        Span(23, 1, "channel-max", "null"),
        Span(24, 1, "idle-time-out", "null"),
        Span(25, 1, "outgoing-locales", "null"),
        Span(26, 1, "incoming-locales", "null"),
        Span(27, 8, "offered-capabilities", "[a, b]"),
    ]


def test_composites_inside_are_taken_apart() -> None:
    made = Attach("l", 0, Role.RECEIVER, source=Source("q", dynamic=True))
    octets = Frame(AMQP, 1, made.encode() + b"more", bytes(4)).encode()
    assert list(annotate(octets))[4:] == [
        Span(8, 4, "extended header", "00000000"),
        Span(12, 3, "descriptor", "18 (attach)"),
        Span(15, 3, "list", "list8 of 6"),
        Span(18, 3, "name", "l"),
        Span(21, 1, "handle", 0),
        Span(22, 1, "role", "true (receiver)"),
        Span(23, 1, "snd-settle-mode", "null"),
        Span(24, 1, "rcv-settle-mode", "null"),
        Span(25, 3, "source.descriptor", "40 (source)"),
        Span(28, 3, "source.list", "list8 of 5"),
        Span(31, 3, "source.address", "q"),
        Span(34, 1, "source.durable", "null"),
        Span(35, 1, "source.expiry-policy", "null"),
        Span(36, 1, "source.timeout", "null"),
        Span(37, 1, "source.dynamic", True),
        Span(38, 4, "payload", "more"),
    ]


def test_what_follows_the_last_field_and_what_cannot_be_read() -> None:
    octets = amqp_frame(0, Close().sent_as(unknown=(Uint(1),), descriptor=Symbol("amqp:close:list"))).encode()
    assert [(span.name, span.value) for span in annotate(octets)][4:] == [
        ("descriptor", "amqp:close:list (close)"),
        ("list", "list8 of 2"),
        ("error", "null"),
        ("element 1", "1"),
    ]
    bad = Frame(AMQP, 0, b"\0\x53\x10\xc0\2\2\x40").encode()
    assert list(annotate(bad))[-1] == Span(
        8, 7, "not decodable", "octet 5 of the body: the list counts 2 items, at most 1 fit into it"
    )
    assert [tuple(span)[:3] for span in annotate(RawFrame(b"ab", doff=1).encode())] == [
        (0, 4, "size"),
        (4, 1, "doff"),
        (5, 5, "not a frame"),
    ]


def covered(octets: bytes) -> None:
    behind = 0
    for span in annotate(octets):
        assert span.offset == behind
        assert span.length >= 0
        behind = span.offset + span.length
        assert str(span.value).isprintable()
        assert len(str(span.value)) <= 200
    assert behind == len(octets)


@thorough
@given(units | damaged(units) | st.binary(max_size=40))
def test_spans_leave_no_octet_out_and_lines_are_safe(octets: bytes) -> None:
    covered(octets)
    line = says(octets)
    assert line.isprintable()
    assert len(line) <= 2000


@pytest.mark.parametrize("text", ["\x1b[2J", "two\nlines", "\u202ereversed", "\x9b31m", "\r", "\u2028"])
def test_control_characters_of_the_peer_stay_out(text: str) -> None:
    octets = amqp_frame(0, Close(Error(AmqpError.NOT_FOUND, text, Map({text: (text, Map({1: text}))}))))
    assert says(octets.encode()).isprintable()
    covered(octets.encode())
    assert text.encode("unicode_escape").decode() in says(octets.encode())


def test_long_values_are_cut() -> None:
    wide = tuple(Array(0x40, (None,) * 256) for _ in range(3000))
    for value in ("y" * 100_000, wide, Map({str(n): wide[:9] for n in range(99)})):
        octets = amqp_frame(0, Open("x" * 100_000, properties=As(0xD1, ["a", value]))).encode()
        assert len(says(octets)) < 400
        covered(octets)


# -- credentials ---------------------------------------------------------------------------------------

SECRET = b"\0guest\0secret-word"
INIT = sasl_frame(SaslInit("PLAIN", SECRET, "host")).encode()
RESPONSE = sasl_frame(SaslResponse(SECRET)).encode()


def blanked(octets: bytes) -> bytes:
    after = blank_credentials(octets)
    assert len(after) == len(octets)
    assert b"secret" not in after
    assert b"word" not in after
    assert "secret" not in says(octets) + str(list(annotate(octets)))
    assert blank_credentials(after) == after
    return after


@thorough
@given(st.binary(max_size=300), st.sampled_from([None, "host"]))
def test_the_response_is_blanked_at_equal_length(response: bytes, hostname: str | None) -> None:
    stars = b"*" * len(response)
    octets = sasl_frame(SaslInit("PLAIN", response, hostname)).encode()
    assert blank_credentials(octets) == sasl_frame(SaslInit("PLAIN", stars, hostname)).encode()
    octets = sasl_frame(SaslResponse(response)).encode()
    assert blank_credentials(octets) == sasl_frame(SaslResponse(stars)).encode()


NAME = "amqp:sasl-init:list"


@pytest.mark.parametrize("descriptor", [As(0x80, 0x41), Symbol(NAME), As(0xB3, NAME)])
def test_the_descriptor_may_be_written_in_any_way(descriptor: object) -> None:
    made = SaslInit("PLAIN", SECRET).sent_as(descriptor=descriptor)
    stars = made.replace(initial_response=b"*" * len(SECRET))
    assert blanked(sasl_frame(made).encode()) == sasl_frame(stars).encode()


@thorough
@given(st.lists(units, max_size=2).map(b"".join), st.sampled_from([INIT, RESPONSE]), units)
def test_several_units_in_one_piece_are_all_looked_at(before: bytes, secret: bytes, after: bytes) -> None:
    blanked(before + secret + after + secret)
    whole = SASL_HEADER + secret + OPEN
    assert blanked(whole) == SASL_HEADER + blank_credentials(secret) + OPEN


@pytest.mark.parametrize("octets", [INIT, RESPONSE])
def test_a_cut_frame_is_blanked(octets: bytes) -> None:
    for end in range(len(octets)):
        blanked(octets[:end])
        blanked(SASL_HEADER + octets[:end])


@pytest.mark.parametrize("octets", [INIT, RESPONSE])
@pytest.mark.parametrize("octet", [0, 1, 2, 0x2A, 0x40, 0x7F, 0xA3, 0xFF])
def test_a_damaged_frame_is_blanked(octets: bytes, octet: int) -> None:
    mark = range(8, 11)
    for place in (place for place in range(len(octets)) if place not in mark):
        damaged_frame = bytearray(octets)
        damaged_frame[place] = octet
        blanked(bytes(damaged_frame))


@pytest.mark.parametrize("body", [INIT[8:], RESPONSE[8:]])
def test_a_frame_that_lies_is_blanked(body: bytes) -> None:
    for frame in (
        RawFrame(body, type=SASL, size=12),
        RawFrame(body, type=SASL, size=24),
        RawFrame(body, type=SASL, size=4000),
        RawFrame(body, type=SASL, size=0xFFFFFFFF),
        RawFrame(body, type=SASL, doff=0),
        RawFrame(body, type=SASL, doff=9),
        RawFrame(b"", extended=body),
        RawFrame(body + b"more", type=SASL),
        RawFrame(b"more" + body, type=SASL),
        RawFrame(body, type=AMQP),
        RawFrame(body, type=77),
    ):
        blanked(frame.encode())
        blanked(frame.encode() + OPEN)


def test_fields_that_hold_the_response_by_mistake_are_blanked() -> None:
    for made in (
        SaslInit("PLAIN\0secret-word"),
        SaslInit("PLAIN", None, "\0guest\0secret-word"),
        SaslInit("PLAIN", As(0xA1, "secret-word")),
        SaslInit("PLAIN").sent_as(unknown=(SECRET,)),
    ):
        blanked(sasl_frame(made).encode())


@thorough
@given(frames.filter(lambda frame: frame.type != SASL))
def test_nothing_else_is_touched(frame: Frame) -> None:
    assert blank_credentials(frame.encode()) == frame.encode()


def test_a_message_may_hold_what_looks_like_credentials() -> None:
    octets = amqp_frame(1, Transfer(0), SaslInit("PLAIN", b"not ours").encode()).encode()
    assert blank_credentials(octets) == octets


@thorough
@given(damaged(units) | st.binary(max_size=40))
def test_any_octets_keep_their_length(octets: bytes) -> None:
    assert len(blank_credentials(octets)) == len(octets)
