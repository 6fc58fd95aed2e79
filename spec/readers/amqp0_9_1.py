"""The grammar of AMQP 0-9-1 (classes, methods, fields, domains, constants) as typed data.

Everything here is read from the XML; nothing that stands in the document is typed again.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from lxml import etree

from spec.readers.xml import DocumentError, attribute, parse, text_of

DOCUMENT = Path(__file__).parents[1] / "documents" / "amqp0-9-1.xml"


@dataclass(frozen=True, slots=True)
class Assert:
    """A constraint on a value: `check` is length, regexp, notnull or le (then against a field)."""

    check: str
    value: str | None
    method: str | None
    field: str | None


@dataclass(frozen=True, slots=True)
class Domain:
    """A named type: `type` is one of the elementary domains (bit, octet, …, table)."""

    name: str
    type: str
    label: str
    doc: str
    asserts: tuple[Assert, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """An argument of a method or a property of a content class.

    `type` is elementary; `asserts` are the field's own and its domain's. `instead_of` names the field whose
    place it takes, where a further document gives a reserved field of a method a meaning.
    """

    name: str
    domain: str
    type: str
    label: str
    doc: str
    reserved: bool
    asserts: tuple[Assert, ...]
    instead_of: str = ""


@dataclass(frozen=True, slots=True)
class Method:
    """A method: `responses` are names in the same class, `chassis` maps a role to its duty (MUST, MAY)."""

    class_name: str
    class_index: int
    name: str
    index: int
    synchronous: bool
    content: bool
    deprecated: bool
    label: str
    doc: str
    responses: tuple[str, ...]
    chassis: Mapping[str, str]
    fields: tuple[Field, ...]

    @property
    def full_name(self) -> str:
        return f"{self.class_name}.{self.name}"


@dataclass(frozen=True, slots=True)
class Class:
    """A class with its methods; `properties` are those of its content, in flag order."""

    name: str
    index: int
    handler: str
    label: str
    doc: str
    grammar: str
    chassis: Mapping[str, str]
    properties: tuple[Field, ...]
    methods: tuple[Method, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant; `error_class` is soft-error (channel), hard-error (connection) or None."""

    name: str
    value: int
    error_class: str | None
    doc: str


@dataclass(frozen=True)
class Grammar:
    """The whole document except its rules."""

    major: int
    minor: int
    revision: int
    port: int
    constants: tuple[Constant, ...]
    domains: tuple[Domain, ...]
    classes: tuple[Class, ...]

    @cached_property
    def methods(self) -> Mapping[str, Method]:
        return {method.full_name: method for each in self.classes for method in each.methods}

    @cached_property
    def values(self) -> Mapping[str, int]:
        return {constant.name: constant.value for constant in self.constants}


@cache
def grammar(path: Path = DOCUMENT) -> Grammar:
    """Read the grammar out of the XML at `path`.

    Raises DocumentError naming the file and the element when something the grammar needs is missing.
    """
    return _read(path, ())


@cache
def extended(base: Path, further: tuple[Path, ...]) -> Grammar:
    """Read the grammar of the XML at `base` with what `further` documents add to its classes.

    They add methods, and give reserved fields of methods that are there a meaning; they use the domains of
    `base`. Raises DocumentError as `grammar`, where a method is there already, and where a field is not.
    """
    whole = grammar(base)
    for path in further:
        try:
            whole = replace(whole, classes=tuple(_joined(whole, _read(path, whole.domains))))
        except ValueError as failure:
            raise DocumentError(f"{path}: {failure}") from failure
    return whole


def _joined(whole: Grammar, more: Grammar) -> Iterator[Class]:
    added = {each.name: each for each in more.classes}
    for each in whole.classes:
        yield _with_methods(each, added.pop(each.name).methods) if each.name in added else each
    yield from added.values()


def _with_methods(known: Class, added: Iterable[Method]) -> Class:
    methods = {each.name: each for each in known.methods}
    for each in added:
        meant = all(field.instead_of for field in each.fields) and bool(each.fields)
        if each.name in methods and not meant:
            raise ValueError(f"{each.full_name} is a method of another document already.")
        methods[each.name] = _refined(methods[each.name], each.fields) if meant else each
    return replace(known, methods=tuple(methods.values()))


