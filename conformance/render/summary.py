"""Markdown summaries for GitHub and GitLab: the answer, totals, findings, and every rule's verdict.

Only words of our own are Markdown. All else stands in blocks of HTML, where Markdown has no meaning, with
HTML's own characters escaped, inside `code` or `pre`, where neither site looks for mentions and references.
Such a block ends at an empty line, so nothing in one may be empty.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from conformance.evidence.explanation import as_text
from conformance.evidence.printable import printable
from conformance.evidence.results import RuleResult
from conformance.evidence.verdicts import TABLE, Verdict
from conformance.gate.gate import Standing
from conformance.render.report import Report

"""What is explained, worst first; what was not run is only listed."""


_SHORT = 160
"""Characters of a reason in the table of every rule."""
_ROOM = 200
"""Octets kept for the words between the blocks."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a summary is shown: how it opens by standing, and how many octets it may have."""

    opening: dict[Standing, str]
    limit: int


GITHUB = Site(
    {
        Standing.CERTIFIED: "> [!TIP]\n> **certified**",
        Standing.NOT_CERTIFIED: "> [!CAUTION]\n> **not certified**",
        Standing.PARTIAL: "> [!WARNING]\n> **partial**",
    },
    1_000_000,
)
"""A job's step summary is at most 1 MiB."""
GITLAB = Site({each: f"> **{each}**" for each in Standing}, 900_000)
"""A comment is at most a million characters."""


def github(report: Report) -> str:
    return summary(report, GITHUB)


def gitlab(report: Report) -> str:
    """Give the summary for a comment on a merge request, or a page."""
    return summary(report, GITLAB)


def summary(report: Report, site: Site) -> str:
    """Give the summary for `site`; findings that would make it too long are counted instead."""
    level = report.started.level
    head = f"## AMQP conformance\n\n{site.opening[report.standing]} at level **{level}**"
    blocks = [head, _about(report), _totals(report)]
    tail = _every_rule(report)
    left = site.limit - sum(_size(block) for block in (*blocks, tail)) - _ROOM
    findings = [result for result in report.ranked() if result.verdict.finding]
    if findings:
        blocks.append("### Findings")
    for shown, result in enumerate(findings):
        block = _finding(result, report)
        left -= _size(block)
        if left < 0:
            blocks.append(f"{len(findings) - shown} more findings would make this too long; see the run.")
            break
        blocks.append(block)
    return "\n\n".join([*blocks, tail]) + "\n"


def _size(block: str) -> int:
    return len(block.encode()) + 2


def code(text: str) -> str:
    """Give `text` for a block of HTML: on one line, shown letter by letter."""
    return f"<code>{escape(printable(text))}</code>"


def _about(report: Report) -> str:
    told = report.summary()
    rows = [f"{code(told['sentence'])}<br>", f"target {code(told['target'])}, run {code(told['run'])}"]
    unexpected = [f"<li>{code(str(reason))}</li>" for reason in report.gate.unexpected]
    if unexpected:
        rows += ["<br>unexpected:", "<ul>", *unexpected, "</ul>"]
    rows += [f"<br>{code(told)}" for told in report.gate.asides()]
    return "\n".join(["<div>", *rows, "</div>"])


def _totals(report: Report) -> str:
    rows = [
        f"| {row.symbol} {row.verdict} | {count} | {row.meaning} |"
        for row in TABLE
        if (count := report.count(row.verdict))
    ]
    whole = len(report.rules.keys() - report.gate.aside)
    total = f"| all | {len(report.counted)} | of {whole} rules in the documents |"
    return "\n".join(["| verdict | rules | meaning |", "| --- | ---: | --- |", *rows, total])


def _finding(result: RuleResult, report: Report) -> str:
    deciding, row = result.deciding, result.verdict.row
    rule = report.rules.get(result.rule)
    lines = ["<div>", f"{row.symbol} <b>{row.verdict}</b> {code(result.rule)} ({deciding.level})<br>"]
    lines.append(code(report.finding(result) or row.meaning))
    if rule is not None:
        lines.append(f"<blockquote>{escape(printable(rule.text))}</blockquote>")
    explained = report.explained(deciding)
    if explained is not None:
        lines.append(f"play it again: {code(explained.replay)}")
        lines.append("<details><summary>exchange</summary>")
        lines.append(f"<pre>{_lines(as_text(explained))}</pre>")
        lines.append("</details>")
    return "\n".join([*lines, "</div>"])


def _lines(text: str) -> str:
    return "\n".join(escape(printable(line)) for line in text.splitlines() if line.strip())


def _every_rule(report: Report) -> str:
    return "\n".join(
        [
            "<details><summary>every rule</summary>",
            "<table>",
            "<tr><th>rule</th><th>level</th><th>verdict</th><th>why</th></tr>",
            *_rows(report.results),
            "</table>",
            "</details>",
        ]
    )


def _rows(results: Iterable[RuleResult]) -> Iterable[str]:
    for result in results:
        told = f"{result.verdict.row.symbol} {result.verdict}"
        why = "" if result.verdict is Verdict.PASS else result.deciding.detail or result.signature
        cells = (code(result.rule), result.deciding.level, told, code(why[:_SHORT]) if why else "")
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
