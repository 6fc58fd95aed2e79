"""What several targets came to, side by side: counts and standing of each, then the rules worth a look."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.evidence.printable import printable
from conformance.evidence.results import RuleResult, idle
from conformance.evidence.verdicts import TABLE
from conformance.render.report import Report
from conformance.render.rows import Cell, show_rows
from conformance.render.standing import LABELS, Row, deaths, more, standing
from conformance.several.sides import Side
from harness.wire.journal import Noted


def side_by_side(sides: Sequence[Side], console: Console) -> None:
    """Print the table of targets, and of the rules whose verdicts differ or of which one blocks a target."""
    console.print()
    _targets(sides, console)
    console.print()
    for number, side in enumerate(sides, 1):
        says = "; ".join(filter(None, (side.why, side.report.gate.sentence if side.report else "")))
        console.print(Text(f"{number}  {printable(side.name)}: {printable(says)}"), soft_wrap=True)
        for line in _below(side):
            console.print(Text(f"   {printable(line)}", style="dim"), soft_wrap=True)
    reports = [side.report for side in sides]
    chosen = notable([each for each in reports if each is not None])
    console.print(Text(f"\n{len(chosen)} of {len(_about(reports))} rules differ or block a target"))
    if chosen:
        console.print(Text("rules whose verdicts differ, or of which one blocks a target", style="bold"))
        _rules(chosen, reports, console)


def _below(side: Side) -> list[str]:
    """Give what is told of one target alone: why it died, what was noted, where its run is told."""
    if side.report is None:
        return [f"run: {side.folder}"]
    return [*deaths(side.report), *_notes(side.report), f"more: {more(side.report)}"]


def notable(reports: Sequence[Report]) -> list[str]:
    """Give the rules, in order, that one run is against or on which those that are about them differ.

    A run that judged nothing says so in one sentence: it differs in no rule.
    """
    reports = [report for report in reports if not idle(report.results)]
    verdicts: dict[str, set[str]] = {}
    for report in reports:
        for result in report.results:
            verdicts.setdefault(result.rule, set()).add(result.verdict)
    blocking = {reason.rule for report in reports for reason in report.gate.reasons}
    known = [rule for rule in _catalogue(reports) if rule in verdicts]
    strangers = sorted(verdicts.keys() - set(known))
    return [rule for rule in (*known, *strangers) if len(verdicts[rule]) > 1 or rule in blocking]


def _catalogue(reports: Sequence[Report | None]) -> list[str]:
    return list(dict.fromkeys(rule for report in reports if report is not None for rule in report.rules))


def _about(reports: Sequence[Report | None]) -> set[str]:
    """Give the rules that the runs are about; of a document that counts by itself those that were judged."""
    found: set[str] = set()
    for report in filter(None, reports):
        found |= (report.rules.keys() - report.gate.aside) | {result.rule for result in report.results}
    return found


def _targets(sides: Sequence[Side], console: Console) -> None:
    """Print the rows in which a run ends, and its verdicts counted, with a column for each target."""
    columns = [{row.label: row for row in _column(side)} for side in sides]
    labels = [label for label in LABELS if any(label in column for column in columns)]
    if not console.is_terminal:
        for column in columns:
            for label in labels:
                if label in column:
                    console.print(Text(f"{label}: {printable(column[label].says)}"), soft_wrap=True)
            console.print()
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for number in range(1, len(sides) + 1):
        table.add_column(str(number), overflow="fold")
    for label in labels:
        found = [column.get(label, Row(label, "")) for column in columns]
        table.add_row(Text(label), *(Text(printable(row.says), style=row.style) for row in found))
    console.print(table)


def _column(side: Side) -> list[Row]:
    rows = standing(side.name, side.report, side.status)
    if side.report is None:
        return rows
    counts = ((row.verdict, side.report.count(row.verdict)) for row in TABLE)
    return [*rows, *(Row(str(verdict), str(count)) for verdict, count in counts if count)]


def _notes(report: Report) -> list[str]:
    """Give what a run has noted that is about no test of it, such as a baseline that was not applied."""
    return [line.event.text for line in report.lines if isinstance(line.event, Noted) and line.test is None]


def _rules(chosen: Sequence[str], reports: Sequence[Report | None], console: Console) -> None:
    found = [{result.rule: result for result in report.results} if report else {} for report in reports]
    levels = {rule: each.level for report in reports if report for rule, each in report.rules.items()}
    symbols = console.encoding.lower().startswith("utf")
    head = ["rule", "level", *map(str, range(1, len(reports) + 1))]
    table: list[list[Cell]] = [
        [printable(rule), str(levels.get(rule, "")), *(_cell(each.get(rule), symbols) for each in found)]
        for rule in chosen
    ]
    show_rows(table, console, head)


def _cell(result: RuleResult | None, symbols: bool) -> Text:
    if result is None:
        return Text("–" if symbols else "-", style="dim")
    row = result.verdict.row
    return Text(f"{row.symbol} {row.verdict}" if symbols else str(row.verdict), style=row.style)
