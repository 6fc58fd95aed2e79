"""What a run comes to, on one screen: what stands against the target, how it stands, where more is told.

On a terminal equal findings are one line, and no more are listed than there is room for; elsewhere each is a
line of its own, which nothing wraps, pads or cuts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.evidence.printable import printable
from conformance.evidence.results import RuleResult, idle
from conformance.evidence.verdicts import TABLE
from conformance.gate.gate import Exit, Reason
from conformance.render.report import Report
from conformance.render.standing import DEATHS, Row, cuts, deaths, more, standing, unsaid
from spec.rules import Level

LEAST = 5
"""Lines of findings that are shown on any terminal, however low."""
AROUND = 3
"""Lines of a terminal that are not ours: an empty one, what was typed, and what is typed next."""


def brief(told: Report, console: Console, causes: Sequence[str] = ()) -> None:
    """Print what matters of a run; `causes` are sentences about what its findings follow from."""
    rows = [*standing(told.started.target, told, told.gate.exit_status), *_causes(causes), *_told(told)]
    findings = _findings(told)
    if console.is_terminal:
        below = _table(rows)
        room = max(console.height - len(console.render_lines(below)) - AROUND, LEAST)
        _show(_grouped(findings), room, console)
        console.print()
        console.print(below)
        return
    for each in findings:
        console.print(each.line(console, [each.rule]), soft_wrap=True)
    for row in rows:
        console.print(Text(f"{row.label}: {printable(row.says)}"), soft_wrap=True)


def _causes(sentences: Sequence[str]) -> list[Row]:
    return [Row("causes", each) for each in sentences]


class _Finding:
    """One rule that stands against the target, or about which a baseline is wrong."""

    def __init__(self, told: Report, result: RuleResult | None, new: Reason | None) -> None:
        self.rule = result.rule if result else (new.rule or "" if new else "")
        self.verdict = result.verdict if result else None
        self.new = new is not None
        rule = told.rules.get(self.rule)
        self.level = str(rule.level) if rule else ""
        blocks = result is not None and result.verdict.blocks
        self.says = told.finding(result) if result and blocks else (new.sentence if new else "")

    @property
    def rank(self) -> tuple[bool, int, int]:
        """What is new comes first, then what is worst."""
        levels, verdicts = [str(level) for level in Level], [row.verdict for row in TABLE]
        level = levels.index(self.level) if self.level else len(levels)
        return not self.new, verdicts.index(self.verdict) if self.verdict else -1, level

    def line(self, console: Console, rules: list[str]) -> Text:
        """Say it of all `rules` that came to the same."""
        row = self.verdict.row if self.verdict else None
        symbol = f"{row.symbol} " if row and console.encoding.lower().startswith("utf") else ""
        others = f" and {len(rules) - 1} more" if len(rules) > 1 else ""
        cells = [
            Text("new", style="bold red") if self.new else Text(),
            Text(f"{symbol}{row.verdict}", style=row.style) if row else Text(),
            Text(f"{printable(rules[0])}{others}"),
            Text(self.level),
            Text(printable(self.says), style="dim"),
        ]
        line = Text("  ").join(cell for cell in cells if cell)
        if console.is_terminal:
            line.truncate(max(console.width, line.cell_len - cells[-1].cell_len), overflow="ellipsis")
        return line


def _findings(told: Report) -> list[_Finding]:
    """Give what stands against the target, the new and the worst first; nothing where nothing was judged."""
    if idle(told.results):
        return []
    new = {reason.rule: reason for reason in told.gate.unexpected if reason.rule}
    known = {result.rule for result in told.results}
    found = [
        _Finding(told, each, new.get(each.rule))
        for each in told.results
        if each.verdict.blocks or each.rule in new
    ]
    found += [_Finding(told, None, reason) for rule, reason in new.items() if rule not in known]
    return sorted(found, key=lambda each: each.rank)


def _grouped(findings: Iterable[_Finding]) -> list[tuple[_Finding, list[str]]]:
    groups: dict[tuple[object, ...], tuple[_Finding, list[str]]] = {}
    for each in findings:
        groups.setdefault((each.new, each.verdict, each.level, each.says), (each, []))[1].append(each.rule)
    return list(groups.values())


def _show(groups: list[tuple[_Finding, list[str]]], room: int, console: Console) -> None:
    shown = groups if len(groups) <= room else groups[: room - 1]
    for finding, rules in shown:
        console.print(finding.line(console, rules), soft_wrap=True)
    if left := sum(len(rules) for _, rules in groups[len(shown) :]):
        console.print(Text(f"and {left} more", style="dim"), soft_wrap=True)


def _told(told: Report) -> Iterator[Row]:
    """Give what is to be said of one run beyond the rows that compare several."""
    yield from (Row(DEATHS, each) for each in deaths(told))
    gate = told.gate
    yield from (Row("cut short", each, "bold red") for each in cuts(told) if each not in gate.sentence)
    yield Row("in words", gate.sentence, "green" if gate.exit_status is Exit.MET else "red")
    yield from (Row("document", says) for says in gate.asides())
    yield from unsaid(told)
    yield Row("run", f"{told.name} (begin with report.html)")
    yield Row("more", more(told))


def _table(rows: Iterable[Row]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    before = ""
    for row in rows:
        # What explains the run, and not the target, is one line.
        label = row.label if row.label != before else ""
        says = Text(printable(row.says), row.style)
        says.no_wrap, says.overflow = row.style == "dim", "ellipsis" if row.style == "dim" else "fold"
        table.add_row(Text(label), says)
        before = row.label
    return table
