"""What several targets came to, side by side: counts and standing of each, then the rules worth a look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.evidence.printable import printable
from conformance.evidence.results import RuleResult
from conformance.evidence.verdicts import TABLE
from conformance.gate.gate import Exit
from conformance.render.report import Report
from conformance.several.sides import Side
from harness.wire.journal import Noted

STATUS = {
    Exit.MET: ("met", "bold green"),
    Exit.NOT_MET: ("not met", "bold red"),
    Exit.NOTHING: ("nothing judged", "bold red"),
    Exit.UNREACHABLE: ("could not be judged", "bold red"),
    Exit.INTERRUPTED: ("interrupted", "bold red"),
}
"""What the exit status of one run says of its gate."""


def side_by_side(sides: Sequence[Side], console: Console) -> None:
    """Print the table of targets, and of the rules whose verdicts differ or of which one blocks a target."""
    console.print()
    console.print(_targets(sides))
    console.print()
    for number, side in enumerate(sides, 1):
        says = "; ".join(filter(None, (side.why, side.report.gate.sentence if side.report else "")))
        console.print(Text(f"{number}  {printable(side.name)}: {printable(says)}"), soft_wrap=True)
        below = [f"run: {side.folder}", *(_notes(side.report) if side.report else [])]
        for line in below:
            console.print(Text(f"   {printable(line)}", style="dim"), soft_wrap=True)
    reports = [side.report for side in sides]
    chosen = notable([each for each in reports if each is not None])
    if chosen:
        console.print(Text("\nrules whose verdicts differ, or of which one blocks a target", style="bold"))
        console.print(_rules(chosen, reports, console))
    console.print(Text(f"\n{len(chosen)} of {len(_about(reports))} rules differ or block a target"))


def notable(reports: Sequence[Report]) -> list[str]:
    """Give the rules, in order, that one run is against or on which those that are about them differ."""
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


def _targets(sides: Sequence[Side]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for number in range(1, len(sides) + 1):
        table.add_column(str(number), overflow="fold")
    table.add_row("target", *(Text(printable(side.name)) for side in sides))
    table.add_row("product", *(Text(printable(_product(side.report))) for side in sides))
    table.add_row("standing", *(str(side.report.standing) if side.report else "" for side in sides))
    words = [STATUS[side.status] for side in sides]
    table.add_row("gate", *(Text(word, style=style) for word, style in words))
    for row in TABLE:
        counts = [side.report.count(row.verdict) if side.report else 0 for side in sides]
        if any(counts):
            table.add_row(Text(str(row.verdict), style=row.style), *map(str, counts))
    return table


def _product(report: Report | None) -> str:
    return f"{report.started.product} {report.started.version}".strip() if report else ""


def _notes(report: Report) -> list[str]:
    """Give what a run has noted that is about no test of it, such as a baseline that was not applied."""
    return [line.event.text for line in report.lines if isinstance(line.event, Noted) and line.test is None]


def _rules(chosen: Sequence[str], reports: Sequence[Report | None], console: Console) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("rule", overflow="fold")
    table.add_column("level")
    found: list[Mapping[str, RuleResult]] = []
    for number, report in enumerate(reports, 1):
        table.add_column(str(number), no_wrap=True)
        found.append({result.rule: result for result in report.results} if report else {})
    levels = {rule: each.level for report in reports if report for rule, each in report.rules.items()}
    symbols = console.encoding.lower().startswith("utf")
    for rule in chosen:
        cells = [_cell(each.get(rule), symbols) for each in found]
        table.add_row(Text(printable(rule)), str(levels.get(rule, "")), *cells)
    return table


def _cell(result: RuleResult | None, symbols: bool) -> Text:
    if result is None:
        return Text("–" if symbols else "-", style="dim")
    row = result.verdict.row
    return Text(f"{row.symbol} {row.verdict}" if symbols else str(row.verdict), style=row.style)
