"""The grammar of AMQP/Fast (commands, fields, the header of a message, options, choices) as typed data.

Everything here is read from our file, whose shape `documents/amqp-fast.grammar.rng` checks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lxml import etree

from spec.readers.envelope import shaped
from spec.readers.xml import DocumentError, attribute
from spec.rules import Party

DOCUMENTS = Path(__file__).parents[1] / "documents"
DOCUMENT = DOCUMENTS / "amqp-fast.grammar.xml"
SCHEMA = DOCUMENTS / "amqp-fast.grammar.rng"


@dataclass(frozen=True, slots=True)
class Field:
    """A field: `type` is octet, short, long, bit, shortstr, longstr or table."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a class (connection, channel, handle), and who sends it.

    With `fragment` a fragment of a message follows its frame. `section` and `line` say where the text has its
    table of fields.
    """

    class_name: str
    name: str
    code: int
    by: Party
    fragment: bool
    fields: tuple[Field, ...]
    section: str
    line: int

    @property
    def full_name(self) -> str:
        """The name as the text writes it: HANDLE OPEN."""
        return f"{self.class_name} {self.name}".upper()


@dataclass(frozen=True, slots=True)
class Grammar:
    """The whole grammar: what opens a connection, what ends a frame, all commands, the message's header.

    `options` are those of CONNECTION TUNE and who sends each; `choices` have numbers by name, by what they
    are choices of (service-type, reply-code).
    """

    protocol_id: int
    version: int
    frame_end: int
    commands: tuple[Command, ...]
    message: tuple[Field, ...]
    options: Mapping[str, Party]
    choices: Mapping[str, Mapping[str, int]]


@cache
def grammar(path: Path = DOCUMENT) -> Grammar:
    """Read the grammar at `path`. Raises DocumentError, with the line, when it is not in order."""
    root = shaped(path, SCHEMA)
    commands = tuple(
        _command(group.get("name", ""), each)
        for group in root.iter("class")
        for each in group.iter("command")
    )
    for key in ("code", "full_name"):
        if len({getattr(each, key) for each in commands}) != len(commands):
            raise DocumentError(f"{path}: two commands have the same {key}.")
    choices: dict[str, dict[str, int]] = {}
    for each in root.iter("choice"):
        choices.setdefault(attribute(each, "of"), {})[attribute(each, "name")] = _number(each, "value")
    initiation, end, message = (_only(root, tag) for tag in ("initiation", "frame-end", "message"))
    return Grammar(
        protocol_id=_number(initiation, "id"),
        version=_number(initiation, "version"),
        frame_end=_number(end, "value"),
        commands=commands,
        message=_fields(message),
        options={attribute(each, "name"): Party(each.get("by", "")) for each in root.iter("option")},
        choices=choices,
    )


def _command(group: str, element: etree._Element) -> Command:
    return Command(
        class_name=group,
        name=attribute(element, "name"),
        code=_number(element, "code"),
        by=Party(attribute(element, "by")),
        fragment=element.get("fragment") == "true",
        fields=_fields(element),
        section=attribute(element, "section"),
        line=_number(element, "line"),
    )


def _fields(element: etree._Element) -> tuple[Field, ...]:
    return tuple(Field(attribute(each, "name"), attribute(each, "type")) for each in element.iter("field"))


def _number(element: etree._Element, name: str) -> int:
    return int(attribute(element, name))


def _only(root: etree._Element, tag: str) -> etree._Element:
    found = root.find(tag)
    assert found is not None, "the schema demands it"
    return found
