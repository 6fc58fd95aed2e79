"""What Part 2 of AMQP 1.0 defines of each composite type and of each of its fields, one by one."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from spec.readers.amqp1_0 import TRANSPORT, Composite, Field, grammar
from spec.readers.keywords import fingerprint
from spec.readers.provisions import elements
from spec.readers.xml import DocumentError, parse
from spec.rules import Claim


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of a composite type, or of a `field` of it.

    `line` counts from 1 and `offset` characters from 0 in our file of definitions, `section` is of the text.
    """

    composite: Composite
    field: Field | None
    line: int
    offset: int

    @property
    def section(self) -> str:
        return self.composite.origin.section

    @property
    def path(self) -> tuple[tuple[str, str], ...]:
        """The elements it stands in, from the root down."""
        inner = () if self.field is None else (("field", self.field.name),)
        return (("composite", self.composite.name), *inner)

    @property
    def sentence(self) -> str:
        """What is defined, in words."""
        whole, field = self.composite, self.field
        if field is None:
            return f"{whole.name}: {whole.source}, {whole.descriptor}, {whole.code:#010x}"
        told = [
            f"{field.type}[]" if field.multiple else field.type,
            "mandatory" if field.mandatory else "",
            f"default {field.default}" if field.default else "",
            f"requires {field.requires}" if field.requires else "",
        ]
        return f"{whole.name}.{field.name}: {', '.join(filter(None, told))}"

    @property
    def claim(self) -> Claim:
        return Claim(self.section, self.line, fingerprint(self.sentence))


@cache
def definitions(path: Path = TRANSPORT) -> tuple[Definition, ...]:
    """Read the definitions in the file at `path`, a composite type before its fields.

    Raises DocumentError when the file is no grammar.
    """
    return tuple(_definitions(path))


def _definitions(path: Path) -> Iterator[Definition]:
    types, source = grammar(path).types, path.read_text(encoding="utf-8")
    fields = iter(elements(source, "field"))
    for element, place in zip(parse(path).iter("composite"), elements(source, "composite"), strict=True):
        whole = types[str(element.get("name"))]
        if not isinstance(whole, Composite):
            raise DocumentError(f"{path}: {whole.name} is defined twice.")
        yield Definition(whole, None, source.count("\n", 0, place.start) + 1, place.start)
        for field, inner in zip(whole.fields, fields, strict=False):
            yield Definition(whole, field, source.count("\n", 0, inner.start) + 1, inner.start)
