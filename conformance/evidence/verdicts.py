"""The nine verdicts, and everything that follows from each: one table, quoted by the page on judging.

`python -m conformance.evidence.verdicts` prints the table as Markdown.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What a test, and after folding a rule, came to."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    INFO = "info"
    INAPPLICABLE = "inapplicable"
    UNTESTABLE = "untestable"
    NOT_RUN = "not-run"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"

    @property
    def row(self) -> VerdictRow:
        return _ROWS[self]

    @property
    def blocks(self) -> bool:
        """Whether a rule with this verdict stands against certification."""
        return self.row.blocks

    def fails(self, fail_on: str) -> bool:
        """Say whether a gate fails by it that fails on "fail", as what blocks does, or on "warn" as well."""
        return self.blocks or (fail_on == Verdict.WARN and self is Verdict.WARN)

    @property
    def finding(self) -> bool:
        """Whether something was seen that somebody should look at."""
        return self in (Verdict.ERROR, Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.WARN)

    @property
    def severity(self) -> int:
        """What it says against the target: 2 blocks certification, 1 is a missed SHOULD, 0 is nothing."""
        return 2 if self.blocks else int(self is Verdict.WARN)


class PytestOutcome(StrEnum):
    """How pytest shows a verdict."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class Element(StrEnum):
    """The element a JUnit testcase carries for a verdict."""

    NONE = "none"
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """What one verdict means and how each report shows it; `style` is rich's, `allure` Allure's status."""

    verdict: Verdict
    meaning: str
    blocks: bool
    pytest: PytestOutcome
    junit: Element
    allure: str
    style: str
    symbol: str

    @property
    def tap(self) -> str:
        """How a TAP test point says it."""
        return _TAP[self.pytest]


_TAP = {PytestOutcome.PASSED: "ok", PytestOutcome.FAILED: "not ok", PytestOutcome.SKIPPED: "ok # SKIP"}


# The order is the fold: of several tests of one rule the verdict that stands first here wins. All that
# blocks certification comes before all that does not, so that no part left open hides behind a pass.
# Error leads because a broken set-up puts the other parts in doubt and is never excused; fail comes
# before the verdicts that lack an observation, as it has one. Of the rest the one that tells more wins.
TABLE: tuple[VerdictRow, ...] = (
    VerdictRow(
        Verdict.ERROR,
        "The harness or the set-up broke, so nothing is said about the target.",
        True, PytestOutcome.FAILED, Element.ERROR, "broken", "bold magenta", "⚡",
    ),
    VerdictRow(
        Verdict.FAIL,
        "A MUST was broken: none of the legal outcomes came.",
        True, PytestOutcome.FAILED, Element.FAILURE, "failed", "bold red", "✗",
    ),
    VerdictRow(
        Verdict.INCONCLUSIVE,
        "The test ran, but what it saw does not decide the rule.",
        True, PytestOutcome.SKIPPED, Element.SKIPPED, "unknown", "yellow", "?",
    ),
    VerdictRow(
        Verdict.NOT_RUN,
        "Nothing was tried: no scenario, a facility the target lacks, or the run ended before.",
        True, PytestOutcome.SKIPPED, Element.SKIPPED, "skipped", "yellow", "○",
    ),
    VerdictRow(
        Verdict.WARN,
        "A SHOULD was missed, or the outcome is legal but not the preferred one.",
        False, PytestOutcome.PASSED, Element.NONE, "passed", "bold yellow", "!",
    ),
    VerdictRow(
        Verdict.INFO,
        "A MAY, or which of several equal readings the target follows.",
        False, PytestOutcome.PASSED, Element.NONE, "passed", "cyan", "i",
    ),
    VerdictRow(
        Verdict.PASS,
        "The preferred outcome came.",
        False, PytestOutcome.PASSED, Element.NONE, "passed", "green", "✓",
    ),
    VerdictRow(
        Verdict.INAPPLICABLE,
        "A probe proved that the target does not have the optional feature.",
        False, PytestOutcome.SKIPPED, Element.SKIPPED, "skipped", "dim", "–",
    ),
    VerdictRow(
        Verdict.UNTESTABLE,
        "This kind of run cannot show the rule kept or broken; it is listed with the reason.",
        False, PytestOutcome.SKIPPED, Element.SKIPPED, "skipped", "dim", "·",
    ),
)  # fmt: skip

_ROWS = {row.verdict: row for row in TABLE}
_RANK = {row.verdict: rank for rank, row in enumerate(TABLE)}


def fold(verdicts: Iterable[Verdict]) -> Verdict:
    """Give the verdict of a rule: that of its tests which stands first in the table, not-run without any."""
    return min(verdicts, key=_RANK.__getitem__, default=Verdict.NOT_RUN)


def is_worse(one: Verdict, other: Verdict) -> bool:
    """Say whether one verdict stands before another in the table."""
    return _RANK[one] < _RANK[other]


def markdown() -> str:
    """Give the table as Markdown, in fold order."""
    head = "rank verdict meaning blocks_certification pytest JUnit Allure TAP Markdown"
    rows = [
        (
            str(rank),
            f"`{row.verdict}`",
            row.meaning,
            "yes" if row.blocks else "no",
            row.pytest,
            row.junit,
            row.allure,
            row.tap,
            f"{row.symbol} {row.verdict}",
        )
        for rank, row in enumerate(TABLE, 1)
    ]
    names = [name.replace("_", " ") for name in head.split()]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [names, ["---"] * len(names), *rows])


if __name__ == "__main__":
    sys.stdout.write(markdown() + "\n")
