"""Write `performatives.pyi` from the grammar: `python -m harness.amqp1_0.wire.stub`, after each change."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.amqp1_0.wire.generated import attribute, class_name, constant_name
from harness.wire.stubs import initialiser
from spec.readers.amqp1_0 import Composite, Field, Grammar, Restricted, grammar

STUB = Path(__file__).with_name("performatives.pyi")

_HEAD = """\
# Written from the grammar by `python -m harness.amqp1_0.wire.stub`; do not edit.
from collections.abc import Mapping, Sequence
from typing import Any

from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.types import Explicit, Map, Symbol
"""

_READ: Final = {
    "boolean": "bool",
    **dict.fromkeys(("ubyte", "ushort", "uint", "ulong"), "int"),
    "string": "str",
    "symbol": "Symbol",
    "binary": "bytes",
    "map": "Map",
}
"""What an attribute gives."""
_GIVEN: Final = _READ | {"symbol": "str", "map": "Mapping[Any, Any]"}
"""What an argument takes."""


def stub(words: Grammar) -> str:
    """Give the stub file's text for a grammar, laid out as the formatter would."""
    constants = "\n".join(f"{constant_name(each.name)}: int" for each in words.constants)
    restricted = [_restricted(words, each) for each in words.restricted if each.choices]
    composites = ["\n".join(_composite(words, each)) for each in words.composites]
    return "\n\n".join((f"{_HEAD}\n{constants}", *restricted, *composites)) + "\n"


def _restricted(words: Grammar, each: Restricted) -> str:
    kind = _READ[words.elementary(each.name)]
    members = (f"    {constant_name(choice.name)}: {kind}" for choice in each.choices)
    return "\n".join((f"class {class_name(each.name)}:", *members))


def _composite(words: Grammar, each: Composite) -> Iterator[str]:
    if not each.fields:
        yield f"class {class_name(each.name)}(Composite):"
        yield "    def __init__(self) -> None: ..."
        return
    yield f"class {class_name(each.name)}(Composite):"
    for field in each.fields:
        yield "    @property"
        yield f"    def {attribute(field.name)}(self) -> {_read(words, field)}: ..."
    arguments = ["self", *(f"{attribute(field.name)}: {_given(words, field)} = ..." for field in each.fields)]
    yield from initialiser(arguments, " " * 4)


def _read(words: Grammar, field: Field) -> str:
    if field.type == "*":
        return "Any"
    kind = class_name(field.type) if _is_composite(words, field) else _READ[words.elementary(field.type)]
    if field.multiple:
        return f"tuple[{kind}, ...]"
    return kind if field.mandatory or field.default is not None else f"{kind} | None"


def _given(words: Grammar, field: Field) -> str:
    if field.type == "*":
        return "Any"
    kind = class_name(field.type) if _is_composite(words, field) else _GIVEN[words.elementary(field.type)]
    several = f" | Sequence[{kind}]" if field.multiple else ""
    return f"{kind}{several} | Explicit | None"


def _is_composite(words: Grammar, field: Field) -> bool:
    return isinstance(words.types[field.type], Composite)


if __name__ == "__main__":
    STUB.write_text(stub(grammar()))
