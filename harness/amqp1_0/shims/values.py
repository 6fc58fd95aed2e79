"""Values as a shim is told them and tells them, in JSON, and as the type system of 1.0 has them.

`null`, `true` and a text stand for themselves, a plain number is a long. All else is an object with one key
(`{"u32": "7"}`), as the contract of shims lists them. Integers are texts and floats the hex of their bits.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from harness.amqp1_0.wire.encoding import array, encode, type_of
from harness.amqp1_0.wire.types import DECIMALS, NUMBERS, Array, Char, Described, Float, Map, Symbol
from harness.shims.contract import Kind, Refused

Json = Any
"""What json.loads gives."""

_INTEGERS: Final[Mapping[str, str]] = {
    "i8": "byte", "u8": "ubyte", "i16": "short", "u16": "ushort",
    "i32": "int", "u32": "uint", "i64": "long", "u64": "ulong", "time": "timestamp",
}  # fmt: skip
"""Types of integers by their keys."""
_DECIMALS: Final[Mapping[str, str]] = {"d32": "decimal32", "d64": "decimal64", "d128": "decimal128"}
_PLAIN: Final[Mapping[str, str]] = {"null": "null", "bool": "boolean", "text": "string"}
"""What an array of values says that stand for themselves."""
_OTHERS: Final[Mapping[str, str]] = {
    "f32": "float", "f64": "double", "bin": "binary", "sym": "symbol", "char": "char", "uuid": "uuid",
    "list": "list", "map": "map", "array": "array", "desc": "described value",
}  # fmt: skip
TYPES: Final[Mapping[str, str]] = {**_INTEGERS, **_DECIMALS, **_OTHERS, **_PLAIN}
"""Types of 1.0 by the keys of the contract."""
_KEYS: Final = {kind: key for key, kind in TYPES.items()}

# -- what is told to a shim ----------------------------------------------------------------------------


def value_of(told: Json) -> Any:
    """Give the value that a shim is told. Raises Refused for what the contract does not have."""
    if told is None or isinstance(told, bool | str | int):
        return told
    if isinstance(told, Mapping) and len(told) == 1:
        ((key, held),) = told.items()
        if key in _MADE:
            return _MADE[key](held)
    raise Refused(Kind.UNSUPPORTED, f"there is no such value: {str(told)[:80]}")


def map_of(told: Json) -> Map:
    """Give a map, told as `{"map": [[key, value], …]}`."""
    made = value_of(told)
    assert isinstance(made, Map)
    return made


def _array_of(held: Json) -> Array:
    key, items = held
    if key == "desc":
        made = [_MADE["desc"](each) for each in items]
        inner = array(type_of(made[0].value), [each.value for each in made])
        return Array(inner.constructor, inner.items, (made[0].descriptor,))
    plain = key in _PLAIN
    return array(TYPES[key], [each if plain else _MADE[key](each) for each in items])


def _integer(kind: Callable[[int], Any]) -> Callable[[Json], Any]:
    return lambda held: kind(int(held))


def _octets(kind: Callable[[bytes], Any]) -> Callable[[Json], Any]:
    return lambda held: kind(bytes.fromhex(held))


_MADE: Final[Mapping[str, Callable[[Json], Any]]] = {
    **{key: _integer(NUMBERS[name]) for key, name in _INTEGERS.items()},
    **{key: _octets(DECIMALS[name]) for key, name in _DECIMALS.items()},
    "f32": lambda held: Float(struct.unpack(">f", bytes.fromhex(held))[0]),
    "f64": lambda held: float(struct.unpack(">d", bytes.fromhex(held))[0]),
    "bin": bytes.fromhex,
    "sym": Symbol,
    "char": Char,
    "uuid": UUID,
    "list": lambda held: tuple(value_of(each) for each in held),
    "map": lambda held: Map([(value_of(key), value_of(each)) for key, each in held]),
    "array": _array_of,
    "desc": lambda held: Described(value_of(held[0]), value_of(held[1])),
}

# -- what a shim tells ---------------------------------------------------------------------------------


def told_of(value: Any) -> Json:
    """Tell a value with its type."""
    kind = type_of(value)
    if kind in _PLAIN.values():
        return value
    return {_KEYS[kind]: _held(kind, value)}


def _held(kind: str, value: Any) -> Json:
    match kind:
        case "float" | "double":
            return struct.pack(">f" if kind == "float" else ">d", value).hex()
        case "binary" | "decimal32" | "decimal64" | "decimal128":
            return value.hex()
        case "list":
            return [told_of(each) for each in value]
        case "map":
            return [[told_of(key), told_of(each)] for key, each in value.pairs]
        case "array":
            return _array_held(value)
        case "described value":
            return [told_of(value.descriptor), told_of(value.value)]
        case "symbol" | "char" | "uuid":
            return str(value)
    return str(int(value))


def _array_held(value: Array) -> Json:
    if value.descriptors:
        return ["desc", [[told_of(each.descriptor), told_of(each.value)] for each in value]]
    kind = value.type
    plain = kind in _PLAIN.values()
    return [_KEYS[kind], [each if plain else _held(kind, each) for each in value.items]]


def size_of(value: Any) -> int:
    """Count the octets that a value takes on the wire, written the shortest way."""
    return len(encode(value))
