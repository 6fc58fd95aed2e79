import copy
import pickle
from typing import Any

import pytest
from hypothesis import given

from harness.amqp1_0.wire import performatives as words
from harness.amqp1_0.wire.composites import (
    CLASSES,
    Breach,
    Composite,
    choices,
    decode_composite,
    described_by,
    recognise,
)
from harness.amqp1_0.wire.decoding import decode_whole
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.generated import GRAMMAR
from harness.amqp1_0.wire.performatives import (
    Accepted,
    AmqpError,
    Attach,
    Begin,
    Close,
    ConnectionError_,
    Detach,
    Disposition,
    Error,
    Flow,
    Open,
    Received,
    Rejected,
    Role,
    SaslCode,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SenderSettleMode,
    Source,
    Target,
    Transfer,
)
from harness.amqp1_0.wire.tests.strategies import composites_of, performatives, refusal_of
from harness.amqp1_0.wire.types import Array, As, Described, Map, Raw, Symbol, Ubyte, Uint, Ulong
from harness.tests.streams import brief, damaged, thorough
from harness.wire.units import DecodeError, EncodeError

EVERY = sorted(CLASSES)


def read(octets: bytes) -> Composite:
    found, behind = decode_composite(octets)
    assert behind == len(octets)
    return found


def test_every_composite_type_and_choice_of_the_grammar_has_a_name() -> None:
    assert {*CLASSES} == {each.name for each in GRAMMAR.composites}
    assert {"open", "begin", "attach", "flow", "transfer", "disposition", "detach", "end", "close"} <= {
        *CLASSES
    }
    assert Role.SENDER is False
    assert repr(SenderSettleMode.MIXED) == "Ubyte(2)"
    assert repr(AmqpError.NOT_FOUND) == "Symbol('amqp:not-found')"
    assert ConnectionError_.FRAMING_ERROR == "amqp:connection:framing-error"
    assert SaslCode.AUTH == 1
    assert words.MIN_MAX_FRAME_SIZE == 512
    assert choices("sasl-code")["sys-temp"] == 4


