"""A finished run taken up again: one rule or all findings replayed, or its leftovers removed."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.engine.closing import Closed
from conformance.engine.controller import judge_here
from conformance.engine.leftovers import remove_leftovers
from conformance.engine.options import Options
from conformance.engine.scope import met
from conformance.evidence.folder import read_run
from conformance.evidence.kinds import EvidenceError, Line
from conformance.evidence.printable import printable
from conformance.evidence.results import RuleResult, idle, rule_results
from conformance.evidence.stream import read
from conformance.gate.gate import Exit
from harness.targets.named import target
from harness.targets.target import Target, TargetError
from harness.wire.journal import Direction, Ended, Event, Octets, Opened, Unkept
from spec.catalogue import catalogue


def target_of(run_dir: Path, override: str | None) -> str:
    """Give the target a run was about, with the password of the environment; or the one given instead."""
    if override:
        return override
    recorded = read_run(run_dir).target
    parts = urlsplit(recorded)
    if not parts.hostname:
        return recorded
    password = os.environ.get("AMQP_PASSWORD")
    if password is None:
        raise TargetError(f"the password for {recorded} is not kept: give --target or set AMQP_PASSWORD")
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(
        parts._replace(netloc=f"{parts.username or 'guest'}:{quote(password, safe='')}@{place}")
    )


def replay_rule(
    run_dir: Path, identity: str, override: str | None, console: Console, reached: Options
) -> int:
    """Judge a rule again and print recorded and new exchange side by side; 0 when the verdicts agree.

    The target is `reached` as these options say.
    """
    rule = catalogue()[identity]
    recorded = read(run_dir)
    if not any(result.rule == rule.id for result in rule_results(recorded)):
        raise TargetError(f"{run_dir} has no verdict on {rule.id}")
    again = _again(run_dir, [rule.id], override, reached).report.lines
    before, now = (_verdict(lines, rule.id) for lines in (recorded, again))
    table = Table(title=rule.id, title_justify="left", show_lines=False)
    table.add_column(Text(f"recorded: {before}"), ratio=1, overflow="fold")
    table.add_column(Text(f"now: {now}"), ratio=1, overflow="fold")
    for left, right in zip_longest(_exchange(recorded, rule.id), _exchange(again, rule.id), fillvalue=""):
        table.add_row(Text(left), Text(right))
    console.print(table)
    return int(Exit.MET if before == now else Exit.NOT_MET)


def replay_findings(run_dir: Path, override: str | None, console: Console, reached: Options) -> int:
    """Judge again all that stands against the target of a run, each told in short; 0 when all came again.

    The target is `reached` as these options say, and started once for all of them.
    """
    fail_on = read_run(run_dir).fail_on
    known = {rule.id for rule in catalogue().rules}
    results = rule_results(read(run_dir))
    if idle(results):
        raise EvidenceError(f"nothing was judged in {run_dir}: nothing to replay")
    stands = [
        each
        for each in results
        if each.verdict.finding and each.verdict.fails(fail_on) and each.rule in known
    ]
    if not stands:
        console.print(
            Text(f"{run_dir} has no finding that stands against its target: nothing to replay"),
            soft_wrap=True,
        )
        return int(Exit.MET)
    closed = _again(run_dir, [each.rule for each in stands], override, reached)
    now = {each.rule: each for each in closed.report.results}
    gone = []
    for each in stands:
        before, after = _came(each), _came(now[each.rule])
        if before == after:
            told = f"came again  {each.rule}: {before}"
        else:
            gone.append(each.rule)
            told = f"differs     {each.rule}: {before}; now {after}"
        console.print(Text(told), soft_wrap=True)
    console.print(Text(f"\n{closing(len(stands), gone)}"), soft_wrap=True)
    if (status := closed.gate.exit_status) in (Exit.UNREACHABLE, Exit.INTERRUPTED):
        console.print(Text(printable(closed.gate.sentence)), soft_wrap=True)
        return int(status)
    return int(Exit.NOT_MET if gone else Exit.MET)


def closing(count: int, gone: Sequence[str]) -> str:
    """Say how many of so many findings came again, and which are `gone`."""
    findings = f"{count} finding" if count == 1 else f"{count} findings"
    if not gone:
        return "the one finding came again" if count == 1 else f"all {findings} came again"
    return f"{count - len(gone)} of {findings} came again, {len(gone)} did not: {', '.join(gone)}"


def _again(run_dir: Path, rules: Sequence[str], override: str | None, reached: Options) -> Closed:
    """Judge rules of a run again, in its profile, with nothing kept."""
    with tempfile.TemporaryDirectory() as scratch:
        chosen = replace(
            reached,
            target=target_of(run_dir, override),
            selectors=tuple(rules),
            profile=read_run(run_dir).profile,
            output=f"{scratch}/run",
        )
        return judge_here(chosen)


def _came(result: RuleResult) -> str:
    return printable(f"{result.verdict} {result.signature}".strip())


def _verdict(lines: tuple[Line, ...], rule: str) -> str:
    return _came(next(each for each in rule_results(lines) if each.rule == rule))


def _exchange(lines: tuple[Line, ...], rule: str) -> list[str]:
    told = []
    for line in lines:
        if line.test is not None and line.test.partition("[")[0] == rule:
            told += _words(line.event)
    return told


def _words(event: Event | object) -> list[str]:
    match event:
        case Opened(connection=connection):
            return [f"── {connection} opened"]
        case Octets(direction=direction, says=says):
            return [printable(f"{'→' if direction is Direction.SENT else '←'} {says}")]
        case Ended(connection=connection, by=by, how=how):
            return [f"── {connection} closed by {by} ({how})"]
    return []


def clean_up(run_dir: Path, override: str | None, reached: Options) -> int:
    """Remove what a run may have left on its target, `reached` as these options say; 1 where not all goes."""
    goal: Target = target(target_of(run_dir, override), reached.security)
    if goal.ephemeral:
        Console().print(f"{goal.name} keeps nothing after a run; there is nothing to clean", highlight=False)
        return int(Exit.MET)
    kept = read(run_dir)  # what is no run is told before anybody is asked
    if goal.unmet:
        met(goal, catalogue().rules, reached.first_answer)
    left = remove_leftovers(goal, kept, Unkept())
    for sentence in left:
        Console().print(f"not removed: {printable(sentence)}", highlight=False)
    return int(Exit.NOT_MET if left else Exit.MET)
