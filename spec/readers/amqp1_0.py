"""The grammar of AMQP 1.0 (composite, restricted and primitive types, constants) as typed data.

Two files are read into one grammar: Part 2 itself, and the support file with what Part 2 leans on (encodings,
SASL, source, target, delivery states), which is not judged. The vocabulary is the document's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TypeAlias

from lxml import etree

from spec.readers.xml import DocumentError, attribute, parse

TRANSPORT = Path(__file__).parents[1] / "documents" / "amqp1-0-part2.grammar.xml"
SUPPORT = Path(__file__).parents[1] / "documents" / "amqp1-0-support.xml"


JUDGED_PART = 2


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a definition stands: `part` of the standard, its `section`, and the `line` of the judged text.

    Section and line are empty and 0 for what other parts define.
    """

    part: int
    section: str
    line: int

    @property
    def judged(self) -> bool:
        """True where the definition is of the judged document, Part 2, and not only support."""
        return self.part == JUDGED_PART


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the protocol; lengths are in octets."""

    name: str
    value: int
    origin: Origin


@dataclass(frozen=True, slots=True)
class ProtocolHeader:
    """The eight octets that open a connection or a security layer."""

    name: str
    magic: str
    protocol_id: int
    major: int
    minor: int
    revision: int
    origin: Origin

    @property
    def octets(self) -> bytes:
        """The header as it stands on the wire (section 2.2)."""
        return self.magic.encode("ascii") + bytes((self.protocol_id, self.major, self.minor, self.revision))


@dataclass(frozen=True, slots=True)
class FrameType:
    """A value of the octet TYPE in the frame header (section 2.3.1)."""

    name: str
    code: int
    origin: Origin


@dataclass(frozen=True, slots=True)
class Encoding:
    """One way to write a primitive type: `code` is the constructor octet.

    `category` is fixed, variable, compound or array. `width` counts octets: of the value where it is fixed,
    of the size where it is variable, of the size and again of the count where it is compound or array.
    """

    name: str
    code: int
    category: str
    width: int


@dataclass(frozen=True, slots=True)
class Primitive:
    """A primitive type with its encodings."""

    name: str
    encodings: tuple[Encoding, ...]
    origin: Origin


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a composite type, in the order of the list.

    `type` names a primitive, restricted or composite type, or is "*" where any type will do that provides
    what `requires` names. `default` is as the document writes it: a value of the type, or a choice's name.
    """

    name: str
    type: str
    mandatory: bool
    multiple: bool
    default: str | None
    requires: str | None


@dataclass(frozen=True, slots=True)
class Composite:
    """A composite type: `descriptor` is its symbol, `code` its number, both legal on the wire."""

    name: str
    descriptor: str
    code: int
    source: str
    provides: tuple[str, ...]
    fields: tuple[Field, ...]
    origin: Origin


