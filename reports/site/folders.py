"""What the site shows of run folders, read as they are: without a warehouse and without Spark."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from reports.compare.coverage import ledgers
from reports.compare.exchanges import Wanted
from reports.model.findings import columns_in_order
from reports.model.rows import TableRow
from reports.model.single import RunFolder
from reports.site.data import SiteData
from scenarios.registry import checks
from spec.catalogue import catalogue


def site_of(folders: Sequence[Path]) -> SiteData:
    """Make the site's data of the runs in `folders`, each a build of its own.

    Raises EvidenceError with one sentence for a folder that is no evidence.
    """
    runs = [(folder, RunFolder(folder)) for folder in folders]

    def look_up(wanted: Collection[Wanted]) -> Mapping[Wanted, Sequence[TableRow]]:
        found: dict[Wanted, list[TableRow]] = {each: [] for each in wanted}
        rules = {rule for rule, _, _ in wanted}
        for row in (row for _, run in runs for row in run.frames(rules)):
            key = row["rule"], row["run"], row["connection"]
            if key in found:
                found[key].append(row)
        return found

    columns = columns_in_order(run.column(folder.name) for folder, run in runs)
    return SiteData(catalogue(), checks(), columns, ledgers(), look_up)