# -- octets written out by hand ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "octets"),
    [
        (Open("c"), "00 5310 c0 04 01 a10163"),
        (Open("c", max_frame_size=512), "00 5310 c0 0a 03 a10163 40 70 00000200"),
        (
            Open("c", properties={"product": "p"}),
            "00 5310 c0 1b 0a a10163 40 40 40 40 40 40 40 40 c1 0d 02 a30770726f64756374 a10170",
        ),
        (Begin(None, 0, 1, 2048), "00 5311 c0 0a 04 40 43 5201 70 00000800"),
        (
            Attach("l", 0, Role.RECEIVER, source=Source("q")),
            "00 5312 c0 11 06 a1016c 43 41 40 40 00 5328 c0 04 01 a10171",
        ),
        (Flow(None, 0, 0, 0, drain=True), "00 5313 c0 0a 09 40 43 43 43 40 40 40 40 41"),
        (Transfer(0, 1, b"t", settled=True), "00 5314 c0 09 05 43 5201 a00174 40 41"),
        (Disposition(Role.SENDER, 1, state=Accepted()), "00 5315 c0 0a 05 42 5201 40 40 00 5324 45"),
        (Detach(0), "00 5316 c0 02 01 43"),
        (Close(), "00 5318 45"),
        (
            Close(Error(Symbol("x"), "y")),
            "00 5318 c0 0d 01 00 531d c0 07 02 a30178 a10179",
        ),
        (SaslMechanisms("PLAIN"), "00 5340 c0 08 01 a305504c41494e"),
        (SaslMechanisms(["A", "B"]), "00 5340 c0 09 01 e0 06 02 a3 0141 0142"),
        (SaslInit("A", b"\0"), "00 5341 c0 07 02 a30141 a00100"),
        (SaslOutcome(SaslCode.OK), "00 5344 c0 03 01 5000"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_performatives_stand_on_the_wire_as_the_document_has_them(made: Composite, octets: str) -> None:
    assert made.encode().hex(" ") == bytes.fromhex(octets).hex(" ")
    again = read(bytes.fromhex(octets))
    assert again == made
    assert type(again) is type(made)
    assert not [*again.breaches()]


# -- there and back ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_every_composite_returns_unchanged(name: str) -> None:
    @brief
    @given(composites_of(CLASSES[name]))
    def returns(made: Composite) -> None:
        octets = made.encode()
        again = read(octets)
        # By their readable form: a float may be no number.
        assert repr(again) == repr(made)
        assert again.encode() == octets
        assert not [*again.breaches()]
        assert hash(again) == hash(again)
        assert repr(pickle.loads(pickle.dumps(made))) == repr(copy.deepcopy(made)) == repr(made)

    returns()


@thorough
@given(damaged(performatives.map(lambda made: made.encode())))
def test_any_octets_are_a_composite_or_refused(octets: bytes) -> None:
    refusal = refusal_of(decode_composite, octets)
    if refusal is not None:
        assert 0 <= refusal.offset <= len(octets)
        return
    made, _ = decode_composite(octets)
    assert repr(read(made.encode())) == repr(made)
    assert all(isinstance(breach, Breach) for breach in made.breaches())


# -- defaults, several values, absent and null ---------------------------------------------------------


def test_defaults_are_read_and_not_sent() -> None:
    made = Open("c")
    assert (made.max_frame_size, made.channel_max) == (4294967295, 65535)
    assert repr(made.channel_max) == "Ushort(65535)"
    assert made.carried("channel_max") is None
    assert (made.idle_time_out, made.hostname, made.properties) == (None, None, None)
    assert Attach("l", 0, Role.SENDER).snd_settle_mode == SenderSettleMode.MIXED
    assert Transfer(0).more is False
    assert Transfer(0).settled is None
    assert Source().expiry_policy == "session-end"
    assert Source().timeout == 0
    assert Open("c", channel_max=0).channel_max == 0
    assert made == Open("c")
    assert made != Open("c", channel_max=65535)


def test_one_value_and_an_array_are_read_alike_and_kept_apart() -> None:
    assert Open("c").offered_capabilities == ()
    one, several = Open("c", offered_capabilities="a"), Open("c", offered_capabilities=["a"])
    assert one.offered_capabilities == several.offered_capabilities == (Symbol("a"),)
    assert repr(one.carried("offered_capabilities")) == "Symbol('a')"
    assert several.carried("offered_capabilities") == Array(0xA3, (Symbol("a"),))
    assert one != several
    assert Open("c", offered_capabilities=[]).offered_capabilities == ()
    assert Open("c", offered_capabilities=[]).carried("offered_capabilities") == Array(0xA3, ())


def test_null_and_absent_are_kept_apart() -> None:
    absent, null = read(bytes.fromhex("00 5318 45")), read(bytes.fromhex("00 5318 c0 02 01 40"))
    assert isinstance(absent, Close)
    assert isinstance(null, Close)
    assert absent == null
    assert (absent.error, null.error) == (None, None)
    assert (absent.absent("error"), null.absent("error")) == (True, False)
    assert null.encode().hex() == "005318c0020140"
    assert Close().sent_as(width=1).encode() == null.encode()
    assert (Close().width, null.width) == (0, 1)


def test_unknown_elements_are_kept() -> None:
    octets = bytes.fromhex("00 5318 c0 05 03 40 40 5201")
    made = read(octets)
    assert made.unknown == (None, Uint(1))
    assert made.encode() == octets
    assert made != Close()
    assert Close().sent_as(unknown=(None, Uint(1))) == made
    assert not [*made.breaches()]
    assert made.replace(error=Error(Symbol("x"))).unknown == made.unknown


def test_the_descriptor_may_be_its_symbol() -> None:
    symbolic = Open("c").sent_as(descriptor=Symbol("amqp:open:list"))
    assert symbolic.encode() == b"\0\xa3\x0eamqp:open:list" + bytes.fromhex("c0 04 01 a10163")
    again = read(symbolic.encode())
    assert again == Open("c")
    assert again.encode() == symbolic.encode()
    full = Open("c").sent_as(descriptor=As(0x80, 0x10))
    assert full.encode().hex() == "00800000000000000010c00401a10163"
    assert described_by(Uint(16)) is None
    assert described_by("amqp:open:list") is None
    assert described_by(Ulong(16)) is Open


def test_composites_are_recognised_where_they_stand() -> None:
    unsettled = Map([(b"t", Described(Ulong(0x24), ()))])
    made = read(Attach("l", 0, Role.SENDER, unsettled=unsettled).encode())
    assert isinstance(made, Attach)
    assert made.unsettled == Map([(b"t", Accepted())])
    odd = Described(Ulong(0x24), "no list")
    assert recognise(odd) == odd
    coordinator = Described(Ulong(0x30), ())
    assert read(Attach("l", 0, False, target=coordinator).encode()) == Attach(
        "l", 0, False, target=coordinator
    )


# -- given ---------------------------------------------------------------------------------------------


def test_plain_values_take_the_type_of_the_field() -> None:
    made = Open("c", max_frame_size=512, properties={"a": "b", 5: None})
    assert [repr(each) for each in made.values if each is not None] == [
        "'c'",
        "Uint(512)",
        "Map({Symbol('a'): 'b', 5: None})",
    ]
    assert Source(["a"]).address == ("a",)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Open(5), "container-id: a Python int is no string"),  # type: ignore[arg-type]
        (lambda: Open("c", max_frame_size="512"), "max-frame-size: a Python str is no uint"),  # type: ignore[arg-type]
        (lambda: Open("c", offered_capabilities=[5]), "open, field offered-capabilities"),  # type: ignore[list-item]
        (lambda: Close("gone"), "close, field error"),  # type: ignore[arg-type]
        (lambda: Open("c", max_frame_size=-1).encode(), "open, field max-frame-size: .* cannot be encoded"),
        (lambda: Open("\ud800").encode(), "open, field container-id"),
        (lambda: Close(Error(Symbol("é"))).encode(), "error, field condition"),
        (lambda: Close().sent_as(unknown=(object(),)).encode(), "close: no AMQP type holds a object"),
    ],
)
def test_what_does_not_fit_a_field_names_it(make: Any, what: str) -> None:
    with pytest.raises(EncodeError, match=what):
        make()


