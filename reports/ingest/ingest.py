"""Run folders into the warehouse: each run once, whatever is handed in, in whatever order, by however many.

Where a run has made rows of its evidence they are brought in as they are. Of others the driver reads the
evidence, as a cluster does not see this machine's files; the executors make rows of it and write all of them
but those that describe the runs. By these the driver decides what becomes of each run, and only its own
change makes one visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports.ingest.adding import added
from reports.ingest.intake import Folder, groups, portions
from reports.ingest.parsing import PARSED, TASK_OCTETS, given, parsed
from reports.ingest.reconciling import Decision, Offered, RunCopy
from reports.ingest.settling import held, settle
from reports.model.batches import unpacked
from reports.model.columns import TABLES
from reports.warehouse.cleaning import clean
from reports.warehouse.compaction import compact
from reports.warehouse.place import Place
from reports.warehouse.tables import ensured
from reports.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    """What became of each folder, in the order they were handed in, and the tables' versions then."""

    taken: tuple[Taken, ...]
    versions: Mapping[str, int]

    def of(self, outcome: Decision) -> tuple[Taken, ...]:
        return tuple(each for each in self.taken if each.outcome is outcome)


def _nobody(progress: Progress) -> None: ...


def ingest(
    spark: Callable[[], SparkSession],
    folders: Sequence[Path],
    warehouse: Warehouse,
    told: Callable[[Progress], None] = _nobody,
) -> Ingested:
    """Take the runs in `folders` into the `warehouse`, which is made when it is not there.

    A folder that cannot be taken in is left out with its reason, and nothing else is lost. `spark` is asked
    for a Spark only where events have to be read. `told` hears how far it is. Raises WarehouseError when the
    warehouse cannot be written.
    """
    taken: list[Taken] = []
    for name in TABLES:  # here, so that tasks need only add to them, and other readers find them all
        ensured(warehouse.place, name)
    told(Progress(0, len(folders)))
    for portion in portions(folders):
        taken += _take(spark, warehouse, portion)
        compact(warehouse)
        told(Progress(len(taken), len(folders)))
    clean(warehouse)
    return Ingested(tuple(taken), warehouse.latest().versions)


def _take(
    spark: Callable[[], SparkSession], warehouse: Warehouse, folders: Sequence[Folder]
) -> Iterator[Taken]:
    """Bring some folders into the warehouse, as many as fit into memory."""
    place = warehouse.place
    known = {each.digest: each for each in held(place, "digest", {each.digest for each in folders})}
    new = {at: each for at, each in enumerate(folders) if not each.reason and each.digest not in known}
    sealed = {at: each for at, each in new.items() if each.seal}
    others = {at: each for at, each in new.items() if not each.seal}
    heads = added(place, sealed) | (_parsed(spark(), place, others) if others else {})
    rows = {at: unpacked(head["row"]) for at, head in heads.items() if not head["reason"]}
    offered = []
    for at, folder in enumerate(folders):
        evidence = known.get(folder.digest)
        if at in rows:
            (run,) = rows[at].select(["run", "digest", "partial", "events"]).to_pylist()
            evidence = RunCopy(**run, table=heads[at]["table"])
        reason = heads[at]["reason"] if at in heads else folder.reason
        run_name = evidence.run if evidence else folder.run
        offered.append(Offered(folder.name, run_name, folder.digest, evidence, reason))
    outcomes, reasons = settle(place, offered, rows)
    for at, folder in enumerate(folders):
        evidence = offered[at].evidence
        partial = evidence is not None and evidence.partial
        yield Taken(folder.path, outcomes[at], partial, reasons.get(at, ""))


def _parsed(spark: SparkSession, place: Place, folders: Mapping[int, Folder]) -> dict[int, dict[str, Any]]:
    """Have the executors make rows of the `folders`, and give what describes each, by position."""
    from pyspark.sql.pandas.types import from_arrow_schema

    position = {id(folder): at for at, folder in folders.items()}
    tasks = groups(folders.values(), TASK_OCTETS)
    table = given([(position[id(folder)], folder) for folder in group] for group in tasks)
    heads = spark.createDataFrame(table).mapInArrow(partial(parsed, place), from_arrow_schema(PARSED))
    return {row.position: row.asDict() for row in heads.collect()}
