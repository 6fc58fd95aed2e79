"""What the site shows of run folders, read as they are: without a warehouse and without Spark."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from reports.compare.coverage import ledgers
from reports.compare.exchanges import Wanted
from reports.model.findings import columns_in_order
from reports.model.rows import TableRow
from reports.model.single import column_of_rows, rows_in
from reports.site.data import SiteData
from scenarios.registry import checks
from spec.catalogue import catalogue


def site_of(folders: Sequence[Path]) -> SiteData:
    """Make the site's data of the runs in `folders`, each a build of its own.

    Raises EvidenceError with one sentence for a folder that is no evidence.
    """
    found = [(folder, rows_in(folder)) for folder in folders]
    frames: dict[Wanted, list[TableRow]] = {}
    for _, rows in found:
        for row in rows.frames:
            frames.setdefault((row["rule"], row["run"], row["connection"]), []).append(row)

    def look_up(wanted: Collection[Wanted]) -> Mapping[Wanted, Sequence[TableRow]]:
        return {each: frames.get(each, []) for each in wanted}

    columns = columns_in_order(column_of_rows(rows, folder.name) for folder, rows in found)
    return SiteData(catalogue(), checks(), columns, ledgers(), look_up)
