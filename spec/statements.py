"""The sentences of a document with their places, by kind of document; the ledger is made of them."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from lxml import etree

from spec.readers.definitions import definitions
from spec.readers.descriptions import descriptions
from spec.readers.keywords import fingerprint, keywords, sentences
from spec.readers.pages import FRONT, Cut, cuts
from spec.readers.provisions import elements, path_of, section_of
from spec.readers.reference import reference
from spec.readers.underlined import cuts as underlined
from spec.readers.xml import DocumentError, parse
from spec.rules import Claim, Rule

# A heading of a text: its number, then a title. The table of contents has the same ones, before the body.
_HEADING = re.compile(r"(\d+(?:\.\d+)+) \S")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, white space folded: `line` counts from 1, `offset` from 0; `rule` claims it or is empty.

    One that is `due` needs a rule, or a reason why it has none, even without a keyword.
    """

    section: str
    line: int
    offset: int
    text: str
    rule: str
    due: bool = False

    @property
    def sha256(self) -> str:
        """The hash that stands for the sentence where it is not copied."""
        return fingerprint(self.text)


@dataclass(frozen=True, slots=True)
class _Passage:
    """A stretch of running text in the file, and the rule it belongs to by its offset (-1: none)."""

    text: str
    offset: int
    section: str
    rule: int


def of_definition(path: Path, rules: Iterable[Rule]) -> Iterator[Statement]:
    """Cut the `<doc>` elements and comments of the 0-9-1 XML at `path` into sentences with a keyword.

    A rule claims what stands inside its own element. Attributes are no sentences: what `chassis`, `response`
    and `assert` oblige to is read from the grammar. Raises DocumentError when the file cannot be read.
    """
    owners = {rule.place.offset: rule.id for rule in rules}
    source = path.read_text(encoding="utf-8")
    for passage in sorted(_passages(path, source), key=lambda each: each.offset):
        for sentence in sentences(passage.text):
            if keywords(sentence.text):
                offset = passage.offset + sentence.start
                line = source.count("\n", 0, offset) + 1
                yield Statement(passage.section, line, offset, sentence.text, owners.get(passage.rule, ""))


def _passages(path: Path, source: str) -> Iterator[_Passage]:
    """Find the `<doc>` elements and the comments: a comment, too, can say that something must be zero."""
    root = parse(path)
    for doc, place in zip(root.iter("doc"), elements(source, "doc"), strict=True):
        text = re.sub(
            "<!--.*?-->", lambda each: " " * len(each[0]), source[place.inner : place.end], flags=re.S
        )
        if "<" in text or "&" in text:
            raise DocumentError(f"{path}:1: <doc> at character {place.start} holds more than text.")
        yield _passage(doc, source, text, place.inner)
    found = cast("list[etree._Element]", root.xpath("//comment()"))
    for comment, match in zip(found, re.finditer("<!--(.*?)-->", source, re.S), strict=True):
        yield _passage(comment, source, match[1], match.start(1))


def _passage(node: etree._Element, source: str, text: str, offset: int) -> _Passage:
    around = next(node.iterancestors(), None)
    if around is None:
        return _Passage(text, offset, "amqp", -1)
    in_rule = any(each.tag == "rule" for each in node.iterancestors())
    rule = source.rindex("<rule", 0, offset) if in_rule else -1
    return _Passage(text, offset, section_of(path_of(around)), rule)


def of_text(path: Path, rules: Iterable[Rule]) -> Iterator[Statement]:
    """Cut the plain text at `path`, one paragraph, figure or definition per line, into all its sentences.

    Raises as `_claimed`.
    """
    return _claimed(path, rules, lambda text: _unclaimed(text.split("\n")))


def of_pages(path: Path, rules: Iterable[Rule]) -> Iterator[Statement]:
    """Cut the text at `path`, extracted from the pages of a PDF (`spec.readers.pages`), into sentences.

    Raises as `_claimed`.
    """
    return _claimed(path, rules, lambda text: _cut(cuts(text)))


