"""Passive rules: what they saw on every connection of the run, folded into one verdict with a count."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

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


Sighted = tuple[Line, Seen]
"""What a passive rule saw on one connection, and where that stands in the evidence."""


def sighted(lines: Iterable[Line]) -> Mapping[str, Sequence[Sighted]]:
    """What each passive rule saw, in order of time."""
    found = defaultdict[str, list[Sighted]](list)
    for line in lines:
        if isinstance(line.event, Seen):
            found[line.event.rule].append((line, line.event))
    return found


def occasions(seen: Iterable[Sighted]) -> int:
    """How often a passive rule has had an occasion."""
    return sum(event.occasions for _, event in seen)


def conclude_passive(rule: Rule, watch: Watch, seen: Sequence[Sighted]) -> Judged:
    """The verdict of a passive rule from all that it saw: nothing seen is inconclusive, never pass."""
    count = occasions(seen)
    broken = [(line, event) for line, event in seen if event.violations]
    verdict, signature, detail, connection = Verdict.PASS, "", "", None
    if not count:
        verdict, signature = Verdict.INCONCLUSIVE, "no occasion"
        detail = "no connection of this run gave an occasion to see it"
    elif broken:
        line, event = broken[0]
        verdict, signature, connection = MISSED[rule.level], "violated", event.connection
        wrong = sum(len(each.violations) for _, each in broken)
        detail = f"{wrong} of {count} occasions broke it, first in {line.test}: {event.violations[0]}"
    else:
        verdict = Verdict.INFO if rule.level is Level.MAY else Verdict.PASS
        detail = f"seen {count} times on {len(seen)} connections"
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
