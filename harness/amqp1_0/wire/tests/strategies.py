"""Hypothesis strategies for what travels on an AMQP 1.0 wire."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import strategies as st

from harness.amqp1_0.wire.composites import CLASSES, Composite
from harness.amqp1_0.wire.encoding import array, encode
from harness.amqp1_0.wire.frames import (
    AMQP,
    PROTOCOL_HEADER,
    SASL,
    SASL_HEADER,
    TLS_HEADER,
    Frame,
    amqp_frame,
    empty_frame,
    sasl_frame,
)
from harness.amqp1_0.wire.generated import GRAMMAR
from harness.amqp1_0.wire.types import (
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    Float,
    Int,
    Map,
    Short,
    Symbol,
    Timestamp,
    Ubyte,
    Uint,
    Ulong,
    Ushort,
)
from harness.tests.streams import unsigned
from harness.wire.units import DecodeError
from spec.readers.amqp1_0 import Field


def signed(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


def octets_of(kind: Callable[[bytes], Any], size: int) -> st.SearchStrategy[Any]:
    return st.binary(min_size=size, max_size=size).map(kind)


strings = st.text(st.characters(codec="utf-8"), max_size=20) | st.just("é" * 200)
symbols = (st.text(st.characters(codec="ascii"), max_size=20) | st.just("s" * 300)).map(Symbol)
floats = st.floats(width=32).map(lambda number: Float(struct.unpack(">f", struct.pack(">f", number))[0]))

of_type: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "ubyte": unsigned(8).map(Ubyte),
    "ushort": unsigned(16).map(Ushort),
    "uint": unsigned(32).map(Uint),
    "ulong": unsigned(64).map(Ulong),
    "byte": signed(8).map(Byte),
    "short": signed(16).map(Short),
    "int": signed(32).map(Int),
    "long": signed(64),
    "float": floats,
    "double": st.floats(),
    "decimal32": octets_of(Decimal32, 4),
    "decimal64": octets_of(Decimal64, 8),
    "decimal128": octets_of(Decimal128, 16),
    "char": st.characters(codec="utf-8").map(Char),
    "timestamp": signed(64).map(Timestamp),
    "uuid": st.uuids(),
    "binary": st.binary(max_size=20) | st.just(b"\xff" * 300),
    "string": strings,
    "symbol": symbols,
}
"""The values of every primitive type that holds no others."""


def unrepeated(pairs: list[tuple[Any, Any]]) -> Map:
    """A map in which no key occurs twice, types told apart."""
    return Map({encode(key): (key, value) for key, value in pairs}.values())


leaves = st.one_of(*of_type.values())
arrays = st.sampled_from(sorted(of_type)).flatmap(
    lambda kind: st.lists(of_type[kind], max_size=4).map(lambda items: array(kind, items))
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(inner, max_size=4).map(tuple),
        st.lists(st.tuples(inner, inner), max_size=4).map(unrepeated),
        st.builds(Described, inner, inner),
    )


of_type["array"] = arrays
of_type["list"] = st.lists(leaves, max_size=4).map(tuple)
of_type["map"] = st.lists(st.tuples(leaves, leaves), max_size=4).map(unrepeated)
values = st.recursive(leaves | arrays, _nested, max_leaves=8)
"""Values of every type, nested."""

_SYMBOL_MAPS = st.lists(st.tuples(symbols, leaves), max_size=3).map(unrepeated)


@cache
def of_field(field: Field) -> st.SearchStrategy[Any]:
    """A value that the grammar allows in this field, None for leaving it out."""
    found = _present(field)
    return found if field.mandatory else st.none() | found


@cache
def _present(field: Field) -> st.SearchStrategy[Any]:
    kind = GRAMMAR.elementary(field.type)
    if field.multiple:
        return of_type[kind] | st.lists(of_type[kind], max_size=3)
    if field.requires == "address":
        return strings
    if kind == "*":
        names = [each.name for each in GRAMMAR.providing(field.requires or "")]
        return st.sampled_from(names).flatmap(lambda name: composites_of(CLASSES[name]))
    if field.type in CLASSES:
        return composites_of(CLASSES[field.type])
    choices = getattr(GRAMMAR.types[field.type], "choices", ())
    if choices and kind in ("ubyte", "uint"):
        return st.sampled_from([int(each.value) for each in choices])
    if choices and kind == "symbol":
        return st.sampled_from([each.value for each in choices])
    return _SYMBOL_MAPS if kind == "map" else of_type[kind]


def composites_of(kind: type[Composite]) -> st.SearchStrategy[Composite]:
    """Composites of one type, as the grammar allows them."""
    return _composites(kind.type_name)


@cache
def _composites(name: str) -> st.SearchStrategy[Composite]:
    kind = CLASSES[name]
    return st.deferred(lambda: st.builds(kind, *(of_field(field) for field in kind.spec.fields)))


def _providing(archetype: str) -> st.SearchStrategy[Composite]:
    names = [each.name for each in GRAMMAR.providing(archetype)]
    return st.sampled_from(names).flatmap(lambda name: composites_of(CLASSES[name]))


performatives = _providing("frame")
sasl_performatives = _providing("sasl-frame")
frames: st.SearchStrategy[Frame] = st.one_of(
    st.builds(amqp_frame, unsigned(16), performatives, st.binary(max_size=20)),
    st.builds(sasl_frame, sasl_performatives),
    st.builds(empty_frame, unsigned(16)),
    st.builds(
        Frame, st.sampled_from((AMQP, SASL, 7)), unsigned(16), st.binary(max_size=20),
        st.integers(0, 3).map(lambda words: bytes(4 * words)),
    ),
)  # fmt: skip
headers = st.sampled_from((PROTOCOL_HEADER, SASL_HEADER, TLS_HEADER)) | st.binary(min_size=4, max_size=4).map(
    lambda version: PROTOCOL_HEADER[:4] + version
)
units: st.SearchStrategy[bytes] = frames.map(Frame.encode) | headers


def refusal_of(read: Callable[..., object], *arguments: Any) -> DecodeError | None:
    """How `read` refuses these arguments, None when it takes them. No other exception is let through."""
    try:
        read(*arguments)
    except DecodeError as refusal:
        return refusal
    return None
