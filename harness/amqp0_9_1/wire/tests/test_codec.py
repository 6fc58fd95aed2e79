import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.amqp0_9_1.peer.turn import OWN
from harness.amqp0_9_1.wire import fields
from harness.amqp0_9_1.wire.compiled import Method, compile_method
from harness.amqp0_9_1.wire.fields import field_spans
from harness.amqp0_9_1.wire.frames import ContentHeader
from harness.amqp0_9_1.wire.vocabulary import (
    CODEC,
    GRAMMAR,
    RESOURCE_LOCKED,
    Basic,
    Connection,
    Exchange,
    Queue,
)
from harness.tests.streams import brief, damaged, thorough
from harness.wire.tests.wire import content_headers, methods, methods_of, numbers, refusal_of
from harness.wire.units import DecodeError, EncodeError
from spec.readers.amqp0_9_1 import Field
from spec.readers.amqp0_9_1 import Method as GrammarMethod

EVERY = sorted(CODEC.methods)


def test_every_method_and_constant_of_the_document_has_a_class() -> None:
    assert {*CODEC.methods} == {*GRAMMAR.methods}
    assert len(OWN) == 53
    assert {*EVERY} > {*OWN}
    assert {*CODEC.properties} == {60}
    assert RESOURCE_LOCKED == 405


# -- octets written out by hand ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "octets"),
    [
        (Queue.Declare("q", durable=True, no_wait=True), "0032 000a 0000 0171 12 00000000"),
        (
            Queue.Declare("q", passive=True, arguments={"a": True}, reserved_1=258),
            "0032 000a 0102 0171 01 00000004 0161 7401",
        ),
        (
            Basic.Deliver("ct", 1 << 32, True, "e", "k"),
            "003c 003c 02 6374 0000000100000000 01 01 65 01 6b",
        ),
        (Connection.Tune(1, 2, 3), "000a 001e 0001 00000002 0003"),
        (Connection.SecureOk("é"), "000a 0015 00000002 c3a9"),
        (Basic.Qos(1, 2, global_=True), "003c 000a 00000001 0002 01"),
        (Basic.RecoverOk(), "003c 006f"),
    ],
)
def test_methods_stand_on_the_wire_as_the_document_has_them(method: Method, octets: str) -> None:
    assert method.encode() == bytes.fromhex(octets)
    read = CODEC.decode_method(bytes.fromhex(octets))
    assert read.encode() == bytes.fromhex(octets)
    assert type(read) is type(method)


def test_content_headers_stand_on_the_wire_as_the_document_has_them() -> None:
    header = ContentHeader(60, 513, Basic.Properties(content_type="t", delivery_mode=2, reserved="r"))
    octets = bytes.fromhex("003c 0000 0000000000000201 9004 0174 02 0172")
    assert header.encode() == octets
    assert ContentHeader.decode(octets) == header


# -- there and back ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_every_method_returns_unchanged(name: str) -> None:
    @brief
    @given(methods_of(CODEC.methods[name]))
    def returns(method: Method) -> None:
        assert CODEC.decode_method(method.encode()) == method

    returns()


@thorough
@given(content_headers)
def test_every_content_header_returns_unchanged(header: ContentHeader) -> None:
    assert ContentHeader.decode(header.encode()) == header


def synthetic(*types: str) -> type[Method]:
    fields = tuple(
        Field(f"{kind}-{number}", kind, kind, "", "", False, ()) for number, kind in enumerate(types)
    )
    return compile_method(GrammarMethod("test", 1, "all", 2, False, False, False, "", "", (), {}, fields))


@pytest.mark.parametrize(
    "types",
    [
        ("bit",) * 19,
        ("bit", "octet", "bit", "bit", "shortstr", "bit"),
        ("octet", "short", "long", "longlong", "timestamp"),
        ("longstr", "octet", "table", "octet", "shortstr"),
    ],
)
def test_fields_in_any_order_return_unchanged(types: tuple[str, ...]) -> None:
    kind = synthetic(*types)

    @thorough
    @given(methods_of(kind))
    def returns(method: Method) -> None:
        octets = method.encode()
        assert kind.decode_arguments(octets) == method
        assert [span.value for span in field_spans(kind.fields, octets, 4)] == [
            getattr(method, name) for name in kind.names
        ]

    returns()


def test_bits_fill_octets_from_the_low_end() -> None:
    none_set: Any = synthetic(*("bit",) * 10)()
    assert none_set.replace(bit_0=True, bit_7=True, bit_9=True).encode()[4:] == b"\x81\x02"


# -- strictness -------------------------------------------------------------------------------------------


@thorough
@given(methods, st.data())
def test_every_cut_is_refused_where_it_hurts(method: Method, data: st.DataObject) -> None:
    octets = method.encode()
    cut = octets[: data.draw(st.integers(0, len(octets) - 1))]
    with pytest.raises(DecodeError) as refusal:
        CODEC.decode_method(cut)
    assert refusal.value.offset <= len(cut)


