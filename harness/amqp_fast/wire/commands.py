"""Classes of commands, and of the header of a message, made from the grammar: one with slots for each.

Nothing of the grammar is typed again: names, codes and fields come from `spec.readers.amqp_fast`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Self

from harness.amqp_fast.wire.tables import (
    Table,
    encode_table,
    long_string,
    read_long_string,
    read_short_string,
    read_table,
    short_string,
    table_spans,
)
from harness.wire.annotation import Span
from harness.wire.units import DecodeError, EncodeError
from spec.readers.amqp_fast import Command as GrammarCommand
from spec.readers.amqp_fast import Field, Grammar

NUMBERS: Final = {"octet": struct.Struct(">B"), "short": struct.Struct(">H"), "long": struct.Struct(">I")}
_READ: Final[dict[str, Callable[[bytes, int], tuple[Any, int]]]] = {
    "shortstr": read_short_string,
    "longstr": read_long_string,
    "table": read_table,
}
_WRITE: Final[dict[str, Callable[[Any], bytes]]] = {
    "shortstr": short_string,
    "longstr": long_string,
    "table": encode_table,
}
_DEFAULT: Final[dict[str, Any]] = {"bit": False, "shortstr": b"", "longstr": b"", "table": Table(())}


def attribute(name: str) -> str:
    """Give the Python name of a field: handle_id."""
    return name.replace("-", "_")


def class_name(name: str) -> str:
    """Give the Python name of a class or command: Handle, Open."""
    return name.title().replace("-", "")


class Record:
    """What commands and headers of messages share: fields in order, equality, octets."""

    __slots__ = ()
    fields: ClassVar[tuple[Field, ...]] = ()
    names: ClassVar[tuple[str, ...]] = ()
    """The Python names of the fields, in their order."""
    defaults: ClassVar[Mapping[str, Any]] = {}
    """What a field has that is not given."""

    def __init__(self, *values: Any, **named: Any) -> None:
        whole = {**self.defaults, **dict(zip(self.names, values, strict=False)), **named}
        if len(values) > len(self.names) or len(whole) > len(self.names):
            raise TypeError(f"{type(self).__qualname__} has the fields {', '.join(self.names)}")
        for name, value in whole.items():
            setattr(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(
            getattr(self, name) == getattr(other, name) for name in self.names
        )

    def __hash__(self) -> int:
        # Tables are left out: they are dictionaries.
        plain = (name for name, field in zip(self.names, self.fields, strict=True) if field.type != "table")
        return hash((type(self), *(getattr(self, name) for name in plain)))

    def __repr__(self) -> str:
        shown = ((name, getattr(self, name)) for name in self.names)
        return (
            f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in shown if value)})"
        )

    def replace(self, **changes: Any) -> Self:
        """Copy it with some fields changed."""
        return type(self)(**({name: getattr(self, name) for name in self.names} | changes))

    def encode(self) -> bytes:
        """Encode all fields; bits that follow one another share an octet. Raises EncodeError."""
        return b"".join(_runs(self))

    @classmethod
    def decode(cls, octets: bytes, at: int = 0) -> tuple[Self, int]:
        """Read all fields from an offset; returns the record and the offset behind. Raises DecodeError."""
        made = cls.__new__(cls)  # each field is there, or this raises
        for name, (_, value, _, behind) in zip(cls.names, _read(cls.fields, octets, at), strict=True):
            setattr(made, name, value)
            at = behind
        return made, at


class Command(Record):
    """What a frame carries; subclasses are made, one for each command of the document."""

    __slots__ = ()
    spec: ClassVar[GrammarCommand]
    full_name: ClassVar[str] = ""
    code: ClassVar[int] = 0


def _runs(record: Record) -> Iterator[bytes]:
    bits: list[bool] = []
    for name, field in zip(record.names, record.fields, strict=True):
        value = getattr(record, name)
        if field.type == "bit":
            bits.append(bool(value))
            continue
        yield from _packed(bits)
        bits = []
        try:
            yield NUMBERS[field.type].pack(value) if field.type in NUMBERS else _WRITE[field.type](value)
        except (struct.error, EncodeError) as failure:
            # The value is not quoted: it may be a password.
            raise EncodeError(f"{type(record).__qualname__}, field {field.name}: {failure}") from None
    yield from _packed(bits)


def _packed(bits: Sequence[bool]) -> Iterator[bytes]:
    if bits:
        yield bytes((sum(1 << place for place, bit in enumerate(bits) if bit),))


def _read(fields: Sequence[Field], octets: bytes, at: int) -> Iterator[tuple[str, Any, int, int]]:
    """Read fields one by one: name, value, and the offsets where it begins and ends. Raises DecodeError."""
    place = 0
    for field in fields:
        start = at
        if field.type == "bit":
            # Behind a bit the offset is that of its octet, until something else follows.
            at = start if place else start + 1
            if at > len(octets):
                raise DecodeError(start, f"the octet of {field.name} is missing")
            yield field.name, bool(octets[at - 1] >> place & 1), at - 1, at
            place += 1
            continue
        place = 0
        if field.type in NUMBERS:
            at += NUMBERS[field.type].size
            if at > len(octets):
                raise DecodeError(start, f"{field.name} is cut short")
            yield field.name, NUMBERS[field.type].unpack_from(octets, start)[0], start, at
        else:
            value, at = _READ[field.type](octets, at)
            yield field.name, value, start, at


def spans(fields: Sequence[Field], octets: bytes, at: int) -> Iterator[Span]:
    """Yield every field with offset and length; those of a table one by one. Raises DecodeError."""
    types = {field.name: field.type for field in fields}
    for name, value, start, behind in _read(fields, octets, at):
        if types[name] == "table":
            for each in table_spans(octets, start):
                yield each._replace(name=f"{name}.{each.name}")
        else:
            yield Span(start, behind - start, name, value)


def _made(base: type[Any], qualified: str, says: str, fields: tuple[Field, ...], **more: Any) -> type[Any]:
    names = tuple(attribute(each.name) for each in fields)
    body = {
        "__slots__": names,
        "__doc__": says,
        "__qualname__": qualified,
        "__module__": "harness.amqp_fast.wire.vocabulary",
        "fields": fields,
        "names": names,
        "defaults": {name: _DEFAULT.get(each.type, 0) for name, each in zip(names, fields, strict=True)},
        **more,
    }
    return type(qualified.rpartition(".")[2], (base,), body)


def commands(words: Grammar) -> dict[int, type[Command]]:
    """Make the class of every command, by its code."""
    return {
        each.code: _made(
            Command,
            f"{class_name(each.class_name)}.{class_name(each.name)}",
            f"{each.full_name} ({each.section}).",
            each.fields,
            spec=each,
            full_name=each.full_name,
            code=each.code,
        )
        for each in words.commands
    }


def message_head(words: Grammar) -> type[Record]:
    """Make the class of the header of a message (3.4.4)."""
    return _made(Record, "MessageHead", "The header of a message (3.4.4).", words.message)
