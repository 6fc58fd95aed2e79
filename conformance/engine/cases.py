"""From the catalogue to test cases: every rule yields at least one, whether it has a check or not."""

import random
from collections.abc import Iterable, Set
from dataclasses import dataclass

from conformance.evidence.kinds import Judged
from conformance.evidence.verdicts import Verdict
from scenarios.registry import Checks, Scenario, Watch
from spec.rules import Role, Rule


@dataclass(frozen=True, slots=True)
class Case:
    """A rule with one of its checks for targets in a `role`, or with none.

    `apart` says that the target may not survive it. On a `single` target, of which each judge has its own,
    only a restart has to wait for the others.
    """

    rule: Rule
    check: Scenario | Watch | None
    apart: bool = False
    single: bool = False
    role: Role = Role.SERVER

    @property
    def id(self) -> str:
        """Identity of the test in every report."""
        return self.check.test if self.check else self.rule.id

    @property
    def order(self) -> int:
        """When it runs: slow ones first, the others, those that must be alone, those apart, passive rules."""
        match self.check:
            case Watch():
                return 4
            case Scenario() if self.apart and not self.single:
                return 3
            case Scenario(exclusive=True):
                return 2
            case Scenario(alone=True):
                return 0 if self.single else 2
            case Scenario(slow=True):
                return 0
            case _:
                return 1

    @property
    def late(self) -> bool:
        """Whether it must wait until everything else has ended."""
        return self.order >= 2

    def unchecked(self) -> Judged:
        """Give the verdict on a rule that has no check: never a pass.

        Of servers every rule that can be judged has one; what is not yet asked of clients is not their fault.
        """
        rule, beyond = self.rule, self.rule.beyond(self.role)
        if not beyond and self.role is Role.CLIENT:
            beyond = "the suite has no check of a client for it yet"
        verdict = Verdict.UNTESTABLE if beyond else Verdict.NOT_RUN
        detail = beyond or "no scenario yet"
        return Judged(test=self.id, rule=rule.id, verdict=verdict, detail=detail, level=rule.level)

    def not_run(self, why: str, signature: str = "") -> Judged:
        """Give the verdict when the run did not come to this case; with a `signature` where that recurs."""
        return Judged(
            test=self.id,
            rule=self.rule.id,
            verdict=Verdict.NOT_RUN,
            signature=signature,
            detail=why,
            level=self.rule.level,
        )


def cases(
    rules: Iterable[Rule],
    checks: Checks,
    role: Role,
    shuffle: int | None = None,
    apart: Set[str] = frozenset(),
    single: bool = False,
) -> list[Case]:
    """Give the cases of these rules on a target in a `role`, in the order they run.

    `shuffle` seeds another order within each phase; `apart` are the identities of rules that the target may
    not survive, `single` as of a target.
    """
    nothing: list[Scenario | Watch | None] = [None]
    found = [
        Case(rule, check, rule.id in apart, single, role)
        for rule in rules
        for check in checks.of(rule.id, role) or nothing
    ]
    if shuffle is not None:
        random.Random(shuffle).shuffle(found)
    return sorted(found, key=lambda case: case.order)
