"""Values to octets: the shortest encoding of each, unless `As` spells out another."""

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from harness.amqp1_0.wire.generated import CONSTRUCTORS, DESCRIBED, Constructor, code_of
from harness.amqp1_0.wire.primitives import OCTETS, Body, length, number_struct, simple_body
from harness.amqp1_0.wire.types import (
    DECIMALS,
    NUMBERS,
    Array,
    As,
    Char,
    Described,
    Encodable,
    Int,
    Map,
    Raw,
    Symbol,
    Uint,
    Ulong,
)
from harness.wire.units import EncodeError


def encode(value: Any) -> bytes:
    """Encode a value the shortest way, or as it says itself. Raises EncodeError for what no type can hold."""
    try:
        return (_USUAL.get(type(value)) or _usual_for_subclass(value))(value)
    except EncodeError:
        raise
    except RecursionError:
        raise EncodeError("the value is nested too deeply") from None
    except (struct.error, LookupError, OverflowError, TypeError, ValueError, AttributeError) as failure:
        raise _refused(type(value).__name__, failure) from None


def typed(kind: str, value: Any) -> Any:
    """Turn a plain Python value into one of a primitive type: 512 for an uint is `Uint(512)`.

    What says its own type (`Symbol`, `Uint`, `As`, a composite) is left as it is; "*" is any type. Raises
    EncodeError when a plain value is none of this type.
    """
    plain = type(value)
    if plain not in _PLAIN:
        return value
    if kind == "*":
        return tuple(value) if plain is list else Map(value) if plain is dict else value
    if kind not in _PLAIN[plain]:
        raise EncodeError(f"a Python {plain.__name__} is no {kind}")
    if plain is int or plain is float:
        return NUMBERS[kind](value)
    if kind == "symbol" or kind == "char":
        return Symbol(value) if kind == "symbol" else Char(value)
    return tuple(value) if plain is list else Map(value) if plain is dict else value


def type_of(value: Any) -> str:
    """Name the primitive type of a decoded value, "described value", or empty for anything else."""
    return _TYPES.get(type(value), "")


_TYPES: Final[Mapping[type, str]] = {
    **{kind: name for name, kind in (*NUMBERS.items(), *DECIMALS.items())},
    type(None): "null", bool: "boolean", str: "string", Symbol: "symbol", Char: "char", bytes: "binary",
    UUID: "uuid", tuple: "list", Map: "map", Array: "array", Described: "described value",
}  # fmt: skip
_PLAIN: Final[Mapping[type, frozenset[str]]] = {
    bool: frozenset(("boolean",)),
    int: frozenset(NUMBERS),
    float: frozenset(("float", "double")),
    str: frozenset(("string", "symbol", "char")),
    bytes: frozenset(("binary",)),
    list: frozenset(("list",)),
    tuple: frozenset(("list",)),
    dict: frozenset(("map",)),
    Map: frozenset(("map",)),
}


def array(kind: str, items: Iterable[Any]) -> Array:
    """Make an array of a primitive type, whose constructor takes each `typed` item. Raises EncodeError."""
    values = tuple(typed(kind, item) for item in items)
    codes = {encode(value)[0] for value in values}
    # Items without width are left to those who ask for them by code.
    fitting = [code for code in _OF_TYPE[kind] if CONSTRUCTORS[code].width] or _OF_TYPE[kind]
    for code in codes.difference(_OF_TYPE[kind]):
        raise EncodeError(f"an array of {kind} holds nothing with the constructor {code:#04x}")
    if len(codes) < 2:
        chosen = next((code for code in codes if code in fitting), fitting[-1 if not codes else 0])
    else:
        chosen = fitting[0]
    return Array(chosen, values)


_OF_TYPE: Final[Mapping[str, list[int]]] = {
    made.type: sorted(
        (code for code, other in CONSTRUCTORS.items() if other.type == made.type),
        key=lambda code: -CONSTRUCTORS[code].width,
    )
    for made in CONSTRUCTORS.values()
}
"""The constructors of a type, the widest first."""

# -- what stands behind a constructor ------------------------------------------------------------------


def _refused(what: str, failure: Exception) -> EncodeError:
    # Values are not quoted: one of them may be a password.
    reason = failure.reason if isinstance(failure, UnicodeEncodeError) else failure
    return EncodeError(f"this {what} cannot be encoded: {reason}")


def _compound_body(made: Constructor) -> Body:
    def write(value: Any, size: int | None, count: int | None) -> bytes:
        if type(value) is bytes:
            items, content = 0, value
        else:
            parts = [encode(item) for item in (_flat(value) if made.type == "map" else value)]
            items, content = len(parts), b"".join(parts)
        return (
            length(made, len(content) + made.width if size is None else size)
            + length(made, items if count is None else count)
            + content
        )

    return write


def _flat(value: Any) -> Iterable[Any]:
    if isinstance(value, Map):
        return (each for pair in value.pairs for each in pair)
    if isinstance(value, Mapping):
        return (each for pair in value.items() for each in pair)
    return value  # type: ignore[no-any-return]


def _array_body(made: Constructor) -> Body:
    def write(value: Any, size: int | None, count: int | None) -> bytes:
        if type(value) is bytes:
            items, content = 0, value
        else:
            items, content = len(value.items), _array_content(value)
        return (
            length(made, len(content) + made.width if size is None else size)
            + length(made, items if count is None else count)
            + content
        )

    return write


