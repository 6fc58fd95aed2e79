"""Hypothesis strategies for what travels on an AMQP 0-9-1 wire."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from harness.amqp0_9_1.wire.compiled import Method, Properties
from harness.amqp0_9_1.wire.field_tables import Timestamp
from harness.amqp0_9_1.wire.frames import (
    BODY,
    HEADER,
    HEARTBEAT,
    METHOD,
    PROTOCOL_HEADER,
    ContentHeader,
    Frame,
)
from harness.amqp0_9_1.wire.vocabulary import CODEC, Basic
from harness.tests.streams import unsigned
from harness.wire.units import DecodeError

numbers = {"octet": 8, "short": 16, "long": 32, "longlong": 64, "timestamp": 64}
"""The elementary domains that are unsigned integers, with their size in bits."""


short_text = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=60)
not_text = st.binary(max_size=8).map(lambda octets: octets + b"\xff")
leaves = st.one_of(
    st.booleans(),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.text(st.characters(codec="utf-8"), max_size=20),
    not_text,
    st.floats(allow_nan=False),
    st.builds(lambda number, places: Decimal(number).scaleb(-places), unsigned(32), unsigned(8)),
    st.builds(Timestamp, unsigned(64)),
    st.none(),
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(short_text, inner, max_size=4),
    max_leaves=8,
)
tables = st.dictionaries(short_text, values, max_size=4)

of_type: dict[str, st.SearchStrategy[Any]] = {
    "bit": st.booleans(),
    "shortstr": short_text,
    "longstr": st.binary(max_size=40),
    "table": tables,
    **{name: unsigned(bits) for name, bits in numbers.items()},
}


def methods_of(kind: type[Method]) -> st.SearchStrategy[Method]:
    given_fields = {name: of_type[field.type] for name, field in zip(kind.names, kind.fields, strict=True)}
    return st.builds(kind, **given_fields)


methods: st.SearchStrategy[Method] = st.sampled_from(sorted(CODEC.methods)).flatmap(
    lambda name: methods_of(CODEC.methods[name])
)
properties: st.SearchStrategy[Properties] = st.builds(
    Basic.Properties,
    **{
        name: st.none() | of_type[field.type]
        for name, field in zip(Basic.Properties.names, Basic.Properties.fields, strict=True)
    },
)
content_headers = st.builds(ContentHeader, st.just(60), unsigned(64), properties, unsigned(16))

frames: st.SearchStrategy[Frame] = st.one_of(
    st.builds(lambda channel, method: Frame(METHOD, channel, method.encode()), unsigned(16), methods),
    st.builds(lambda channel, header: Frame(HEADER, channel, header.encode()), unsigned(16), content_headers),
    st.builds(Frame, st.just(BODY), unsigned(16), st.binary(max_size=50)),
    st.builds(Frame, st.just(HEARTBEAT), unsigned(16), st.binary(max_size=3)),
)
units: st.SearchStrategy[bytes] = frames.map(Frame.encode) | st.just(PROTOCOL_HEADER)


def refusal_of(read: Callable[..., object], *arguments: Any) -> DecodeError | None:
    """Return how `read` refuses these arguments, None when it takes them."""
    try:
        read(*arguments)
    except DecodeError as refusal:
        return refusal
    return None
