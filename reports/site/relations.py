"""What else the documents say about the thing a rule is about, and what it came to, for the rule's page."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from conformance.evidence.verdicts import TABLE, Verdict
from reports.model.findings import Column, Finding
from spec.catalogue import Catalogue, Document
from spec.rules import Rule

FEW = 8
"""Related rules of one document that a page shows without being asked."""


@dataclass(frozen=True, slots=True)
class Relative:
    """A related rule with its finding on each build; `page` says whether this site has a page for it."""

    rule: Rule
    page: bool
    findings: tuple[Finding | None, ...]

    @property
    def identity(self) -> str:
        return self.rule.id

    @property
    def counts(self) -> Sequence[tuple[Verdict, int]]:
        """How many builds came to which verdict, the worst first."""
        found = Counter(each.verdict for each in self.findings if each is not None)
        return [(each.verdict, found[each.verdict]) for each in TABLE if found[each.verdict]]


@dataclass(frozen=True, slots=True)
class Relatives:
    """The related rules of one document, in its order."""

    document: Document
    rules: tuple[Relative, ...]

    @property
    def many(self) -> bool:
        """True where they are so many that they would bury the rest of the page."""
        return len(self.rules) > FEW


def relatives(
    rule: Rule, catalogue: Catalogue, columns: Sequence[Column], pages: Collection[str]
) -> list[Relatives]:
    """Find what is related to `rule`, a document at a time; `pages` are the identities that have a page."""
    related = catalogue.related(rule)
    found = []
    for document in catalogue.documents:
        own = tuple(
            Relative(each, each.id in pages, tuple(column.findings.get(each.id) for column in columns))
            for each in related
            if each.document == document.prefix
        )
        if own:
            found.append(Relatives(document, own))
    return found


def pieces(text: str, identities: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Cut `text` at each of `identities` that it names; with each piece whether it is one."""
    named = sorted(identities, key=len, reverse=True)
    parts = re.split(f"({'|'.join(map(re.escape, named))})", text) if named else [text]
    for number, piece in enumerate(parts):
        if piece:
            yield piece, number % 2 == 1
