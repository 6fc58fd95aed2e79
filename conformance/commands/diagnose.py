"""`amqp-conformance diagnose`: the findings of a run as the few faults that explain them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conformance.causes.diagnosis import Diagnosis
from conformance.causes.dictionary import Sign
from conformance.causes.telling import count, diagnosed, group, in_order
from conformance.evidence.explanation import explain
from conformance.evidence.folder import read_run
from conformance.evidence.kinds import EvidenceError, Line
from conformance.evidence.printable import printable
from conformance.evidence.results import RuleResult, rule_results
from conformance.evidence.stream import read
from conformance.gate.gate import Exit
from spec.catalogue import catalogue
from spec.rules import Role

SHOWN = 15
"""Causes that are told, unless all are asked for: as many as one looks at. Where they are fewer, what stands
alone is told behind them."""


def diagnose_run(run: Path, every: bool, form: str, console: Console) -> int:
    """Print what causes the findings of a run, each with the rules that follow from it; 0 whatever they are.

    Raises EvidenceError for a run of a client: the dictionary knows servers.
    """
    recorded = read_run(run)
    if recorded.role is not Role.SERVER:
        raise EvidenceError(f"{run} is of a client, and the fault dictionary knows servers")
    lines = read(run)
    results = {each.rule: each for each in rule_results(lines)}
    known = {rule.id for rule in catalogue().rules}
    found = {rule: Sign(each.verdict, each.signature) for rule, each in results.items() if rule in known}
    told = diagnosed(found)
    if form == "json":
        console.print_json(json.dumps(as_data(told, results)))
    else:
        _show(told, results, lines, every, console)
    return int(Exit.MET)


def as_data(told: Diagnosis, results: Mapping[str, RuleResult]) -> dict[str, object]:
    """Give a diagnosis as plain values: causes, the likeliest first, and what stands alone."""

    def of(rule: str) -> dict[str, str]:
        return {"rule": rule, "verdict": str(results[rule].verdict), "finding": results[rule].finding}

    return {
        "causes": [
            {
                "document": each.fault.document,
                "fault": each.fault.says,
                "breaks": each.fault.rule,
                "certainty": round(each.certainty, 3),
                "rules": [of(rule) for rule in each.rules],
                "or": [{"fault": rival.says, "breaks": rival.rule} for rival in each.rivals],
            }
            for each in told.causes
        ],
        "alike": [
            {"came": each.came, "due": each.due, "rules": [of(rule) for rule in each.rules]}
            for each in told.alike
        ],
        "alone": [of(rule) for rule in told.alone],
    }


def _show(
    told: Diagnosis, results: Mapping[str, RuleResult], lines: Sequence[Line], every: bool, console: Console
) -> None:
    order = in_order(told)
    shown = order if every else order[:SHOWN]
    for number, told_of in enumerate(map(group, shown), 1):
        console.print(Text(printable(f"{number}. {told_of.says}"), style="bold"), soft_wrap=True)
        for told_line in _under(told_of.rules, results, lines, every):
            console.print(Text(printable(f"   {told_line}")), soft_wrap=True)
    console.print(Text(f"\n{closing(told, len(shown), every)}"), soft_wrap=True)


def closing(told: Diagnosis, shown: int, every: bool) -> str:
    """Say how many findings there are, and what of them is not told above."""
    order = in_order(told)
    above, below = (
        [len(each.rules) for each in some if not isinstance(each, str)]
        for some in (order[:shown], order[shown:])
    )
    red = sum(above) + sum(below) + len(told.alone)
    parts = [f"{red} findings: {count(len(above), 'cause')} with {count(sum(above), 'rule')}"]
    if below:
        parts.append(f"{count(len(below), 'cause')} more with {count(sum(below), 'rule')}")
    parts.append(f"{len(told.alone)} alone")
    return ", ".join(parts) + ("" if every or len(order) <= shown else " (--all names all)")


def _under(
    rules: Sequence[str], results: Mapping[str, RuleResult], lines: Sequence[Line], every: bool
) -> list[str]:
    """Give the rule that is closest with the frame that shows it, and the others where they are asked for."""
    closest, *others = (results[rule] for rule in rules)
    shown = explain(closest.deciding, catalogue()[closest.rule], lines).frames
    deciding = [f"   {frame.says[:160]}" for frame in shown if frame.deciding][:1]
    return [_finding(closest), *deciding, *(_finding(each) for each in others if every)]


def _finding(result: RuleResult) -> str:
    return f"{result.verdict} {result.rule}: {result.finding}"[:200]
