"""An audit as a person reads it on a terminal, as a program reads it, and as Markdown.

Contradictions come first, with their evidence: what was asked, what came, and how to see it again. On a
terminal the evidence on one rule is shown once, under the first claim that it speaks against.
"""

import json
from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.audit.audit import Audit, Audited, Measurement, OnBuild, called
from reports.audit.audit_table import Status
from reports.audit.claims import Claim
from reports.compare.markup import code, html_table, shown
from reports.model.findings import Build

SCHEMA = 1
"""Version of the JSON; raised when a key changes its meaning or goes."""
_BRIEF = (Status.CONFIRMED,)
"""Only listed where that says all (`Audited.plain`): the sentence of each stands in the JSON."""


def as_terminal(audit: Audit) -> RenderableType:
    """Lay out what was measured, the claims by status, those with something against them explained."""
    parts: list[RenderableType] = [_head(audit)]
    told: set[tuple[Build, str]] = set()
    for status in Status:
        if found := audit.of(status):
            parts += [Text(""), Text(f"{status}: {status.meaning}", style=status.style), _claims(found, told)]
    return Group(*parts, Text(""), _summary(audit))


def _head(audit: Audit) -> RenderableType:
    claims = audit.claims
    said = f"{claims.title}, by {claims.vendor}, {_date(audit)} ({claims.source})"
    measured = ", ".join(map(called, audit.builds)) or "nothing"
    lines = [shown(said, "bold"), shown(f"product {claims.product}; measured: {measured}")]
    lines += [shown(f"left out: {each}", "dim") for each in audit.left_out]
    return Group(*lines)


def _date(audit: Audit) -> str:
    return audit.claims.date.isoformat() if audit.claims.date else "without a date"


