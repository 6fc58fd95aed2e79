"""Values of field tables and properties as lines of JSON have them, both ways (ci/clients/README.md)."""

import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from harness.amqp0_9_1.wire.compiled import Properties
from harness.amqp0_9_1.wire.field_tables import As, Timestamp
from harness.amqp0_9_1.wire.fields import attribute
from harness.amqp0_9_1.wire.vocabulary import Basic
from harness.shims.contract import Kind, Refused

INTEGERS = {"i8": "b", "u8": "B", "i16": "U", "u16": "u", "i32": "I", "u32": "i", "i64": "L", "u64": "l"}
"""The tag on the wire of each integer of the contract (4.2.1)."""
FLOATS = {"f32": ("f", ">f"), "f64": ("d", ">d")}


def _float(key: str) -> Callable[[str], As]:
    tag, form = FLOATS[key]
    return lambda bits: As(tag, struct.unpack(form, bytes.fromhex(bits))[0])


def _integer(key: str) -> Callable[[str], As]:
    return lambda told: As(INTEGERS[key], int(told))


def _decimal(told: list[Any]) -> As:
    places, number = told
    return As("D", Decimal(f"{int(number)}E-{int(places)}"))


TAKEN: Mapping[str, Callable[[Any], Any]] = {
    **{key: _integer(key) for key in INTEGERS},
    **{key: _float(key) for key in FLOATS},
    "dec": _decimal,
    "time": lambda told: Timestamp(int(told)),
    "bin": lambda told: As("S", bytes.fromhex(told)),
    "short": lambda told: As("s", told),
    "list": lambda told: As("A", [taken(each) for each in told]),
    "map": lambda told: {str(name): taken(each) for name, each in told},
}
"""How each kind of value is made of what is told."""


def taken(told: Any) -> Any:
    """Make a value of a field table of what is told. Raises Refused for what 0-9-1 has no type for."""
    if not isinstance(told, Mapping):
        return told
    ((key, value),) = told.items()
    if key not in TAKEN:
        raise Refused(Kind.UNSUPPORTED, f"0-9-1 has no {key}")
    return TAKEN[key](value)


def told(value: Any) -> Any:
    """Tell a value that was read from the wire, as far as its type is known."""
    match value:
        case bytes():
            return {"bin": value.hex()}
        case float():
            return {"f64": struct.pack(">d", value).hex()}
        case Decimal():
            return _told_decimal(value)
        case Timestamp():
            return {"time": str(value.seconds)}
        case Mapping():
            return {"map": [[name, told(each)] for name, each in value.items()]}
        case list() | tuple():
            return {"list": [told(each) for each in value]}
        case bool() | str() | None:
            return value
        case int():
            return {"int": str(value)}
    raise TypeError(f"no field table holds a {type(value).__name__}")


def _told_decimal(value: Decimal) -> Any:
    sign, digits, exponent = value.as_tuple()
    number = int("".join(map(str, digits))) * (-1 if sign else 1)
    return {"dec": [-exponent if isinstance(exponent, int) else 0, str(number)]}


_TYPES = {field.name: field.type for field in Basic.Properties.fields}


def taken_properties(told_: Mapping[str, Any]) -> Basic.Properties:
    """Make the properties of a message of what is told. Raises Refused for one that Basic has not."""
    if unknown := told_.keys() - _TYPES.keys():
        raise Refused(Kind.UNSUPPORTED, f"a message has no property {', '.join(sorted(unknown))}")
    values = {attribute(name): _taken_property(each) for name, each in told_.items()}
    return Basic.Properties(**values)


def _taken_property(each: Any) -> Any:
    value = taken(each)
    return value.seconds if isinstance(value, Timestamp) else value


def told_properties(properties: Properties | None) -> dict[str, Any]:
    """Tell the properties that are present."""
    found = {} if properties is None else {name: getattr(properties, attribute(name)) for name in _TYPES}
    return {name: _told_property(_TYPES[name], each) for name, each in found.items() if each is not None}


def _told_property(kind: str, value: Any) -> Any:
    if kind == "timestamp":
        return {"time": str(value)}
    return told(value) if kind == "table" else value
