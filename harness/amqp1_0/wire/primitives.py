"""Primitive types of fixed and variable width: what stands behind the constructor, read and written."""

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn
from uuid import UUID

from harness.amqp1_0.wire.generated import Constructor
from harness.amqp1_0.wire.types import DECIMALS, NUMBERS, Char, Symbol, Uint, Ulong
from harness.wire.units import DecodeError, EncodeError

Reader = Callable[[bytes, int, int, int], tuple[Any, int]]
"""Takes the octets, the offset behind the constructor, the end of what holds the value, and the depth."""
Body = Callable[[Any, "int | None", "int | None"], bytes]
"""Takes the value, and size and count where they are to lie; gives what stands behind the constructor."""
OCTETS: Final = tuple(bytes((number,)) for number in range(256))

WIDTHLESS: Final[Mapping[str, Any]] = {
    "null": None, "true": True, "false": False, "uint0": Uint(0), "ulong0": Ulong(0), "list0": (),
}  # fmt: skip
"""What the encodings without a value stand for, by their names."""
_SIGNED: Final = frozenset(("byte", "short", "int", "long", "timestamp"))


def number_struct(made: Constructor) -> struct.Struct:
    """Give how a number is written in this encoding, constructor left out."""
    letter = {"float": "f", "double": "d"}.get(made.type) or {1: "B", 2: "H", 4: "I", 8: "Q"}[made.width]
    return struct.Struct(">" + (letter.lower() if made.type in _SIGNED else letter))


# -- read ----------------------------------------------------------------------------------------------


def beyond(at: int, kind: str) -> NoReturn:
    """Raise DecodeError for what is read at this octet and does not end where it must."""
    raise DecodeError(at, f"a value of type {kind} reaches beyond what holds it")


def _constant_reader(value: Any) -> Reader:
    return lambda _octets, at, _end, _depth: (value, at)


def _number_reader(made: Constructor) -> Reader:
    unpack, width, kind = number_struct(made).unpack_from, made.width, NUMBERS[made.type]
    plain_number = kind in (int, float)
    if width == 1:
        return _octet_reader(made.type, [kind(unpack(octet, 0)[0]) for octet in OCTETS])

    def read(octets: bytes, at: int, end: int, _depth: int) -> tuple[Any, int]:
        behind = at + width
        if behind > end:
            beyond(at, made.type)
        value = unpack(octets, at)[0]
        return (value if plain_number else kind(value)), behind

    return read


def _octet_reader(kind: str, values: list[Any]) -> Reader:
    """Make the reader of numbers in one octet: they are made once, and shared."""

    def read(octets: bytes, at: int, end: int, _depth: int) -> tuple[Any, int]:
        if at >= end:
            beyond(at, kind)
        return values[octets[at]], at + 1

    return read


def _octets_reader(made: Constructor, make: Callable[[bytes, int], Any]) -> Reader:
    width = made.width

    def read(octets: bytes, at: int, end: int, _depth: int) -> tuple[Any, int]:
        behind = at + width
        if behind > end:
            beyond(at, made.type)
        return make(octets[at:behind], at), behind

    return read


def _short_reader(made: Constructor, make: Callable[[bytes, int], Any]) -> Reader:
    """Make the reader of what tells its length in one octet."""

    def read(octets: bytes, at: int, end: int, _depth: int) -> tuple[Any, int]:
        start = at + 1
        if start > end or (behind := start + octets[at]) > end:
            beyond(at, made.type)
        return make(octets[start:behind], start), behind

    return read


def _long_reader(made: Constructor, make: Callable[[bytes, int], Any]) -> Reader:
    width = made.width

    def read(octets: bytes, at: int, end: int, _depth: int) -> tuple[Any, int]:
        start = at + width
        if start > end:
            beyond(at, made.type)
        behind = start + int.from_bytes(octets[at:start])
        if behind > end:
            beyond(at, made.type)
        return make(octets[start:behind], start), behind

    return read


def _boolean(octets: bytes, at: int) -> bool:
    if octets[0] > 1:
        raise DecodeError(at, f"a boolean is 0 or 1, not {octets[0]}")
    return octets[0] == 1


