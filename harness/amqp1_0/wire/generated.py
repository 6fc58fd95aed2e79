"""The tables of the 1.0 grammar as the codec needs them, and its names as Python writes them."""

import builtins
from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from spec.readers.amqp1_0 import Restricted, grammar

GRAMMAR: Final = grammar()
DESCRIBED: Final = GRAMMAR.described
"""The octet that a descriptor follows."""


class Constructor(NamedTuple):
    """The encoding that an octet stands for; `width` as in the grammar."""

    code: int
    type: str
    name: str
    category: str
    width: int


CONSTRUCTORS: Final[Mapping[int, Constructor]] = {
    code: Constructor(code, primitive.name, encoding.name, encoding.category, encoding.width)
    for code, (primitive, encoding) in GRAMMAR.constructors.items()
}


def code_of(kind: str, width: int) -> int:
    """Give the constructor of a primitive type in one width in octets. Raises KeyError."""
    for each in CONSTRUCTORS.values():
        if (each.type, each.width) == (kind, width):
            return each.code
    raise KeyError((kind, width))


@cache
def elementary(name: str) -> str:
    """Name the primitive type of a type, as the grammar does; it is asked for with every value."""
    return GRAMMAR.elementary(name)


@cache
def restrictions(kind: str) -> tuple[Restricted, ...]:
    """Give the restricted types from this one down to its primitive type, itself first."""
    found = []
    while isinstance(each := GRAMMAR.types.get(kind), Restricted):
        found.append(each)
        kind = each.source
    return tuple(found)


def attribute(name: str) -> str:
    """Give the Python name of a field: `max-frame-size` is `max_frame_size`."""
    return name.replace("-", "_")


def class_name(name: str) -> str:
    """Give a type's Python name: `sasl-init` is `SaslInit`; one that Python has gets an underscore."""
    plain = "".join(part.capitalize() for part in name.split("-"))
    return f"{plain}_" if hasattr(builtins, plain) else plain


def constant_name(name: str) -> str:
    """Give the Python name of a choice or a constant: `internal-error` is `INTERNAL_ERROR`."""
    return name.replace("-", "_").upper()
