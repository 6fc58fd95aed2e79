"""Run folders into the warehouse: each run once, whatever is handed in, in whatever order, by however many.

What stands in a store the executors read (`reports.ingest.stores`). What stands here the driver reads, as a
cluster does not see this machine's files: where a run has made rows of its evidence they are brought in as
they are, of others the executors make rows. All of them are written then but those that describe the runs. By
these the driver decides what becomes of each run, and only its own change makes one visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports.ingest.intake import Folder, groups, portions, read
from reports.ingest.making import Made, made
from reports.ingest.parsing import PARSED, TASK_OCTETS, given, parsed
from reports.ingest.reconciling import Decision
from reports.ingest.settling import settle
from reports.ingest.stores import TOGETHER, Stored, made_of_stored
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

    folder: Path | Stored
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
    folders: Sequence[Path | Stored],
    warehouse: Warehouse,
    told: Callable[[Progress], None] = _nobody,
) -> Ingested:
    """Take the runs in `folders` into the `warehouse`, which is made when it is not there.

    A folder that cannot be taken in is left out with its reason, and nothing else is lost. `spark` is asked
    for a Spark only where events have to be read, or a store. `told` hears how far it is. Raises
    WarehouseError when the warehouse cannot be written.
    """
    taken: list[Taken] = []
    for name in TABLES:  # here, so that tasks need only add to them, and other readers find them all
        ensured(warehouse.place, name)
    told(Progress(0, len(folders)))
    for portion, found in _made(spark, warehouse.place, folders):
        taken += _take(warehouse, portion, found)
        compact(warehouse)
        told(Progress(len(taken), len(folders)))
    clean(warehouse)
    return Ingested(tuple(taken), warehouse.latest().versions)


def _made(
    spark: Callable[[], SparkSession], place: Place, folders: Sequence[Path | Stored]
) -> Iterator[tuple[Sequence[Path | Stored], list[Made]]]:
    """Bring the details of the `folders` in, portion by portion; gives each with what is to be decided."""
    for kind, some in groupby(folders, lambda each: isinstance(each, Stored)):
        if kind:
            stored = [each for each in some if isinstance(each, Stored)]
            for at in range(0, len(stored), TOGETHER):
                together = stored[at : at + TOGETHER]
                yield together, made_of_stored(spark(), place, together)
        else:
            paths = (each for each in some if isinstance(each, Path))
            for portion in portions(map(read, paths)):
                found = made(place, portion, lambda place, others: _parsed(spark(), place, others))
                yield [each.path for each in portion], found


def _take(warehouse: Warehouse, folders: Sequence[Path | Stored], found: Sequence[Made]) -> Iterator[Taken]:
    """Decide what becomes of some folders, of which the details are in the warehouse."""
    rows = {at: unpacked(each.row) for at, each in enumerate(found) if each.row}
    offered = [each.offered for each in found]
    outcomes, reasons = settle(warehouse.place, offered, rows)
    for at, folder in enumerate(folders):
        evidence = offered[at].evidence
        partial = evidence is not None and evidence.partial
        yield Taken(folder, outcomes[at], partial, reasons.get(at, ""))


def _parsed(spark: SparkSession, place: Place, folders: Mapping[int, Folder]) -> dict[int, dict[str, Any]]:
    """Have the executors make rows of the `folders`, and give what describes each, by position."""
    from pyspark.sql.pandas.types import from_arrow_schema

    position = {id(folder): at for at, folder in folders.items()}
    tasks = groups(folders.values(), TASK_OCTETS)
    table = given([(position[id(folder)], folder) for folder in group] for group in tasks)
    heads = spark.createDataFrame(table).mapInArrow(partial(parsed, place), from_arrow_schema(PARSED))
    return {row.position: row.asDict() for row in heads.collect()}
