"""Values of AMQP 1.0, as lines have them and as Proton has them."""

import struct
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import contract_values
import proton
from contract import Told, unsupported
from contract_values import Makers, Tellers, taken, told
from proton import Array, Data, Described

KINDS: Mapping[str, tuple[Any, int]] = {
    "i8": (proton.byte, Data.BYTE),
    "u8": (proton.ubyte, Data.UBYTE),
    "i16": (proton.short, Data.SHORT),
    "u16": (proton.ushort, Data.USHORT),
    "i32": (proton.int32, Data.INT),
    "u32": (proton.uint, Data.UINT),
    "i64": (int, Data.LONG),
    "u64": (proton.ulong, Data.ULONG),
    "time": (proton.timestamp, Data.TIMESTAMP),
}
"""Integers: the class of Proton's value, and how it names the type."""
BITS = {"d32": (proton.decimal32, Data.DECIMAL32), "d64": (proton.decimal64, Data.DECIMAL64)}
TYPES: Mapping[str, int] = {key: kind for key, (_, kind) in {**KINDS, **BITS}.items()} | {
    "f32": Data.FLOAT,
    "f64": Data.DOUBLE,
    "d128": Data.DECIMAL128,
    "bin": Data.BINARY,
    "sym": Data.SYMBOL,
    "char": Data.CHAR,
    "uuid": Data.UUID,
    "list": Data.LIST,
    "map": Data.MAP,
    "array": Data.ARRAY,
    "text": Data.STRING,
    "bool": Data.BOOL,
    "null": Data.NULL,
}
"""Types of the elements of an array."""


def _number(kind: Any) -> Callable[[str], Any]:
    return lambda number: kind(int(number))


def _bits(kind: Any) -> Callable[[str], Any]:
    return lambda digits: kind(int(digits, 16))


def _array(given: Any) -> Array:
    key, values = given
    if key not in TYPES:
        raise unsupported(f"the shim knows no array of {key}")
    plain = key in ("text", "bool", "null")
    return Array(
        proton.UNDESCRIBED,
        TYPES[key],
        *(taken(v if plain or isinstance(v, dict) else {key: v}, MAKERS) for v in values),
    )


MAKERS: Makers = {
    **{key: _number(kind) for key, (kind, _) in KINDS.items()},
    **{key: _bits(kind) for key, (kind, _) in BITS.items()},
    "f32": lambda bits: proton.float32(contract_values.single(bits)),
    "f64": contract_values.double,
    "d128": lambda bits: proton.decimal128(bytes.fromhex(bits)),
    "bin": bytes.fromhex,
    "sym": proton.symbol,
    "char": proton.char,
    "uuid": UUID,
    "array": _array,
    "desc": lambda given: Described(taken(given[0], MAKERS), taken(given[1], MAKERS)),
}


def _told_array(value: Array) -> Told:
    key = next((key for key, kind in TYPES.items() if kind == value.type), "")
    inside = [told(each, TELLERS) for each in value.elements]
    return {
        "array": [key, [each[key] if isinstance(each, dict) and key in each else each for each in inside]]
    }


def _teller(key: str) -> Callable[[Any], Told]:
    return lambda value: {key: str(int(value))}


TELLERS: Tellers = {
    **{kind: _teller(key) for key, (kind, _) in KINDS.items()},
    proton.decimal32: lambda v: {"d32": f"{int(v):08x}"},
    proton.decimal64: lambda v: {"d64": f"{int(v):016x}"},
    proton.decimal128: lambda v: {"d128": bytes(v).hex()},
    proton.float32: lambda v: {"f32": struct.pack(">f", v).hex()},
    proton.symbol: lambda v: {"sym": str(v)},
    proton.char: lambda v: {"char": str(v)},
    UUID: lambda v: {"uuid": str(v)},
    Array: _told_array,
    Described: lambda v: {"desc": [told(v.descriptor, TELLERS), told(v.value, TELLERS)]},
}
