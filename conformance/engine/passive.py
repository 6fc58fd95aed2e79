"""What was seen in passing on every connection of a run, folded into one verdict for each rule.

Passive rules look at all that went over the wire. Any rule may have been broken where the exchange went on
all the same: such a breach counts as an occasion of a passive rule, and against any other one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import NamedTuple

from conformance.engine.conclusion import BLOCKED, MISSED
from conformance.engine.judge import Judge
from conformance.evidence.kinds import Judged, Line
from conformance.evidence.verdicts import Verdict
from harness.wire.journal import Breached, Seen
from scenarios.registry import Watch, checks
from spec.catalogue import catalogue
from spec.rules import Level, Role, Rule

PLAYED = (Verdict.PASS, Verdict.INFO, Verdict.WARN, Verdict.FAIL)
"""Of a scenario that came to a judgement: once more it would show what it has shown."""


def give_occasion(watch: Watch, judge: Judge, played: MutableMapping[str, Judged]) -> Judged | None:
    """Play what gives a passive rule its occasion; give the judgement that says why none could come.

    That is one that met a barrier; or the first where nothing could be played, for want of a facility, unless
    the server decides whether there is an occasion. Every passive rule has looked on at what this run has
    `played`, by test; that is not played again, and what is played now is added.
    """
    giving = [
        each
        for each in checks().scenarios.get(watch.during, ())
        if each.role is watch.role and not each.exclusive
    ]
    for each in giving:
        if each.test not in played:
            played[each.test] = judge.judge(catalogue()[watch.during], each)
    judged = [played[each.test] for each in giving]
    barriers = [each for each in judged if each.signature.startswith(BLOCKED)]
    if barriers:
        return barriers[-1]
    nothing = all(each.verdict is Verdict.NOT_RUN for each in judged) and not watch.never
    return judged[0] if judged and nothing else None


class Sighted(NamedTuple):  # a run has some ten thousand
    """What a passive rule saw on one connection, and the test that had it; none had the probe's."""

    test: str | None
    connection: str
    occasions: int
    violations: tuple[str, ...]

    @property
    def where(self) -> str:
        """Say when that was."""
        return f"in {self.test}" if self.test else "when the target was probed"


def sighted(lines: Iterable[Line]) -> Mapping[str, Sequence[Sighted]]:
    """Give what each rule saw in passing, in order of time; a breach that its own check saw counts once."""
    found = defaultdict[str, list[Sighted]](list)
    breaches: list[tuple[str | None, Breached]] = []
    told: set[tuple[str, str]] = set()
    for line in lines:
        event = line.event
        if isinstance(event, Seen):
            told.update((rule, event.connection) for rule in event.violations)
            for rule, count in event.occasions.items():
                broken = event.violations.get(rule, ())
                found[rule].append(Sighted(line.test, event.connection, count, broken))
        elif isinstance(event, Breached):
            breaches.append((line.test, event))
    for test, each in breaches:
        if (each.rule, each.connection) not in told:
            found[each.rule].append(Sighted(test, each.connection, 1, (each.what,)))
    return found


def conclude_breached(
    rules: Iterable[Rule], role: Role, seen: Mapping[str, Sequence[Sighted]], judged: Mapping[str, Verdict]
) -> Iterator[Judged]:
    """Give a second judgement on rules broken in passing whose own tests, `judged`, have not noticed it."""
    for rule in rules:
        found = seen.get(rule.id, ())
        missed = MISSED[rule.level]
        if not found or checks().passive(rule.id, role) or judged.get(rule.id) is missed:
            continue
        first = found[0]
        test = next((each.test for each in checks().of(rule.id, role)), rule.id)
        detail = f"broken {len(found)} times in passing, first {first.where}: {first.violations[0]}"
        yield Judged(
            test=test,
            rule=rule.id,
            verdict=missed,
            signature="violated",
            expected=(rule.text,),
            actual=first.violations[0],
            detail=detail,
            reading=rule.reading,
            connection=first.connection or None,
            level=rule.level,
        )


def occasions(seen: Iterable[Sighted]) -> int:
    """Say how often a passive rule has had an occasion."""
    return sum(each.occasions for each in seen)


def conclude_passive(rule: Rule, watch: Watch, seen: Sequence[Sighted], whole: bool = True) -> Judged:
    """Give the verdict of a passive rule from all that it saw: nothing seen is never a pass.

    It is inconclusive, or inapplicable where it is the server that decides whether there is an occasion and
    the `whole` was seen.
    """
    count = occasions(seen)
    broken = [each for each in seen if each.violations]
    verdict, signature, detail, connection = Verdict.PASS, "", "", None
    if not count:
        verdict = Verdict.INAPPLICABLE if watch.never and whole else Verdict.INCONCLUSIVE
        signature = "no occasion"
        detail = watch.never or "no connection of this run gave an occasion to see it"
    elif broken:
        first = broken[0]
        verdict, signature, connection = MISSED[rule.level], "violated", first.connection or None
        wrong = sum(len(each.violations) for each in broken)
        detail = f"{wrong} of {count} occasions broke it, first {first.where}: {first.violations[0]}"
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
