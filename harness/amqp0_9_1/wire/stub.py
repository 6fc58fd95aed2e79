"""Write `vocabulary.pyi` from the grammar: `python -m harness.amqp0_9_1.wire.stub`, after a change to it."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.amqp0_9_1.wire.fields import PYTHON, attribute, class_name
from harness.wire.stubs import initialiser
from spec.applicability import vocabulary
from spec.readers.amqp0_9_1 import Class, Field, Grammar

STUB = Path(__file__).with_name("vocabulary.pyi")

_HEAD = """\
# Written from the grammar by `python -m harness.amqp0_9_1.wire.stub`; do not edit.
from harness.amqp0_9_1.wire.compiled import Codec, Method
from harness.amqp0_9_1.wire.compiled import Properties as ContentProperties
from harness.amqp0_9_1.wire.field_tables import Table
from spec.readers.amqp0_9_1 import Grammar

GRAMMAR: Grammar
CODEC: Codec"""


def stub(words: Grammar) -> str:
    """Give the stub file's text for a grammar, laid out as the formatter would."""
    constants = (f"{constant.name.replace('-', '_').upper()}: int" for constant in words.constants)
    classes = (f"\nclass {class_name(each.name)}:\n{chr(10).join(_members(each))}" for each in words.classes)
    return "\n".join((_HEAD, *constants, *classes)) + "\n"


def _members(group: Class) -> Iterator[str]:
    records = [(class_name(each.name), "Method", each.fields, False) for each in group.methods]
    if group.properties:
        records.append(("Properties", "ContentProperties", group.properties, True))
    for number, (name, base, fields, absent) in enumerate(records):
        if number:
            yield ""
        yield f"    class {name}({base}):"
        yield from _record(fields, absent)


def _record(fields: Iterable[Field], absent: bool) -> Iterator[str]:
    plain = [field for field in fields if not field.reserved]
    reserved = [field for field in fields if field.reserved]
    for field in (*plain, *reserved):
        kind = _kind(field)
        # What was decoded is always octets; only what is to be sent may be given as text.
        kind = "bytes" if kind == "str | bytes" else kind
        yield f"        {attribute(field.name)}: {kind}{' | None' if absent else ''}"
    arguments = ["self", *(_argument(field, absent) for field in plain)]
    arguments += ["*", *(_argument(field, absent) for field in reserved)] if reserved else []
    yield from initialiser(arguments, " " * 8)


def _kind(field: Field) -> str:
    return PYTHON[field.type][0]


def _argument(field: Field, absent: bool) -> str:
    return f"{attribute(field.name)}: {_kind(field)}{' | None' if absent else ''} = ..."


if __name__ == "__main__":
    STUB.write_text(stub(vocabulary("0-9-1")))