def test_wrong_fields_are_a_programmers_mistake() -> None:
    for make in (
        lambda: Close(None, None),  # type: ignore[call-arg]
        lambda: Close(fault=None),  # type: ignore[call-arg]
        lambda: Open("c", container_id="d"),  # type: ignore[misc]
    ):
        with pytest.raises(TypeError):
            make()


def test_anything_can_be_sent_on_purpose() -> None:
    assert encode(Open(As(0x70, 5))) == bytes.fromhex("00 5310 c0 06 01 7000000005")
    assert encode(Open(Raw(b"\xa1"))) == bytes.fromhex("00 5310 c0 02 01 a1")
    lying = Described(Ulong(0x10), As(0xD0, Open("c").elements(), count=0xFFFFFFFF))
    assert encode(lying) == bytes.fromhex("00 5310 d0 00000007 ffffffff a10163")
    assert Open("c").described() == Described(Ulong(0x10), ("c",))


def test_composites_cannot_be_changed_but_copied() -> None:
    made = Open("c", hostname="h")
    with pytest.raises(AttributeError, match="cannot be changed"):
        made.values = ()
    with pytest.raises(AttributeError):
        made.hostname = "i"  # type: ignore[misc]
    assert made.replace(hostname=None) == Open("c")
    assert made == Open("c", hostname="h")
    assert len({made, Open("c", hostname="h"), Open("c")}) == 2
    assert made != "c"
    assert repr(made) == "Open(container_id='c', hostname='h')"


def test_composites_can_be_told_apart_by_match() -> None:
    match read(Close(Error(AmqpError.NOT_FOUND)).encode()):
        case Close(error=Error(condition=AmqpError.NOT_FOUND)):
            pass
        case other:
            raise AssertionError(other)


