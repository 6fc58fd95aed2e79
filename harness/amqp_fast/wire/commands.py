"""Classes of commands, and of the header of a message, made from the grammar: one with slots for each.

Nothing of the grammar is typed again: names, codes and fields come from `spec.readers.amqp_fast`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

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
    layout: ClassVar[tuple[_Numbers | _Text, ...]] = ()

    if TYPE_CHECKING:

        def __init__(self, *values: Any, **named: Any) -> None: ...

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
        return b"".join([each.write(self) for each in self.layout])

    @classmethod
    def decode(cls, octets: bytes, at: int = 0) -> tuple[Self, int]:
        """Read all fields from an offset; returns the record and the offset behind. Raises DecodeError."""
        made, behind = cls.__new__(cls), at  # each field is there, or this raises
        try:
            for each in cls.layout:
                behind = each.read(made, octets, behind)
        except struct.error:
            for _ in _read(cls.fields, octets, at):
                continue  # one of them says where it is cut short
            raise
        return made, behind


class Command(Record):
    """What a frame carries; subclasses are made, one for each command of the document."""

    __slots__ = ()
    spec: ClassVar[GrammarCommand]
    full_name: ClassVar[str] = ""
    code: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Numbers and bits that follow one another: read and written at once.

    `places` are, for each value of the `form`, the name of a number or the names of the bits in an octet.
    """

    form: struct.Struct
    places: tuple[str | tuple[str, ...], ...]

    def read(self, made: Record, octets: bytes, at: int) -> int:
        for place, value in zip(self.places, self.form.unpack_from(octets, at), strict=True):
            if isinstance(place, str):
                setattr(made, place, value)
            else:
                for bit, name in enumerate(place):
                    setattr(made, name, bool(value >> bit & 1))
        return at + self.form.size

    def write(self, record: Record) -> bytes:
        values = [
            getattr(record, place)
            if isinstance(place, str)
            else sum(1 << bit for bit, name in enumerate(place) if getattr(record, name))
            for place in self.places
        ]
        try:
            return self.form.pack(*values)
        except struct.error:
            raise self._refused(record, values) from None

    def _refused(self, record: Record, values: Sequence[Any]) -> EncodeError:
        for place, value, form in zip(self.places, values, self.form.format[1:], strict=True):
            try:
                struct.pack(f">{form}", value)
            except struct.error as failure:
                return _refused(record, str(place), failure)
        raise AssertionError("each value has its place, but not all of them")


@dataclass(frozen=True, slots=True)
class _Text:
    """A string or a table."""

    name: str
    type: str

    def read(self, made: Record, octets: bytes, at: int) -> int:
        value, behind = _READ[self.type](octets, at)
        setattr(made, self.name, value)
        return behind

    def write(self, record: Record) -> bytes:
        try:
            return _WRITE[self.type](getattr(record, self.name))
        except EncodeError as failure:
            raise _refused(record, self.name, failure) from None


def _refused(record: Record, name: str, failure: Exception) -> EncodeError:
    # The value is not quoted: it may be a password.
    return EncodeError(f"{type(record).__qualname__}, field {name.replace('_', '-')}: {failure}")


def _layout(fields: Sequence[Field]) -> Iterator[_Numbers | _Text]:
    for numbers, together in groupby(fields, key=lambda field: field.type in NUMBERS or field.type == "bit"):
        if numbers:
            yield _numbers(together)
        else:
            yield from (_Text(attribute(field.name), field.type) for field in together)


def _numbers(fields: Iterable[Field]) -> _Numbers:
    form, places = ">", list[str | tuple[str, ...]]()
    for bits, together in groupby(fields, key=lambda field: field.type == "bit"):
        named = [(attribute(field.name), field.type) for field in together]
        form += "B" if bits else "".join(NUMBERS[type_].format[1:] for _, type_ in named)
        places += [tuple(name for name, _ in named)] if bits else [name for name, _ in named]
    return _Numbers(struct.Struct(form), tuple(places))


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
        "__init__": _initialiser(fields),
        "__doc__": says,
        "__qualname__": qualified,
        "__module__": "harness.amqp_fast.wire.vocabulary",
        "fields": fields,
        "names": names,
        "layout": tuple(_layout(fields)),
        **more,
    }
    return type(qualified.rpartition(".")[2], (base,), body)


def _initialiser(fields: Sequence[Field]) -> Callable[..., None]:
    """Compile what takes all fields, in their order or by name: nothing is looked up when one is made."""
    names = [attribute(each.name) for each in fields]
    given = ", ".join(["self", *(f"{name}=defaults[{place}]" for place, name in enumerate(names))])
    sets = [f"    self.{name} = {name}" for name in names]
    text = "\n".join([f"def __init__({given}):", *sets, "    return"])
    scope: dict[str, Any] = {"defaults": [_DEFAULT.get(each.type, 0) for each in fields]}
    exec(compile(text, "<compiled from the grammar>", "exec"), scope)
    made: Callable[..., None] = scope["__init__"]
    return made


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
