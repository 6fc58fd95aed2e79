"""How a target stands after a run: the few rows that one run ends with and that several are compared by."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from conformance.evidence.kinds import Interrupted, Line, TargetRestarted
from conformance.evidence.results import RuleResult, idle, spared
from conformance.evidence.verdicts import TABLE, Verdict
from conformance.gate.gate import Exit, is_apart
from conformance.render.report import Report
from spec.rules import Level, Rule

STATUS = {
    Exit.MET: ("met", "bold green"),
    Exit.NOT_MET: ("not met", "bold red"),
    Exit.NOTHING: ("nothing judged", "bold red"),
    Exit.UNREACHABLE: ("could not be judged", "bold red"),
    Exit.INTERRUPTED: ("interrupted", "bold red"),
}
"""What the exit status of one run says of its gate."""
DEATHS = "deaths"
LABELS = (
    *("target", "product", "standing", "gate", *map(str, Level), "new", DEATHS, "restarts"),
    *(str(row.verdict) for row in TABLE),
)
"""The labels of the rows in their order, then the verdicts, which are counted where several are compared."""
REASONS = 3
"""Reasons for deaths that are told of one target; the rest is counted."""
NAMED = 2
"""Rules, or groups of them, that are named with each reason; the rest is counted."""
_WHO = re.compile(r"^\S+ (?=cannot be reached|no longer serves)")


@dataclass(frozen=True, slots=True)
class Row:
    """A label and what is said under it; `style` is rich's."""

    label: str
    says: str
    style: str = ""


def standing(target: str, told: Report | None, status: Exit) -> list[Row]:
    """Give the rows of a run that ended with this status; of one that nobody can read its gate alone."""
    word, style = STATUS[status]
    named, gate = Row("target", target), Row("gate", word, style)
    if told is None:
        return [named, gate]
    started = told.started
    rows = [
        named,
        Row("product", f"{started.product} {started.version}".strip() or "it does not say"),
        Row("standing", f"{told.standing} as {started.role} at level {started.level}"),
        gate,
    ]
    if not idle(told.results):
        rows += [Row(str(level), says) for level in Level if (says := _score(told, level))]
    return [*rows, *_new(told), *_restarts(told.lines)]


def _score(told: Report, level: Level) -> str:
    """Count as the gate does: what this kind of run cannot judge is in no sum."""
    found = [each.verdict for each in told.counted if _counts(told.rules.get(each.rule), each, level, told)]
    if not found:
        return ""
    missed = found.count(Verdict.WARN)
    how = "missed" if level is Level.SHOULD else "not as preferred"
    against = f"{sum(each.blocks for each in found)} of {len(found)} against it"
    return f"{against}, {missed} {how}" if missed else against


def _counts(rule: Rule | None, result: RuleResult, level: Level, told: Report) -> bool:
    if rule is None or rule.level is not level:
        return False
    return not is_apart(rule, result, told.started.role)


def _new(told: Report) -> Iterator[Row]:
    if told.gate.unexpected:
        rules = [reason for reason in told.gate.unexpected if reason.rule]
        yield Row("new", f"{len(rules)} against the baseline", "bold red" if rules else "")
    elif any(each.startswith("--baseline") for each in told.started.arguments):
        yield Row("new", "nothing against the baseline")


def _restarts(lines: Iterable[Line]) -> Iterator[Row]:
    whys = [line.event.why for line in lines if isinstance(line.event, TargetRestarted)]
    died = sum(map(bool, whys))
    said = [f"died {times(died)} and was restarted"] if died else []
    said += [f"restarted {times(len(whys) - died)} for rules that ask for it"] if len(whys) > died else []
    if said:
        yield Row(DEATHS if died else "restarts", "; ".join(said), "bold red" if died else "")


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def deaths(told: Report) -> list[str]:
    """Say why the target died, how often, and during which rules: one sentence for each reason."""
    rules = {test.test: test.rule for result in told.results for test in result.tests}
    found: dict[str, list[str]] = {}
    for line in told.lines:
        if isinstance(line.event, TargetRestarted) and line.event.why:
            why = _WHO.sub("", line.event.why.removeprefix(f"after {line.test} "))
            found.setdefault(why, []).append(rules.get(line.test or "", line.test or "the run's own look"))
    ranked = sorted(found.items(), key=lambda each: -len(each[1]))
    said = [f"{len(of)} × {why}, during {_during(of)}" for why, of in ranked[:REASONS]]
    if left := sum(len(of) for _, of in ranked[REASONS:]):
        said.append(f"{left} × for other reasons")
    return said


def _during(rules: Iterable[str]) -> str:
    """Name the rules; those of a family together, as the selector that means them."""
    groups = Counter(map(_family, rules))
    of = {_family(rule): rule for rule in rules}
    told = [f"{group} ({count})" if count > 1 else of[group] for group, count in groups.most_common(NAMED)]
    left = groups.total() - sum(count for _, count in groups.most_common(NAMED))
    return ", ".join(told) + (f" and {left} more" if left else "")


def _family(rule: str) -> str:
    """Give the selector of a rule's family: grammar has one rule of each for every method."""
    before, _, member = rule.rpartition("/")
    if not before.endswith("/grammar"):
        return rule
    return f"{before}/*.{member.rpartition('.')[2]}"


def cuts(told: Report) -> list[str]:
    """Say why the run ended before its end."""
    ends = [line.event.reason for line in told.lines if isinstance(line.event, Interrupted)]
    return list(dict.fromkeys(ends))


def unsaid(told: Report) -> Iterator[Row]:
    """Say what the run left out, and what is to be known of it."""
    if not idle(told.results):  # who got no answer at all has left out everything
        yield from (Row("left out", f"{what}: {why}", "dim") for what, why in told.started.unspoken.items())
    yield from (Row("note", each, "dim") for each in (*told.gate.notes, spared(told.results)) if each)


def below(told: Report) -> Iterator[Row]:
    """Give what a page says below its head: scores, what is new, deaths, what is missing."""
    head = ("target", "product", "standing", "gate")
    yield from (row for row in standing("", told, told.gate.exit_status) if row.label not in head)
    yield from (Row(DEATHS, each) for each in deaths(told))
    yield from (Row("cut short", each) for each in cuts(told) if each not in told.gate.sentence)
    yield from unsaid(told)


def more(told: Report) -> str:
    """Give the command that tells all."""
    return f"amqp-conformance render {told.name} --format terminal"
