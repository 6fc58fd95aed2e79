"""The page of one run: one file, which asks nothing of any other, ready to be attached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.evidence.explanation import Explanation
from conformance.evidence.results import RuleResult
from conformance.evidence.verdicts import Verdict
from conformance.render.html.bars import bars
from conformance.render.html.environment import alone, environment
from conformance.render.report import Report
from spec.rules import Rule

SHOWN = 400
"""Findings at most whose exchange is drawn: those of the worst verdicts come first."""
OPEN = 3
"""Findings against certification that are open at first: the first ones with an exchange."""
DRAWN = (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.WARN)
ABOVE = frozenset({"rule", "verdict", "level", "sentence", "asks", "legal", "came"})
"""Facts of an explanation that the page shows in places of their own."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that is not simply kept, and how that was seen; no `explanation`, no exchange."""

    result: RuleResult
    rule: Rule | None
    explanation: Explanation | None

    @property
    def facts(self) -> list[tuple[str, str]]:
        return [each for each in self.explanation.facts if each[0] not in ABOVE] if self.explanation else []


def page(report: Report) -> str:
    """Give the page of a run, whole: its standing, what stands against it with each exchange, every rule."""
    ranked = report.ranked()
    against = _findings(report, [each for each in ranked if each.verdict.blocks])
    drawn = [each.result.rule for each in against if each.explanation and each.explanation.frames]
    return alone(
        environment(),
        "run.html.j2",
        report=report,
        bars=bars(report.rules.values(), {result.rule: result.verdict for result in report.results}),
        against=against,
        missed=_findings(report, [each for each in ranked if each.verdict is Verdict.WARN]),
        opened=drawn[:OPEN],
    )


def _findings(report: Report, results: Sequence[RuleResult]) -> list[Finding]:
    drawn = [each for each in results if each.verdict in DRAWN][:SHOWN]
    known = {id(each) for each in drawn}
    return [
        Finding(
            each,
            report.rules.get(each.rule),
            report.explained(each.deciding) if id(each) in known else None,
        )
        for each in results
    ]
