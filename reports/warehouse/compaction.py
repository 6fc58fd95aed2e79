"""Many small batches become one, so that the files of a table stay few however often something is added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reports.model.columns import TABLES
from reports.warehouse.manifest import Batch, to_merge
from reports.warehouse.warehouse import Snapshot, Warehouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compact(spark: SparkSession, warehouse: Warehouse) -> int:
    """Merge what `reports.warehouse.manifest.to_merge` names until it names nothing; gives how often.

    A merge that another writer made futile is thrown away.
    """
    done = 0
    while chosen := to_merge((snapshot := warehouse.latest()).manifest.batches):
        merged = _merged(spark, warehouse, snapshot, chosen)
        done += _replace(warehouse, chosen, merged)
    return done


def _merged(spark: SparkSession, warehouse: Warehouse, snapshot: Snapshot, chosen: Sequence[Batch]) -> Batch:
    tables = {}
    for name in TABLES:
        parts = [batch[name] for batch in chosen if name in batch]
        tables[name] = snapshot.read(spark, name, parts), sum(part.rows for part in parts)
    return warehouse.write(tables)


def _replace(warehouse: Warehouse, chosen: Sequence[Batch], merged: Batch) -> bool:
    """Commit `merged` in place of `chosen`, as long as all of these are still there."""
    while all(batch in (snapshot := warehouse.latest()).manifest.batches for batch in chosen):
        if warehouse.commit(snapshot, without=chosen, added=[merged]):
            return True
    warehouse.discard([merged], snapshot)
    return False
