"""How the rules of a run divide, by document and level: what a bar shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from conformance.evidence.verdicts import TABLE, Verdict
from spec.rules import Level, Rule

UNDECIDED = (Verdict.INAPPLICABLE, Verdict.UNTESTABLE)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A verdict's stretch of a bar, in hundredths of its length."""

    verdict: Verdict
    count: int
    start: float
    length: float


@dataclass(frozen=True, slots=True)
class Bar:
    """The rules of one level that were judged, and what they came to, the worst first."""

    level: Level
    stretches: tuple[Stretch, ...]

    @property
    def judged(self) -> int:
        """How many were decided; those without an occasion, and those that no run can judge, are not."""
        return sum(each.count for each in self.stretches if each.verdict not in UNDECIDED)

    @property
    def against(self) -> int:
        return sum(each.count for each in self.stretches if each.verdict.blocks)


@dataclass(frozen=True, slots=True)
class Bars:
    """The bars of one document, MUST first."""

    document: str
    levels: tuple[Bar, ...]


def stretches(verdicts: Iterable[Verdict]) -> Iterator[Stretch]:
    """Divide a bar by verdict, in the order of the table."""
    counts = Counter(verdicts)
    start = 0.0
    for row in TABLE:
        if count := counts[row.verdict]:
            length = round(100 * count / counts.total(), 3)
            yield Stretch(row.verdict, count, round(start, 3), length)
            start += length


def bars(rules: Iterable[Rule], verdicts: Mapping[str, Verdict]) -> list[Bars]:
    """Make a bar for each document and level of `rules` that has a verdict, in the order of the catalogue."""
    found: dict[str, dict[Level, list[Verdict]]] = {}
    for rule in rules:
        if rule.id in verdicts:
            levels = found.setdefault(rule.document, {level: [] for level in Level})
            levels[rule.level].append(verdicts[rule.id])
    return [
        Bars(document, tuple(Bar(level, tuple(stretches(of))) for level, of in levels.items() if of))
        for document, levels in found.items()
    ]
