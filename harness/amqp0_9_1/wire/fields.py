"""Fields of methods and contents: their Python names and types, and a walk that knows every octet.

What is compiled is fast and only says that something is wrong; what is here says what and where.
"""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from harness.amqp0_9_1.wire.field_tables import decode_table, encode_table, longstr, shortstr
from harness.wire.annotation import Span
from harness.wire.units import DecodeError, EncodeError
from spec.readers.amqp0_9_1 import Field

FIXED: Final = {"octet": "B", "short": "H", "long": "I", "longlong": "Q", "timestamp": "Q"}
"""The struct format of each elementary domain of fixed size."""

PYTHON: Final = {
    "bit": ("bool", "False"),
    "shortstr": ("str", '""'),
    "longstr": ("str | bytes", 'b""'),
    "table": ("Table", "{}"),
    **dict.fromkeys(FIXED, ("int", "0")),
}
"""The Python type and the default of each elementary domain."""

KEYWORDS: Final = {"global": "global_", "return": "return_"}


def attribute(name: str) -> str:
    """Give the Python name of a field: `prefetch-count` is `prefetch_count`."""
    plain = name.replace("-", "_")
    return KEYWORDS.get(plain, plain)


def class_name(name: str) -> str:
    """Give the Python name of a class or method: `declare-ok` is `DeclareOk`."""
    return "".join(part.capitalize() for part in name.split("-"))


def runs(fields: Sequence[Field]) -> Iterator[tuple[str, list[Field]]]:
    """Group fields that are read at once: "fixed" numbers, "bits" (at most 8), or one of another type."""
    for kind, group in groupby(fields, lambda field: "fixed" if field.type in FIXED else field.type):
        members = list(group)
        if kind == "fixed":
            yield kind, members
        elif kind == "bit":
            for start in range(0, len(members), 8):
                yield "bits", members[start : start + 8]
        else:
            for member in members:
                yield kind, [member]


def _number_writer(code: str) -> Callable[[Any], bytes]:
    pack = struct.Struct(f">{code}").pack

    def write(value: Any) -> bytes:
        try:
            return pack(value)
        except struct.error as failure:
            raise EncodeError(f"{value!r} does not fit: {failure}") from None

    return write


_WRITERS: Final[Mapping[str, Callable[[Any], bytes]]] = {
    "shortstr": shortstr,
    "longstr": longstr,
    "table": encode_table,
    **{name: _number_writer(code) for name, code in FIXED.items()},
}


def write_field(kind: str, value: Any) -> bytes:
    """Write one field of an elementary type (not bit). Raises EncodeError."""
    return _WRITERS[kind](value)


def read_field(octets: bytes, at: int, name: str, kind: str) -> tuple[Any, int]:
    """Read a field of an elementary type (not bit); gives the offset behind. Raises DecodeError."""
    if kind in FIXED:
        size = struct.calcsize(">" + FIXED[kind])
        if at + size > len(octets):
            raise DecodeError(at, f"the field {name} is cut short")
        return int.from_bytes(octets[at : at + size]), at + size
    if kind == "table":
        return decode_table(octets, at)
    width = 1 if kind == "shortstr" else 4
    start = at + width
    end = start + int.from_bytes(octets[at:start])
    if start > len(octets) or end > len(octets):
        raise DecodeError(at, f"the field {name} reaches beyond the payload")
    if kind == "longstr":
        return octets[start:end], end
    if 0 in octets[start:end]:
        raise DecodeError(at, f"the short string {name} contains a zero octet")
    try:
        return octets[start:end].decode(), end
    except UnicodeDecodeError:
        raise DecodeError(at, f"the short string {name} is not UTF-8") from None


def field_spans(fields: Sequence[Field], payload: bytes, at: int) -> Iterator[Span]:
    """Walk a method's fields one by one from octet `at` to the end of the payload. Raises DecodeError."""
    for kind, members in runs(fields):
        if kind == "bits":
            if at >= len(payload):
                raise DecodeError(at, f"the field {members[0].name} is cut short")
            for bit, field in enumerate(members):
                yield Span(at, 1, field.name, bool(payload[at] >> bit & 1))
            at += 1
            continue
        for field in members:
            value, behind = read_field(payload, at, field.name, field.type)
            yield Span(at, behind - at, field.name, value)
            at = behind
    _nothing_follows(payload, at, "field")


def property_spans(fields: Sequence[Field], payload: bytes, at: int) -> Iterator[Span]:
    """Walk property flags, then the properties that are present (4.2.6.1). Raises DecodeError."""
    present, behind = _property_flags(payload, at, len(fields))
    yield Span(at, behind - at, "property-flags", "".join("01"[bit] for bit in present))
    at = behind
    for field in (field for field, bit in zip(fields, present, strict=True) if bit):
        value, behind = read_field(payload, at, field.name, field.type)
        yield Span(at, behind - at, field.name, value)
        at = behind
    _nothing_follows(payload, at, "property")


def _property_flags(payload: bytes, at: int, defined: int) -> tuple[list[int], int]:
    # 15 flags to a word from the high bit down, the lowest bit says that another word follows.
    present: list[int] = []
    more = 1
    while more:
        if at + 2 > len(payload):
            raise DecodeError(at, "the property flags are cut short")
        word = int.from_bytes(payload[at : at + 2])
        known = max(defined - len(present), 0)
        flags = [word >> bit & 1 for bit in range(15, 0, -1)]
        if any(flags[known:]):
            raise DecodeError(at, f"the property flags {word:#06x} announce a property that is not defined")
        present += flags[:known]
        more = word & 1
        at += 2
    return present + [0] * (defined - len(present)), at


def _nothing_follows(payload: bytes, at: int, what: str) -> None:
    if at != len(payload):
        raise DecodeError(at, f"{len(payload) - at} octets follow the last {what}")
