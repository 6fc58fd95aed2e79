"""`amqp-conformance detect`: the table of rules and the deviations that prove their checks."""

import json
import os
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from conformance.commands.clicked import tell_selected
from conformance.evidence.octets import readable
from conformance.evidence.printable import printable
from conformance.gate.gate import Exit
from conformance.proof.detection import Bench, Build, Detected, Fate, deviations, missing_deviations
from harness.targets.embedded import ServedTarget
from harness.targets.named import stand_in
from spec.catalogue import catalogue
from spec.rules import Role, Rule
from spec.selection import select

FEW = 50
"""Deviations up to which it is quicker to look only at those other rules that are asked of each."""
WAITING = 16
"""Processes that judge at once where latency is what takes the time."""
STYLES = {
    Fate.KILLED: "green",
    Fate.ELSEWHERE: "bold red",
    Fate.ERROR: "bold magenta",
    Fate.SURVIVED: "bold red",
}


def detect_rules(
    selectors: tuple[str, ...],
    latency: float | None,
    console: Console,
    output: Path | None = None,
    role: Role = Role.SERVER,
) -> int:
    """Judge every deviation of the selected rules and print what became of it; 0 when all are killed.

    With `latency` (seconds each way) the deviating peers are served over TCP, and only the deviation's
    own rule is judged: the other rules cannot see another peer there than in memory. `output` is a file
    for what became of each deviation, for the site of the reports. In the `role` of clients it is our own
    client that deviates.
    """
    chosen = select(catalogue().rules, selectors, catalogue().aliases)
    tell_selected(selectors)
    in_memory = partial(stand_in, role)
    build: Build = in_memory if latency is None else lambda change, _: ServedTarget(change, latency=latency)
    found = list(_with_progress(chosen, Bench(build, role), latency is None, console))
    if output is not None:
        output.write_text(detection_json(found), encoding="ascii")
    _show(found, console)
    bare = missing_deviations(chosen, role)
    for identity in bare:
        console.print(
            f"{identity} has a check and no deviation that proves it", style="bold red", soft_wrap=True
        )
    for each in found:
        for wide in each.too_wide:
            sentence = f"{wide} is too wide: it changed on a peer that {each.deviation.says}"
            console.print(sentence, style="bold red", soft_wrap=True)
    bad = [each for each in found if each.fate is not Fate.KILLED]
    counts = ", ".join(f"{sum(each.fate is fate for each in found)} {fate}" for fate in Fate)
    rules = len({each.rule.id for each in found})
    console.print(f"\n{_counted(len(found), 'deviation')} of {_counted(rules, 'rule')}: {counts}")
    if not found:
        return int(Exit.NOTHING)
    return int(Exit.NOT_MET if bad or bare or any(each.too_wide for each in found) else Exit.MET)


def _with_progress(rules: Sequence[Rule], bench: Bench, others: bool, console: Console) -> Iterator[Detected]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        broken = deviations(rules, bench.role)
        needed = rules if len(broken) <= FEW else catalogue().rules
        task = bar.add_task("clean peers", total=len(needed))
        for _ in bench.prepare(needed):
            bar.advance(task)
        task = bar.add_task("deviations", total=len(broken))
        # Over TCP most of the time nobody computes.
        processes = (os.cpu_count() or 1) if others else WAITING
        for found in bench.detect_all(broken, others, processes):
            yield found
            bar.advance(task)


def detection_json(found: Sequence[Detected]) -> str:
    """Say what became of each deviation, as a list of objects."""
    told = [
        {
            "rule": each.rule.id,
            "deviation": each.deviation.says,
            "role": each.deviation.role,
            "fate": each.fate,
            "killed": each.fate is Fate.KILLED,
            "verdict": each.seen.verdict,
        }
        for each in found
    ]
    return json.dumps(told, indent=1) + "\n"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _show(found: Sequence[Detected], console: Console) -> None:
    """Print what became of each deviation: a table on a terminal, elsewhere lines that nothing wraps."""
    if console.is_terminal:
        console.print(detection_table(found))
        return
    for rule, members in _by_rule(found):
        console.print(Text(f"\n{rule}"), soft_wrap=True)
        for each in members:
            console.print(Text("  ".join((str(each.fate), each.deviation.says, _came(each)))), soft_wrap=True)


def _by_rule(found: Sequence[Detected]) -> Iterator[tuple[str, Iterator[Detected]]]:
    yield from groupby(found, key=lambda each: each.rule.id)


def _came(each: Detected) -> str:
    """Say which verdict a deviating peer got, and who noticed instead."""
    others = f" (seen by {', '.join(each.elsewhere)})" if each.elsewhere else ""
    return printable(readable(f"{each.seen.verdict} {each.seen.signature}"))[:120] + others


def detection_table(found: Sequence[Detected]) -> Group:
    """Rule by rule: what the peer does wrong, what became of it, its verdict, and who saw what was missed."""
    parts: list[RenderableType] = []
    for rule, members in _by_rule(found):
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1), expand=True)
        table.add_column("fate", width=15, no_wrap=True)
        table.add_column("a peer that", ratio=2, overflow="fold")
        table.add_column("verdict", ratio=3, overflow="fold")
        for each in members:
            table.add_row(
                Text(str(each.fate), style=STYLES[each.fate]), Text(each.deviation.says), Text(_came(each))
            )
        parts += [Text(f"\n{rule}", style="bold"), table]
    return Group(*parts)
