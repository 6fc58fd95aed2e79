"""Renders the site, page by page; the same data gives the same octets."""

from pathlib import Path

from conformance.evidence.verdicts import TABLE, Verdict
from reports.compare.coverage import coverage
from reports.compare.matrix import Matrix, as_csv, as_json, matrix
from reports.model.findings import mark
from reports.site.alone import audited, compared
from reports.site.data import SiteData
from reports.site.interop import interop_pages, interop_style
from reports.site.names import build_name, rule_page
from reports.site.overview import cards
from reports.site.press import Press
from reports.site.publishing import fresh
from reports.site.rules import rule_pages
from reports.site.targets import target
from spec.rules import Level

DENSE = 6
"""Builds up to which a cell of the matrix has room for a word beside its symbol."""


def render(output: Path, site: SiteData, state: str = "") -> list[Path]:
    """Render `site` into the directory `output`, replacing the site that is there; gives the files.

    It bears the `state` that it is made of, if any (`reports.site.publishing`). Raises SiteError when
    `output` holds something else, or cannot be written.
    """
    with fresh(output, state) as folder:
        table = matrix(site.catalogue, site.checks, site.columns, site.detection)
        press = Press(
            folder,
            rule_page=rule_page,
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
        rule_pages(press, table, site)
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
