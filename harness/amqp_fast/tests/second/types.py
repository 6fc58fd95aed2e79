"""What fields of AMQP/Fast are made of: numbers, strings, field tables. Integers are high-low."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

NAME = re.compile(rb"[A-Za-z$#][A-Za-z0-9_$#]{0,127}")
LONGEST_SHORT = 0xFF
LONGEST_LONG = 0xFFFF
MOST_DECIMALS = 0xFF


@dataclass(frozen=True, slots=True)
class Time:
    """A moment, in seconds as POSIX counts them."""

    seconds: int


Text = str | bytes
Value = Text | int | Decimal | Time
Given = Mapping[str, Value] | Iterable[tuple[Text, Value]]
Pairs = list[tuple[bytes, bytes | int | Decimal | Time]]


class Incomplete(ValueError):
    """The octets end before what they begin."""


class Octets:
    """Octets, read from the left."""

    def __init__(self, octets: bytes) -> None:
        self._octets = octets
        self.position = 0

    def left(self) -> int:
        """Count the octets that are not read yet."""
        return len(self._octets) - self.position

    def take(self, size: int) -> bytes:
        """Read so many octets."""
        if self.left() < size:
            raise Incomplete(f"{size} octets are wanted where {self.left()} are left")
        self.position += size
        return self._octets[self.position - size : self.position]

    def number(self, size: int, signed: bool = False) -> int:
        """Read an integer of so many octets."""
        return int.from_bytes(self.take(size), "big", signed=signed)

    def short_string(self) -> bytes:
        """Read a short string, which holds no zero octets."""
        text = self.take(self.number(1))
        if 0 in text:
            raise ValueError("a short string holds a zero octet")
        return text

    def long_string(self) -> bytes:
        """Read a long string, which may hold anything."""
        return self.take(self.number(2))

    def table(self) -> Pairs:
        """Read a field table: a long string of names and values."""
        inner = Octets(self.long_string())
        pairs: Pairs = []
        try:
            while inner.left():
                pairs.append((_checked(inner.short_string()), inner.value()))
        except Incomplete as problem:
            raise ValueError(f"a field table ends inside a field: {problem}") from None
        return pairs

    def value(self) -> bytes | int | Decimal | Time:
        """Read a value of a field table behind its type."""
        kind = self.take(1)
        if kind == b"S":
            return self.long_string()
        if kind == b"I":
            return self.number(4, signed=True)
        if kind == b"D":
            decimals, digits = self.number(1), self.number(4, signed=True)
            return Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -decimals))
        if kind == b"T":
            return Time(self.number(4))
        raise ValueError(f"no type of a field's value is {kind!r}")


def number(value: object, size: int, signed: bool = False) -> bytes:
    """Write an integer in so many octets."""
    if not isinstance(value, int):
        raise ValueError(f"{value!r} is no integer")
    try:
        return value.to_bytes(size, "big", signed=signed)
    except OverflowError:
        raise ValueError(f"{value} does not fit into {size} octets") from None


def text(value: object) -> bytes:
    """Write text as UTF-8; octets stay what they are."""
    if not isinstance(value, str | bytes):
        raise ValueError(f"{value!r} is no string")
    return value.encode() if isinstance(value, str) else value


def short_string(value: object) -> bytes:
    """Write a short string."""
    octets = text(value)
    if len(octets) > LONGEST_SHORT:
        raise ValueError(f"a short string has at most {LONGEST_SHORT} octets, not {len(octets)}")
    if 0 in octets:
        raise ValueError("a short string holds no zero octet")
    return number(len(octets), 1) + octets


def long_string(value: object) -> bytes:
    """Write a long string."""
    octets = text(value)
    if len(octets) > LONGEST_LONG:
        raise ValueError(f"a long string has at most {LONGEST_LONG} octets, not {len(octets)}")
    return number(len(octets), 2) + octets


def table(given: Given) -> bytes:
    """Write a field table."""
    pairs = given.items() if isinstance(given, Mapping) else given
    return long_string(b"".join(short_string(_checked(text(name))) + _value(value) for name, value in pairs))


def first(pairs: Pairs) -> dict[bytes, bytes | int | Decimal | Time]:
    """Look fields up by name: where a name occurs twice, the first counts."""
    return dict(reversed(pairs))


def _checked(name: bytes) -> bytes:
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a field")
    return name


def _value(value: Value) -> bytes:
    if isinstance(value, str | bytes):
        return b"S" + long_string(value)
    if isinstance(value, Time):
        return b"T" + number(value.seconds, 4)
    if isinstance(value, Decimal):
        return b"D" + _decimal(value)
    return b"I" + number(value, 4, signed=True)


def _decimal(value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or not -MOST_DECIMALS <= exponent <= 10:
        raise ValueError(f"{value} cannot be written as a decimal")
    whole = int("".join(map(str, digits))) * 10 ** max(exponent, 0)
    return number(max(-exponent, 0), 1) + number(-whole if sign else whole, 4, signed=True)
