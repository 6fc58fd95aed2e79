"""What nobody reads any more goes: details that no run names, and files that no version needs."""

from __future__ import annotations

import time
from datetime import date

from reports.model.columns import SHOWN_BY, TABLES, stored
from reports.warehouse.tables import (
    conflicts,
    ensured,
    files_of,
    load_before,
    refusals,
    rows_of,
    texts_of,
    writing,
)
from reports.warehouse.warehouse import GRACE, Warehouse

MARK, MARKED = "cleaned", "frames"
"""A transaction that says when that was last, in seconds of the epoch, and the table that bears it."""


def clean(warehouse: Warehouse) -> bool:
    """Remove what killed writers and replaced runs have left; once in GRACE, as all is looked through.

    What is younger than GRACE stays, so that neither a reader nor a writer loses anything under its hands.
    Gives whether it was time.
    """
    from deltalake import CommitProperties, Transaction, write_deltalake

    place = warehouse.place
    marked = ensured(place, MARKED)
    if time.time() - (marked.transaction_version(MARK) or 0) < GRACE:
        return False
    with conflicts(), refusals(place):
        now = CommitProperties(app_transactions=[Transaction(MARK, int(time.time()))])
        write_deltalake(marked, stored(MARKED).empty_table(), mode="append", commit_properties=now)
    for name, shown in SHOWN_BY.items():
        table, describing = ensured(place, name), ensured(place, shown)
        named = {row["load"] for row in rows_of(describing, "SELECT load FROM t")}
        old = f"SELECT DISTINCT load FROM t WHERE load < '{load_before(GRACE)}'"
        gone = sorted({row["load"] for row in rows_of(table, old)} - named)
        if gone:
            with conflicts(), refusals(place):  # another time will do
                table.delete(f"load IN ({texts_of(gone)})", writer_properties=writing())
    for name in TABLES:
        with conflicts(), refusals(place):
            table = ensured(place, name)
            table.vacuum(int(GRACE // 3600), dry_run=False, enforce_retention_duration=False, full=True)
    return True


def forget_frames(warehouse: Warehouse, since: date) -> int:
    """Remove what went over the wire in the months that ended before the day `since`; verdicts stay.

    Gives how many rows that were. Where another writer comes in between, it is for another time.
    """
    table = ensured(warehouse.place, "frames")
    past = [each for each in files_of(table) if each["partition.month"] < f"{since:%Y-%m}"]
    if past:
        with conflicts(), refusals(warehouse.place):
            table.delete(f"month < '{since:%Y-%m}'")
            return sum(each["num_records"] for each in past)
    return 0
