"""TAP version 14: a test point per rule, its finding as YAML below it."""

import json
from collections.abc import Iterable

from conformance.evidence.explanation import as_text
from conformance.evidence.printable import printable
from conformance.evidence.results import RuleResult
from conformance.evidence.verdicts import PytestOutcome, Verdict
from conformance.render.report import Report

_EXPLAINED = (Verdict.ERROR, Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.WARN)


def tap(report: Report) -> str:
    """Give the whole report; nothing a peer said can start a line or pass for a directive."""
    lines = ["TAP version 14", f"1..{len(report.results)}"]
    lines += [f"# {key}: {value}" for key, value in report.summary().items()]
    for number, result in enumerate(report.results, 1):
        lines += _point(number, result, report)
    return "\n".join(lines) + "\n"


def _point(number: int, result: RuleResult, report: Report) -> Iterable[str]:
    word = "not ok" if result.verdict.row.pytest is PytestOutcome.FAILED else "ok"
    point = f"{word} {number} - {_escaped(result.rule)}"
    if result.verdict.row.pytest is PytestOutcome.SKIPPED:
        point += f" # SKIP {_escaped(f'{result.verdict}: {result.deciding.detail}')}"
    yield point
    yield "  ---"
    for key, value in _facts(result):
        if value:
            yield f"  {key}: {_quoted(value)}"
    explained = report.explained(result.deciding) if result.verdict in _EXPLAINED else None
    if explained is not None:
        # A literal block: its lines are indented, and each begins with a word of ours.
        yield "  explanation: |"
        yield from (f"    {printable(line)}" for line in as_text(explained).split("\n"))
    yield "  ..."


def _facts(result: RuleResult) -> Iterable[tuple[str, str]]:
    yield "verdict", result.verdict
    yield "level", result.deciding.level
    yield "finding", result.signature
    yield "detail", result.deciding.detail


def _escaped(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace("#", "\\#")


def _quoted(text: str) -> str:
    # A JSON text is a YAML text too, and stays on its line.
    return json.dumps(printable(text), ensure_ascii=False)
