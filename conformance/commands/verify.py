"""`run --repeat N`: the same run again and again, to show that its verdicts do not depend on chance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conformance.commands.clicked import tell_selected
from conformance.commands.run import checked, place_for_runs, play_suite
from conformance.engine.closing import Closed
from conformance.engine.options import Options
from conformance.evidence.printable import printable
from conformance.evidence.results import RuleResult
from conformance.gate.baseline import Flaky
from conformance.gate.baseline_file import load
from conformance.gate.gate import Exit, gravest

FIRST_ORDER = 1
"""Seed of the first run's order where none is given; the others count on from it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A rule that did not come to the same in all runs: in words, one finding for each run."""

    rule: str
    findings: tuple[str, ...]


def verify_suite(options: Options, times: int, console: Console) -> int:
    """Judge a target `times` times in other orders; the status of the gate, 1 when verdicts differ.

    Each run has a folder of its own under the output folder. A target that is ours to start is started
    afresh for each; one at a URL is taken as it is. A run that is cut short ends the repetition. Raises
    TargetError for an output folder that is not empty, and what `play_suite` raises.
    """
    place = place_for_runs(options.output)
    first = FIRST_ORDER if options.shuffle is None else options.shuffle
    shared = checked(options).shared
    tell_selected(options.selectors)
    runs: list[Closed] = []
    for number in range(times):
        name, order = f"run-{number + 1}", first + number
        run = play_suite(replace(options, output=str(place / name), shuffle=order))
        runs.append(run)
        console.print(Text(f"{name} in order {order}: {printable(run.gate.sentence)}"))
        if not run.ending.complete:
            break
    flaky = [each for file in options.baseline for each in load(Path(file)).flaky]
    if shared:
        console.print(Text("the target was not restarted in between: nothing can be done to one at a URL"))
    differing = _tell(runs, flaky, console)
    console.print(f"\nruns: {place}", highlight=False, soft_wrap=True)
    return int(gravest([*(run.gate.exit_status for run in runs), *([Exit.NOT_MET] if differing else [])]))


def _tell(runs: Sequence[Closed], flaky: Sequence[Flaky], console: Console) -> bool:
    """Print how the runs agree; say whether they differ in a rule that is not known to be flaky."""
    results = [run.report.results for run in runs]
    found = differences(results)
    known = {each.rule for each in found if _is_known(each.rule, runs, flaky)}
    rules = {result.rule for each in results for result in each}
    agree = f"{len(rules) - len(found)} of {len(rules)} rules came to the same in {len(runs)} runs"
    console.print(Text(agree, style="bold red" if len(found) > len(known) else "bold green"), soft_wrap=True)
    for each in found:
        apart = " (flaky, as the baseline says)" if each.rule in known else ""
        told = [f"{run.plan.folder.name} {says}" for run, says in zip(runs, each.findings, strict=True)]
        console.print(Text(printable(f"{each.rule} differs{apart}: {'; '.join(told)}")), soft_wrap=True)
    return len(found) > len(known)


def differences(runs: Sequence[Sequence[RuleResult]]) -> list[Difference]:
    """Give the rules on which `runs` differ, in order of first judgement.

    Runs agree on a rule when each of its tests came to the same verdict, and where that blocks to the same
    finding: a baseline could not name one that changes.
    """
    by_rule = [{result.rule: result for result in run} for run in runs]
    rules = dict.fromkeys(result.rule for run in runs for result in run)
    return [
        Difference(rule, tuple(_words(each.get(rule)) for each in by_rule))
        for rule in rules
        if len({_essence(each.get(rule)) for each in by_rule}) > 1
    ]


def _essence(result: RuleResult | None) -> frozenset[tuple[str, str, str]]:
    if result is None:
        return frozenset()
    return frozenset(
        (each.test, str(each.verdict), each.signature if each.verdict.blocks else "") for each in result.tests
    )


def _words(result: RuleResult | None) -> str:
    if result is None:
        return "no verdict"
    several = len(result.tests) > 1
    told = []
    for each in sorted(result.tests, key=lambda test: test.test):
        name = each.test.removeprefix(result.rule) if several else ""
        finding = each.signature or (each.detail if each.verdict.blocks else "")
        told.append(" ".join(filter(None, (name, f"{each.verdict}: {finding}" if finding else each.verdict))))
    return "; ".join(told)


def _is_known(rule: str, runs: Sequence[Closed], flaky: Sequence[Flaky]) -> bool:
    """Say whether a flaky entry of the baseline covers what the rule came to in every run."""
    for run in runs:
        results: Mapping[str, RuleResult] = {each.rule: each for each in run.report.results}
        banner = run.plan.scope.banner
        covered = banner is not None and any(
            each.concerns(banner.product, banner.version, run.plan.role)
            and rule in results
            and each.covers(results[rule])
            for each in flaky
        )
        if not covered:
            return False
    return True
