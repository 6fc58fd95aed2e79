"""`run --list`: what a run would judge, what it would declare and what it needs, without touching the target.

Nothing of it is written down anywhere: the scenarios are played against the reference peer in memory, and
what they name there is what they would name on a target.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from conformance.commands.clicked import tell_selected
from conformance.engine.cases import Case, cases
from conformance.engine.judge import Judge
from conformance.engine.options import Options
from conformance.engine.passive import give_occasion, occasions, sighted
from conformance.engine.scope import apart_of
from conformance.evidence.keeping import Memory
from conformance.gate.gate import Exit
from harness.targets.named import stand_in, target
from harness.targets.target import Target
from harness.wire.journal import Declared
from scenarios.registry import Scenario, Watch, checks
from spec.catalogue import catalogue
from spec.rules import Role
from spec.selection import select


@dataclass(frozen=True, slots=True)
class Listed:
    """One test as it would be judged.

    `declares` counts entities by kind, `needs` are facilities and what else it asks of its surroundings;
    `runs` says whether it would be played on the target, and `why` not.
    """

    test: str
    declares: Mapping[str, int]
    needs: tuple[str, ...]
    runs: bool
    why: str


def listing(found: Sequence[Case], goal: Target, disruptive: bool = False) -> list[Listed]:
    """Say what a run of these cases on `goal` would do; `goal` is neither started nor reached.

    `disruptive` allows what may harm others on a shared target.
    """
    declares = declared_by(found, goal.role)
    there = Judge(goal, Memory(), "list", harmless=goal.shared and not disruptive)
    return [_listed(case, declares.get(case.id, Counter()), there) for case in found]


def _listed(case: Case, declares: Mapping[str, int], there: Judge) -> Listed:
    match case.check:
        case Scenario() as scenario:
            why = there.missing(scenario)
            return Listed(case.id, declares, _needs(scenario, case.apart), not why, why)
        case Watch() as watch:
            return Listed(
                case.id, declares, (f"a look at every connection, such as those of {watch.during}",), True, ""
            )
    judged = case.unchecked()
    return Listed(case.id, {}, (), False, f"{judged.verdict}: {judged.detail}")


def _needs(scenario: Scenario, apart: bool) -> tuple[str, ...]:
    marks = {
        "restart": scenario.exclusive,
        "disruptive": scenario.disruptive,
        "alone": scenario.alone,
        "apart": apart,
    }
    return (*sorted(scenario.needs), *(word for word, applies in marks.items() if applies))


def declared_by(found: Sequence[Case], role: Role = Role.SERVER) -> dict[str, Counter[str]]:
    """Give by test the kinds of entities it declares and how many, seen on what stands for the target."""
    kept = Memory()
    judge = Judge(stand_in(role), kept, "list", lively=False)
    late = []
    for case in found:
        if isinstance(case.check, Scenario):
            if case.check.exclusive:
                late.append((case.rule, case.check))
            else:
                judge.judge(case.rule, case.check)
    judge.exclusive(late)
    counts: dict[str, Counter[str]] = {}
    for line in kept.lines:
        if isinstance(line.event, Declared) and line.test is not None:
            counts.setdefault(line.test, Counter())[line.event.kind] += 1
    seen = sighted(kept.lines)
    for case in found:
        if isinstance(case.check, Watch):
            had = occasions(seen.get(case.check.rule, ()))
            counts[case.id] = Counter() if had else _declared_for(case.check, kept, judge)
    return counts


def _declared_for(watch: Watch, kept: Memory, judge: Judge) -> Counter[str]:
    """Give what is declared only to give a passive rule its occasion."""
    before = len(kept.lines)
    give_occasion(watch, judge, {})
    events: Iterable[Any] = [line.event for line in kept.lines[before:]]
    del kept.lines[before:]
    return Counter(event.kind for event in events if isinstance(event, Declared))


def list_suite(options: Options, console: Console) -> int:
    """Print the listing. Raises SelectorError or TargetError."""
    goal = target(options.target, options.security)
    rules = select(catalogue().rules, options.selectors, catalogue().aliases)
    found = cases(rules, checks(), goal.role, options.shuffle, apart_of(goal), goal.single)
    tell_selected(options.selectors)
    entries = listing(found, goal, options.disruptive)
    for entry in entries:
        _show(entry, console)
    played = [each for each in entries if each.runs]
    kinds = sum((Counter(each.declares) for each in played), Counter[str]())
    for told in (
        f"\n{len(played)} of {len(entries)} tests would be judged on {goal.name}",
        f"they would declare {_counted(kinds) or 'nothing'} and remove them again",
        "nothing was connected to: seen on the reference peer in memory",
    ):
        console.print(Text(told), soft_wrap=True)
    return int(Exit.MET)


def _show(entry: Listed, console: Console) -> None:
    facts = {
        "declares": _counted(entry.declares),
        "needs": ", ".join(entry.needs),
        "not judged": entry.why,
    }
    console.print(Text(entry.test, style="" if entry.runs else "dim"), soft_wrap=True)
    for what, told in facts.items():
        if told:
            console.print(Text(f"    {what}: {told}", style="dim"), soft_wrap=True)


def _counted(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in sorted(kinds.items()))
