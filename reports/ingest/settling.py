"""What was decided about runs, brought into the tables that describe them, whoever else is writing.

One change of a table makes runs visible. It holds only if the table is still the one by which it was
decided; where another writer was faster, it is decided anew.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import pyarrow as pa

from reports.ingest.reconciling import Decision, Left, Offered, Plan, RunCopy, plan, quarantine
from reports.model.columns import DESCRIBING, QUARANTINE
from reports.warehouse.place import Place, WarehouseError
from reports.warehouse.tables import (
    conflicts,
    ensured,
    load_before,
    refusals,
    rows_of,
    texts_of,
    tries,
)
from reports.warehouse.warehouse import GRACE

if TYPE_CHECKING:
    from deltalake import DeltaTable

Outcomes = tuple[list[Decision], Mapping[int, str]]


def held(place: Place, column: str, values: Collection[str]) -> list[RunCopy]:
    """Find the evidence held of the runs whose `column` (run or digest) is among `values`."""
    tables = {name: ensured(place, name) for name in DESCRIBING if values}
    return [each for name, table in tables.items() for each in _held(table, name, column, values)]


def settle(place: Place, offered: Sequence[Offered], rows: Mapping[int, pa.Table]) -> Outcomes:
    """Decide what becomes of the `offered`, and bring it into the tables that describe runs.

    `rows` are their own rows there, by position. Gives the decisions in order, and why some were left out.
    """
    outcomes = [Decision.QUARANTINED] * len(offered)
    reasons: dict[int, str] = {}
    for name in DESCRIBING:
        own = [at for at, each in enumerate(offered) if _table(each) == name]
        decided = _merged(place, name, [offered[at] for at in own], [rows.get(at) for at in own])
        for number, at in enumerate(own):
            outcomes[at] = decided.outcomes[number]
            if number in decided.reasons:
                reasons[at] = decided.reasons[number]
    _leave(place, offered, reasons)
    return outcomes, reasons


def _table(offered: Offered) -> str:
    return offered.evidence.table if offered.evidence else DESCRIBING[0]


def _held(table: DeltaTable, name: str, column: str, values: Collection[str]) -> list[RunCopy]:
    named = f"{column} IN ({texts_of(sorted(values))})"
    found = rows_of(table, f"SELECT run, digest, partial, events FROM t WHERE {named}")
    return [RunCopy(**each, table=name) for each in found]


def _merged(place: Place, name: str, offered: Sequence[Offered], rows: Sequence[pa.Table | None]) -> Plan:
    runs = {each.evidence.run for each in offered if each.evidence}
    for _ in tries(place):
        table = ensured(place, name)
        decided = plan(offered, _held(table, name, "run", runs))
        if not decided.keep:
            return decided
        new = pa.concat_tables([row for at in sorted(decided.keep) if (row := rows[at]) is not None])
        _young(place, new)
        with conflicts(), refusals(place):
            merging = table.merge(new, "t.run = s.run", "s", "t")
            merging.when_matched_update_all().when_not_matched_insert_all().execute()
            return decided
    raise AssertionError


def _young(place: Place, new: pa.Table) -> None:
    """See to it that no cleaning can have taken the details for those of a writer that was killed."""
    if min(new["load"].to_pylist()) < load_before(GRACE / 2):
        raise WarehouseError(f"{place.path}: what is to be added was read too long ago; ingest it again")


def _leave(place: Place, offered: Sequence[Offered], reasons: Mapping[int, str]) -> None:
    """Bring the quarantine up to date, of which earlier reasons are past."""
    runs = sorted({"", *(each.run for each in offered)})
    named = f"folder IN ({texts_of(sorted({each.folder for each in offered}))}) AND run IN ({texts_of(runs)})"
    for _ in tries(place):
        table = ensured(place, "quarantine")
        left = [Left(**each) for each in rows_of(table, f"SELECT * FROM t WHERE {named}")]
        leave, release = quarantine(offered, reasons, left)
        if not leave and not release:
            return
        changes = [asdict(each) | {"gone": each in release} for each in (*leave, *release)]
        new = pa.Table.from_pylist(changes, schema=pa.schema([*QUARANTINE, ("gone", pa.bool_())]))
        same = " AND ".join(f"t.{column} = s.{column}" for column in QUARANTINE.names)
        with conflicts(), refusals(place):
            merging = table.merge(new, same, "s", "t").when_matched_delete("s.gone")
            values = {column: f"s.{column}" for column in QUARANTINE.names}
            merging.when_not_matched_insert(values, "NOT s.gone").execute()
            return
