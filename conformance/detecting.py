"""`amqp-conformance detect`: the table of rules and the deviations that prove their checks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from conformance.detection import Bench, Build, Detected, Fate, deviations, in_memory, missing_deviations
from conformance.gate import Exit
from conformance.printable import printable
from harness.embedded import ServedTarget
from spec.catalogue import catalogue
from spec.rules import Rule
from spec.selection import select

WAITING = 16
"""Processes that judge at once where latency is what takes the time."""
STYLES = {
    Fate.KILLED: "green",
    Fate.ELSEWHERE: "bold red",
    Fate.ERROR: "bold magenta",
    Fate.SURVIVED: "bold red",
}


def detect_rules(selectors: tuple[str, ...], latency: float | None, console: Console) -> int:
    """Judge every deviation of the selected rules and print what became of it; 0 when all are killed.

    With `latency` (seconds each way) the deviating peers are served over TCP, and only the deviation's
    own rule is judged: the other rules cannot see another peer there than in memory.
    """
    chosen = select(catalogue().rules, selectors, catalogue().aliases)
    build: Build = in_memory if latency is None else lambda change: ServedTarget(change, latency=latency)
    found = list(_with_progress(chosen, build, latency is None, console))
    console.print(detection_table(found))
    for each in found:
        if each.touched:
            console.print(
                Text(
                    f"{each.rule.id}: a peer that {each.deviation.says} also turns {', '.join(each.touched)}"
                ),
                style="dim",
            )
    bare = missing_deviations(chosen)
    for identity in bare:
        console.print(f"{identity} has a check and no deviation that proves it", style="bold red")
    for each in found:
        for wide in each.too_wide:
            sentence = f"{wide} is too wide: it changed on a peer that {each.deviation.says}"
            console.print(sentence, style="bold red")
    bad = [each for each in found if each.fate is not Fate.KILLED]
    counts = ", ".join(f"{sum(each.fate is fate for each in found)} {fate}" for fate in Fate)
    console.print(f"\n{len(found)} deviations of {len({each.rule.id for each in found})} rules: {counts}")
    if not found:
        return int(Exit.NOTHING)
    return int(Exit.NOT_MET if bad or bare or any(each.too_wide for each in found) else Exit.MET)


def _with_progress(rules: Sequence[Rule], build: Build, others: bool, console: Console) -> Iterator[Detected]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bench = Bench(build)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        everybody = catalogue().rules
        task = bar.add_task("clean peers", total=len(everybody))
        for _ in bench.prepare(everybody):
            bar.advance(task)
        broken = deviations(rules)
        task = bar.add_task("deviations", total=len(broken))
        # Over TCP most of the time nobody computes.
        processes = (os.cpu_count() or 1) if others else WAITING
        for found in bench.detect_all(broken, others, processes):
            yield found
            bar.advance(task)


def detection_table(found: Sequence[Detected]) -> Table:
    """One row for each deviation: its rule, what the peer does wrong, its fate and the verdict it got."""
    table = Table(box=None, pad_edge=False)
    table.add_column("rule", no_wrap=True)
    for column in ("a peer that", "fate", "verdict", "also turns"):
        table.add_column(column, overflow="fold")
    for each in found:
        table.add_row(
            each.rule.id,
            Text(each.deviation.says),
            Text(str(each.fate), style=STYLES[each.fate]),
            Text(printable(f"{each.seen.verdict} {each.seen.signature}")[:100]),
            str(len(each.touched)),
        )
    return table