# -- what a peer gets wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("octets", "offset", "what"),
    [
        ("", 0, "a value is missing"),
        ("45", 0, "a list stands where a described list must"),
        ("00 5399 45", 1, "no composite type has the descriptor Ulong"),
        ("00 5210 45", 1, "no composite type has the descriptor Uint"),
        ("00 5310 40", 0, "a null stands where the list of open must"),
        ("00 5310 c1 01 00", 0, "a map stands where the list of open must"),
        ("00 5310 c0 02 01 a1", 7, "reaches beyond"),
    ],
)
def test_what_is_no_composite_is_refused(octets: str, offset: int, what: str) -> None:
    with pytest.raises(DecodeError, match=what) as refusal:
        decode_composite(bytes.fromhex(octets))
    assert refusal.value.offset == offset


@pytest.mark.parametrize(
    ("made", "breaches"),
    [
        (Open(), [("container-id", "is mandatory, and null or absent")]),
        (Open(Symbol("c")), [("container-id", "is a symbol, not a string")]),
        (Open("c", As(0x40, None), Ulong(5)), [("max-frame-size", "is a ulong, not a uint")]),
        (Open("c", outgoing_locales=As(0xA1, "en")), [("outgoing-locales", "is a string, not a symbol")]),
        (
            Open("c", offered_capabilities=Array(0xA1, ("a",))),
            [("offered-capabilities", "is an array of string, not of symbol")],
        ),
        (
            Open("c", offered_capabilities=Array(0xA3, (), (1,))),
            [("offered-capabilities", "is an array of described values, not of symbol")],
        ),
        (Open("c", hostname=Array(0xA1, ())), [("hostname", "is an array, not a string")]),
        (Open("c", properties=Map({"a": 1})), [("properties", "has a key that is no symbol")]),
        (
            Attach("l", 0, Role.SENDER, 7),
            [("snd-settle-mode", "is Ubyte(7), which is no sender-settle-mode")],
        ),
        (
            Attach("l", 0, Role.SENDER, source=Target()),
            [("source", "is a target, which is no source")],
        ),
        (Attach("l", 0, Role.SENDER, source="q"), [("source", "is a string, nothing that is a source")]),
        (Attach("l", 0, Role.SENDER, source=()), [("source", "is a list, nothing that is a source")]),
        (Source(Uint(5)), [("address", "is a uint, nothing that is an address")]),
        (
            Source(expiry_policy="soon"),
            [("expiry-policy", "is Symbol('soon'), which is no terminus-expiry-policy")],
        ),
        (Close(Error()), [("error.condition", "is mandatory, and null or absent")]),
        (Close(Raw(Open("c").encode())), [("error", "is an open, which is no error")]),
        (Close(Described(1, 2)), [("error", "is a described value, not an error")]),
        (Transfer(0, state=Received(0)), [("state.section-offset", "is mandatory, and null or absent")]),
        (
            Disposition(Role.SENDER, 0, state=Error(Symbol("x"))),
            [("state", "is an error, which is no delivery-state")],
        ),
        (Disposition(Role.SENDER, 0, state=Rejected(Error(Symbol("own:error")))), []),
        (Disposition(Role.SENDER, 0, state=Described(Ulong(0x34), ())), []),
        (
            Flow(),
            [
                (name, "is mandatory, and null or absent")
                for name in ("incoming-window", "next-outgoing-id", "outgoing-window")
            ],
        ),
        (SaslOutcome(Ubyte(9)), [("code", "is Ubyte(9), which is no sasl-code")]),
    ],
    ids=repr,
)
def test_what_the_grammar_would_not_have_is_named(made: Composite, breaches: list[tuple[str, str]]) -> None:
    assert [tuple(each) for each in read(made.encode()).breaches()] == breaches


def test_a_value_is_described_at_any_depth() -> None:
    made = Transfer(0, state=Rejected(Error(AmqpError.INVALID_FIELD, info={"a": (1, {"b": b"c"})})))
    assert read(made.encode()).encode() == made.encode()
    assert decode_whole(made.encode()).descriptor == 0x14