def _array_content(value: Array) -> bytes:
    body = _BODIES.get(value.constructor)
    if body is None:
        raise EncodeError(f"no type has the constructor {value.constructor:#04x}")
    prefix = b"".join(_DESCRIBED + encode(descriptor) for descriptor in value.descriptors)
    items = b"".join([body(item, None, None) for item in value.items])
    return prefix + OCTETS[value.constructor] + items


def _body(made: Constructor) -> Body:
    return {"compound": _compound_body, "array": _array_body}.get(made.category, simple_body)(made)


_BODIES: Final[Mapping[int, Body]] = {code: _body(made) for code, made in CONSTRUCTORS.items()}
_DESCRIBED: Final = OCTETS[DESCRIBED]
_DESCRIBED_SHORTLY: Final = tuple(_DESCRIBED + OCTETS[code_of("ulong", 1)] + each for each in OCTETS)
"""What stands before a value whose descriptor is this ulong of one octet."""

# -- the usual encoding of each Python type ------------------------------------------------------------

_Writer = Callable[[Any], bytes]


def _code(kind: str, width: int) -> bytes:
    return OCTETS[code_of(kind, width)]


def _whole(kind: str) -> _Writer:
    code = _OF_TYPE[kind][0]
    octet, body = OCTETS[code], _BODIES[code]
    return lambda value: octet + body(value, None, None)


def _unsigned(kind: str, width: int) -> _Writer:
    none, small, full = _code(kind, 0), _code(kind, 1), _code(kind, width)
    pack = number_struct(CONSTRUCTORS[code_of(kind, width)]).pack

    def write(value: int) -> bytes:
        if 0 < value < 256:
            return small + OCTETS[value]
        return full + pack(value) if value else none

    return write


def _signed(kind: str, width: int) -> _Writer:
    small, full = _code(kind, 1), _code(kind, width)
    pack = number_struct(CONSTRUCTORS[code_of(kind, width)]).pack

    def write(value: int) -> bytes:
        return small + OCTETS[value & 255] if -128 <= value < 128 else full + pack(value)

    return write


def _text(kind: str, charset: str) -> _Writer:
    narrow, wide = _code(kind, 1), _code(kind, 4)

    def write(value: Any) -> bytes:
        octets: bytes = value.encode(charset) if charset else value
        size = len(octets)
        return narrow + OCTETS[size] + octets if size < 256 else wide + size.to_bytes(4) + octets

    return write


def _sized(kind: str) -> Callable[[bytes, int], bytes]:
    narrow, wide = _code(kind, 1), _code(kind, 4)

    def write(content: bytes, count: int) -> bytes:
        size = len(content)
        if size < 255 and count < 256:
            return narrow + OCTETS[size + 1] + OCTETS[count] + content
        return wide + (size + 4).to_bytes(4) + count.to_bytes(4) + content

    return write


_size_list, _size_map, _size_array = map(_sized, ("list", "map", "array"))
_NO_ITEMS: Final = _code("list", 0)
_TRUE, _FALSE = (
    next(OCTETS[code] for code, made in CONSTRUCTORS.items() if made.name == name)
    for name in ("true", "false")
)
_NULL: Final = _code("null", 0)


def _list(value: Any) -> bytes:
    content = b"".join([(_USUAL.get(type(item)) or _usual_for_subclass(item))(item) for item in value])
    return _size_list(content, len(value)) if value else _NO_ITEMS


def _map(value: Any) -> bytes:
    parts = [(_USUAL.get(type(item)) or _usual_for_subclass(item))(item) for item in _flat(value)]
    return _size_map(b"".join(parts), len(parts))


def _array(value: Array) -> bytes:
    return _size_array(_array_content(value), len(value.items))


def described_by_octets(descriptor: Any) -> bytes:
    """Write what stands before a value with this descriptor. Raises EncodeError."""
    if type(descriptor) is Ulong and 0 < descriptor < 256:
        return _DESCRIBED_SHORTLY[descriptor]
    return _DESCRIBED + encode(descriptor)


def _described(value: Described) -> bytes:
    return described_by_octets(value.descriptor) + encode(value.value)


def _as(value: As) -> bytes:
    body = _BODIES.get(value.code)
    if body is None:
        raise EncodeError(f"no type has the constructor {value.code:#04x}")
    return OCTETS[value.code] + body(value.value, value.size, value.count)


# A subclass takes the first that fits, and is known from then on: bool must stand before int.
_USUAL: Final[dict[type, _Writer]] = {
    type(None): lambda _: _NULL,
    bool: lambda value: _TRUE if value else _FALSE,
    Symbol: _text("symbol", "ascii"),
    **{kind: _whole(name) for name, kind in (*NUMBERS.items(), *DECIMALS.items())},
    Uint: _unsigned("uint", 4),
    Ulong: _unsigned("ulong", 8),
    Int: _signed("int", 4),
    int: _signed("long", 8),
    Char: _whole("char"),
    str: _text("string", "utf-8"),
    bytes: _text("binary", ""),
    UUID: _whole("uuid"),
    tuple: _list,
    list: _list,
    Map: _map,
    Array: _array,
    Described: _described,
    As: _as,
    Raw: lambda value: bytes(value.octets),
    Encodable: lambda value: value.encode(),
    Mapping: _map,
}


def _usual_for_subclass(value: Any) -> _Writer:
    for kind, writer in _USUAL.items():
        if isinstance(value, kind):
            _USUAL[type(value)] = writer
            return writer
    raise EncodeError(f"no AMQP type holds a {type(value).__name__}")
