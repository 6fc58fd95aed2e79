"""Values of the AMQP 1.0 type system: small immutable classes where a Python type does not say the AMQP type.

| AMQP | Python |
|---|---|
| null, boolean, long, double | `None`, `bool`, `int`, `float` |
| ubyte, ushort, uint, ulong, byte, short, int, timestamp | a class of `int` for each |
| float, char, symbol | `Float`, `Char`, `Symbol` |
| decimal32, decimal64, decimal128 | their octets, `Decimal32`, `Decimal64`, `Decimal128` |
| uuid, binary, string | `uuid.UUID`, `bytes`, `str` |
| list, map, array, described | `tuple`, `Map`, `Array`, `Described` |

Values compare as Python compares them (`Uint(5) == 5`). `As` and `Raw` are for sending: one encoding of
several, a size that lies, octets as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from harness.amqp1_0.wire.generated import CONSTRUCTORS


class Encodable:
    """What writes itself where a value may stand."""

    __slots__ = ()

    def encode(self) -> bytes:
        """Encode the value, constructor included. Raises EncodeError."""
        raise NotImplementedError


class _Number(int):
    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"

    __str__ = int.__repr__


class Ubyte(_Number):
    """Unsigned, 8 bits."""

    __slots__ = ()


class Ushort(_Number):
    """Unsigned, 16 bits."""

    __slots__ = ()


class Uint(_Number):
    """Unsigned, 32 bits."""

    __slots__ = ()


class Ulong(_Number):
    """Unsigned, 64 bits."""

    __slots__ = ()


class Byte(_Number):
    """Signed, 8 bits."""

    __slots__ = ()


class Short(_Number):
    """Signed, 16 bits."""

    __slots__ = ()


class Int(_Number):
    """Signed, 32 bits; a plain `int` is a long, signed with 64."""

    __slots__ = ()


class Timestamp(_Number):
    """Milliseconds since 1970, signed, 64 bits."""

    __slots__ = ()


class Float(float):
    """32 bits; a plain `float` is a double."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Float({float(self)!r})"

    __str__ = float.__repr__


class Symbol(str):
    """A name of ASCII characters."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Symbol({str(self)!r})"


class Char(str):
    """A single Unicode character."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Char({str(self)!r})"


class _Octets(bytes):
    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({bytes(self)!r})"


class Decimal32(_Octets):
    """The 4 octets of a decimal32, not interpreted."""

    __slots__ = ()


class Decimal64(_Octets):
    """The 8 octets of a decimal64, not interpreted."""

    __slots__ = ()


class Decimal128(_Octets):
    """The 16 octets of a decimal128, not interpreted."""

    __slots__ = ()


NUMBERS: Final[Mapping[str, Any]] = {
    **{kind.__name__.lower(): kind for kind in (*_Number.__subclasses__(), Float)},
    "long": int,
    "double": float,
}
"""The Python class of each type of number."""
DECIMALS: Final[Mapping[str, Any]] = {kind.__name__.lower(): kind for kind in _Octets.__subclasses__()}
"""The Python class of each decimal type."""


class Map(Mapping[Any, Any]):
    """A map: `pairs` has all in the order of the wire, equal keys too; a look-up finds the first."""

    __slots__ = ("_found", "pairs")
    pairs: tuple[tuple[Any, Any], ...]

    def __init__(self, pairs: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = ()) -> None:
        if isinstance(pairs, Map):
            self.pairs = pairs.pairs
        else:
            self.pairs = tuple(pairs.items() if isinstance(pairs, Mapping) else pairs)
        self._found: dict[Any, Any] | None = None

    def __getitem__(self, key: Any) -> Any:
        if self._found is None:
            self._found = dict(reversed(self.pairs))
        return self._found[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(dict(self.pairs))

    def __len__(self) -> int:
        return len(dict(self.pairs))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Map):
            return self.pairs == other.pairs
        return dict(self.pairs) == other

    def __hash__(self) -> int:
        return hash(self.pairs)

    def __repr__(self) -> str:
        return f"Map({{{', '.join(f'{key!r}: {value!r}' for key, value in self.pairs)}}})"

    def __reduce__(self) -> tuple[type[Map], tuple[tuple[tuple[Any, Any], ...]]]:
        return Map, (self.pairs,)


@dataclass(frozen=True, slots=True)
class Described:
    """A value with a descriptor that gives it a meaning."""

    descriptor: Any
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """Items without their `constructor`, of one encoding; `descriptors` stand for all, outermost first."""

    constructor: int
    items: tuple[Any, ...]
    descriptors: tuple[Any, ...] = ()

    @property
    def type(self) -> str:
        """The primitive type of the items; empty for a constructor that does not exist."""
        found = CONSTRUCTORS.get(self.constructor)
        return found.type if found else ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Array) and (self.type, self.items, self.descriptors) == (
            other.type,
            other.items,
            other.descriptors,
        )

    def __hash__(self) -> int:
        return hash((self.items, self.descriptors))

    def __iter__(self) -> Iterator[Any]:
        for item in self.items:
            for descriptor in reversed(self.descriptors):
                item = Described(descriptor, item)
            yield item

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class As:
    """A value with its constructor spelled out: `As(0x80, 5)` is an ulong in nine octets.

    The value may be octets: they stand for the value of fixed width, for the content of variable width, for
    the items of a list, map or array. The items of a map may be given one by one, an odd number as well.
    `size` and `count`, where the encoding has them, may lie.
    """

    code: int
    value: Any
    size: int | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """Octets that stand where a value should."""

    octets: bytes


Explicit: TypeAlias = As | Raw | Array | Described
"""What says itself how it is written; it may be given for any field."""
