"""A comparison of two clients or brokers as a person reads it on a terminal, and as a program reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from conformance.render.rows import Cell as Shown
from conformance.render.rows import show_rows
from reports.compare.markup import code, html_table, shown
from reports.interop.comparison import CHANGES, Cell, Change, Comparison, Kind

SCHEMA = 1
"""Version of the JSON; raised when a key changes its meaning or goes."""
ONE_SIDED = (Kind.NEW, Kind.GONE)
ALONE = "by itself"
"""Stands for the client where a broker is told without one."""


def show(comparison: Comparison, console: Console) -> None:
    """Print the answer and the counts, then each change as one line.

    Cells that only one side has are counted: which they are stands in the JSON.
    """
    style = "bold red" if comparison.regressed else "bold green"
    sides = f"{comparison.pairing.old.called} → {comparison.pairing.new.called}"
    console.print(shown(sides, "bold"), soft_wrap=True)
    console.print(Text(comparison.sentence, style=style), soft_wrap=True)
    for caution in comparison.cautions:
        console.print(shown(f"note: {caution}", "yellow"), soft_wrap=True)
    show_rows(_counts(comparison), console)
    if changes := [each for each in comparison.changes if each.kind not in ONE_SIDED]:
        console.print()
        show_rows(map(_row, changes), console, ("case", "change", "at", "old", "new", "detail"))


def _counts(comparison: Comparison) -> Iterator[list[Shown]]:
    for kind in CHANGES:
        if found := comparison.of(kind):
            yield [Text(str(kind), style=kind.style), str(len(found)), kind.meaning]


def _row(change: Change) -> list[Shown]:
    kind = Text(str(change.kind), style=change.kind.style)
    at = f"{change.protocol} {change.other or ALONE}"
    return [change.case, kind, at, told(change.old), told(change.new), _detail(change)]


def told(cell: Cell | None) -> str:
    """Say in short what a cell came to."""
    if cell is None:
        return "–"
    seen = f" (seen: {', '.join(cell.seen)})" if len(cell.seen) > 1 else ""
    return cell.told + seen


def _detail(change: Change) -> str:
    return next((each.detail[:120] for each in (change.new, change.old) if each and each.detail), "")


def as_json(comparison: Comparison) -> str:
    """Give the comparison as JSON in ASCII: `old`, `new`, `counts` by kind, `same`, `cautions`, `changes`."""
    whole = {
        "schema": SCHEMA,
        "old": asdict(comparison.pairing.old),
        "new": asdict(comparison.pairing.new),
        "same": comparison.same,
        "cautions": list(comparison.cautions),
        "counts": {kind: len(comparison.of(kind)) for kind in CHANGES},
        "changes": [asdict(change) for change in comparison.changes],
    }
    return json.dumps(whole, indent=1) + "\n"


def as_markdown(comparison: Comparison) -> str:
    """Give the comparison in Markdown, for a merge request."""
    pairing = comparison.pairing
    sides = f"{code(pairing.old.called)} → {code(pairing.new.called)}"
    blocks = [f"## Clients and brokers, compared\n\n{sides}: **{comparison.sentence}**"]
    blocks += [code(each) for each in comparison.cautions]
    for kind in CHANGES:
        if found := comparison.of(kind):
            rows = [
                (
                    code(each.case),
                    code(f"{each.protocol} {each.other or ALONE}"),
                    told(each.old),
                    told(each.new),
                )
                for each in found
            ]
            blocks.append(f"### {kind} ({len(found)})\n\n{kind.meaning}")
            blocks.append(html_table(("case", "at", "old", "new"), rows))
    return "\n\n".join(blocks) + "\n"
