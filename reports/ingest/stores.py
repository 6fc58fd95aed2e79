"""Run folders that stand in a store: found by name, read by the executors, each on its own.

A store is whatever a URI leads to that Delta Lake knows: an object store, or `file://` for a file system that
all machines of a cluster see. Of a folder only the evidence is fetched, and the rows that were made of it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import pyarrow as pa

from conformance.evidence.kinds import EvidenceError
from conformance.evidence.printable import printable
from reports.ingest.intake import RUN_OCTETS, Folder, portions, read, told, too_large
from reports.ingest.making import Made, made
from reports.ingest.parsing import parsed_here
from reports.ingest.sealing import ROWS, is_of_rows
from reports.model.batches import batch_of
from reports.model.rows import is_evidence
from reports.warehouse.place import Place, WarehouseError, place_at
from reports.warehouse.tables import refusals

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem
    from pyspark.sql import SparkSession

TOGETHER = 256
"""Folders that the executors work on before it is decided what becomes of them."""
PIECE = 1024 * 1024
"""Octets that are fetched at once."""
NAMED = pa.schema([("position", pa.int32()), ("path", pa.string()), ("local", pa.bool_())])
MADE = pa.schema([("position", pa.int32()), ("offered", pa.string()), ("row", pa.binary())])


@dataclass(frozen=True, slots=True)
class Stored:
    """A run folder at `place`."""

    place: Place

    def __str__(self) -> str:
        return self.place.path

    @property
    def name(self) -> str:
        """What the folder is called in the tables: the last of its path."""
        last = self.place.path.rpartition("/")[2]
        return printable(last if self.place.local else unquote(last))


def stored_at(uri: str) -> list[Stored]:
    """Find the run folder at `uri`, or the folders directly below it, which then are run folders.

    Raises EvidenceError where there are none, and WarehouseError where nobody can look.
    """
    place = place_at(uri)
    with refusals(place):
        found = _listed(_files(place), "")
    if any(each.is_file and is_evidence(each.base_name) for each in found):
        return [Stored(place)]
    below = sorted(each.base_name for each in found if not each.is_file)
    if not below:
        raise EvidenceError(f"{uri}: there is no run folder")
    names = below if place.local else map(quote, below)
    return [Stored(replace(place, path=place.of(name))) for name in names]


def made_of_stored(spark: SparkSession, place: Place, stored: Sequence[Stored]) -> list[Made]:
    """Have the executors read the `stored` folders, and bring the details of new ones into the warehouse."""
    from pyspark.sql.pandas.types import from_arrow_schema

    work = partial(taken, place, dict(stored[0].place.options))  # as the environment has them: all the same
    found = spark.createDataFrame(named(stored)).mapInArrow(work, from_arrow_schema(MADE)).collect()
    return [Made.heard(row.offered, row.row) for row in sorted(found, key=lambda row: row.position)]


def named(stored: Sequence[Stored]) -> pa.Table:
    """Make the table of the `stored` folders that goes to the executors."""
    rows = [
        {"position": at, "path": each.place.path, "local": each.place.local} for at, each in enumerate(stored)
    ]
    return pa.Table.from_pylist(rows, schema=NAMED)


def taken(
    place: Place, options: Mapping[str, str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Make batches of MADE from batches of NAMED: what an executor does."""
    for batch in batches:
        rows = batch.to_pylist()
        stored = (Stored(Place(each["path"], each["local"], options)) for each in rows)
        with TemporaryDirectory() as scratch:
            places = (Path(scratch, str(number)) for number in range(len(rows)))
            came = 0
            for portion in portions(map(fetched, stored, places)):
                found = made(place, portion, parsed_here)
                at = rows[came : came + len(found)]
                came += len(found)
                told = zip(at, found, strict=True)
                yield batch_of(MADE, [{"position": row["position"]} | each.told() for row, each in told])
                for each in portion:
                    shutil.rmtree(each.path, ignore_errors=True)


def fetched(stored: Stored, into: Path) -> Folder:
    """Read a `stored` folder by way of the folder `into`, where only rows that it brings are left."""
    into.mkdir()
    try:
        with refusals(stored.place):
            _fetch(stored, into)
    except (EvidenceError, WarehouseError) as failure:
        return Folder(into, reason=told(stored.name, str(failure)), called=stored.name)
    folder = read(into, stored.name)
    for file in into.iterdir():
        if file.is_file():
            file.unlink()
    return folder


def _fetch(stored: Stored, into: Path) -> None:
    files = _files(stored.place)
    evidence = [each for each in _listed(files, "") if each.is_file and is_evidence(each.base_name)]
    if sum(each.size for each in evidence) > RUN_OCTETS:
        raise EvidenceError(too_large(stored.name))
    rows = [each for each in _listed(files, ROWS) if each.is_file and is_of_rows(each.base_name)]
    if sum(each.size for each in rows) > RUN_OCTETS:
        rows = []  # no run has made them; the events are there
    (into / ROWS).mkdir()
    for each in (*evidence, *rows):
        with files.open_input_stream(each.path) as source, (into / each.path).open("wb") as sink:
            shutil.copyfileobj(source, sink, PIECE)


def _files(place: Place) -> FileSystem:
    from deltalake.fs import DeltaStorageHandler
    from pyarrow.fs import PyFileSystem

    return PyFileSystem(DeltaStorageHandler(place.path, dict(place.options)))


def _listed(files: FileSystem, folder: str) -> list[FileInfo]:
    from pyarrow.fs import FileSelector

    found: list[FileInfo] = files.get_file_info(FileSelector(folder, allow_not_found=True))
    return found