@thorough
@given(methods, st.binary(min_size=1, max_size=5))
def test_trailing_octets_are_refused(method: Method, more: bytes) -> None:
    octets = method.encode()
    with pytest.raises(DecodeError, match=f"{len(more)} octets follow the last field") as refusal:
        CODEC.decode_method(octets + more)
    assert refusal.value.offset == len(octets)


@thorough
@given(content_headers, st.binary(min_size=1, max_size=5))
def test_octets_behind_the_properties_are_refused(header: ContentHeader, more: bytes) -> None:
    octets = header.encode()
    with pytest.raises(DecodeError, match="follow the last property") as refusal:
        ContentHeader.decode(octets + more)
    assert refusal.value.offset == len(octets)


@pytest.mark.parametrize(
    ("octets", "offset", "what"),
    [
        ("", 0, "cut short"),
        ("0032", 2, "cut short"),
        ("0032 0063", 0, "no method has the class and index 50.99"),
        ("0032 000a", 4, "reserved-1 is cut short"),
        ("0032 000a 0000", 6, "field queue reaches beyond"),
        ("0032 000a 0000 0271", 6, "field queue reaches beyond"),
        ("0032 000a 0000 0171", 8, "field passive is cut short"),
        ("0032 000a 0000 0100 00 00000000", 6, "queue contains a zero octet"),
        ("0032 000a 0000 01ff 00 00000000", 6, "queue is not UTF-8"),
        ("0032 000a 0000 0171 00 000000", 9, "length of a table is cut short"),
        ("0032 000a 0000 0171 00 00000003 016178", 15, "no table type has the tag 'x'"),
        # Unbind has no bit before its table: the routing key is what reaches beyond.
        ("0032 0032 0000 00 00 096b 6c", 8, "field routing-key reaches beyond"),
        ("000a 0015 00000005 61", 4, "field response reaches beyond"),
        ("000a 0015 ffffffff 61", 4, "field response reaches beyond"),
    ],
)
def test_a_malformed_method_is_refused_at_its_octet(octets: str, offset: int, what: str) -> None:
    with pytest.raises(DecodeError, match=what) as refusal:
        CODEC.decode_method(bytes.fromhex(octets))
    assert refusal.value.offset == offset


@pytest.mark.parametrize(
    ("octets", "offset", "what"),
    [
        ("", 0, "cut short"),
        ("003c 0000 0000000000000000 00", 13, "cut short"),
        ("0032 0000 0000000000000000 0000", 0, "no class 50 carries content"),
        ("003c 0000 0000000000000000 0002", 12, "not defined"),
        ("003c 0000 0000000000000000 0001", 14, "property flags are cut short"),
        ("003c 0000 0000000000000000 0001 8000", 14, "not defined"),
        ("003c 0000 0000000000000000 8000", 14, "content-type reaches beyond"),
        ("003c 0000 0000000000000000 8000 0100", 14, "zero octet"),
        ("003c 0000 0000000000000000 0040 00", 14, "timestamp is cut short"),
        ("003c 0000 0000000000000000 a000 0161 00000001", 16, "reaches 1 octets beyond"),
    ],
)
def test_a_malformed_content_header_is_refused_at_its_octet(octets: str, offset: int, what: str) -> None:
    with pytest.raises(DecodeError, match=what) as refusal:
        ContentHeader.decode(bytes.fromhex(octets))
    assert refusal.value.offset == offset


def test_property_flags_may_run_on_when_nothing_more_is_announced() -> None:
    octets = bytes.fromhex("003c 0000 0000000000000000 1001 0001 0000 02")
    assert ContentHeader.decode(octets).properties == Basic.Properties(delivery_mode=2)


def carefully(payload: bytes) -> Method:
    kind = CODEC.method_class(payload)
    spans = field_spans(kind.fields, payload, 4)
    return kind(**{fields.attribute(span.name): span.value for span in spans})


@thorough
@given(damaged(methods.map(lambda method: method.encode())) | st.binary(max_size=40))
def test_any_method_payload_is_read_or_refused_as_by_the_careful_walk(payload: bytes) -> None:
    expected, refusal = refusal_of(carefully, payload), refusal_of(CODEC.decode_method, payload)
    assert str(refusal) == str(expected)
    if refusal is None:
        # By their readable form: a float in a table may be no number.
        assert repr(CODEC.decode_method(payload)) == repr(carefully(payload))
    else:
        assert 0 <= refusal.offset <= len(payload)


