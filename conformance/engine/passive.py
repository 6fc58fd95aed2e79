"""What was seen in passing on every connection of a run, folded into one verdict for each rule.

Passive rules look at all that went over the wire. Any rule may have been broken where the exchange went on
all the same: such a breach counts as an occasion of a passive rule, and against any other one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence

from conformance.engine.door import BLOCKED
from conformance.engine.judge import MISSED, Judge
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


Sighted = tuple[Line, Seen]
"""What a passive rule saw on one connection, and where that stands in the evidence."""


def sighted(lines: Iterable[Line]) -> Mapping[str, Sequence[Sighted]]:
    """Give what each rule saw in passing, in order of time; a breach that its own check saw counts once."""
    found = defaultdict[str, list[Sighted]](list)
    breaches: list[tuple[Line, Breached]] = []
    for line in lines:
        if isinstance(line.event, Seen):
            found[line.event.rule].append((line, line.event))
        elif isinstance(line.event, Breached):
            breaches.append((line, line.event))
    told = {(each.rule, each.connection) for seen in found.values() for _, each in seen if each.violations}
    for line, each in breaches:
        if (each.rule, each.connection) not in told:
            seen = Seen(each.at, each.connection, each.rule, 1, (each.what,))
            found[each.rule].append((line, seen))
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
        line, event = found[0]
        test = next((each.test for each in checks().of(rule.id, role)), rule.id)
        detail = f"broken {len(found)} times in passing, first {_where(line)}: {event.violations[0]}"
        yield Judged(
            test=test,
            rule=rule.id,
            verdict=missed,
            signature="violated",
            expected=(rule.text,),
            actual=event.violations[0],
            detail=detail,
            reading=rule.reading,
            connection=event.connection or None,
            level=rule.level,
        )


def occasions(seen: Iterable[Sighted]) -> int:
    """Say how often a passive rule has had an occasion."""
    return sum(event.occasions for _, event in seen)


def conclude_passive(rule: Rule, watch: Watch, seen: Sequence[Sighted], whole: bool = True) -> Judged:
    """Give the verdict of a passive rule from all that it saw: nothing seen is never a pass.

    It is inconclusive, or inapplicable where it is the server that decides whether there is an occasion and
    the `whole` was seen.
    """
    count = occasions(seen)
    broken = [(line, event) for line, event in seen if event.violations]
    verdict, signature, detail, connection = Verdict.PASS, "", "", None
    if not count:
        verdict = Verdict.INAPPLICABLE if watch.never and whole else Verdict.INCONCLUSIVE
        signature = "no occasion"
        detail = watch.never or "no connection of this run gave an occasion to see it"
    elif broken:
        line, event = broken[0]
        verdict, signature, connection = MISSED[rule.level], "violated", event.connection or None
        wrong = sum(len(each.violations) for _, each in broken)
        detail = f"{wrong} of {count} occasions broke it, first {_where(line)}: {event.violations[0]}"
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


def _where(line: Line) -> str:
    return f"in {line.test}" if line.test else "when the target was probed"
