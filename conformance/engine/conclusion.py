"""What a scenario came to: the verdict, made of what it expected and how it ended; what the door blocked."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from conformance.evidence.keeping import Evidence
from conformance.evidence.kinds import Judged
from conformance.evidence.results import RuleResult
from conformance.evidence.verdicts import Verdict
from harness.play.expect import (
    Blocked,
    ControlFailed,
    Inapplicable,
    Inconclusive,
    NotRun,
    OverBudget,
    StillComing,
    Stop,
    Unmet,
)
from harness.wire.journal import Declared, Event, Expected, Grade, Noted
from spec.rules import Level, Rule

MISSED = {Level.MUST: Verdict.FAIL, Level.SHOULD: Verdict.WARN, Level.MAY: Verdict.INFO}
"""What it means that none of the legal outcomes came, by the rule's level."""

ENDED = {
    ControlFailed: Verdict.ERROR,
    StillComing: Verdict.INCONCLUSIVE,
    OverBudget: Verdict.ERROR,
    Inapplicable: Verdict.INAPPLICABLE,
    Inconclusive: Verdict.INCONCLUSIVE,
    NotRun: Verdict.NOT_RUN,
}
"""What it means that a scenario ended without a judgement."""

BLOCKED = "blocked by "
"""How the signature of a test begins that met a barrier; behind it stands the rule."""


@dataclass
class Findings:
    """A journal that keeps what decides the verdict while everything goes to the evidence."""

    writer: Evidence
    expected: list[Expected] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    events: int = 0

    def write(self, event: Event) -> None:
        """Keep the event, and expectations and notes here as well."""
        if isinstance(event, Expected):
            self.expected.append(event)
        elif isinstance(event, Noted):
            self.notes.append(event.text)
        elif isinstance(event, Declared):
            self.names.append(event.name)
        self.events += 1
        self.writer.write(event)


def conclude(rule: Rule, test: str, findings: Findings, stop: BaseException | None, profile: str) -> Judged:
    """Give the verdict on one test, from what was expected and how the scenario ended.

    `profile` "vendor" takes the readings that the document tolerates for as good as the preferred one.
    """
    verdict = Verdict.PASS
    decisive = findings.expected[-1] if findings.expected else None
    detail = "; ".join(findings.notes)
    cause = ""
    if isinstance(stop, Unmet):
        verdict = MISSED[rule.level]
        detail = "; ".join(filter(None, [str(stop), detail]))
        if stop.lost:
            verdict = Verdict.INCONCLUSIVE
            detail += " (twice; a frame before the reset may have been lost)"
    elif isinstance(stop, Stop):
        verdict, detail = verdict_of(stop), str(stop)
    elif stop is not None:
        verdict, detail = Verdict.ERROR, f"the scenario broke: {type(stop).__name__}: {stop}"
        cause = "".join(traceback.format_exception(stop))
    elif decisive is None:
        verdict, detail = Verdict.ERROR, "the scenario came to its end without expecting anything"
    else:
        graded = [each for each in findings.expected if each.grade is Grade.TOLERATED]
        recorded = [each for each in findings.expected if each.grade is Grade.RECORDED]
        if graded and profile != "vendor":
            verdict, decisive = Verdict.WARN, graded[-1]
        elif recorded or rule.level is Level.MAY:
            verdict, decisive = Verdict.INFO, (recorded or [decisive])[-1]
    return Judged(
        test=test,
        rule=rule.id,
        verdict=verdict,
        signature=_nameless(_signature(verdict, decisive, stop), findings.names),
        expected=decisive.outcomes if decisive else (),
        actual=decisive.actual if decisive else "",
        detail=detail,
        reading=(decisive.reading if decisive else "") or rule.reading,
        connection=decisive.connection if decisive else None,
        frame=decisive.frame if decisive else None,
        level=rule.level,
        cause=cause,
    )


def verdict_of(stop: Stop) -> Verdict:
    """Give the verdict on a scenario that ended without a judgement."""
    return next(ended for kind, ended in ENDED.items() if isinstance(stop, kind))


def _signature(verdict: Verdict, decisive: Expected | None, stop: BaseException | None) -> str:
    if verdict is Verdict.PASS:
        return ""
    if isinstance(stop, ControlFailed):
        return f"{stop.actual} to the control {stop.what}"
    if isinstance(stop, Blocked):
        return f"{BLOCKED}{stop.rule}"
    if stop is not None and not isinstance(stop, Unmet):
        return type(stop).__name__
    if decisive is None:
        return "nothing was expected"
    if decisive.actual == decisive.outcomes[0]:
        return decisive.actual
    return f"{decisive.actual} instead of {decisive.outcomes[0]}"


def _nameless(signature: str, names: list[str]) -> str:
    # Names differ from run to run; what a baseline recognises must not.
    for name in sorted(names, key=len, reverse=True):
        signature = signature.replace(name, "NAME")
    return signature


def hampering(hampered: Mapping[str, str], results: Iterable[RuleResult]) -> str:
    """Say what is wrong at the door, `hampered` by protocol, and what it blocks; empty if all is well."""
    if not hampered:
        return ""
    found = Counter(
        result.signature.removeprefix(BLOCKED)
        for result in results
        if result.verdict is Verdict.NOT_RUN and result.signature.startswith(BLOCKED)
    )
    blocked = [
        f"{count} {'rule is' if count == 1 else 'rules are'} blocked by {rule}"
        for rule, count in found.items()
    ]
    told = "; ".join(hampered.values())
    return "; ".join(
        [f"the target's handshake is broken: {told}", *(blocked or ["no rule is blocked by that"])]
    )
