"""Field tables and arrays: every value type of the 0-9-1 grammar, decoded strictly (4.2.1, 4.2.5.5)."""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, NoReturn

from harness.wire.units import DecodeError, EncodeError

MAX_DEPTH: Final = 64
"""Tables nested deeper than this are refused: a hostile peer must not exhaust our stack."""


@dataclass(frozen=True, slots=True)
class As:
    """A table value with its type tag spelled out, for sending exactly that tag (`As("b", -1)`)."""

    tag: str
    value: Any


@dataclass(frozen=True, slots=True)
class Timestamp:
    """POSIX seconds, 64 bits (4.2.5.4)."""

    seconds: int


Table = Mapping[str, Any]

# Fixed-size types as struct formats. The document reads: signed in the upper, unsigned in the lower
# case letter, except B (unsigned octet), U (signed short) and L (signed long long).
FIXED: Final[Mapping[str, struct.Struct]] = {
    "t": struct.Struct(">?"),
    "b": struct.Struct(">b"),
    "B": struct.Struct(">B"),
    "U": struct.Struct(">h"),
    "u": struct.Struct(">H"),
    "I": struct.Struct(">i"),
    "i": struct.Struct(">I"),
    "L": struct.Struct(">q"),
    "l": struct.Struct(">Q"),
    "f": struct.Struct(">f"),
    "d": struct.Struct(">d"),
    "T": struct.Struct(">Q"),
}
TAGS: Final = frozenset(FIXED) | frozenset("DsSAFV")
DECIMAL: Final = struct.Struct(">BI")
_LENGTH: Final = struct.Struct(">I")
_length: Final = _LENGTH.unpack_from
_OCTETS: Final = tuple(bytes((number,)) for number in range(256))


def shortstr(text: str) -> bytes:
    """Encode a short string: an octet of length, then at most 255 octets.

    Lone surrogates U+DC80 to U+DCFF stand for the octets 80 to FF, so that text which is not UTF-8 can be
    sent; zero octets are sent as well, though the grammar excludes both. Raises EncodeError.
    """
    try:
        octets = text.encode("utf-8", "surrogateescape")
        return _OCTETS[len(octets)] + octets
    except IndexError:
        raise EncodeError(f"a short string holds at most 255 octets, not {len(octets)}") from None
    except (AttributeError, TypeError, UnicodeEncodeError):
        raise EncodeError(f"a short string cannot be made of this {type(text).__name__}") from None


def longstr(value: str | bytes) -> bytes:
    """Encode a long string: four octets of length, then any octets. Raises EncodeError."""
    try:
        # Octets as they are; bytes() around an integer would make that many zeros.
        octets = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else b"".join((value,))
        return _LENGTH.pack(len(octets)) + octets
    except (TypeError, UnicodeEncodeError, struct.error):
        raise EncodeError(f"a long string cannot be made of this {type(value).__name__}") from None


def encode_table(table: Table) -> bytes:
    """Encode a field table with its length. Raises EncodeError for a value that has no type here."""
    try:
        parts = []
        for name, value in table.items():
            parts.append(shortstr(name))
            parts.append(encode_value(value))
        body = b"".join(parts)
        return _LENGTH.pack(len(body)) + body
    except (AttributeError, TypeError, ValueError, struct.error) as failure:
        raise _refused(failure, "table", table) from None
    except RecursionError:
        raise EncodeError("the table is nested too deeply") from None


def encode_array(values: Sequence[Any]) -> bytes:
    """Encode an array; its long-int counts octets, as every implementation reads it. Raises EncodeError."""
    try:
        body = b"".join(map(encode_value, values))
        return _LENGTH.pack(len(body)) + body
    except (TypeError, struct.error) as failure:
        raise _refused(failure, "array", values) from None
    except RecursionError:
        raise EncodeError("the array is nested too deeply") from None


def _refused(failure: Exception, kind: str, value: Any) -> EncodeError:
    if isinstance(failure, EncodeError):
        return failure
    return EncodeError(f"this {type(value).__name__} has no encoding as a {kind}: {failure}")


def encode_value(value: Any) -> bytes:
    """Encode a table value with its tag, for plain ones the usual one. Raises EncodeError."""
    if type(value) is As:
        writer = _WRITERS.get(value.tag)
        if writer is None:
            raise EncodeError(f"no table type has the tag {value.tag!r}")
        return writer(value.value)
    return (_USUAL.get(type(value)) or _usual_for_subclass(value))(value)


_Writer = Callable[[Any], bytes]