@dataclass(frozen=True, slots=True)
class Choice:
    """A permitted value of a restricted type, as the document writes it."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Restricted:
    """A restriction of the type `source`: to its `choices`, where it has any."""

    name: str
    source: str
    provides: tuple[str, ...]
    choices: tuple[Choice, ...]
    origin: Origin


Type: TypeAlias = Primitive | Restricted | Composite


@dataclass(frozen=True)
class Grammar:
    """Both files together, each kind in document order, Part 2 first."""

    constants: tuple[Constant, ...]
    headers: tuple[ProtocolHeader, ...]
    frame_types: tuple[FrameType, ...]
    described: int
    primitives: tuple[Primitive, ...]
    restricted: tuple[Restricted, ...]
    composites: tuple[Composite, ...]

    @cached_property
    def values(self) -> Mapping[str, int]:
        return {each.name: each.value for each in self.constants}

    @cached_property
    def types(self) -> Mapping[str, Type]:
        primitives: dict[str, Type] = {each.name: each for each in self.primitives}
        restricted: dict[str, Type] = {each.name: each for each in self.restricted}
        return primitives | restricted | {each.name: each for each in self.composites}

    @cached_property
    def descriptors(self) -> Mapping[int | str, Composite]:
        """Every composite type by its code and by its symbol."""
        codes: dict[int | str, Composite] = {each.code: each for each in self.composites}
        return codes | {each.descriptor: each for each in self.composites}

    @cached_property
    def constructors(self) -> Mapping[int, tuple[Primitive, Encoding]]:
        """Every encoding, and the primitive type it writes, by its constructor octet."""
        return {encoding.code: (each, encoding) for each in self.primitives for encoding in each.encodings}

    def providing(self, archetype: str) -> tuple[Restricted | Composite, ...]:
        """List the types that stand where `archetype` is required ("frame", "error-condition", "source")."""
        found: list[Restricted | Composite] = [*self.composites, *self.restricted]
        return tuple(each for each in found if archetype in each.provides)

    def elementary(self, name: str) -> str:
        """Name the primitive type that values of the type `name` are written in; "*" for any.

        Raises KeyError when there is no such type.
        """
        if name == "*":
            return name
        found = self.types[name]
        return found.name if isinstance(found, Primitive) else self.elementary(found.source)

    def default(self, field: Field) -> str | None:
        """Give the value `field` counts as when it is null, the name of a choice replaced by its value."""
        kind = self.types.get(field.type)
        if field.default is None or not isinstance(kind, Restricted):
            return field.default
        return next((each.value for each in kind.choices if each.name == field.default), field.default)


@cache
def grammar(transport: Path = TRANSPORT, support: Path = SUPPORT) -> Grammar:
    """Read the grammar out of the files of Part 2 and of what supports it.

    Raises DocumentError naming the file and the element when something is missing, twice there, or refers to
    a type that neither file defines.
    """
    both = (_read(transport, "grammar"), _read(support, "support"))
    described = [each.described for each in both if each.described >= 0]
    if len(described) != 1:
        raise DocumentError(f"{support}: exactly one <described> is needed, there are {len(described)}.")
    merged = Grammar(
        constants=both[0].constants + both[1].constants,
        headers=both[0].headers + both[1].headers,
        frame_types=both[0].frame_types + both[1].frame_types,
        described=described[0],
        primitives=both[0].primitives + both[1].primitives,
        restricted=both[0].restricted + both[1].restricted,
        composites=both[0].composites + both[1].composites,
    )
    for fault in _faults(merged):
        raise DocumentError(f"{transport} with {support.name}: {fault}.")
    return merged


def _faults(merged: Grammar) -> list[str]:
    """List what is wrong with the two files taken together."""
    wrong = []
    written: list[Restricted | Composite] = [*merged.restricted, *merged.composites]
    if len(merged.types) != len(merged.primitives) + len(written):
        wrong.append("two types have the same name")
    if len(merged.descriptors) != 2 * len(merged.composites):
        wrong.append("two composite types have the same descriptor")
    if len(merged.constructors) != sum(len(each.encodings) for each in merged.primitives):
        wrong.append("two encodings have the same code")
    for each in written:
        if each.source not in merged.types:
            wrong.append(f"the type {each.name!r} has the unknown source {each.source!r}")
    for composite in merged.composites:
        for field in composite.fields:
            if field.type != "*" and field.type not in merged.types:
                wrong.append(f"{composite.name}.{field.name} is of the unknown type {field.type!r}")
            if field.requires and not merged.providing(field.requires):
                wrong.append(f"nothing provides {field.requires!r} for {composite.name}.{field.name}")
    return wrong


def _read(path: Path, root_tag: str) -> Grammar:
    root = parse(path)
    try:
        if root.tag != root_tag:
            raise ValueError(f"the root element is <{root.tag}>, not <{root_tag}>")
        described = root.find("described")
        return Grammar(
            constants=tuple(map(_constant, root.findall("constant"))),
            headers=tuple(map(_header, root.findall("header"))),
            frame_types=tuple(map(_frame_type, root.findall("frame-type"))),
            described=-1 if described is None else int(attribute(described, "code"), 16),
            primitives=tuple(map(_primitive, root.findall("primitive"))),
            restricted=tuple(map(_restricted, root.findall("restricted"))),
            composites=tuple(map(_composite, root.findall("composite"))),
        )
    except ValueError as failure:
        raise DocumentError(f"{path}: not a grammar of AMQP 1.0: {failure}") from failure


def _origin(element: etree._Element) -> Origin:
    part = element.get("part")
    if part is not None:
        return Origin(int(part), "", 0)
    return Origin(JUDGED_PART, attribute(element, "section"), int(attribute(element, "line")))


def _constant(element: etree._Element) -> Constant:
    return Constant(attribute(element, "name"), int(attribute(element, "value")), _origin(element))


def _header(element: etree._Element) -> ProtocolHeader:
    return ProtocolHeader(
        name=attribute(element, "name"),
        magic=attribute(element, "magic"),
        protocol_id=int(attribute(element, "protocol-id")),
        major=int(attribute(element, "major")),
        minor=int(attribute(element, "minor")),
        revision=int(attribute(element, "revision")),
        origin=_origin(element),
    )


def _frame_type(element: etree._Element) -> FrameType:
    return FrameType(attribute(element, "name"), int(attribute(element, "code"), 16), _origin(element))


def _primitive(element: etree._Element) -> Primitive:
    return Primitive(
        attribute(element, "name"), tuple(map(_encoding, element.findall("encoding"))), _origin(element)
    )


def _encoding(element: etree._Element) -> Encoding:
    return Encoding(
        name=attribute(element, "name"),
        code=int(attribute(element, "code"), 16),
        category=attribute(element, "category"),
        width=int(attribute(element, "width")),
    )


def _provides(element: etree._Element) -> tuple[str, ...]:
    return tuple(filter(None, element.get("provides", "").split(",")))


def _restricted(element: etree._Element) -> Restricted:
    return Restricted(
        name=attribute(element, "name"),
        source=attribute(element, "source"),
        provides=_provides(element),
        choices=tuple(
            Choice(attribute(each, "name"), attribute(each, "value")) for each in element.findall("choice")
        ),
        origin=_origin(element),
    )


def _composite(element: etree._Element) -> Composite:
    descriptor = element.find("descriptor")
    if descriptor is None:
        raise ValueError(f"<composite name={attribute(element, 'name')!r}> lacks its <descriptor>")
    return Composite(
        name=attribute(element, "name"),
        descriptor=attribute(descriptor, "name"),
        code=_code(attribute(descriptor, "code")),
        source=attribute(element, "source"),
        provides=_provides(element),
        fields=tuple(map(_field, element.findall("field"))),
        origin=_origin(element),
    )


def _code(text: str) -> int:
    """Read the code of a descriptor: 64 bits, written as domain and number (0x00000000:0x00000010)."""
    domain, _, number = text.partition(":")
    return (int(domain, 16) << 32) + int(number, 16)


def _field(element: etree._Element) -> Field:
    return Field(
        name=attribute(element, "name"),
        type=attribute(element, "type"),
        mandatory=element.get("mandatory") == "true",
        multiple=element.get("multiple") == "true",
        default=element.get("default"),
        requires=element.get("requires"),
    )
