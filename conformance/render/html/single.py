"""The page of one run: one file, which asks nothing of any other, ready to be attached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from conformance.evidence.explanation import Explanation
from conformance.evidence.octets import readable
from conformance.evidence.printable import printable
from conformance.evidence.results import RuleResult
from conformance.evidence.verdicts import TABLE, Verdict
from conformance.render.html.bars import bars
from conformance.render.html.environment import alone, environment
from conformance.render.report import Report
from conformance.render.standing import below
from spec.rules import Level, Rule

SHOWN = 400
"""Findings at most whose exchange is drawn: those of the worst verdicts come first."""
OPEN = 3
"""Findings against certification that are open at first: those with an exchange, no two of them alike."""
DRAWN = (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.WARN)
ABOVE = frozenset({"rule", "verdict", "level", "sentence", "asks", "legal", "came"})
"""Facts of an explanation that the page shows in places of their own."""
_RANK = {row.verdict: rank for rank, row in enumerate(TABLE)}
_LEVELS = list(Level)


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that is not simply kept, and how that was seen; no `explanation`, no exchange.

    `says` is the sentence with what was being tried.
    """

    result: RuleResult
    rule: Rule | None
    says: str
    explanation: Explanation | None

    @property
    def facts(self) -> list[tuple[str, str]]:
        return [each for each in self.explanation.facts if each[0] not in ABOVE] if self.explanation else []


@dataclass(frozen=True, slots=True)
class Alike:
    """Findings that came to the same verdict by the same; `opened` is the one whose exchange is in sight."""

    findings: tuple[Finding, ...]
    opened: Finding | None = None

    @property
    def says(self) -> str:
        """What they have in common: what was tried is another thing for each."""
        return printable(readable(self.findings[0].result.finding))


def page(report: Report) -> str:
    """Give the page of a run, whole: its standing, what stands against it with each exchange, every rule."""
    ranked = sorted(report.ranked(), key=lambda each: (_RANK[each.verdict], _level(report, each)))
    against = [each for each in ranked if each.verdict.blocks]
    missed = [each for each in ranked if each.verdict is Verdict.WARN]
    return alone(
        environment(),
        "run.html.j2",
        report=report,
        below=list(below(report)),
        bars=bars(report.rules.values(), {result.rule: result.verdict for result in report.results}),
        sections=[
            ("against", "Against certification", list(_alike(_findings(report, against), OPEN))),
            ("missed", "Missed or not preferred", list(_alike(_findings(report, missed), 0))),
        ],
        says=report.finding,
    )


def _findings(report: Report, results: Sequence[RuleResult]) -> list[Finding]:
    drawn = [each for each in results if each.verdict in DRAWN][:SHOWN]
    known = {id(each) for each in drawn}
    return [
        Finding(
            each,
            report.rules.get(each.rule),
            report.finding(each),
            report.explained(each.deciding) if id(each) in known else None,
        )
        for each in results
    ]


def _alike(findings: Iterable[Finding], opened: int) -> Iterator[Alike]:
    """Put findings alike together, in the order of the first; so many show an exchange at once."""
    groups: dict[tuple[Verdict, str], list[Finding]] = {}
    for each in findings:
        groups.setdefault((each.result.verdict, each.result.finding), []).append(each)
    for members in groups.values():
        drawn = next((each for each in members if each.explanation and each.explanation.frames), None)
        in_sight = drawn if opened > 0 else None
        opened -= in_sight is not None
        yield Alike(tuple(members), in_sight)


def _level(report: Report, result: RuleResult) -> int:
    """Give the place of a rule in a sort that puts the stronger first."""
    rule = report.rules.get(result.rule)
    return _LEVELS.index(rule.level) if rule else len(_LEVELS)
