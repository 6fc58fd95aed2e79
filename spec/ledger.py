"""Every sentence of a document that has a keyword: the rule that claims it, or why none does.

`python -m spec.ledger` rebuilds the committed ledgers, keeps the reasons written by hand, and lists the
sentences that still need one. The file is tied to its document by title, revision and SHA-256; a sentence
by section, line, character offset and a hash of its text with white space folded. Attributes are no
sentences: what `chassis`, `response` and `assert` oblige to is read from the grammar.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from lxml import etree

from spec.annotations import cited
from spec.catalogue import DOCUMENTS, Catalogue, Document, catalogue, index
from spec.keywords import keywords, sentences, strongest
from spec.provisions import elements, path_of, section_of
from spec.rules import Rule
from spec.xml import DocumentError, parse

REASONS = (
    "licence",
    "duty of the application",
    "duty of the client",
    "description",
    "grammar",
    "no rule yet",
)
"""Why a sentence has no rule: in a word, before the sentence that argues it (`description: …`)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One sentence with a keyword: `sha256` is the start of its hash, `line` and `offset` count from 1 and 0.

    Exactly one of `claimed_by` (an identity) and `reason` is not empty once somebody has looked at it.
    """

    section: str
    line: int
    offset: int
    sha256: str
    keywords: tuple[str, ...]
    claimed_by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """The sentences of one document, named as the reports name it."""

    document: Document
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class _Passage:
    """A stretch of running text in the file, and the rule it belongs to by its offset (-1: none)."""

    text: str
    offset: int
    section: str
    rule: int


def build(path: Path, document: Document, rules: Iterable[Rule], reasons: Mapping[str, str]) -> Ledger:
    """The ledger of the 0-9-1 XML at `path`.

    `rules` claim the sentences inside their own elements; `reasons` has, by `key`, the reason for others.
    Raises DocumentError when the file cannot be read.
    """
    owners = {rule.place.offset: rule.id for rule in rules if rule.document == document.prefix}
    source = path.read_text(encoding="utf-8")
    entries = []
    for passage in sorted(_passages(path, source), key=lambda each: each.offset):
        for sentence in sentences(passage.text):
            found = keywords(sentence.text)
            if not found:
                continue
            offset = passage.offset + sentence.start
            digest = hashlib.sha256(sentence.text.encode()).hexdigest()[:16]
            owner = owners.get(passage.rule, "")
            reason = "" if owner else reasons.get(key(passage.section, digest), "")
            line = source.count("\n", 0, offset) + 1
            entries.append(Entry(passage.section, line, offset, digest, found, owner, reason))
    return Ledger(document, tuple(entries))


def key(section: str, sha256: str) -> str:
    """By what a reason is kept while offsets move: the same words in another section are another matter."""
    return f"{section} {sha256}"


def _passages(path: Path, source: str) -> Iterator[_Passage]:
    """The `<doc>` elements and the comments: a comment, too, can say that something must be zero."""
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


def faults(ledger: Ledger, rules: Iterable[Rule]) -> tuple[str, ...]:
    """What is wrong between `ledger` and `rules`, one sentence each: for this the document is not needed."""
    own = {rule.id: rule for rule in rules if rule.document == ledger.document.prefix}
    claimed = {entry.claimed_by for entry in ledger.entries}
    wrong = []
    for entry in ledger.entries:
        where = f"The sentence {entry.sha256} in {entry.section} at character {entry.offset}"
        if entry.claimed_by and entry.claimed_by not in own:
            wrong.append(f"{where} is claimed by {entry.claimed_by}, which is no rule.")
        if bool(entry.claimed_by) == bool(entry.reason):
            wrong.append(f"{where} needs either a rule or a reason why it has none.")
        if entry.reason and not entry.reason.startswith(tuple(f"{each}: " for each in REASONS)):
            wrong.append(f"{where} has a reason that begins with none of: {', '.join(REASONS)}.")
        for identity in cited(entry.reason, ledger.document.prefix):
            if identity not in own:
                wrong.append(f"{where} has a reason that refers to {identity}, which is no rule.")
    for rule in own.values():
        if strongest(rule.text) and rule.id not in claimed:
            wrong.append(f"The rule {rule.id} has a keyword and claims no sentence.")
    return tuple(wrong)


def load(path: Path) -> Ledger:
    """The ledger committed at `path`. Raises DocumentError when the file is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        entries = tuple(
            Entry(**{**each, "keywords": tuple(each["keywords"])}) for each in content["sentences"]
        )
        return Ledger(Document(**content["document"]), entries)
    except (OSError, ValueError, KeyError, TypeError) as failure:
        raise DocumentError(f"{path}: is no ledger: {failure}") from failure


def dump(ledger: Ledger) -> str:
    """The text of the committed file, one sentence per line so that changes can be read."""
    lines = ",\n".join("  " + json.dumps(asdict(entry), ensure_ascii=False) for entry in ledger.entries)
    head = json.dumps(asdict(ledger.document), ensure_ascii=False)
    return f'{{\n "document": {head},\n "sentences": [\n{lines}\n ]\n}}\n'


def rebuild(folder: Path, rules: Catalogue) -> Iterator[tuple[Path, Ledger]]:
    """Each document's ledger made anew from the document and the reasons in the committed file."""
    for document in rules.documents:
        committed = folder / index(folder)[document.prefix]["ledger"]
        kept = load(committed).entries if committed.exists() else ()
        reasons = {key(each.section, each.sha256): each.reason for each in kept if each.reason}
        yield committed, build(folder / document.file, document, rules.rules, reasons)


def main() -> int:
    """Rebuild the committed ledgers; 1 when a sentence has neither a rule nor a reason."""
    rules = catalogue()
    wrong: list[str] = []
    for path, ledger in rebuild(DOCUMENTS, rules):
        path.write_text(dump(ledger), encoding="utf-8")
        wrong += [f"{path.name}: {fault}" for fault in faults(ledger, rules.rules)]
    sys.stdout.writelines(f"{line}\n" for line in wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
