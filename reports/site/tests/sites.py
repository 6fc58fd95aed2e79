"""What a site is made from, out of run folders, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.evidence.verdicts import Verdict
from conformance.tests.commands import command
from reports.audit.audit import Audit, audit
from reports.audit.claims import Claim, Claims, Meaning, Subject
from reports.compare.coverage import ledgers
from reports.compare.exchanges import Wanted
from reports.compare.matrix import Detection
from reports.model.findings import Column, Finding, columns_in_order
from reports.model.rows import TableRow
from reports.model.single import column, rows_in
from reports.site.data import SiteData
from reports.site.publishing import MARK
from reports.tests.samples import make_run
from scenarios.registry import checks
from spec.catalogue import catalogue

NOT_FOUND = "0-9-1/queue.purge.02"
EXCLUSIVE = "0-9-1/queue.declare.exclusive.exclusive"
TAG = "0-9-1/domain.delivery-tag.non-zero"
JUDGED = tuple(rule.id for rule in catalogue().rules if rule.document == "0-9-1")
"""The rules of the document that the runs made here are about."""


class Frames:
    """The frames of some runs in memory; `asked` keeps how many connections each look-up was for."""

    def __init__(self) -> None:
        self.rows: dict[Wanted, list[TableRow]] = {}
        self.asked: list[int] = []

    def __call__(self, wanted: Collection[Wanted]) -> Mapping[Wanted, Sequence[TableRow]]:
        self.asked.append(len(wanted))
        return {key: self.rows[key] for key in wanted if key in self.rows}


def site_of(folders: Iterable[Path], detection: Detection | None = None) -> SiteData:
    """Make the site of the runs in `folders`, each a build of its own."""
    frames, columns = Frames(), []
    for folder in folders:
        rows = rows_in(folder)
        found = [Finding.of(row, folder=folder.name) for row in rows.verdicts]
        columns.append(column(rows.run, {each.rule: each for each in found}, folder.name))
        for row in rows.frames:
            frames.rows.setdefault((row["rule"], row["run"], row["connection"]), []).append(row)
    ordered = tuple(columns_in_order(columns))
    return SiteData(catalogue(), checks(), ordered, ledgers(), frames, detection)


def two_builds(parent: Path, **changes: Any) -> SiteData:
    """Make two builds of one product that differ in one rule, and agree in a failure."""
    older = {EXCLUSIVE: Verdict.PASS, NOT_FOUND: Verdict.FAIL, TAG: Verdict.PASS}
    newer = {EXCLUSIVE: Verdict.FAIL, NOT_FOUND: Verdict.FAIL}
    return site_of(
        [
            make_run(parent / "older", **{"run": "r1", "version": "1.9", "verdicts": older} | changes),
            make_run(parent / "newer", **{"run": "r2", "version": "1.10", "verdicts": newer} | changes),
        ]
    )


def audited(columns: Sequence[Column], says: str) -> Audit:
    """Audit what a vendor that says `says` of all it can claims of the rules that the samples judge."""
    claims = tuple(
        Claim(number, Subject.RULE, rule, "0-9-1", (says,), Meaning.KEPT, level=says, note=says)
        for number, rule in enumerate((EXCLUSIVE, NOT_FOUND, TAG), 1)
    )
    told = Claims(says, columns[0].build.product, says, says, None, {}, claims)
    return audit(told, columns, catalogue().rules)


def real_run(folder: Path, *selectors: str) -> Path:
    """Run the suite against the embedded peer; gives `folder`."""
    told = command("run", *selectors, "--level", "may", "--output", folder)
    assert (folder / "events.jsonl").is_file(), told.stderr
    return folder


def contents(site: Path) -> dict[str, bytes]:
    """Read all files of a site by their names, but for the one that says which warehouse it was made of."""
    return {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in site.rglob("*")
        if path.is_file() and path.name != MARK
    }
