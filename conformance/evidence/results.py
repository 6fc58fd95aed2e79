"""From the tests' verdicts to one result per rule."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from conformance.evidence.kinds import Judged, Line
from conformance.evidence.verdicts import Verdict, fold


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What a rule came to; `deciding` is the first by name of its `tests` with that verdict."""

    tests: tuple[Judged, ...]
    deciding: Judged
    worker: str = ""

    @property
    def rule(self) -> str:
        return self.deciding.rule

    @property
    def verdict(self) -> Verdict:
        """What its tests fold to."""
        return self.deciding.verdict

    @property
    def signature(self) -> str:
        """The short stable form of the finding, which a baseline names."""
        return self.deciding.signature

    @property
    def finding(self) -> str:
        """What was found, for people: a signature of one word says less than the sentence beside it."""
        deciding = self.deciding
        bare = " " not in deciding.signature
        return (deciding.detail or deciding.signature or deciding.actual) if bare else deciding.signature

    @property
    def signatures(self) -> frozenset[str]:
        """The signatures of all tests that came to the rule's verdict: excusing one excuses no other."""
        return frozenset(test.signature for test in self.tests if test.verdict is self.verdict)


def rule_results(lines: Iterable[Line]) -> list[RuleResult]:
    """Give one result per rule in order of first judgement; a test judged twice counts with both verdicts."""
    by_rule: dict[str, list[tuple[Judged, str]]] = {}
    for line in lines:
        if isinstance(line.event, Judged):
            by_rule.setdefault(line.event.rule, []).append((line.event, line.worker))
    return [_result(judged) for judged in by_rule.values()]


def _result(judged: list[tuple[Judged, str]]) -> RuleResult:
    verdict = fold(test.verdict for test, _ in judged)
    alike = [(test, worker) for test, worker in judged if test.verdict is verdict]
    deciding, worker = min(alike, key=lambda each: each[0].test)
    return RuleResult(tuple(test for test, _ in judged), deciding, worker)


_HOW = re.compile(r" \((?:fin|rst)\)")


def however_ended(signature: str) -> str:
    """Leave out of a signature how a stream ended: TCP resets what is closed before all was read."""
    return _HOW.sub("", signature)


SPARED = "disruptive, and the target may be shared with others (--disruptive allows it)"
"""Why a scenario that might harm others is not played."""


def spared(results: Iterable[RuleResult]) -> str:
    """Give one sentence on tests that were left out because the target may be shared; empty without any."""
    left = [
        test.rule + (f" ({other})" if (other := test.signature.removesuffix(SPARED).rstrip("; ")) else "")
        for result in results
        for test in result.tests
        if test.verdict is Verdict.NOT_RUN and test.signature.endswith(SPARED)
    ]
    tests = "1 disruptive test was" if len(left) == 1 else f"{len(left)} disruptive tests were"
    why = "left out, because others may use the target (--disruptive allows it)"
    return f"{tests} {why}: {', '.join(left)}" if left else ""


UNJUDGED = frozenset({Verdict.NOT_RUN, Verdict.UNTESTABLE, Verdict.INAPPLICABLE})


def idle(results: Iterable[RuleResult]) -> bool:
    """Say whether nothing was judged: then the reason is one for all."""
    return all(each.verdict in UNJUDGED for each in results)
