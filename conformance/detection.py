"""Does a check fail when it should? Every rule's scenario is played against peers that break the rule."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from conformance.cases import Case, cases
from conformance.events import EventWriter, Judged, read
from conformance.judge import MISSED, Judge, TargetDied
from conformance.passive import conclude_passive, give_occasion
from conformance.verdicts import Verdict, fold
from harness.deviation import Deviation
from harness.embedded import EmbeddedTarget
from harness.target import Target
from harness.transport import Unreachable
from scenarios.registry import Checks, Scenario, Watch, checks
from spec.rules import Level, Rule


class Fate(StrEnum):
    """What became of a deviation."""

    KILLED = "killed"
    """Its own rule's check gave the expected verdict."""
    MISJUDGED = "misjudged"
    """Its own rule's check changed, but not to the expected verdict."""
    ERROR = "error"
    """It only broke the check's set-up, or the peer."""
    SURVIVED = "survived"
    """Its own rule's check did not notice."""


@dataclass(frozen=True, slots=True)
class Detected:
    """A deviation and what its own rule's checks made of it, beside what they say of the clean peer."""

    rule: Rule
    deviation: Deviation
    fate: Fate
    clean: Judged
    seen: Judged


Build = Callable[[object], Target]


def expected_verdict(rule: Rule) -> Verdict:
    """What a broken rule must come to, by its level."""
    return MISSED[rule.level]


def judge_rule(rule: Rule, build: Build, change: object, known: Checks) -> Judged:
    """The worst-standing judgement of a rule's checks on a fresh peer with `change` (None: a clean one)."""
    with tempfile.TemporaryDirectory() as scratch:
        began = time.monotonic()
        with EventWriter(Path(scratch), "main", lambda: time.monotonic() - began) as writer:
            goal = build(change)
            try:
                judged = [
                    _judge(case, Judge(goal, writer, "detect"), Path(scratch)) for case in _cases(rule, known)
                ]
            finally:
                goal.stop()
    worst = fold(each.verdict for each in judged)
    return next(each for each in judged if each.verdict is worst)


def _cases(rule: Rule, known: Checks) -> list[Case]:
    return cases([rule], known)


def _judge(case: Case, judge: Judge, folder: Path) -> Judged:
    try:
        match case.check:
            case None:
                return case.unchecked()
            case Watch() as watch:
                give_occasion(watch, judge)
                return conclude_passive(case.rule, watch, read(folder))
            case Scenario(exclusive=True) as scenario:
                return judge.exclusive([(case.rule, scenario)])[0]
            case scenario:
                return judge.judge(case.rule, scenario)
    except (TargetDied, Unreachable) as failure:
        return Judged(test=case.id, rule=case.rule.id, verdict=Verdict.ERROR, detail=str(failure))


def in_memory(change: object) -> Target:
    """A fresh reference peer in memory."""
    return EmbeddedTarget(change)


def detect(rules: Iterable[Rule], build: Build = in_memory) -> Iterator[Detected]:
    """Play every rule against each of its deviations. Rules without a deviation yield nothing."""
    known = checks()
    for rule in rules:
        broken = known.deviations.get(rule.id, [])
        if not broken:
            continue
        clean = judge_rule(rule, build, None, known)
        for deviation in broken:
            seen = judge_rule(rule, build, deviation.change, known)
            yield Detected(rule, deviation, fate(rule, clean, seen), clean, seen)


def fate(rule: Rule, clean: Judged, seen: Judged) -> Fate:
    """What became of a deviation, from its rule's verdict without and with it."""
    if seen.verdict is Verdict.ERROR:
        return Fate.ERROR
    changed = (seen.verdict, seen.signature, seen.detail) != (clean.verdict, clean.signature, clean.detail)
    if not changed:
        return Fate.SURVIVED
    if rule.level is Level.MAY:
        return Fate.KILLED
    return Fate.KILLED if seen.verdict is expected_verdict(rule) else Fate.MISJUDGED