def of_sections(path: Path, rules: Iterable[Rule]) -> Iterator[Statement]:
    """Cut the text at `path`, with underlined headings (`spec.readers.underlined`), into sentences.

    Raises as `_claimed`.
    """
    return _claimed(path, rules, lambda text: _cut(underlined(text)))


def of_reference(path: Path, rules: Iterable[Rule]) -> Iterator[Statement]:
    """Cut the text at `path`, of a web page that goes by methods (`spec.readers.reference`), into sentences.

    Raises as `_claimed`.
    """
    return _claimed(path, rules, lambda text: _cut(reference(text)))


def _claimed(
    path: Path, rules: Iterable[Rule], cut: Callable[[str], Iterator[Statement]]
) -> Iterator[Statement]:
    """Join the sentences that `cut` finds in the text at `path` with the rules that claim them.

    A sentence that several rules claim, because it obliges to several things, comes once for each of them.
    Raises DocumentError when the file cannot be read, or a rule claims a sentence that is not there.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as failure:
        raise DocumentError(f"{path}: cannot be read ({failure})") from failure
    owners: dict[Claim, list[str]] = {}
    for rule in rules:
        for claim in rule.claims:
            owners.setdefault(claim, []).append(rule.id)
    found = tuple(cut(text))
    for statement in found:
        claim = Claim(statement.section, statement.line, statement.sha256)
        for owner in owners.pop(claim, [""]):
            yield replace(statement, rule=owner)
    for claim, identities in owners.items():
        raise DocumentError(_missing(path, found, claim, identities[0]))


def of_descriptions(path: Path, rules: Iterable[Rule]) -> Iterator[Statement]:
    """Read what the 0-9-1 XML at `path` says of each field and property a server sends.

    Raises as `_claimed`.
    """
    told = (
        Statement(each.section, each.line, each.offset, each.sentence, "", True)
        for each in descriptions(path)
    )
    return _claimed(path, rules, lambda _: told)


def of_definitions(path: Path, rules: Iterable[Rule]) -> Iterator[Statement]:
    """Read what is defined of each composite type, and of each of its fields, in our file at `path`.

    Raises as `_claimed`.
    """
    told = (
        Statement(each.section, each.line, each.offset, each.sentence, "", True) for each in definitions(path)
    )
    return _claimed(path, rules, lambda _: told)


def _cut(found: Iterable[Cut]) -> Iterator[Statement]:
    return (Statement(each.section, each.line, each.offset, each.text, "") for each in found)


def _unclaimed(lines: Iterable[str]) -> Iterator[Statement]:
    section, offset = FRONT, 0
    for number, line in enumerate(lines, 1):
        heading = _HEADING.match(line)
        section = heading[1] if heading else section
        for sentence in sentences(line):
            yield Statement(section, number, offset + sentence.start, sentence.text, "")
        offset += len(line) + 1


def _missing(path: Path, found: Iterable[Statement], claim: Claim, identity: str) -> str:
    """Say that a claimed sentence is missing, and what does stand on its line with its hash."""
    there = [each for each in found if each.line == claim.line]
    known = "; ".join(f"{each.section} {each.sha256} {each.text[:40]!r}" for each in there) or "nothing"
    return (
        f"{path}:{claim.line}: {identity} claims {claim.section} {claim.sha256}, which is not there; "
        f"there is: {known}"
    )


def verified(path: Path, sha256: str) -> Path:
    """Give `path` back if the file there is the judged one. Raises DocumentError if it is another or none."""
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as failure:
        raise DocumentError(f"{path}: cannot be read ({failure})") from failure
    if found != sha256:
        raise DocumentError(f"{path}: is not the judged text: its SHA-256 is {found}, not {sha256}")
    return path


STATEMENTS: Mapping[str, Callable[[Path, Iterable[Rule]], Iterator[Statement]]] = {
    "amqp xml with annotations": of_definition,
    "envelope": of_text,
    "envelope of pages": of_pages,
    "envelope of sections": of_sections,
    # Those with a keyword are read for the file's own rules, with which the grammar has nothing to do.
    "amqp grammar": of_descriptions,
    "definitions": of_definitions,
    "methods and guides": of_reference,
}
"""How the sentences of a document are read, by the reader that index.toml names for its rules."""