def _char(octets: bytes, at: int) -> Char:
    try:
        return Char(octets.decode("utf-32-be"))
    except UnicodeDecodeError:
        raise DecodeError(at, f"{octets.hex()} is no Unicode character") from None


def _string(octets: bytes, at: int) -> str:
    try:
        return octets.decode()
    except UnicodeDecodeError as failure:
        raise DecodeError(at + failure.start, "a string is not UTF-8") from None


def _symbol(octets: bytes, at: int) -> Symbol:
    try:
        return Symbol(octets.decode("ascii"))
    except UnicodeDecodeError as failure:
        raise DecodeError(at + failure.start, "a symbol is not ASCII") from None


def _decimal(kind: Any) -> Callable[[bytes, int], Any]:
    return lambda octets, _: kind(octets)


_MADE: Final[Mapping[str, Callable[[bytes, int], Any]]] = {
    "boolean": _boolean,
    "char": _char,
    "string": _string,
    "symbol": _symbol,
    "uuid": lambda octets, _: UUID(bytes=octets),
    "binary": lambda octets, _: octets,
    **{name: _decimal(kind) for name, kind in DECIMALS.items()},
}


def simple_reader(made: Constructor) -> Reader:
    """Make the reader of an encoding of fixed or variable width."""
    if made.category == "fixed" and not made.width:
        return _constant_reader(WIDTHLESS[made.name])
    if made.type not in _MADE:
        return _number_reader(made)
    variable = _short_reader if made.width == 1 else _long_reader
    return (_octets_reader if made.category == "fixed" else variable)(made, _MADE[made.type])


# -- written -------------------------------------------------------------------------------------------


def _widthless_body(made: Constructor) -> Body:
    constant = WIDTHLESS[made.name]

    def write(value: Any, _size: int | None, _count: int | None) -> bytes:
        if type(value) is bytes:
            return value
        if value != constant and (constant != () or value != []):
            raise EncodeError(f"the encoding {made.name} has one value only")
        return b""

    return write


def _fixed_body(content: Callable[[Any], bytes]) -> Body:
    def write(value: Any, _size: int | None, _count: int | None) -> bytes:
        return value if type(value) is bytes else content(value)

    return write


def _of_length(made: Constructor) -> Callable[[Any], bytes]:
    def content(value: Any) -> bytes:
        if not isinstance(value, bytes) or len(value) != made.width:
            raise EncodeError(f"a {made.type} has {made.width} octets")
        return bytes(value)

    return content


def _char_content(value: Any) -> bytes:
    if len(value) != 1:
        raise EncodeError(f"a char is one character, not {len(value)}")
    return bytes(value.encode("utf-32-be"))


def _variable_body(made: Constructor) -> Body:
    charset = {"string": "utf-8", "symbol": "ascii", "binary": ""}[made.type]

    def write(value: Any, size: int | None, _count: int | None) -> bytes:
        if isinstance(value, (bytes, bytearray, memoryview)):
            content = bytes(value)
        elif charset:
            content = value.encode(charset)
        else:
            raise EncodeError(f"a binary cannot be made of this {type(value).__name__}")
        return length(made, len(content) if size is None else size) + content

    return write


def length(made: Constructor, number: int) -> bytes:
    """Write a size or a count as an encoding has it. Raises EncodeError."""
    try:
        return number.to_bytes(made.width)
    except OverflowError:
        raise EncodeError(f"{number} does not fit the {made.width} octets of {made.name}") from None


_CONTENT: Final[Mapping[str, Callable[[Any], bytes]]] = {
    "boolean": lambda value: OCTETS[value],
    "char": _char_content,
    "uuid": lambda value: value.bytes,
}


def simple_body(made: Constructor) -> Body:
    """Make the writer of an encoding of fixed or variable width."""
    if made.category == "variable":
        return _variable_body(made)
    if not made.width:
        return _widthless_body(made)
    if made.type in NUMBERS:
        return _fixed_body(number_struct(made).pack)
    return _fixed_body(_CONTENT.get(made.type) or _of_length(made))
