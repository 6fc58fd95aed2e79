"""Run folders into the warehouse: each run once, whatever is handed in, in whatever order, by however many.

The driver reads the evidence, as a cluster does not see this machine's files; the executors make rows of
it. What becomes of each run is decided against the newest version of the warehouse, and decided anew when
another writer has been faster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from reports.ingest.intake import Folder, groups, portions
from reports.ingest.parsing import PARSED, given, parsed, unpacked
from reports.ingest.reconciling import Decision, Left, Offered, Plan, RunCopy, plan
from reports.model.columns import QUARANTINE, TABLES
from reports.warehouse import held
from reports.warehouse.compaction import compact
from reports.warehouse.manifest import Batch
from reports.warehouse.warehouse import Snapshot, Warehouse

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TASK_OCTETS = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is: `done` of `total` folders."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one folder; `reason` is the sentence when it was left out."""

    folder: Path
    outcome: Decision
    partial: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of each folder, in the order they were handed in, and the warehouse's version then."""

    taken: tuple[Taken, ...]
    version: int

    def of(self, outcome: Decision) -> tuple[Taken, ...]:
        return tuple(each for each in self.taken if each.outcome is outcome)


def _nobody(progress: Progress) -> None: ...


def ingest(
    spark: SparkSession,
    folders: Sequence[Path],
    warehouse: Warehouse,
    told: Callable[[Progress], None] = _nobody,
) -> Ingested:
    """Take the runs in `folders` into the `warehouse`, which is made when it is not there.

    A folder that cannot be taken in is left out with its reason, and nothing else is lost. `told` hears
    how far it is. Raises WarehouseError when the warehouse cannot be written.
    """
    taken: list[Taken] = []
    told(Progress(0, len(folders)))
    for portion in portions(folders):
        taken += _Portion(spark, warehouse, portion).take()
        compact(spark, warehouse)
        told(Progress(len(taken), len(folders)))
    warehouse.clean()
    return Ingested(tuple(taken), warehouse.latest().version)


class _Portion:
    """Some folders on their way into the warehouse."""

    def __init__(self, spark: SparkSession, warehouse: Warehouse, folders: Sequence[Folder]) -> None:
        self._spark = spark
        self._warehouse = warehouse
        self._folders = folders
        self._counts: dict[int, Mapping[str, int]] = {}

    def take(self) -> Iterable[Taken]:
        known = self._known(self._warehouse.latest())
        new = [
            (at, each)
            for at, each in enumerate(self._folders)
            if not each.reason and each.digest not in known
        ]
        if not new:
            return self._settle(self._offered(known, None), None)
        rows, staged = self._warehouse.stage(self._spark, self._rows(new))
        try:
            return self._settle(self._offered(known, rows), rows)
        finally:
            self._warehouse.store.remove(staged)

    def _known(self, snapshot: Snapshot) -> dict[str, RunCopy]:
        """Find by digest the evidence that the warehouse has already: it need not be parsed again."""
        digests = {each.digest for each in self._folders if each.digest}
        return {each.digest: each for each in held.evidence(self._spark, snapshot, "digest", digests)}

    def _rows(self, folders: Sequence[tuple[int, Folder]]) -> DataFrame:
        from pyspark.sql.pandas.types import from_arrow_schema

        position = {id(folder): at for at, folder in folders}
        tasks = groups((folder for _, folder in folders), TASK_OCTETS)
        table = given([(position[id(folder)], folder) for folder in group] for group in tasks)
        return self._spark.createDataFrame(table).mapInArrow(parsed, from_arrow_schema(PARSED))

    def _offered(self, known: Mapping[str, RunCopy], rows: DataFrame | None) -> list[Offered]:
        heads = [] if rows is None else rows.where("table = ''").drop("rows").collect()
        told = {row.position: row for row in heads}
        offered = []
        for at, folder in enumerate(self._folders):
            reason, evidence = folder.reason, known.get(folder.digest)
            if at in told:
                head = told[at]
                reason = head.reason
                evidence = None if reason else RunCopy(head.run, head.digest, head.partial, head.events)
                self._counts[at] = head.counts or {}
            run = evidence.run if evidence else folder.run
            offered.append(Offered(folder.name, run, folder.digest, evidence, reason))
        return offered

    def _settle(self, offered: Sequence[Offered], rows: DataFrame | None) -> list[Taken]:
        """Decide, write and commit, until no other writer comes in between."""
        written: dict[tuple[frozenset[int], tuple[Left, ...]], Batch] = {}
        while True:
            snapshot = self._warehouse.latest()
            decided = self._plan(snapshot, offered)
            if not decided.changes:
                self._warehouse.discard(written.values(), snapshot)
                break
            what = decided.keep, decided.leave
            if what not in written:
                written[what] = self._write(rows, decided)
            without, instead = held.without(
                self._spark, self._warehouse, snapshot, decided.drop, decided.release
            )
            following = self._warehouse.commit(snapshot, without, [written[what], *instead])
            if following is not None:
                self._warehouse.discard(written.values(), following)
                break
            self._warehouse.discard(instead, snapshot)
        return self._taken(offered, decided)

    def _plan(self, snapshot: Snapshot, offered: Sequence[Offered]) -> Plan:
        runs = {each.run for each in offered if each.run}
        return plan(
            offered,
            held.evidence(self._spark, snapshot, "run", runs),
            held.left(self._spark, snapshot, {each.folder for each in offered}, runs),
        )

    def _write(self, rows: DataFrame | None, decided: Plan) -> Batch:
        """Write the rows of the folders to keep, and of those to leave out, as a batch not committed yet."""
        tables = {} if rows is None else self._kept(rows, decided.keep)
        if decided.leave:
            leave = pa.Table.from_pylist([asdict(row) for row in decided.leave], schema=QUARANTINE)
            tables["quarantine"] = self._spark.createDataFrame(leave), len(decided.leave)
        return self._warehouse.write(tables)

    def _kept(self, rows: DataFrame, keep: Collection[int]) -> dict[str, tuple[DataFrame, int]]:
        from pyspark.sql import functions as f
        from pyspark.sql.pandas.types import from_arrow_schema

        kept = rows.where(f.col("position").isin(sorted(keep)))
        counts = Counter[str]()
        for at in keep:
            counts.update(self._counts[at])
        return {
            name: (
                kept.where(f.col("table") == name)
                .select("rows")
                .mapInArrow(unpacked, from_arrow_schema(TABLES[name])),
                count,
            )
            for name, count in counts.items()
        }

    def _taken(self, offered: Sequence[Offered], decided: Plan) -> list[Taken]:
        return [
            Taken(
                folder.path,
                decided.outcomes[at],
                each.evidence is not None and each.evidence.partial,
                decided.reasons.get(at, ""),
            )
            for at, (folder, each) in enumerate(zip(self._folders, offered, strict=True))
        ]
