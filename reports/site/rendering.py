"""Renders the site, page by page; the same data gives the same octets."""

import inspect
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from conformance.evidence.verdicts import TABLE, Verdict
from reports.compare.coverage import coverage
from reports.compare.matrix import Matrix, RuleRow, as_csv, as_json, matrix
from reports.model.findings import Column, mark, roles_of
from reports.site import findings as rule_findings
from reports.site.alone import audited, compared
from reports.site.data import SiteData
from reports.site.interop import interop_pages, interop_style
from reports.site.names import build_name, rule_name
from reports.site.overview import cards
from reports.site.press import Press
from reports.site.publishing import fresh
from reports.site.relations import pieces, relatives
from reports.site.targets import target
from scenarios.registry import Checks
from spec.catalogue import Catalogue
from spec.rules import Level, Role, Rule

BATCH = 256
"""Connections whose frames are looked up, and held, at a time."""
DENSE = 6
"""Builds up to which a cell of the matrix has room for a word beside its symbol."""


def render(output: Path, site: SiteData) -> list[Path]:
    """Render `site` into the directory `output`, replacing the site that is there; gives the files.

    Raises SiteError when `output` holds something else, or cannot be written.
    """
    with fresh(output) as folder:
        table = matrix(site.catalogue, site.checks, site.columns, site.detection)
        press = Press(
            folder,
            rule_page=lambda identity: f"rules/{rule_name(identity)}.html",
            build_name=build_name,
            mark=mark,
            rules=site.catalogue.by_identity,
            documents=site.catalogue.documents,
            columns=site.columns,
            dense=len(site.columns) > DENSE,
            detected=site.detection is not None,
            base="page.html.j2",
            audited=site.audit is not None,
            between=site.interop is not None,
        )
        press.assets(*([interop_style()] if site.interop else []))
        press.page("index.html", "index.html.j2", cards=list(cards(table, site)), total=len(list(table.rows)))
        _matrix(press, table)
        _rules(press, table, site)
        for column in site.columns:
            page = f"targets/{build_name(column.build)}.html"
            shown = target(column, table, site)
            press.page(page, "target.html.j2", **shown)
            if shown["since"]:
                page = f"compare/{build_name(column.build)}.html"
                press.page(page, "compare.html.j2", **compared(shown["since"]))
        if site.interop:
            interop_pages(press, site.interop)
        if site.audit:
            press.page("audit.html", "audit.html.j2", **audited(site.audit))
        judged = {chapter.document.prefix for chapter in table.chapters if chapter.document}
        books = [book for book in site.ledgers if book.document.prefix in judged]
        covered = coverage(books, site.catalogue, site.checks)
        press.page("coverage.html", "coverage.html.j2", coverage=covered)
        press.text("matrix.json", as_json(table))
        press.text("matrix.csv", [as_csv(table)])
        return [output / path.relative_to(folder) for path in press.written]


def _matrix(press: Press, table: Matrix) -> None:
    seen = {finding.verdict for row in table.rows for finding in row.findings if finding}
    press.page(
        "matrix.html",
        "matrix.html.j2",
        matrix=table,
        total=sum(1 for _ in table.rows),
        levels=tuple(Level),
        seen=[row for row in TABLE if row.verdict in seen],
        blocking=" ".join(verdict for verdict in Verdict if verdict.blocks and verdict in seen),
        flaky=any(finding.flaky for row in table.rows for finding in row.findings if finding),
    )


def _rules(press: Press, table: Matrix, site: SiteData) -> None:
    pages, roles = {row.identity for row in table.rows}, roles_of(site.columns)
    lineage = rule_findings.Lineage(site.columns)
    for batch in _batches(table.rows, site.columns):
        keys = {group.key for _, groups in batch for group in groups if group.key}
        rows = site.frames(sorted(keys)) if keys else {}
        for row, groups in batch:
            document = row.rule.document if row.rule else ""
            press.page(
                f"rules/{rule_name(row.identity)}.html",
                "rule.html.j2",
                row=row,
                rule=row.rule,
                document=next((each for each in site.catalogue.documents if each.prefix == document), None),
                checks=_checks(site.checks, row.identity, roles),
                deviations=site.checks.deviations_of(row.identity, *roles),
                proofs={(proof.role, proof.deviation): proof for proof in row.proofs or ()},
                lines=list(rule_findings.lines(row, site.columns, lineage)),
                told=rule_findings.told(row, groups, rows, press),
                related=relatives(row.rule, site.catalogue, site.columns, pages) if row.rule else [],
                **_arguments(row.rule, site.catalogue, pages),
            )


def _arguments(rule: Rule | None, catalogue: Catalogue, pages: set[str]) -> dict[str, Any]:
    """Cut what a rule says of other rules into pieces: those that name a rule with a page lead there."""
    if rule is None:
        return {"reading": [], "reason": [], "one_fault": []}
    named = [name for name in catalogue.named_by(rule) if name in pages]
    said = {"reading": rule.reading, "reason": rule.reason, "one_fault": " ".join(rule.one_fault)}
    return {name: list(pieces(text, named)) for name, text in said.items()}


Batch = list[tuple[RuleRow, list[rule_findings.Alike]]]


def _batches(rows: Iterable[RuleRow], columns: Sequence[Column]) -> Iterator[Batch]:
    """Batch the rules with their findings, so many at a time that their exchanges stay few."""
    batch: Batch = []
    count = 0
    for row in rows:
        groups = rule_findings.alike(row, columns)
        if batch and count + len(groups) > BATCH:
            yield batch
            batch, count = [], 0
        batch.append((row, groups))
        count += len(groups)
    if batch:
        yield batch


def _checks(checks: Checks, identity: str, roles: Iterable[Role]) -> list[tuple[str, list[str]]]:
    """List the checks of a rule on targets in `roles`, with the paragraphs that say what they do."""
    found = checks.of(identity, *roles)
    return [(check.name + mark(check.role), _paragraphs(check.does)) for check in found]


def _paragraphs(text: str) -> list[str]:
    return [" ".join(each.split()) for each in inspect.cleandoc(text).split("\n\n") if each.strip()]
