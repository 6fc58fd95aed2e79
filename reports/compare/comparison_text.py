"""A comparison as a person reads it on a terminal, as a program reads it, and as Markdown."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from textwrap import shorten
from typing import Any

from rich.console import Console
from rich.text import Text

from conformance.render.rows import Cell, show_rows
from reports.compare.comparison import Change, Comparison, Kind
from reports.compare.markup import code, html_table, shown
from reports.model.findings import Column, Finding

SCHEMA = 1
"""Version of the JSON; raised when a key changes its meaning or goes."""
_SHORT = 160
"""Characters of a reading in a table; the JSON has it whole."""
ONE_SIDED = (Kind.ONLY_OLD, Kind.ONLY_NEW)


def show(comparison: Comparison, console: Console) -> None:
    """Print the answer and the counts, both builds, then each change as one line.

    Rules that only one side is about are counted: which they are stands in the JSON.
    """
    style = "bold red" if comparison.regressions else "bold green"
    console.print(Text(comparison.sentence, style=style), soft_wrap=True)
    show_rows(_counts(comparison), console)
    for caution in comparison.cautions:
        console.print(shown(f"note: {caution}", "yellow"), soft_wrap=True)
    console.print()
    show_rows(
        _head(comparison), console, ("", "build", "target", "run", "standing", "against, at each level")
    )
    if changes := [change for change in comparison.changes if change.kind not in ONE_SIDED]:
        console.print()
        show_rows(map(_change_row, changes), console, ("rule", "change", "level", "old", "new"))


def _head(comparison: Comparison) -> Iterator[list[Cell]]:
    for side, column in (("old", comparison.old), ("new", comparison.new)):
        build = column.build
        yield [side, build.name, build.target, column.run, str(column.standing), _scores(column)]


def _scores(column: Column) -> str:
    return ", ".join(f"{each.level} {each.against} of {each.judged}" for each in column.scores)


def _change_row(change: Change) -> list[Cell]:
    kind = Text(str(change.kind), style=change.kind.style)
    return [change.rule, kind, change.level, *(_side(change, each) for each in (change.old, change.new))]


def _side(change: Change, finding: Finding | None) -> Text:
    if finding is None:
        return Text("–", style="dim")
    row = finding.verdict.row
    return shown(f"{row.symbol} {_told(change, finding)}", row.style)


def _told(change: Change, finding: Finding) -> str:
    """Tell the verdict, what was found, what else this build gave, and the reading where that changed."""
    told = f"{finding.verdict}: {finding.signature}" if finding.signature else str(finding.verdict)
    if finding.flaky:
        told += f" (seen: {', '.join(finding.seen)})"
    if change.kind is Kind.CHANGED_READING and finding.reading:
        told += f" (reading: {shorten(finding.reading, _SHORT, placeholder=' …')})"
    return told


def _counts(comparison: Comparison) -> Iterator[list[Cell]]:
    for kind in Kind:
        if found := comparison.of(kind):
            mark = "regression: " if kind.regression else ""
            yield [Text(str(kind), style=kind.style), str(len(found)), mark + kind.meaning]


def as_json(comparison: Comparison) -> str:
    """Give the comparison as JSON in ASCII: `old`, `new`, `counts` by kind, `regressions`, `changes`."""
    text = json.dumps(
        {
            "schema": SCHEMA,
            "old": _column(comparison.old),
            "new": _column(comparison.new),
            "regressions": len(comparison.regressions),
            "same": comparison.same,
            "cautions": list(comparison.cautions),
            "counts": {kind: len(comparison.of(kind)) for kind in Kind},
            "changes": [_change(change) for change in comparison.changes],
        },
        indent=1,
    )
    return text + "\n"


def _column(column: Column) -> dict[str, Any]:
    about = {name: getattr(column, name) for name in _ABOUT}
    return {**asdict(column.build), **about, "scores": [asdict(each) for each in column.scores]}


_ABOUT = ("run", "started", "suite", "level", "profile", "runs", "partial", "standing", "sentence")


def _change(change: Change) -> dict[str, Any]:
    about = {name: getattr(change, name) for name in ("rule", "kind", "regression", "flaky", "level")}
    return {**about, "old": _finding(change.old), "new": _finding(change.new)}


def _finding(finding: Finding | None) -> dict[str, Any] | None:
    if finding is None:
        return None
    said = {name: getattr(finding, name) for name in _SAID}
    return {"verdict": finding.verdict, "severity": finding.verdict.severity, **said}


_SAID = ("signature", "reading", "detail", "seen", "run", "folder")


def as_markdown(comparison: Comparison) -> str:
    """Give the comparison in Markdown, for a merge request."""
    blocks = [f"## AMQP conformance, compared\n\n**{comparison.sentence}**", _head_markdown(comparison)]
    if comparison.cautions:
        blocks.append(
            "\n".join(["<ul>", *(f"<li>{code(each)}</li>" for each in comparison.cautions), "</ul>"])
        )
    for kind in Kind:
        if found := comparison.of(kind):
            mark = ", a regression" if kind.regression else ""
            rows = [
                (code(change.rule), code(change.level), _cell(change, change.old), _cell(change, change.new))
                for change in found
            ]
            blocks.append(f"### {kind} ({len(found)})\n\n{kind.meaning}{mark}")
            blocks.append(html_table(("rule", "level", "old", "new"), rows))
    return "\n\n".join(blocks) + "\n"


def _head_markdown(comparison: Comparison) -> str:
    rows = []
    for side, column in (("old", comparison.old), ("new", comparison.new)):
        facts = (column.build.name, column.build.target, column.run, _scores(column))
        rows.append((side, str(column.standing), *map(code, facts)))
    return html_table(("", "standing", "build", "target", "run", "against, at each level"), rows)


def _cell(change: Change, finding: Finding | None) -> str:
    return "–" if finding is None else f"{finding.verdict.row.symbol} {code(_told(change, finding))}"
