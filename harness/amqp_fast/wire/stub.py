"""Write `vocabulary.pyi` from the grammar: `python -m harness.amqp_fast.wire.stub`, after a change to it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from harness.amqp_fast.wire.commands import attribute, class_name
from harness.wire.stubs import initialiser
from spec.readers.amqp_fast import Field, Grammar, grammar

STUB = Path(__file__).with_name("vocabulary.pyi")

_HEAD = """\
# Written from the grammar by `python -m harness.amqp_fast.wire.stub`; do not edit.
from harness.amqp_fast.wire.commands import Command, Record
from harness.amqp_fast.wire.tables import Fields, Table
from spec.readers.amqp_fast import Grammar

GRAMMAR: Grammar
COMMANDS: dict[int, type[Command]]"""

_READ: Final = {"bit": "bool", "shortstr": "bytes", "longstr": "bytes", "table": "Table"}
"""What an attribute gives; numbers are int."""
_GIVEN: Final = {"bit": "bool", "shortstr": "str | bytes", "longstr": "str | bytes", "table": "Fields"}
"""What an argument takes."""


def stub(words: Grammar) -> str:
    """Give the stub file's text for a grammar, laid out as the formatter would."""
    numbers = (
        f"{name.replace('-', '_').upper()}: int" for choices in words.choices.values() for name in choices
    )
    groups = []
    for group in dict.fromkeys(each.class_name for each in words.commands):
        members = [
            "\n".join(_class(class_name(each.name), "Command", each.fields, " " * 4))
            for each in words.commands
            if each.class_name == group
        ]
        groups.append(f"\nclass {class_name(group)}:\n" + "\n\n".join(members))
    head = "\n" + "\n".join(_class("MessageHead", "Record", words.message, ""))
    return "\n".join((_HEAD, *numbers, *groups, head)) + "\n"


def _class(name: str, base: str, fields: Sequence[Field], indent: str) -> Iterator[str]:
    yield f"{indent}class {name}({base}):"
    for field in fields:
        yield f"{indent}    {attribute(field.name)}: {_READ.get(field.type, 'int')}"
    given = [f"{attribute(each.name)}: {_GIVEN.get(each.type, 'int')} = ..." for each in fields]
    yield from initialiser(["self", *given], f"{indent}    ")


if __name__ == "__main__":
    STUB.write_text(stub(grammar()))
