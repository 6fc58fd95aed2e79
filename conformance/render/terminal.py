"""The report on the terminal: the matrix, the totals, each finding explained, the gate in plain words.

Everything a peer said arrives here as `rich.text.Text` made of printable characters: neither markup nor
control sequences of a peer reach the terminal.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from conformance.evidence.explanation import Annotate, Explanation, Shown, explain, heading
from conformance.evidence.kinds import Line, RunStarted
from conformance.evidence.octets import readable
from conformance.evidence.printable import printable
from conformance.evidence.results import RuleResult, spared
from conformance.evidence.verdicts import TABLE, Verdict
from conformance.gate.gate import Exit, Gate
from conformance.render.report import Report
from spec.rules import Rule

WIDE = 120
"""From this many columns on a finding has a column of its own; below it stands under its rule."""
_SHORT = 160
_EXPLAINED = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.ERROR)
_UNTRIED = (Verdict.NOT_RUN, Verdict.UNTESTABLE)


def tell(told: Report, console: Console) -> None:
    """Print the whole report of a run."""
    rules = tuple(told.rules.values())
    report(told.results, rules, told.lines, told.gate, console, told.annotate, told.name)


def report(
    results: Sequence[RuleResult],
    rules: Sequence[Rule],
    lines: Sequence[Line],
    gate: Gate,
    console: Console,
    annotate: Annotate | None = None,
    run: str = "RUN",
) -> None:
    """Print the whole report of a run: matrix, totals, explanations, gate.

    Of a target that was never reached there are the totals and the reason, not the reason for each rule.

    `rules` is the catalogue, `lines` the run's stream, `annotate` names the fields of octets, `run` is the
    run's folder as a user would type it.
    """
    if gate.exit_status is Exit.UNREACHABLE and all(result.verdict in _UNTRIED for result in results):
        console.print(_totals(results, rules, console, gate.aside))
    else:
        matrix(results, rules, console, gate.aside)
    catalogue = {rule.id: rule for rule in rules}
    unexpected = {reason.rule for reason in gate.unexpected}
    for result in results:
        wanted = result.verdict in _EXPLAINED or (result.rule in unexpected and not _silent(result))
        if wanted and result.rule in catalogue:
            console.print(explanation(result, catalogue[result.rule], lines, annotate, run))
    console.print(gate_text(gate))
    for line in lines:
        if isinstance(line.event, RunStarted):
            for protocol, why in line.event.unspoken.items():
                console.print(Text(f"  {protocol} is left out: {printable(why)}", style="dim"))
    if left := spared(results):
        console.print(Text(f"  {printable(left)}"))


def matrix(
    results: Iterable[RuleResult],
    rules: Sequence[Rule],
    console: Console,
    aside: frozenset[str] = frozenset(),
) -> None:
    """Print what each judged rule came to by section, then the totals without the rules `aside`."""
    by_rule = {result.rule: result for result in results}
    sections: dict[tuple[str, str], list[Rule]] = {}
    for rule in rules:
        if rule.id in by_rule:
            sections.setdefault((rule.document, rule.section), []).append(rule)
    for (document, section), members in sections.items():
        console.print(Text(f"\n{document}  {section}", style="bold"))
        console.print(_section(members, by_rule, console))
    console.print(_totals(by_rule.values(), rules, console, aside))


def explanation(
    result: RuleResult,
    rule: Rule,
    lines: Sequence[Line],
    annotate: Annotate | None = None,
    run: str = "RUN",
) -> RenderableType:
    """Give the finding of `result`, laid out to be read by the one who mends the target."""
    explained = explain(result.deciding, rule, lines, annotate, run, len(result.tests) > 1)
    style = result.verdict.row.style
    body = Group(_facts(explained), *map(_frame, explained.frames), Text(f"\nagain: {explained.replay}"))
    return Panel(body, title=Text(f" {rule.id} ", style=style), title_align="left", border_style=style)


def gate_text(gate: Gate) -> RenderableType:
    """Give the gate's line, with every reason that is not about a judged rule's own verdict below it."""
    style = "bold green" if gate.exit_status is Exit.MET else "bold red"
    below = [Text(f"  unexpected: {printable(str(reason))}") for reason in gate.unexpected]
    below += [Text(f"  flaky: {printable(str(reason))}", style="dim") for reason in gate.flaky]
    below += [Text(f"  {printable(note)}", style="dim") for note in gate.notes]
    below += [Text(f"  {printable(told)}") for told in gate.asides()]
    if gate.apart:
        below.append(Text(f"  {len(gate.apart)} rules cannot be judged by this kind of run", style="dim"))
    return Group(Text(""), Text(printable(gate.sentence), style=style), *below)


def _silent(result: RuleResult) -> bool:
    return result.deciding.connection is None and not result.deciding.expected


def _section(rules: Iterable[Rule], results: Mapping[str, RuleResult], console: Console) -> Table:
    wide = console.width >= WIDE
    table = Table(box=None, expand=True, show_header=False, pad_edge=False, padding=(0, 1, 0, 1))
    table.add_column("rule", ratio=1, overflow="fold")
    table.add_column("level", width=6, no_wrap=True)
    table.add_column("binds and judged", width=14, no_wrap=True)
    table.add_column("verdict", width=14, no_wrap=True)
    if wide:
        table.add_column("finding", ratio=1, overflow="fold")
    for rule in rules:
        result = results[rule.id]
        name: RenderableType = Text(printable(rule.id))
        finding = Text(_finding(result), style="dim")
        if not wide and finding:
            name = Group(name, Padding(finding, (0, 0, 0, 2)))
        cells = [name, Text(rule.level), Text(_parties(rule, console)), _word(result.verdict, console)]
        table.add_row(*cells, *([finding] if wide else []))
    return table


def _parties(rule: Rule, console: Console) -> str:
    arrow = "->" if _ascii(console) else "→"
    binds, judged = (_SHORT_PARTY.get(party, str(party)) for party in (rule.binds, rule.judged))
    return binds if binds == judged else f"{binds}{arrow}{judged}"


_SHORT_PARTY = {"application": "app"}


def _word(verdict: Verdict, console: Console) -> Text:
    symbol = "" if _ascii(console) else f"{verdict.row.symbol} "
    return Text(f"{symbol}{verdict}", style=verdict.row.style)


def _ascii(console: Console) -> bool:
    return not console.encoding.lower().startswith("utf")


def _finding(result: RuleResult) -> str:
    text = printable(result.deciding.detail if result.verdict is Verdict.PASS else readable(result.finding))
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 3]}..."


def _totals(
    results: Iterable[RuleResult], rules: Sequence[Rule], console: Console, aside: frozenset[str]
) -> Text:
    """Count the verdicts; those of a document that counts by itself on a line of its own."""
    found = {result.rule: result.verdict for result in results}
    general = [rule for rule in rules if rule.id not in aside]
    lines: list[str | Text] = ["\n", _counted("rules", general, found, console)]
    apart = [rule for rule in rules if rule.id in aside]
    for document in dict.fromkeys(rule.document for rule in apart):
        own = [rule for rule in apart if rule.document == document]
        if any(rule.id in found for rule in own):
            lines += ["\n", _counted(f"rules of {document}", own, found, console)]
    return Text.assemble(*lines)


def _counted(what: str, rules: Sequence[Rule], found: Mapping[str, Verdict], console: Console) -> Text:
    counts = Counter(found[rule.id] for rule in rules if rule.id in found)
    words = [
        Text.assemble(str(counts[row.verdict]), " ", _word(row.verdict, console))
        for row in TABLE
        if counts[row.verdict]
    ]
    if left := len(rules) - counts.total():
        words.append(Text(f"{left} not selected", style="dim"))
    return Text.assemble(f"{counts.total()} of {len(rules)} {what}: ", Text(", ").join(words))


def _facts(explained: Explanation) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("what", style="bold", no_wrap=True)
    table.add_column("text", overflow="fold")
    for label, text in explained.facts:
        table.add_row(Text(label), Text(text))
    return table


def _frame(frame: Shown) -> RenderableType:
    title = Table.grid(padding=(0, 2, 0, 0))
    title.add_column("when", no_wrap=True)
    title.add_column("what", overflow="fold")
    title.add_row(Text(heading(frame)), Text(frame.says), style="bold" if frame.deciding else "")
    if not frame.parts:
        return title
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("offset", justify="right", style="dim", no_wrap=True)
    table.add_column("octets", max_width=35 if any(part.meaning for part in frame.parts) else 50)
    table.add_column("meaning", overflow="fold")
    for part in frame.parts:
        table.add_row(Text(str(part.offset)), Text(part.octets), Text(part.meaning, style="dim"))
    return Group(title, Padding(table, (0, 0, 0, 6)))
