"""What a version of the warehouse holds of certain runs, and the same version without them."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from typing import TYPE_CHECKING

from reports.ingest.reconciling import Left, RunCopy
from reports.model.columns import QUARANTINE
from reports.warehouse.manifest import Batch, Part
from reports.warehouse.warehouse import Snapshot, Warehouse

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

OF_A_RUN = ("runs", "verdicts", "frames")
"""The tables in which a run of rules has rows."""
DESCRIBING = ("runs", "interop_runs")
"""The tables in which a run has a row of its own. One of clients and brokers is never replaced."""


def evidence(spark: SparkSession, snapshot: Snapshot, column: str, values: Collection[str]) -> list[RunCopy]:
    """Find the evidence held of the runs whose `column` (run or digest) is among `values`."""
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as f

    tables = [name for name in DESCRIBING if values and snapshot.manifest.parts(name)]
    if not tables:
        return []
    each = [snapshot.table(spark, name).select("run", "digest", "partial", "events") for name in tables]
    rows = reduce(DataFrame.unionByName, each).where(f.col(column).isin(sorted(values)))
    return [RunCopy(row.run, row.digest, row.partial, row.events) for row in rows.collect()]


def left(
    spark: SparkSession, snapshot: Snapshot, folders: Collection[str], runs: Collection[str]
) -> list[Left]:
    """Find the rows of the quarantine with one of the names of `folders`, and one of the `runs` or none."""
    from pyspark.sql import functions as f

    if not snapshot.manifest.parts("quarantine"):
        return []
    named = f.col("folder").isin(sorted(folders)) & f.col("run").isin(sorted({"", *runs}))
    return [Left(**row.asDict()) for row in snapshot.table(spark, "quarantine").where(named).collect()]


def without(
    spark: SparkSession,
    warehouse: Warehouse,
    snapshot: Snapshot,
    runs: Collection[str],
    released: Collection[Left],
) -> tuple[list[Batch], list[Batch]]:
    """Find the batches that hold any of the `runs` or rows `released`, and make new ones that do not.

    The tables of a batch that hold none of them are shared by the old batch and the new one.
    """
    from pyspark.sql import functions as f

    gone: dict[str, Column] = dict.fromkeys(OF_A_RUN, f.col("run").isin(sorted(runs)))
    folders = _holding(spark, snapshot, "runs", gone["runs"]) if runs else set()
    if released:
        key = f.concat_ws("\0", *QUARANTINE.names)
        keys = ["\0".join(getattr(row, name) for name in QUARANTINE.names) for row in released]
        gone["quarantine"] = key.isin(sorted(keys))
        folders |= _holding(spark, snapshot, "quarantine", gone["quarantine"])
    old = [batch for batch in snapshot.manifest.batches if any(p.folder in folders for p in batch.values())]
    new: list[Batch] = []
    for batch in old:
        touched = [*OF_A_RUN] if "runs" in batch and batch["runs"].folder in folders else []
        touched += ["quarantine"] if "quarantine" in batch and batch["quarantine"].folder in folders else []
        tables = {
            name: _rest(spark, snapshot, name, batch[name], gone[name]) for name in touched if name in batch
        }
        shared = {name: part for name, part in batch.items() if name not in touched}
        new.append(shared | dict(warehouse.write(tables)))
    return old, new


def _holding(spark: SparkSession, snapshot: Snapshot, name: str, which: Column) -> set[str]:
    """Find the folders of the parts of a table in which there are rows such as `which`."""
    rows = snapshot.table(spark, name).where(which).select("_metadata.file_path").distinct().collect()
    folders = {row.file_path.rpartition("/")[0] for row in rows}
    parts = snapshot.manifest.parts(name)
    return {part.folder for part in parts if any(each.endswith(f"/{part.folder}") for each in folders)}


def _rest(
    spark: SparkSession, snapshot: Snapshot, name: str, part: Part, gone: Column
) -> tuple[DataFrame, int]:
    """Give the rows of a part that are not `gone`, and how many they are."""
    rows = snapshot.read(spark, name, [part])
    return rows.where(~gone), part.rows - rows.where(gone).count()
