"""The warehouse: Delta tables that several may write and read at once, this suite and any other reader.

A writer adds the details of a run first, verdicts and frames, under a load that nobody has named, and then
names it by one change of the table that describes runs; that alone makes the run visible. A reader takes
that table first, and of the others only what it names. What a killed writer left behind is never seen, and
goes when it is old enough that nobody can be writing it any more.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from reports.model.columns import BEFORE, DESCRIBING, MONTHLY, SHOWN_BY, TABLES, WITH_LOAD
from reports.warehouse.parts import parts
from reports.warehouse.place import Place, WarehouseError, place_at
from reports.warehouse.reading import read_remote, read_texts
from reports.warehouse.tables import asked, files_of, opened, texts_of

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Snapshot", "Warehouse", "WarehouseError"]

GRACE = 24 * 3600.0
"""Seconds for which all stays that a reader or a writer may still need."""
FEW = 20_000
"""So many runs are described to Spark by the driver."""
TASKS = 4
"""For each core, among which files are dealt that are read for some columns."""
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
        if shown is None:
            return self._heads(spark, name, of)
        named, files = self._named(name, of)
        if of is not None:
            runs = dict(zip(named["load"].to_pylist(), named["run"].to_pylist(), strict=True))
            rows = self._read_runs(spark, name, files, runs)
        else:
            rows = self._read(spark, name, files)
        heads = spark.createDataFrame(named.select(["run", "load"]))
        return rows.join(f.broadcast(heads), ["run", "load"], "left_semi").select(*TABLES[name].names)

    def texts(self, spark: SparkSession, name: str, columns: Sequence[str], of: Collection[str]) -> DataFrame:
        """Read of the runs `of` some `columns` of text, beside the run: much quicker than whole rows.

        Spark makes an object of every text; that few are told apart shows before, in their dictionaries.
        """
        from pyspark.sql.pandas.types import from_arrow_schema

        named, files = self._named(name, of)
        runs = dict(zip(named["load"].to_pylist(), named["run"].to_pylist(), strict=True))
        uris = [self._uri(name, each) for part in parts(files, runs) for each in part.files]
        schema = from_arrow_schema(pa.schema([(each, pa.string()) for each in ("run", *columns)]))
        if not uris:
            return spark.createDataFrame([], schema)
        tasks = min(len(uris), TASKS * spark.sparkContext.defaultParallelism)
        one_each = spark.createDataFrame(pa.table({"file": uris})).repartition(tasks)
        return one_each.mapInArrow(partial(read_texts, self.place, name, tuple(columns), runs), schema)

    def asked(self, name: str, question: str) -> pa.Table:
        """Ask SQL, without Spark, of the rows of a table that describes runs: they are called `heads`."""
        if name not in self.tables:
            return TABLES[name].empty_table()
        table = self.tables[name]
        there = {each.name for each in table.schema().fields}
        heads = f"SELECT {', '.join(_since(each, each in there) for each in TABLES[name].names)} FROM t"
        return asked(table, f"WITH heads AS ({heads}) SELECT * FROM ({question})")

    def files(self, name: str) -> list[str]:
        """List the URIs of the files in which the table `name` stands."""
        return [self._uri(name, each) for each in self._files(name)]

    def _files(self, name: str) -> list[Mapping[str, Any]]:
        return files_of(self.tables[name]) if name in self.tables else []

    def _uri(self, name: str, file: Mapping[str, Any]) -> str:
        path = unquote(file["path"]) if self.place.local else file["path"]
        return f"{self.place.of(name)}/{path}"

    def rows(self, name: str) -> int:
        """Count the rows of a table, with those that do not count."""
        return sum(each["num_records"] for each in files_of(self.tables[name])) if name in self.tables else 0

    def _heads(self, spark: SparkSession, name: str, of: Collection[str] | None) -> DataFrame:
        """Read what describes runs: of some without a job of Spark's, which looks through all of them."""
        if of is None or len(of) > FEW:
            rows = self._read(spark, name, self._files(name)).select(*TABLES[name].names)
            rows = rows.fillna({each: was for each, was in BEFORE.items() if each in TABLES[name].names})
            if of is None:
                return rows
            named = spark.createDataFrame(pa.table({"run": sorted(of)}))
            return rows.join(named, "run", "left_semi")
        columns = ", ".join(TABLES[name].names)
        found = self.asked(name, f"SELECT {columns} FROM heads WHERE run IN ({texts_of(sorted(of))})")
        if not found.num_rows:  # of no rows Spark does not see what is nested
            return self._read(spark, name, ()).select(*TABLES[name].names)
        return spark.createDataFrame(found.cast(TABLES[name]))

    def _named(self, name: str, of: Collection[str] | None) -> tuple[pa.Table, list[Mapping[str, Any]]]:
        """Give `run`, `load` and `month` of the runs `of` (None: all), and the files of their months."""
        describing = SHOWN_BY[name]
        if describing in self.tables:
            question = "SELECT run, load, substr(started, 1, 7) AS month FROM t"
            named = asked(self.tables[describing], question)
        else:
            named = pa.table({each: pa.array([], pa.string()) for each in ("run", "load", "month")})
        if of is not None:
            named = named.filter(pc.is_in(named["run"], pa.array(sorted(of), pa.string())))
        files = self._files(name)
        if name in MONTHLY:
            months = set(named["month"].to_pylist())
            files = [each for each in files if each["partition.month"] in months]
        return named, files

    def _read_runs(
        self, spark: SparkSession, name: str, files: Sequence[Mapping[str, Any]], runs: Mapping[str, str]
    ) -> DataFrame:
        """Read what may be of the `runs`, which stand by their loads: in files sorted by run, their pages."""
        from pyspark.sql import functions as f

        read = [
            rows.where(f.col("run").isin(*part.runs)) if part.runs else rows
            for part in parts(files, runs)
            for rows in [self._read(spark, name, part.files)]
        ]
        return reduce(lambda one, other: one.unionAll(other), read) if read else self._read(spark, name, ())

    def _read(self, spark: SparkSession, name: str, files: Sequence[Mapping[str, Any]]) -> DataFrame:
        from pyspark.sql.pandas.types import from_arrow_schema

        load = [pa.field("load", pa.string())] if name in WITH_LOAD else []
        schema = pa.schema([*TABLES[name], *load])
        uris = [self._uri(name, each) for each in files]
        if not uris:
            return spark.createDataFrame([], from_arrow_schema(schema))
        if self.place.local:
            local = [_literal(f"file://{each}") for each in uris]
            reader = spark.read.schema(from_arrow_schema(schema)).option(
                "parquet.filter.dictionary.enabled", "false"
            )
            return reader.parquet(*local)
        # Spark reaches no object store without further JARs: its executors read by Delta Lake's own means.
        one_each = spark.createDataFrame(pa.table({"file": uris})).repartition(len(uris), "file")
        reading = partial(read_remote, self.place, name, schema)
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


def _since(column: str, there: bool) -> str:
    """Write as SQL what a table has in a `column` that it may not have had from the first day on."""
    if column not in BEFORE:
        return column if there else f"NULL AS {column}"
    before = texts_of([str(BEFORE[column])])
    return f"COALESCE({column}, {before}) AS {column}" if there else f"{before} AS {column}"


def _version(table: DeltaTable | None) -> int | None:
    return None if table is None else table.version()


def _literal(uri: str) -> str:
    """Escape in `uri` all that Hadoop takes for a pattern."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", uri)