def _usual_for_subclass(value: Any) -> _Writer:
    for kind, writer in _USUAL.items():
        if isinstance(value, kind):
            return writer
    raise EncodeError(f"no table type holds a {type(value).__name__}")


def _fixed_writer(tag: str, fixed: struct.Struct) -> _Writer:
    octet, pack = tag.encode(), fixed.pack

    def write(value: Any) -> bytes:
        raw = value.seconds if isinstance(value, Timestamp) else value
        try:
            return octet + pack(raw)
        except (struct.error, OverflowError, TypeError) as failure:
            raise EncodeError(f"{raw!r} does not fit the table type {tag!r}: {failure}") from None

    return write


def _variable_writer(tag: str, write: _Writer) -> _Writer:
    octet = tag.encode()
    return lambda value: octet + write(value)


def _decimal(value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple() if isinstance(value, Decimal) else (1, (), 0)
    # Positive values only: text and grammar disagree about the sign (0-9-1/prose/4.2.5.5.decimals-kept).
    if sign or not isinstance(exponent, int) or exponent > 0 or -exponent > 255 or len(digits) > 10:
        raise EncodeError(f"{value!r} has no encoding as a decimal")
    number = int("".join(map(str, digits)) or "0")
    if number >= 1 << 32:
        raise EncodeError(f"{value!r} has no encoding as a decimal")
    return DECIMAL.pack(-exponent, number)


def _void(value: None) -> bytes:
    if value is not None:
        raise EncodeError(f"{value!r} has no encoding as no field")
    return b""


_WRITERS: Final[Mapping[str, _Writer]] = {
    **{tag: _fixed_writer(tag, fixed) for tag, fixed in FIXED.items()},
    "D": _variable_writer("D", _decimal),
    "s": _variable_writer("s", shortstr),
    "S": _variable_writer("S", longstr),
    "A": _variable_writer("A", encode_array),
    "F": _variable_writer("F", encode_table),
    "V": _variable_writer("V", _void),
}


def _integer(value: int) -> bytes:
    if -(1 << 31) <= value < 1 << 31:
        return _WRITERS["I"](value)
    # What is read from the unsigned type must have a place to be sent in.
    return _WRITERS["L" if value < 1 << 63 else "l"](value)


# A subclass takes the first that fits: bool must stand before int.
_USUAL: Final[Mapping[type, _Writer]] = {
    bool: _WRITERS["t"],
    int: _integer,
    str: _WRITERS["S"],
    bytes: _WRITERS["S"],
    float: _WRITERS["d"],
    Decimal: _WRITERS["D"],
    Timestamp: _WRITERS["T"],
    type(None): _WRITERS["V"],
    dict: _WRITERS["F"],
    Mapping: _WRITERS["F"],
    list: _WRITERS["A"],
    tuple: _WRITERS["A"],
}


def decode_table(octets: bytes, offset: int, depth: int = 0) -> tuple[dict[str, Any], int]:
    """Decode the table at `offset`; returns it and the offset behind it. Raises DecodeError."""
    return _table(octets, offset, len(octets), depth)


def decode_array(octets: bytes, offset: int, depth: int = 0) -> tuple[list[Any], int]:
    """Decode the array at `offset`; returns it and the offset behind it. Raises DecodeError."""
    return _array(octets, offset, len(octets), depth)


def decode_value(octets: bytes, offset: int, end: int, depth: int = 0) -> tuple[Any, int]:
    """Decode the tagged value at `offset`, up to `end`; gives the offset behind. Raises DecodeError."""
    if offset >= end:
        raise DecodeError(offset, "a value is missing")
    return _READERS[octets[offset]](octets, offset + 1, end, depth)


def _table(octets: bytes, offset: int, limit: int, depth: int) -> tuple[dict[str, Any], int]:
    end = _end(octets, offset, limit, "table", depth)
    offset += 4
    table: dict[str, Any] = {}
    while offset < end:
        behind = offset + 1 + octets[offset]
        if behind >= end:
            raise DecodeError(offset, "a field name, with its tag, reaches beyond its table")
        raw = octets[offset + 1 : behind]
        name = _NAMES.get(raw) or _name(raw, offset)
        if name in table:
            raise DecodeError(offset, f"the field {name!r} occurs twice in its table")
        table[name], offset = _READERS[octets[behind]](octets, behind + 1, end, depth)
    return table, offset


# Tables repeat the same few names; those met first are kept, so that a hostile peer cannot grow this.
_NAMES: dict[bytes, str] = {}
_NAMES_KEPT = 1024


def _name(raw: bytes, offset: int) -> str:
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        raise DecodeError(offset, "a field name is not UTF-8") from None
    if "\0" in name:
        raise DecodeError(offset, f"the field name {name!r} contains a zero octet")
    if len(_NAMES) < _NAMES_KEPT:
        _NAMES[raw] = name
    return name


def _array(octets: bytes, offset: int, limit: int, depth: int) -> tuple[list[Any], int]:
    end = _end(octets, offset, limit, "array", depth)
    offset += 4
    values = []
    while offset < end:
        value, offset = _READERS[octets[offset]](octets, offset + 1, end, depth)
        values.append(value)
    return values, offset


def _end(octets: bytes, offset: int, limit: int, what: str, depth: int) -> int:
    if depth > MAX_DEPTH:
        raise DecodeError(offset, f"a {what} is nested more than {MAX_DEPTH} deep")
    if offset + 4 > limit:
        raise DecodeError(offset, f"the length of a {what} is cut short")
    end: int = offset + 4 + _length(octets, offset)[0]
    if end > limit:
        raise DecodeError(offset, f"a {what} reaches {end - limit} octets beyond what holds it")
    return end


# Readers take the octets, the offset behind the tag, the end of what holds the value, and the depth.
_Reader = Callable[[bytes, int, int, int], tuple[Any, int]]


def _fixed_reader(fixed: struct.Struct) -> _Reader:
    unpack, size = fixed.unpack_from, fixed.size

    def read(octets: bytes, at: int, end: int, _: int) -> tuple[Any, int]:
        behind = at + size
        if behind > end:
            _beyond(octets, at)
        return unpack(octets, at)[0], behind

    return read


def _beyond(octets: bytes, at: int) -> NoReturn:
    raise DecodeError(at - 1, f"a value of type {chr(octets[at - 1])!r} reaches beyond what holds it")


def _read_boolean(octets: bytes, at: int, end: int, _: int) -> tuple[bool, int]:
    if at >= end:
        _beyond(octets, at)
    return octets[at] != 0, at + 1


def _read_long(octets: bytes, at: int, end: int, _: int) -> tuple[str | bytes, int]:
    try:
        # Where the length itself reaches beyond `end`, so does what is computed from it.
        behind = at + 4 + _length(octets, at)[0]
    except struct.error:
        _beyond(octets, at)
    if behind > end:
        _beyond(octets, at)
    raw = octets[at + 4 : behind]
    try:
        return raw.decode(), behind
    except UnicodeDecodeError:
        return raw, behind


def _read_short(octets: bytes, at: int, end: int, _: int) -> tuple[str, int]:
    behind = at + 1 + octets[at] if at < end else end + 1
    if behind > end:
        _beyond(octets, at)
    raw = octets[at + 1 : behind]
    if 0 in raw:
        raise DecodeError(at - 1, "a short string contains a zero octet")
    try:
        return raw.decode(), behind
    except UnicodeDecodeError:
        raise DecodeError(at - 1, "a short string is not UTF-8") from None


def _read_timestamp(octets: bytes, at: int, end: int, depth: int) -> tuple[Timestamp, int]:
    seconds, behind = _read_seconds(octets, at, end, depth)
    return Timestamp(seconds), behind


def _read_decimal(octets: bytes, at: int, end: int, _: int) -> tuple[Decimal, int]:
    if at + 5 > end:
        _beyond(octets, at)
    places, number = DECIMAL.unpack_from(octets, at)
    # Written out: arithmetic would round to the precision of the caller's decimal context.
    return Decimal(f"{number}E-{places}"), at + 5


def _read_void(_octets: bytes, at: int, _end: int, _depth: int) -> tuple[None, int]:
    return None, at


def _read_unknown(octets: bytes, at: int, _end: int, _depth: int) -> NoReturn:
    raise DecodeError(at - 1, f"no table type has the tag {chr(octets[at - 1])!r}")


_read_seconds: Final = _fixed_reader(FIXED["T"])
_BY_TAG: Final[Mapping[str, _Reader]] = {
    **{tag: _fixed_reader(fixed) for tag, fixed in FIXED.items()},
    "t": _read_boolean,
    "T": _read_timestamp,
    "D": _read_decimal,
    "s": _read_short,
    "S": _read_long,
    "A": lambda octets, at, end, depth: _array(octets, at, end, depth + 1),
    "F": lambda octets, at, end, depth: _table(octets, at, end, depth + 1),
    "V": _read_void,
}
_READERS: Final = tuple(_BY_TAG.get(chr(octet), _read_unknown) for octet in range(256))
