"""`amqp-conformance diagnose`: the findings of a run as the few faults that explain them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conformance.causes.diagnosis import Cause, Diagnosis, Diagnostics
from conformance.causes.dictionary import Sign, dictionary
from conformance.evidence.explanation import explain
from conformance.evidence.folder import read_run
from conformance.evidence.kinds import EvidenceError, Line
from conformance.evidence.printable import printable
from conformance.evidence.results import RuleResult, rule_results
from conformance.evidence.stream import read
from conformance.gate.gate import Exit
from spec.catalogue import catalogue
from spec.rules import Role

LOST = {"dropped": "were not done", "has no effect": "had no effect"}
"""How what was done to a row of the tables is told."""
FOLDED = 3
"""Rules of a cause that are named beside the closest one, unless all are asked for."""


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
    told = Diagnostics(dictionary()).diagnose(found)
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
        "alone": [of(rule) for rule in told.alone],
    }


def _show(
    told: Diagnosis, results: Mapping[str, RuleResult], lines: Sequence[Line], every: bool, console: Console
) -> None:
    for number, cause in enumerate(told.causes, 1):
        console.print(Text(f"{number}. {_headline(cause)}", style="bold"), soft_wrap=True)
        for told_line in _under(cause, results, lines, every):
            console.print(Text(printable(f"   {told_line}")), soft_wrap=True)
    if told.alone:
        console.print(Text("\nexplained by no known fault", style="bold"))
    for rule in told.alone:
        console.print(Text(printable(f"   {_finding(results[rule])}")), soft_wrap=True)
    red = sum(len(each.rules) for each in told.causes) + len(told.alone)
    causes = "1 cause" if len(told.causes) == 1 else f"{len(told.causes)} causes"
    console.print(Text(f"\n{red} findings: {causes}, {len(told.alone)} alone"))


def _headline(cause: Cause) -> str:
    rules = "1 rule" if len(cause.rules) == 1 else f"{len(cause.rules)} rules"
    does = f"It {cause.fault.says}"
    row, _, lost = cause.fault.says.rpartition(" / ")
    if cause.fault.rule:
        does += f" (as what breaks {cause.fault.rule})"
    elif row:
        does = f"It is as if “{row}” {LOST.get(lost, lost)}"
    return printable(f"{does}: {rules}, certain to {cause.certainty:.0%}")


def _under(cause: Cause, results: Mapping[str, RuleResult], lines: Sequence[Line], every: bool) -> list[str]:
    closest, *others = (results[rule] for rule in cause.rules)
    told = [_finding(closest)]
    shown = explain(closest.deciding, catalogue()[closest.rule], lines).frames
    told += [f"   {frame.says}" for frame in shown if frame.deciding][:1]
    named = others if every else others[:FOLDED]
    told += [_finding(each) for each in named]
    if len(named) < len(others):
        told.append(f"… and {len(others) - len(named)} more rules that follow (--all names them)")
    return told


def _finding(result: RuleResult) -> str:
    return f"{result.verdict} {result.rule}: {result.finding}"[:240]
