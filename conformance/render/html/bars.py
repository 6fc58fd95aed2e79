"""How the rules of a run divide, by document and level: what a bar shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from conformance.evidence.verdicts import TABLE, Verdict
from spec.rules import Level, Rule


@dataclass(frozen=True, slots=True)
class Stretch:
    """A verdict's stretch of a bar, in hundredths of its length."""

    verdict: Verdict
    count: int
    start: float
    length: float


@dataclass(frozen=True, slots=True)
class Bar:
    """The rules of one document at one level that were judged, and what they came to, the worst first."""

    document: str
    level: Level
    stretches: tuple[Stretch, ...]


def stretches(verdicts: Iterable[Verdict]) -> Iterator[Stretch]:
    """Divide a bar by verdict, in the order of the table."""
    counts = Counter(verdicts)
    start = 0.0
    for row in TABLE:
        if count := counts[row.verdict]:
            length = round(100 * count / counts.total(), 3)
            yield Stretch(row.verdict, count, round(start, 3), length)
            start += length


def bars(rules: Iterable[Rule], verdicts: Mapping[str, Verdict]) -> list[Bar]:
    """Make a bar for each document and level of `rules` that has a verdict, in the order of the catalogue."""
    found: dict[tuple[str, Level], list[Verdict]] = {}
    for rule in rules:
        if rule.id in verdicts:
            found.setdefault((rule.document, rule.level), []).append(verdicts[rule.id])
    order = list(Level)
    documents = list(dict.fromkeys(document for document, _ in found))
    placed = sorted(found.items(), key=lambda each: (documents.index(each[0][0]), order.index(each[0][1])))
    return [Bar(document, level, tuple(stretches(of))) for (document, level), of in placed]