def _claims(found: tuple[Audited, ...], told: set[tuple[Build, str]]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("entry", justify="right")
    for name in ("about", "level", "why"):
        table.add_column(name, overflow="fold")
    for each in found:
        why: RenderableType = shown(_told(each))
        if each.against:
            why = Group(why, *_evidence(each, told))
        table.add_row(str(each.claim.number), shown(_about(each.claim)), shown(each.claim.level), why)
    return table


def _about(claim: Claim) -> str:
    return claim.name if claim.subject == "rule" else f"{claim.subject} {claim.name}"


def _told(result: Audited) -> str:
    """Say of an entry what is shown: its whole sentence, or the vendor's words where its status says all."""
    brief = result.status in _BRIEF and result.plain
    return f"claimed {', '.join(result.claim.words)}" if brief else result.sentence


def _against(result: Audited) -> Iterator[tuple[OnBuild, Measurement]]:
    for build in result.builds:
        for each in build.against:
            yield build, each


def _facts(build: OnBuild, evidence: Measurement) -> Iterator[tuple[str, str]]:
    """List what a reader who doubts it wants to know, where it is known."""
    finding = evidence.finding
    assert finding is not None  # nothing speaks against a claim without one
    for name, value in (
        ("build", called(build.build)),
        ("rule", evidence.rule),
        ("sentence", evidence.text),
        ("reading", finding.reading),
        ("legal", " | ".join(finding.expected)),
        ("came", finding.actual or finding.signature),
        ("run", finding.folder or finding.run),
        ("again", evidence.replay),
    ):
        if value:
            yield name, value


def _evidence(result: Audited, told: set[tuple[Build, str]]) -> list[RenderableType]:
    blocks: list[RenderableType] = []
    for build, evidence in _against(result):
        if (build.build, evidence.rule) in told:
            continue
        told.add((build.build, evidence.rule))
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in _facts(build, evidence):
            grid.add_row(name, shown(value))
        blocks.append(Padding(grid, (0, 0, 1, 2)))
    return blocks


def _summary(audit: Audit) -> RenderableType:
    table = Table(box=None, pad_edge=False)
    table.add_column("status")
    table.add_column("claims", justify="right")
    table.add_column("meaning", overflow="fold")
    for status in Status:
        table.add_row(Text(str(status), style=status.style), str(len(audit.of(status))), status.meaning)
    lines: list[RenderableType] = [table, Text(""), Text(audit.sentence, style="bold")]
    if audit.unclaimed:
        lines.append(Text(f"{len(audit.unclaimed)} rules are in no entry"))
    return Group(*lines)


def as_json(audit: Audit) -> str:
    """Give the audit as JSON in ASCII, the claims in their own order, each with all it rests on."""
    claims = audit.claims
    head = {name: getattr(claims, name) for name in ("vendor", "product", "title", "source")}
    head["date"] = claims.date.isoformat() if claims.date else None
    text = json.dumps(
        {
            "schema": SCHEMA,
            "statement": head,
            "builds": [called(each) for each in audit.builds],
            "left_out": list(audit.left_out),
            "counts": {status: len(audit.of(status)) for status in Status},
            "unclaimed": list(audit.unclaimed),
            "claims": [_result(each) for each in audit.results],
        },
        indent=1,
    )
    return text + "\n"


def _result(result: Audited) -> dict[str, Any]:
    claim = result.claim
    return {
        "entry": claim.number,
        "subject": claim.subject,
        "name": claim.name,
        "document": claim.document,
        "words": list(claim.words),
        "meaning": claim.meaning,
        "level": claim.level or None,
        "versions": str(claim.versions) if claim.versions is not None else None,
        "note": claim.note or None,
        "status": result.status,
        "against": result.against,
        "sentence": result.sentence,
        "rules": list(result.rules),
        "builds": [_on_build(each) for each in result.builds],
    }


def _on_build(result: OnBuild) -> dict[str, Any]:
    return {
        "build": called(result.build),
        "status": result.status,
        "measured": result.measured,
        "sentence": result.sentence,
        "evidence": [_measured(each) for each in result.evidence],
    }


def _measured(evidence: Measurement) -> dict[str, Any]:
    finding = evidence.finding
    told: dict[str, Any] = {"rule": evidence.rule, "measured": evidence.measured}
    if evidence.why:
        told["why"] = evidence.why
    if evidence.admitted or evidence.hedged:
        told |= {"admitted": list(evidence.admitted), "hedged": list(evidence.hedged)}
    if finding is None:
        return told
    said = {name: getattr(finding, name) for name in ("signature", "reading", "run", "folder")}
    return told | {"verdict": finding.verdict, "level": finding.judged_at, **said, "replay": evidence.replay}


def as_markdown(audit: Audit) -> str:
    """Give the audit in Markdown, for a page or a merge request."""
    claims = audit.claims
    facts = [
        ("statement", claims.title),
        ("vendor", claims.vendor),
        ("source", claims.source),
        ("date", _date(audit)),
        ("product", claims.product),
        ("measured", ", ".join(map(called, audit.builds)) or "nothing"),
        *(("left out", each) for each in audit.left_out),
    ]
    blocks = [
        f"## Claims audit\n\n**{audit.sentence}**",
        html_table(("", ""), [(name, code(value)) for name, value in facts]),
        html_table(
            ("status", "claims", "meaning"),
            [(str(status), str(len(audit.of(status))), status.meaning) for status in Status],
        ),
    ]
    for status in Status:
        if found := audit.of(status):
            blocks.append(f"### {status} ({len(found)})")
            blocks.append(html_table(("entry", "about", "level", "why"), [_cells(each) for each in found]))
    return "\n\n".join(blocks) + "\n"


def _cells(result: Audited) -> tuple[str, ...]:
    claim = result.claim
    why = code(_told(result))
    for build, evidence in _against(result):
        facts = "<br>".join(f"{name}: {code(value)}" for name, value in _facts(build, evidence))
        why += f"<details><summary>evidence</summary>{facts}</details>"
    return str(claim.number), code(_about(claim)), code(claim.level), why