def _refined(method: Method, fields: Iterable[Field]) -> Method:
    """Give a method with fields in the places of reserved ones of the same type."""
    places = {each.name: each for each in method.fields}
    for each in fields:
        there = places.get(each.instead_of)
        if there is None or not there.reserved or there.type != each.type:
            raise ValueError(f"{method.full_name} has no reserved {each.type} {each.instead_of}.")
        places[each.instead_of] = each
    return replace(method, fields=tuple(places.values()))


def _read(path: Path, known: Iterable[Domain]) -> Grammar:
    root = parse(path)
    try:
        return _grammar(root, known)
    except (KeyError, ValueError) as failure:
        raise DocumentError(f"{path}: not an AMQP 0-9-1 definition: {failure}") from failure


def _grammar(root: etree._Element, known: Iterable[Domain]) -> Grammar:
    if root.tag != "amqp":
        raise ValueError(f"the root element is <{root.tag}>, not <amqp>")
    domains = {each.name: each for each in (*known, *map(_domain, root.findall("domain")))}
    return Grammar(
        major=int(attribute(root, "major")),
        minor=int(attribute(root, "minor")),
        revision=int(attribute(root, "revision")),
        port=int(attribute(root, "port")),
        constants=tuple(map(_constant, root.findall("constant"))),
        domains=tuple(domains.values()),
        classes=tuple(_class(element, domains) for element in root.findall("class")),
    )


def _plain_doc(element: etree._Element) -> str:
    return " ".join(text_of(doc) for doc in element.findall("doc") if doc.get("type") is None)


def _constant(element: etree._Element) -> Constant:
    return Constant(
        attribute(element, "name"),
        int(attribute(element, "value")),
        element.get("class"),
        _plain_doc(element),
    )


def _asserts(element: etree._Element) -> tuple[Assert, ...]:
    return tuple(
        Assert(attribute(each, "check"), each.get("value"), each.get("method"), each.get("field"))
        for each in element.findall("assert")
    )


def _domain(element: etree._Element) -> Domain:
    return Domain(
        attribute(element, "name"),
        attribute(element, "type"),
        element.get("label", ""),
        _plain_doc(element),
        _asserts(element),
    )


def _field(element: etree._Element, domains: Mapping[str, Domain]) -> Field:
    name = attribute(element, "name")
    # Reserved fields carry the elementary type directly, as attribute `type`.
    domain_name = element.get("domain") or attribute(element, "type")
    if domain_name not in domains:
        raise ValueError(f"<field name={name!r}> is of the unknown domain {domain_name!r}")
    domain = domains[domain_name]
    return Field(
        name=name,
        domain=domain_name,
        type=domain.type,
        label=element.get("label", ""),
        doc=_plain_doc(element),
        reserved=element.get("reserved") == "1",
        asserts=_asserts(element) + domain.asserts,
        instead_of=element.get("instead-of", ""),
    )


def _chassis(element: etree._Element) -> dict[str, str]:
    return {attribute(each, "name"): attribute(each, "implement") for each in element.findall("chassis")}


def _method(element: etree._Element, owner: etree._Element, domains: Mapping[str, Domain]) -> Method:
    return Method(
        class_name=attribute(owner, "name"),
        class_index=int(attribute(owner, "index")),
        name=attribute(element, "name"),
        index=int(attribute(element, "index")),
        synchronous=element.get("synchronous") == "1",
        content=element.get("content") == "1",
        deprecated=element.get("deprecated") == "1",
        label=element.get("label", ""),
        doc=_plain_doc(element),
        responses=tuple(attribute(each, "name") for each in element.findall("response")),
        chassis=_chassis(element),
        fields=tuple(_field(each, domains) for each in element.findall("field")),
    )


def _class(element: etree._Element, domains: Mapping[str, Domain]) -> Class:
    grammar_doc = next((text_of(doc) for doc in element.findall("doc") if doc.get("type") == "grammar"), "")
    return Class(
        name=attribute(element, "name"),
        index=int(attribute(element, "index")),
        handler=attribute(element, "handler"),
        label=element.get("label", ""),
        doc=_plain_doc(element),
        grammar=grammar_doc,
        chassis=_chassis(element),
        properties=tuple(_field(each, domains) for each in element.findall("field")),
        methods=tuple(_method(each, element, domains) for each in element.findall("method")),
    )
