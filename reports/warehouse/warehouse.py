"""The warehouse: Delta tables that several may write and read at once, this suite and any other reader.

A writer adds the details of a run first, verdicts and frames, under a load that nobody has named, and then
names it by one change of the table that describes runs; that alone makes the run visible. A reader takes
that table first, and of the others only what it names. What a killed writer left behind is never seen, and
goes when it is old enough that nobody can be writing it any more.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from reports.model.columns import BEFORE, DESCRIBING, MONTHLY, SHOWN_BY, TABLES, WITH_LOAD
from reports.warehouse.place import Place, WarehouseError, place_at
from reports.warehouse.tables import asked, files_of, opened

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Snapshot", "Warehouse", "WarehouseError"]

GRACE = 24 * 3600.0
"""Seconds for which all stays that a reader or a writer may still need."""
ORDERED = (*DESCRIBING, *(name for name in TABLES if name not in DESCRIBING))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The warehouse as it was when this was taken; nothing written later shows.

    `tables` are those that there are, each opened at a version.
    """

    place: Place
    tables: Mapping[str, DeltaTable]

    @property
    def versions(self) -> Mapping[str, int]:
        """The version of each table."""
        return {name: table.version() for name, table in self.tables.items()}

    def table(self, spark: SparkSession, name: str, of: Collection[str] | None = None) -> DataFrame:
        """Read the rows of the table `name` of `reports.model.columns`, which may be none.

        `of` are the runs that are asked about (None: all); what they cannot stand in is not read.
        """
        from pyspark.sql import functions as f

        shown = SHOWN_BY.get(name)
        months: list[str] | None = None
        loads: list[str] | None = None
        if shown is not None or of is not None:
            named = self._named(shown or name)
            if of is not None:
                kept = pa.array([run in of for run in named["run"].to_pylist()], pa.bool_())
                named = named.filter(kept)
            if name in MONTHLY:
                months = sorted(set(named["month"].to_pylist()))
            if name in SHOWN_BY and of is not None:
                loads = sorted(named["load"].to_pylist())
        rows = self._read(spark, name, months, loads)
        if shown is not None or of is not None:
            heads = spark.createDataFrame(named.select(["run", "load"]))
            rows = rows.join(f.broadcast(heads), ["run", "load"], "left_semi")
        rows = rows.select(*TABLES[name].names)
        return rows.fillna(BEFORE) if name == "runs" else rows

    def files(
        self, name: str, months: Collection[str] | None = None, loads: Sequence[str] | None = None
    ) -> list[str]:
        """List the URIs of the files in which the table `name` stands.

        Of some `months` or all, and of those that may hold one of the `loads`, which are sorted.
        """
        if name not in self.tables:
            return []
        return [
            f"{self.place.of(name)}/{unquote(each['path']) if self.place.local else each['path']}"
            for each in files_of(self.tables[name])
            if (months is None or each["partition.month"] in months) and _may_hold(each, loads)
        ]

    def rows(self, name: str) -> int:
        """Count the rows of a table, with those that do not count."""
        return sum(each["num_records"] for each in files_of(self.tables[name])) if name in self.tables else 0

    def _named(self, describing: str) -> pa.Table:
        """Give `run`, `load` and `month` of the runs that a table describes."""
        if describing not in self.tables:
            return pa.table({name: pa.array([], pa.string()) for name in ("run", "load", "month")})
        question = "SELECT run, load, substr(started, 1, 7) AS month FROM t"
        return asked(self.tables[describing], question)

    def _read(
        self,
        spark: SparkSession,
        name: str,
        months: Collection[str] | None,
        loads: Sequence[str] | None = None,
    ) -> DataFrame:
        from pyspark.sql.pandas.types import from_arrow_schema

        load = [pa.field("load", pa.string())] if name in WITH_LOAD else []
        schema = pa.schema([*TABLES[name], *load])
        files = self.files(name, months, loads)
        if not files:
            return spark.createDataFrame([], from_arrow_schema(schema))
        if self.place.local:
            uris = [_literal(f"file://{each}") for each in files]
            return spark.read.schema(from_arrow_schema(schema)).parquet(*uris)
        # Spark reaches no object store without further JARs: its executors read by Delta Lake's own means.
        one_each = spark.createDataFrame(pa.table({"file": files})).repartition(len(files), "file")
        reading = partial(_read_remote, self.place, name, schema)
        return one_each.mapInArrow(reading, from_arrow_schema(schema))


class Warehouse:
    """The warehouse at `path`: a folder of this machine, or a URI that Delta Lake knows."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.place = place_at(path)

    def snapshot(self) -> Snapshot:
        """Take the warehouse as it is now. Raises WarehouseError when there is none."""
        found = self.latest()
        if not found.tables:
            raise WarehouseError(f"{self.path}: there is no warehouse; ingest a run to make one")
        return found

    def latest(self) -> Snapshot:
        """Take the warehouse as it is now, an empty one when nothing was ingested yet.

        What describes runs is taken first and may not have changed meanwhile: so all that it names is
        there, neither not yet written nor removed already.
        """
        while True:
            found = {name: opened(self.place, name) for name in ORDERED}
            if all(_version(opened(self.place, name)) == _version(found[name]) for name in DESCRIBING):
                there = {name: table for name, table in found.items() if table is not None}
                return Snapshot(self.place, there)


def _may_hold(file: Mapping[str, Any], loads: Sequence[str] | None) -> bool:
    """Say whether one of the `loads` is between the least and the largest that a file has, or may be."""
    least, largest = file.get("min.load"), file.get("max.load")
    if loads is None or least is None or largest is None:
        return True
    at = bisect_left(loads, least)
    return at < len(loads) and loads[at] <= largest


def _version(table: DeltaTable | None) -> int | None:
    return None if table is None else table.version()


def _literal(uri: str) -> str:
    """Escape in `uri` all that Hadoop takes for a pattern."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", uri)


def _read_remote(
    place: Place, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Read the files that `batches` name, on an executor."""
    import pyarrow.dataset as dataset
    import pyarrow.fs as fs
    from deltalake.fs import DeltaStorageHandler

    root = place.of(name)
    store = fs.PyFileSystem(DeltaStorageHandler(root, dict(place.options)))
    for batch in batches:
        for file in batch.column(0).to_pylist():
            inside = file.removeprefix(f"{root}/")
            yield from dataset.dataset(inside, schema=schema, filesystem=store, format="parquet").to_batches()