@thorough
@given(damaged(content_headers.map(lambda header: header.encode())) | st.binary(max_size=40))
def test_any_content_header_is_read_or_refused(payload: bytes) -> None:
    refusal = refusal_of(ContentHeader.decode, payload)
    if refusal is None:
        assert len(ContentHeader.decode(payload).encode()) <= len(payload)
    else:
        assert 0 <= refusal.offset <= len(payload)


def test_what_is_well_formed_is_read_by_compiled_code_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> None:
        raise AssertionError("the careful walk was needed")

    for name in EVERY:
        method = CODEC.methods[name]()
        monkeypatch.setitem(type(method).decode_arguments.__globals__, "reread", slow)
        assert CODEC.decode_method(method.encode()) == method
    monkeypatch.setitem(Basic.Properties.decode.__globals__, "reread", slow)
    header = ContentHeader(60, 0, Basic.Properties(headers={"a": 1}, timestamp=5))
    assert ContentHeader.decode(header.encode()) == header


# -- refusals to encode -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "what"),
    [
        (Queue.Declare("x" * 256), "Queue.Declare, field queue: a short string"),
        (Queue.Declare(None), "field queue"),  # type: ignore[arg-type]
        (Queue.Declare("\ud800"), "field queue"),
        (Queue.Declare(arguments=None), "field arguments"),  # type: ignore[arg-type]
        (Queue.Declare(arguments={"x": object()}), "field arguments"),
        (Queue.Declare(reserved_1=65536), "field reserved-1"),
        (Queue.Declare(durable=None), "Queue.Declare"),  # type: ignore[arg-type]
        (Connection.Tune(frame_max=-1), "field frame-max"),
        (Connection.SecureOk(5), "field response"),  # type: ignore[arg-type]
    ],
)
def test_a_method_that_cannot_be_encoded_names_the_field(method: Method, what: str) -> None:
    with pytest.raises(EncodeError, match=what):
        method.encode()


def test_a_refusal_does_not_quote_a_password() -> None:
    with pytest.raises(EncodeError) as refusal:
        Connection.StartOk({}, "PLAIN" * 99, "\0guest\0secret").encode()
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "header",
    [
        ContentHeader(60, 0, Basic.Properties(priority=256)),
        ContentHeader(60, 0, Basic.Properties(content_type=5)),  # type: ignore[arg-type]
        ContentHeader(60, 0, Basic.Properties(headers=[])),  # type: ignore[arg-type]
        ContentHeader(60, 0, Basic.Properties(timestamp=-1)),
        ContentHeader(60, -1, Basic.Properties()),
        ContentHeader(65536, 0, Basic.Properties()),
        ContentHeader(60, 0, Basic.Properties(), weight=-1),
    ],
)
def test_a_content_header_that_cannot_be_encoded_is_refused(header: ContentHeader) -> None:
    with pytest.raises(EncodeError):
        header.encode()


# -- classes ----------------------------------------------------------------------------------------------


def test_methods_can_be_told_apart_by_match() -> None:
    def what(method: Method) -> str:
        match method:
            case Queue.Declare(queue=name, durable=True):
                return f"durable {name}"
            case Queue.Declare():
                return "declare"
            case Exchange.Declare() | Basic.Qos():
                return "other"
            case _:
                return "none"

    given_methods = (Queue.Declare("q", durable=True), Queue.Declare("q"), Basic.Qos(), Basic.Get())
    assert [what(method) for method in given_methods] == ["durable q", "declare", "other", "none"]
    assert isinstance(CODEC.decode_method(Queue.Declare("q").encode()), Queue.Declare)


def test_methods_compare_and_hash_by_their_fields() -> None:
    one, same = Queue.Declare("q", arguments={"a": 1, "b": 2}), Queue.Declare("q", arguments={"b": 2, "a": 1})
    assert one == same
    assert hash(one) == hash(same)
    assert one != Queue.Declare("q")
    assert Basic.RecoverOk() != Queue.BindOk()
    assert len({Queue.Declare("q"), Queue.Declare("q"), Queue.Declare("r")}) == 2


def test_methods_read_well() -> None:
    method = Queue.Declare("q", durable=True, arguments={"a": 1})
    assert repr(method) == "Queue.Declare(queue='q', durable=True, arguments={'a': 1})"
    assert repr(Basic.Properties(delivery_mode=2)) == "Basic.Properties(delivery_mode=2)"


def test_replace_changes_a_copy() -> None:
    method = Queue.Declare("q", durable=True)
    assert method.replace(queue="r", reserved_1=3) == Queue.Declare("r", durable=True, reserved_1=3)
    assert method == Queue.Declare("q", durable=True)


@thorough
@given(methods)
def test_methods_can_be_handed_to_another_process(method: Method) -> None:
    assert pickle.loads(pickle.dumps(method)) == method


def test_numbers_cover_every_elementary_integer() -> None:
    assert {*numbers} == {*fields.FIXED}
