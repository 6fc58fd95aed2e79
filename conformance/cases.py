"""From the catalogue to test cases: every rule yields at least one, whether it has a check or not."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

from conformance.events import Judged
from conformance.verdicts import Verdict
from scenarios.registry import Checks, Scenario, Watch
from spec.rules import Rule, Testability

OUT_OF_REACH = (Testability.UNTESTABLE, Testability.CLIENT)


@dataclass(frozen=True, slots=True)
class Case:
    """A rule with one of its checks, or with none."""

    rule: Rule
    check: Scenario | Watch | None

    @property
    def id(self) -> str:
        """Identity of the test in every report."""
        return self.check.test if self.check else self.rule.id

    @property
    def order(self) -> int:
        """When it runs: slow scenarios first, the others, those that must be alone, passive rules last."""
        match self.check:
            case Scenario(exclusive=True) | Scenario(alone=True):
                return 2
            case Scenario(slow=True):
                return 0
            case Watch():
                return 3
            case _:
                return 1

    @property
    def late(self) -> bool:
        """Whether it must wait until everything else has ended."""
        return self.order >= 2

    def unchecked(self) -> Judged:
        """The verdict on a rule that has no check: never a pass."""
        rule = self.rule
        if rule.testability in OUT_OF_REACH:
            verdict, why = Verdict.UNTESTABLE, rule.reason
        else:
            verdict, why = Verdict.NOT_RUN, "no scenario yet"
        return Judged(test=self.id, rule=rule.id, verdict=verdict, detail=why, level=rule.level)

    def not_run(self, why: str, signature: str = "") -> Judged:
        """The verdict when the run did not come to this case; with a `signature` where that recurs."""
        return Judged(
            test=self.id,
            rule=self.rule.id,
            verdict=Verdict.NOT_RUN,
            signature=signature,
            detail=why,
            level=self.rule.level,
        )


def cases(rules: Iterable[Rule], checks: Checks, shuffle: int | None = None) -> list[Case]:
    """The cases of these rules in the order they run: slow ones early, each beside a quick one.

    `shuffle` seeds another order within each phase.
    """
    nothing: list[Scenario | Watch | None] = [None]
    found = [Case(rule, check) for rule in rules for check in checks.of(rule.id) or nothing]
    if shuffle is not None:
        random.Random(shuffle).shuffle(found)
    return _interleaved(sorted(found, key=lambda case: case.order))


def _interleaved(found: list[Case]) -> list[Case]:
    # xdist hands every worker two tests to begin with: a slow one must not wait behind another slow one.
    slow = [case for case in found if case.order == 0]
    others = found[len(slow) :]
    pairs = [case for pair in zip(slow, others, strict=False) for case in pair]
    return [*pairs, *slow[len(others) :], *others[len(slow) :]]
