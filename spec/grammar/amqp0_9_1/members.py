"""Which classes, methods, fields, constants and types belong to each family of rules, read from the XML.

Only the types of field tables stand in no XML: they are those of the grammar in 4.2.1 of the text.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from spec.grammar.amqp0_9_1.families import families
from spec.readers.amqp0_9_1 import Assert, Class, Constant, Field, Grammar, Method
from spec.rules import Level

UNPROVOKED = ("resource-error", "internal-error")
"""Reply codes that no client can cause at will: what a server cannot hold, and faults of its own."""

NEWLY_NAMED = "queue.declare"
"""The method in which a blank queue name has a significance of its own."""


OF_CLIENTS_ALONE = (
    "client-unknown-class",
    "client-unknown-method",
    "client-wrong-way",
    "client-truncated",
    "client-trailing",
    "client-overlong",
    "client-wrong-reply",
    "client-unasked-reply",
)
"""What a client makes of a server's faults: one rule each, whichever method shows it."""


@dataclass(frozen=True, slots=True)
class TableType:
    """A type of values in field tables: its tag and its name in the grammar of 4.2.1."""

    tag: str
    name: str


@cache
def table_types() -> tuple[TableType, ...]:
    """List the types of values in field tables, those of 4.2.1 of the text."""
    return tuple(TableType(tag, name) for tag, name in families().types.items())


@cache
def contested() -> frozenset[str]:
    """List the tags of types that implementations read otherwise than the grammar: their rules are weaker."""
    family = families().by_key["table"]
    return frozenset(each.tag for each in table_types() if family.of(each.name).level is not family.level)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a derived rule is about; what its family has no use for is None."""

    content: Class | None = None
    method: Method | None = None
    field: Field | None = None
    check: Assert | None = None
    constant: Constant | None = None
    type: TableType | None = None

    @property
    def path(self) -> tuple[tuple[str, str], ...]:
        """The elements it stands in, from the root down."""
        steps = {
            "class": self.content,
            "method": self.method,
            "field": self.field,
            "constant": self.constant,
            "table": self.type,
        }
        return tuple((element, each.name) for element, each in steps.items() if each is not None)

    @property
    def full_name(self) -> str:
        """Class, method and field, as families name their members."""
        return ".".join(name for _, name in self.path)


def serves(method: Method) -> bool:
    """Say whether a server has to do with a method that it receives."""
    return "server" in method.chassis


def from_server(method: Method) -> bool:
    """Say whether a server sends the method, so that a client has to do with it."""
    return "client" in method.chassis


def duty(method: Method, owner: Class, role: str) -> Level:
    """Give the weaker of what class and method ask of a role; one that does not name it is left out."""
    asked = [each.chassis[role] for each in (owner, method) if role in each.chassis]
    return max((Level(each.lower()) for each in asked), key=list(Level).index)


def _methods(spec: Grammar, fits: Callable[[Method], bool]) -> Iterator[Subject]:
    for owner in spec.classes:
        yield from (Subject(owner, each) for each in owner.methods if fits(each))


def _of_channels(method: Method) -> bool:
    return method.class_name != "connection"


def _lengthy(method: Method) -> Field | None:
    """Find the first argument that carries a length of its own."""
    return next((each for each in method.fields if each.type in ("shortstr", "longstr", "table")), None)


def _with_field(spec: Grammar) -> Iterator[Subject]:
    for each in _methods(spec, serves):
        if each.method and (field := _lengthy(each.method)):
            yield Subject(each.content, each.method, field)


def _arguments(spec: Grammar, fits: Callable[[Method], bool]) -> Iterator[Subject]:
    for each in _methods(spec, fits):
        for field in each.method.fields if each.method else ():
            yield Subject(each.content, each.method, field)


def _asserted(spec: Grammar, fits: Callable[[Method], bool]) -> Iterator[Subject]:
    for each in _arguments(spec, fits):
        for check in each.field.asserts if each.field else ():
            yield Subject(each.content, each.method, each.field, check)


def _naming_a_queue(spec: Grammar) -> Iterator[Subject]:
    taking = _arguments(spec, lambda method: serves(method) and method.full_name != NEWLY_NAMED)
    return (each for each in taking if each.field and each.field.domain == "queue-name")


def _bits(spec: Grammar) -> Iterator[Subject]:
    return (each for each in _arguments(spec, serves) if each.field and each.field.type == "bit")


def _properties(spec: Grammar) -> Iterator[Subject]:
    for owner in spec.classes:
        yield from (Subject(owner, field=field) for field in owner.properties)


def _constants(spec: Grammar, fits: Callable[[Constant], bool]) -> Iterator[Subject]:
    yield from (Subject(constant=each) for each in spec.constants if fits(each))


def _content_bearing(spec: Grammar) -> Iterator[Subject]:
    return _methods(spec, lambda each: serves(each) and each.content)


MEMBERS: Mapping[str, Callable[[Grammar], Iterable[Subject]]] = {
    "answers": lambda spec: _methods(spec, lambda each: serves(each) and bool(each.responses)),
    "implemented": lambda spec: _methods(spec, lambda each: serves(each) and not each.responses),
    "client": lambda spec: _methods(spec, from_server),
    "no-wait": lambda spec: _methods(
        spec, lambda each: serves(each) and any(field.domain == "no-wait" for field in each.fields)
    ),
    "assert": lambda spec: _asserted(spec, serves),
    "keeps": lambda spec: _asserted(spec, from_server),
    "current": _naming_a_queue,
    "bit": _bits,
    "carries": lambda spec: _arguments(spec, from_server),
    "level": lambda spec: _constants(
        spec, lambda each: each.error_class is not None and each.name not in UNPROVOKED
    ),
    "kept-level": lambda spec: _constants(spec, lambda each: each.name in UNPROVOKED),
    "property": _properties,
    "property-sent": _properties,
    "property-told": _properties,
    "field-told": lambda spec: _arguments(spec, from_server),
    "field-repeated": lambda spec: _arguments(spec, serves),
    "table-kept": lambda _: (Subject(type=each) for each in table_types()),
    "table": lambda _: (Subject(type=each) for each in table_types()),
    "truncated": lambda spec: _methods(spec, lambda each: serves(each) and bool(each.fields)),
    "overlong": _with_field,
    "trailing": lambda spec: _methods(spec, serves),
    "channel-zero": lambda spec: _methods(spec, lambda each: serves(each) and _of_channels(each)),
    "unopened": lambda spec: _methods(
        spec, lambda each: serves(each) and _of_channels(each) and each.full_name != "channel.open"
    ),
    "misplaced": lambda spec: _methods(spec, lambda each: serves(each) and not _of_channels(each)),
    "wrong-way": lambda spec: _methods(
        spec, lambda each: from_server(each) and not serves(each) and _of_channels(each)
    ),
    "unknown-method": lambda spec: (Subject(owner) for owner in spec.classes),
    "unknown-class": lambda _: (Subject(),),
    "frame": lambda spec: _constants(spec, lambda each: each.name in ("frame-header", "frame-body")),
    "undefined-type": lambda _: (Subject(),),
    **dict.fromkeys(OF_CLIENTS_ALONE, lambda _: (Subject(),)),
    "content-missing": _content_bearing,
    "content-class": _content_bearing,
    "content-header": _content_bearing,
    "content-body": _content_bearing,
}
"""What belongs to each family, read from the grammar."""
