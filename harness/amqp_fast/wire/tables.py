"""Strings and field tables (3.1.1, 3.2.3.1)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from harness.wire.annotation import Span
from harness.wire.units import DecodeError, EncodeError

SHORTEST, LONGEST = 0xFF, 0xFFFF
"""The most octets that a short string and a long string hold."""
_LENGTH: Final = struct.Struct(">H")
_SIGNED: Final = struct.Struct(">i")
_UNSIGNED: Final = struct.Struct(">I")
# Signed, as integers are: of the decimals alone it is said that they are not (913).
_DECIMAL: Final = struct.Struct(">Bi")


@dataclass(frozen=True, slots=True)
class Time:
    """A time, in seconds since 1970."""

    seconds: int


@dataclass(frozen=True, slots=True)
class Tagged:
    """A value of a table as malformed as needed: its type, which need not be one, and its octets."""

    tag: bytes
    octets: bytes


class Table(dict[str, Any]):
    """A field table that was read: of a field that stands twice the first one counts (3.2.3.1).

    `pairs` has all fields as they came.
    """

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        self.pairs = tuple(pairs)
        super().__init__(reversed(self.pairs))


Fields = Mapping[str, Any] | Iterable[tuple[str, Any]] | bytes
"""What makes a table: fields by name, pairs where a name stands twice, or octets that may be no table."""


def text_octets(value: str | bytes) -> bytes:
    """Give the octets of text; lone surrogates stand for octets that are no UTF-8. Raises EncodeError."""
    try:
        return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else b"".join((value,))
    except (TypeError, UnicodeEncodeError):
        raise EncodeError(f"a string cannot be made of this {type(value).__name__}") from None


def short_string(value: str | bytes) -> bytes:
    """Encode a short string: an octet of length, then at most 255 octets. Raises EncodeError."""
    octets = text_octets(value)
    if len(octets) > SHORTEST:
        raise EncodeError(f"a short string holds at most {SHORTEST} octets, not {len(octets)}")
    return bytes((len(octets),)) + octets


def long_string(value: str | bytes) -> bytes:
    """Encode a long string: two octets of length, then any octets. Raises EncodeError."""
    octets = text_octets(value)
    if len(octets) > LONGEST:
        raise EncodeError(f"a long string holds at most {LONGEST} octets, not {len(octets)}")
    return _LENGTH.pack(len(octets)) + octets


def encode_table(fields: Fields) -> bytes:
    """Encode a field table, which is a long string; octets are its content as it is. Raises EncodeError."""
    if isinstance(fields, bytes):
        return long_string(fields)
    pairs = getattr(fields, "pairs", None) or (fields.items() if isinstance(fields, Mapping) else fields)
    try:
        return long_string(b"".join(short_string(name) + _value(value) for name, value in pairs))
    except (TypeError, ValueError) as failure:
        raise EncodeError(f"a field table cannot be encoded: {failure}") from None


def _value(value: Any) -> bytes:
    match value:
        case Tagged(tag, octets):
            return tag + octets
        case str() | bytes():
            return b"S" + long_string(value)
        case bool():
            raise EncodeError("a field table holds no truth values")
        case int():
            return b"I" + _packed(_SIGNED, value)
        case Time(seconds):
            return b"T" + _packed(_UNSIGNED, seconds)
        case Decimal():
            return b"D" + _decimal(value)
    raise EncodeError(f"a field table holds no {type(value).__name__}")


def _decimal(value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or exponent > 0:
        raise EncodeError(f"a decimal value is digits, and how many of them are decimals: not {value}")
    number = int("".join(map(str, digits)))
    return _packed(_DECIMAL, -exponent, -number if sign else number)


def _packed(form: struct.Struct, *numbers: int) -> bytes:
    try:
        return form.pack(*numbers)
    except struct.error as failure:
        raise EncodeError(f"{numbers[-1]} has no place there: {failure}") from None


def read_short_string(octets: bytes, at: int) -> tuple[bytes, int]:
    """Read a short string at an offset; returns it and the offset behind. Raises DecodeError."""
    if at >= len(octets):
        raise DecodeError(at, "the length of a short string is missing")
    behind = at + 1 + octets[at]
    if behind > len(octets):
        raise DecodeError(at, f"a short string of {octets[at]} octets goes beyond the end")
    return octets[at + 1 : behind], behind


def read_long_string(octets: bytes, at: int) -> tuple[bytes, int]:
    """Read a long string at an offset; returns it and the offset behind. Raises DecodeError."""
    if at + _LENGTH.size > len(octets):
        raise DecodeError(at, "the length of a long string is cut short")
    (length,) = _LENGTH.unpack_from(octets, at)
    behind = at + _LENGTH.size + length
    if behind > len(octets):
        raise DecodeError(at, f"a long string of {length} octets goes beyond the end")
    return octets[at + _LENGTH.size : behind], behind


def read_table(octets: bytes, at: int) -> tuple[Table, int]:
    """Read a field table at an offset; returns it and the offset behind. Raises DecodeError."""
    content, behind = read_long_string(octets, at)
    start = behind - len(content)
    return Table((name, value) for name, value, _ in _pairs(octets, start, behind)), behind


def table_spans(octets: bytes, at: int) -> Iterator[Span]:
    """Yield the length and the fields of a table at an offset. Raises DecodeError."""
    content, behind = read_long_string(octets, at)
    start = behind - len(content)
    yield Span(at, _LENGTH.size, "length", len(content))
    for name, value, after in _pairs(octets, start, behind):
        yield Span(start, after - start, name, value)
        start = after


def _pairs(octets: bytes, at: int, end: int) -> Iterator[tuple[str, Any, int]]:
    """Read fields up to `end`: each with its name, its value and the offset behind it."""
    octets = octets[:end]
    while at < end:
        name, at = read_short_string(octets, at)
        value, at = _read_value(octets, at)
        yield name.decode("utf-8", "surrogateescape"), value, at


def _read_value(octets: bytes, at: int) -> tuple[Any, int]:
    kind = octets[at : at + 1]
    if kind == b"S":
        return read_long_string(octets, at + 1)
    form = {b"I": _SIGNED, b"T": _UNSIGNED, b"D": _DECIMAL}.get(kind)
    if form is None:
        raise DecodeError(at, f"a field has no type {kind!r}" if kind else "the type of a field is missing")
    behind = at + 1 + form.size
    if behind > len(octets):
        raise DecodeError(at + 1, "the value of a field is cut short")
    numbers = form.unpack_from(octets, at + 1)
    if kind == b"T":
        return Time(numbers[0]), behind
    if kind == b"D":
        return _read_decimal(*numbers), behind
    return numbers[0], behind


def _read_decimal(decimals: int, number: int) -> Decimal:
    try:
        return Decimal(number).scaleb(-decimals)
    except InvalidOperation:
        return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -decimals))
