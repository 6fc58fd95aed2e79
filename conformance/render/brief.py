"""What a run comes to, on one screen: what stands against the target, the summary, where more is told.

On a terminal the findings are cut to its width; elsewhere each is one line, which nothing wraps or pads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.text import Text

from conformance.evidence.kinds import Interrupted, TargetRestarted
from conformance.evidence.printable import printable
from conformance.evidence.results import RuleResult, spared
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Exit
from conformance.render.report import Report
from spec.rules import Level

MOST = 20
"""Findings that are listed; the rest is counted."""
NEW = 5
"""Reasons of the gate, and deaths, that are listed; the rest is counted."""
UNSEEN = (Verdict.UNTESTABLE, Verdict.INAPPLICABLE)


def brief(told: Report, console: Console) -> None:
    """Print what matters of a run."""
    listed = _listed(told)
    for result in listed[:MOST]:
        console.print(_finding(told, result, console), soft_wrap=True)
    if len(listed) > MOST:
        console.print(Text(f"and {len(listed) - MOST} more", style="dim"), soft_wrap=True)
    console.print()
    for label, says, style in _summary(told):
        console.print(Text.assemble((f"{label:<11}", "bold"), (printable(says), style)), soft_wrap=True)


def _listed(told: Report) -> list[RuleResult]:
    """Give what stands against the target, what the gate did not expect first."""
    unexpected = {reason.rule for reason in told.gate.unexpected}
    against = [each for each in told.ranked() if each.verdict.blocks or each.rule in unexpected]
    silent = _silent(told)
    return sorted((each for each in against if not silent), key=lambda each: each.rule not in unexpected)


def _silent(told: Report) -> bool:
    """Say whether nothing was judged: then the reason is one for all."""
    return all(each.verdict in (*UNSEEN, Verdict.NOT_RUN) for each in told.results)


def _finding(told: Report, result: RuleResult, console: Console) -> Text:
    row, rule = result.verdict.row, told.rules.get(result.rule)
    symbol = f"{row.symbol} " if console.encoding.lower().startswith("utf") else ""
    says = printable(result.signature or result.deciding.detail)
    line = Text.assemble(
        (f"{symbol}{result.verdict}", row.style),
        f"  {printable(result.rule)}  ",
        (f"{rule.level}  " if rule else ""),
        (says, "dim"),
    )
    if console.is_terminal and says:
        line.truncate(max(console.width, len(line) - len(says)), overflow="ellipsis")
    return line


Row = tuple[str, str, str]
"""A label, what is said under it, its style."""


def _summary(told: Report) -> Iterator[Row]:
    started, gate = told.started, told.gate
    met = "bold green" if gate.exit_status is Exit.MET else "bold red"
    yield "target", f"{started.target}, judged as {started.role}", ""
    yield "product", f"{started.product} {started.version}".strip() or "it does not say", ""
    yield "standing", gate.sentence, met
    if not _silent(told):
        yield from ((str(level), says, "") for level in Level if (says := _level(told, level)))
    yield from (("document", says, "") for says in gate.asides())
    yield from _counted("unexpected", [str(each) for each in gate.unexpected], "bold red")
    yield from _counted("flaky", [str(each) for each in gate.flaky], "")
    yield from _deaths(told)
    yield from (("left out", f"{what}: {why}", "dim") for what, why in started.unspoken.items())
    yield from (("note", each, "dim") for each in (*gate.notes, spared(told.results)) if each)
    yield "run", told.name, ""
    yield "more", f"amqp-conformance render {told.name} --format terminal, {told.name}/report.html", "dim"


def _level(told: Report, level: Level) -> str:
    rules = {rule.id for rule in told.rules.values() if rule.level is level}
    found = [each.verdict for each in told.counted if each.rule in rules and each.verdict not in UNSEEN]
    if not found:
        return ""
    against, missed = sum(each.blocks for each in found), found.count(Verdict.WARN)
    how = "missed" if level is Level.SHOULD else "not as preferred"
    parts = [f"{len(found) - against} of {len(found)} do not stand against it"]
    parts += [f"{missed} {how}"] if missed else []
    return ", ".join(parts)


def _deaths(told: Report) -> Iterator[Row]:
    events = [line.event for line in told.lines]
    died = [each.why for each in events if isinstance(each, TargetRestarted) and each.why]
    yield from _counted("died", [f"{why}; it was restarted" for why in died], "bold red")
    ends = [each.reason for each in events if isinstance(each, Interrupted)]
    yield from _counted("cut short", list(dict.fromkeys(ends)), "bold red")


def _counted(label: str, sentences: list[str], style: str) -> Iterable[Row]:
    yield from ((label, each, style) for each in sentences[:NEW])
    if len(sentences) > NEW:
        yield label, f"and {len(sentences) - NEW} more, {len(sentences)} in all", style
