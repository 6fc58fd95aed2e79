"""What the XML of AMQP 0-9-1 says about each value that a server sends: arguments of methods, properties.

A description is made of the label and the text of the field itself or, where it has none, of its domain's. A
reserved field has neither: of that the comment before it tells what it was and has to be.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lxml import etree

from spec.readers.keywords import fingerprint
from spec.readers.provisions import elements, path_of, section_of
from spec.readers.xml import parse, text_of
from spec.rules import Claim


@dataclass(frozen=True, slots=True)
class Description:
    """What is said of the field at `path` (from the root down), which begins at `offset` (characters).

    `line` counts from 1; `text` is empty where the document says nothing.
    """

    path: tuple[tuple[str, str], ...]
    line: int
    offset: int
    text: str

    @property
    def sentence(self) -> str:
        """The description with the name of its field: fields of a domain share their text."""
        return f"{self.path[-1][1]}: {self.text}"

    @property
    def section(self) -> str:
        return section_of(self.path)

    @property
    def claim(self) -> Claim:
        return Claim(self.section, self.line, fingerprint(self.sentence))


@cache
def descriptions(path: Path) -> tuple[Description, ...]:
    """Read the description of everything a server sends, in the order of the XML at `path`.

    Raises DocumentError when the file is no XML.
    """
    root, source = parse(path), path.read_text(encoding="utf-8")
    domains = {str(each.get("name")): each for each in root.iter("domain")}
    return tuple(
        Description(
            path_of(field), source.count("\n", 0, place.start) + 1, place.start, _told(field, domains)
        )
        for field, place in zip(root.iter("field"), elements(source, "field"), strict=True)
        if _is_sent(field)
    )


def _is_sent(field: etree._Element) -> bool:
    """Say whether a server sends it: a property, or an argument of a method that is for clients to take."""
    around = next(field.iterancestors())
    return around.tag == "class" or any(each.get("name") == "client" for each in around.findall("chassis"))


def _told(field: etree._Element, domains: Mapping[str, etree._Element]) -> str:
    if field.get("reserved") == "1":
        return _comment_before(field)
    domain = domains[str(field.get("domain"))]
    # An elementary domain tells of a type and not what it is used for.
    sources = [field] if domain.get("name") == domain.get("type") else [field, domain]
    label = next((each.get("label") for each in sources if each.get("label")), "")
    doc = next((told for each in sources if (told := " ".join(_docs(each)))), "")
    return ". ".join(each for each in (label, doc) if each)


def _docs(element: etree._Element) -> Iterator[str]:
    return (text_of(doc) for doc in element.findall("doc") if doc.get("type") is None)


def _comment_before(field: etree._Element) -> str:
    before = field.getprevious()
    is_comment = isinstance(before, etree._Comment)
    return " ".join((before.text or "").split()) if before is not None and is_comment else ""
