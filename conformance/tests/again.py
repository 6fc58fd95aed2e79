"""What nobody knows of a real target, judged once more alone: beside all the others it may have been late."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

from conformance.evidence.folder import read_run
from conformance.evidence.results import rule_results
from conformance.evidence.stream import State, read, verify
from conformance.gate.gate import Exit
from conformance.gate.tests.baselines import admitted, unevidenced, unexpected
from conformance.tests.commands import command, environment

FEW = 48
"""Rules at most that are judged again: a machine that stands still twice is late for all that were judged
beside each other then, up to 24. Where there are more, it was no chance."""
Strange = Callable[[Path], Mapping[str, str]]
"""Gives what a run came to that is not known, by rule."""


def beyond(baseline: str, target: str) -> Strange:
    """Make what tells verdicts beyond a baseline, and what is evidenced otherwise than is admitted."""

    def told(run: Path) -> Mapping[str, str]:
        found, known = unevidenced(run), admitted(target)
        odd = {
            rule: f"{found.get(rule, 'evidenced')} instead of {known.get(rule, 'evidenced')}"
            for rule in found.keys() | known.keys()
            if found.get(rule) != known.get(rule)
        }
        return odd | {each.rule: str(each) for each in unexpected(run, baseline)}

    return told


def ends_well(ended: CompletedProcess[str], run: Path, strange: Strange) -> None:
    """Make sure that a gate is met, or that it is not for what is strange, which is judged again later."""
    assert ended.returncode in (Exit.MET, Exit.NOT_MET), ended.stderr + ended.stdout
    assert ended.returncode == Exit.MET or strange(run), ended.stderr + ended.stdout


def still(run: Path, strange: Strange) -> Mapping[str, str]:
    """Give what is strange in a run, and is so again when these rules are judged alone."""
    found = strange(run)
    if not found:
        return found
    assert len(found) <= FEW, found
    target, again = read_run(run).target, run.with_name(f"{run.name}-again")
    done = command("run", *found, "--target", target, "--output", again, cwd=run.parent, env=environment())
    assert verify(again).state is State.OK, done.stderr + done.stdout
    assert found.keys() <= {each.rule for each in rule_results(read(again))}
    warnings.warn(f"{target} was judged again for {found}", stacklevel=2)
    return {rule: what for rule, what in strange(again).items() if rule in found}
