"""Values in Python: made of what a line tells, and told of what a library gave.

`ci/clients/README.md` says how a value stands in a line.
"""

import inspect
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from contract import Refused, Told, unsupported

Makers = Mapping[str, Callable[[Any], Any]]
"""How a library's own value is made, by the key of the contract; without a maker it is unsupported."""
Tellers = Mapping[type, Callable[[Any], Any]]
"""How a value of exactly this type is told, where `told` does not know better."""


def called(
    act: Callable[..., Any], given: Mapping[str, Any], names: Mapping[str, str], makers: Makers
) -> Any:
    """Call a function of a library by the names that the document has for its arguments.

    `names` has those that the library calls otherwise. Raises Refused for an argument that it does not have,
    but for `no-wait: false`.
    """
    known = inspect.signature(act).parameters
    arguments = {}
    for name, value in given.items():
        own = names.get(name, name.replace("-", "_"))
        if own in known:
            arguments[own] = taken(value, makers)
        elif (name, value) != ("no-wait", False):
            raise unsupported(f"{act.__name__} has no argument for {name}")
    return act(**arguments)


def filled(told_: str | Mapping[str, Any]) -> bytes:
    """Make a body of what is told: a text, {"fill": n}, or {"bin": hex}."""
    if isinstance(told_, str):
        return told_.encode()
    if "bin" in told_:
        return bytes.fromhex(told_["bin"])
    size = int(told_["fill"])
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def taken(value: Any, makers: Makers) -> Any:
    """Make a library's value of what is told. Raises Refused for what it has no type for."""
    if not isinstance(value, Mapping):
        return value
    ((key, inside),) = value.items()
    if key in makers:
        return makers[key](inside)
    if key == "list":
        return [taken(each, makers) for each in inside]
    if key == "map":
        return mapped([(taken(name, makers), taken(each, makers)) for name, each in inside])
    raise unsupported(f"the library has no type for {key}")


def mapped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Make a dict of pairs. Raises Refused where a key comes twice, which no dict can hold."""
    pairs = list(pairs)
    made = dict(pairs)
    if len(made) != len(pairs):
        raise unsupported("a dict holds each key once")
    return made


def told(value: Any, tellers: Tellers | None = None) -> Any:
    """Tell a value that a library gave."""
    if tellers and type(value) in tellers:
        return tellers[type(value)](value)
    match value:
        case None | bool() | str():
            return value
        case int():
            return {"int": str(value)}
        case float():
            return {"f64": struct.pack(">d", value).hex()}
        case bytes() | bytearray() | memoryview():
            return {"bin": bytes(value).hex()}
        case Decimal():
            return told_decimal(value)
        case datetime():
            return told_time(value)
        case Mapping():
            return {"map": [[told(name, tellers), told(each, tellers)] for name, each in value.items()]}
        case list() | tuple():
            return {"list": [told(each, tellers) for each in value]}
    raise Refused("internal", f"the shim does not know how to tell a {type(value).__name__}")


def told_decimal(value: Decimal) -> Told:
    """Tell a decimal as scale and number."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise Refused("internal", f"{value} is no number")
    number = int("".join(map(str, digits))) * 10 ** max(exponent, 0) * (-1 if sign else 1)
    return {"dec": [max(-exponent, 0), str(number)]}


def told_time(value: datetime | int | float) -> Told:
    """Tell a time in seconds."""
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    return {"time": str(int(value))}


def decimal(given: Sequence[Any]) -> Decimal:
    """Make a decimal of scale and number."""
    return Decimal(int(given[1])).scaleb(-int(given[0]))


def fitting(key: str, *spans: tuple[int, int]) -> Callable[[str], int]:
    """Make an integer where a library takes the type by the number: within these bounds it is `key`."""

    def made(number: str) -> int:
        if any(least <= int(number) <= most for least, most in spans):
            return int(number)
        raise unsupported(f"the library takes a type by the number, and for {number} it is not {key}")

    return made


def double(bits: str) -> float:
    """Make a float of the bits of a double."""
    number: float = struct.unpack(">d", bytes.fromhex(bits))[0]
    return number


def single(bits: str) -> float:
    """Make a float of the bits of a single one."""
    number: float = struct.unpack(">f", bytes.fromhex(bits))[0]
    return number


def moment(seconds: str) -> datetime:
    """Make a time in UTC of seconds. Raises Refused where Python has none."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        raise unsupported(f"a datetime of Python does not reach {seconds}") from None


PAMQP: Makers = {
    "i8": fitting("i8", (-(1 << 7), (1 << 7) - 1)),
    "i16": fitting("i16", (-(1 << 15), -(1 << 7) - 1), (1 << 7, (1 << 15) - 1)),
    "u16": fitting("u16", (1 << 15, (1 << 16) - 1)),
    "i32": fitting("i32", (-(1 << 31), -(1 << 15) - 1), (1 << 16, (1 << 31) - 1)),
    "u32": fitting("u32", (1 << 31, (1 << 32) - 1)),
    "i64": fitting("i64", (-(1 << 63), -(1 << 31) - 1), (1 << 32, (1 << 63) - 1)),
    "f32": single,  # all floats go as f
    "dec": decimal,
    "time": moment,
    "bin": lambda octets: bytearray.fromhex(octets),
}
"""What pamqp takes, by which several libraries encode."""
