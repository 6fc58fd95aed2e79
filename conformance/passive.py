"""Passive rules: what they saw on every connection of the run, folded into one verdict with a count."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.events import Judged, Line
from conformance.judge import MISSED, Judge
from conformance.verdicts import Verdict
from harness.journal import Seen
from scenarios.registry import Watch, checks
from spec.catalogue import catalogue
from spec.rules import Level, Rule


def give_occasion(watch: Watch, judge: Judge) -> None:
    """Play the scenarios that give a passive rule its occasion; what they come to is not judged here."""
    for scenario in checks().scenarios.get(watch.during, ()):
        if not scenario.exclusive:
            judge.judge(catalogue()[watch.during], scenario)


def occasions(rule: str, lines: Iterable[Line]) -> int:
    """How often a passive rule has had an occasion."""
    return sum(
        line.event.occasions for line in lines if isinstance(line.event, Seen) and line.event.rule == rule
    )


def conclude_passive(rule: Rule, watch: Watch, lines: Iterable[Line]) -> Judged:
    """The verdict of a passive rule from all `seen` events: nothing seen is inconclusive, never pass."""
    seen = [
        (line, line.event) for line in lines if isinstance(line.event, Seen) and line.event.rule == rule.id
    ]
    occasions = sum(event.occasions for _, event in seen)
    broken = [(line, event) for line, event in seen if event.violations]
    verdict, signature, detail, connection = Verdict.PASS, "", "", None
    if not occasions:
        verdict, signature = Verdict.INCONCLUSIVE, "no occasion"
        detail = "no connection of this run gave an occasion to see it"
    elif broken:
        line, event = broken[0]
        verdict, signature, connection = MISSED[rule.level], "violated", event.connection
        count = sum(len(each.violations) for _, each in broken)
        detail = f"{count} of {occasions} occasions broke it, first in {line.test}: {event.violations[0]}"
    else:
        verdict = Verdict.INFO if rule.level is Level.MAY else Verdict.PASS
        detail = f"seen {occasions} times on {len(seen)} connections"
    return Judged(
        test=watch.test,
        rule=rule.id,
        verdict=verdict,
        signature=signature,
        expected=(watch.does.splitlines()[0],) if watch.does else (),
        actual=detail,
        detail=detail,
        reading=rule.reading,
        connection=connection,
        level=rule.level,
    )
