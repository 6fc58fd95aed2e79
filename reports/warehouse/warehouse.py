"""The warehouse: Parquet tables that several may write and read at once.

Data files are written first, into folders nobody knows of; then a manifest that names them is given the
next version, which only one writer can do. A reader takes the newest manifest and sees just its files,
whatever happens meanwhile. A writer killed in between leaves files that no manifest names; they go when
they are old enough that nobody can be writing them any more.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING
from uuid import uuid4

from reports.model.columns import BEFORE, ORDER, TABLES
from reports.warehouse import manifest as manifests
from reports.warehouse.manifest import Batch, Manifest, Part, WarehouseError
from reports.warehouse.store import Store, StoreError, store_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Batch", "Manifest", "Snapshot", "Warehouse", "WarehouseError"]

DATA = "data"
KEPT = 10
"""So many manifests stay, and so does whatever they name."""
GRACE = 24 * 3600.0
"""Seconds for which a superseded manifest stays as well, for its readers, and files that none names."""
FILE_ROWS = 1_000_000
"""Rows of one file, roughly."""
WRITING = {
    # The exchange of a rule is a few rows among millions, and of a sorted file only their pages are read:
    # of a million frames in 112 MB one percent. With Spark's own 20,000 rows a page it is three.
    "parquet.block.size": str(64 * 1024 * 1024),
    "parquet.page.row.count.limit": "2000",
}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The warehouse as it was when this was taken; nothing written later shows."""

    manifest: Manifest
    store: Store

    @property
    def version(self) -> int:
        """How many commits there were; 0 before the first."""
        return self.manifest.version

    def table(self, spark: SparkSession, name: str) -> DataFrame:
        """Read the rows of the table `name` of `reports.model.columns`, which may be none."""
        return self.read(spark, name, self.manifest.parts(name))

    def read(self, spark: SparkSession, name: str, parts: Iterable[Part]) -> DataFrame:
        """Read the rows of some `parts` of the table `name`."""
        from pyspark.sql.pandas.types import from_arrow_schema

        schema = from_arrow_schema(TABLES[name])
        uris = [_literal(self.store.uri(f"{part.folder}/{file}")) for part in parts for file in part.files]
        if not uris:
            return spark.createDataFrame([], schema)
        rows = spark.read.schema(schema).parquet(*uris)
        return rows.fillna(BEFORE) if name == "runs" else rows

    def files(self, name: str) -> int:
        """Count the files in which the table `name` stands."""
        return sum(len(part.files) for part in self.manifest.parts(name))


class Warehouse:
    """The warehouse at `path`: a folder of this machine, or a URI that the running session reaches."""

    def __init__(self, path: str, store: Store | None = None) -> None:
        self.path = path
        self.store = store or store_at(path)

    def snapshot(self) -> Snapshot:
        """Take the warehouse as it is now. Raises WarehouseError when there is none."""
        found = self.latest()
        if not found.version:
            raise WarehouseError(f"{self.path}: there is no warehouse; ingest a run to make one")
        return found

    def latest(self) -> Snapshot:
        """Take the warehouse as it is now, an empty one when nothing was ingested yet."""
        while True:
            found = manifests.versions(self._names(manifests.FOLDER))
            if not found:
                return Snapshot(Manifest(), self.store)
            name = manifests.name_of(found[-1])
            try:
                content = self.store.read(name)
            except StoreError as failure:
                raise WarehouseError(f"{self.path}: {failure}") from None
            if content is not None:  # else ten newer ones have come and it was cleaned away
                return Snapshot(manifests.decode(content, f"{self.path}/{name}"), self.store)

    def write(self, tables: Mapping[str, tuple[DataFrame, int]]) -> Batch:
        """Write the `tables`, each with the number of its rows, as a batch that no manifest names yet."""
        folder = f"{DATA}/{uuid4().hex}"
        with ThreadPoolExecutor(len(TABLES)) as together:  # each is a job of few tasks
            writing = {
                name: together.submit(self._write, f"{folder}/{name}", name, rows, count)
                for name, (rows, count) in tables.items()
                if count
            }
            return {name: part.result() for name, part in writing.items()}

    def stage(self, spark: SparkSession, rows: DataFrame) -> tuple[DataFrame, str]:
        """Write `rows` that are dear to compute, to read them more than once; remove the folder afterwards.

        Unlike rows that Spark keeps in memory they need none, and do not draw along what they came from.
        """
        folder = f"{DATA}/{uuid4().hex}"
        uri = self.store.uri(f"{folder}/staged")
        rows.write.parquet(uri, compression="none")  # it is read but once or twice
        return spark.read.schema(rows.schema).parquet(_literal(uri)), folder

    def commit(
        self, base: Snapshot, without: Collection[Batch] = (), added: Collection[Batch] = ()
    ) -> Snapshot | None:
        """Make the version that follows `base`; None when somebody else has made it meanwhile."""
        following = base.manifest.next(without, added)
        name = manifests.name_of(following.version)
        try:
            won = self.store.create(name, manifests.encode(following))
            # After a sleep of days the name may be free again, as the old versions have been cleaned away.
            if won and base.version and self.store.read(manifests.name_of(base.version)) is None:
                self.store.remove(name)
                won = False
        except StoreError as failure:
            raise WarehouseError(f"{self.path}: {failure}") from None
        return Snapshot(following, self.store) if won else None

    def discard(self, batches: Iterable[Batch], still: Snapshot) -> None:
        """Remove what was written in vain, of `batches` that no manifest has ever named.

        Parts they share with the version `still` stay.
        """
        for batch in batches:
            for part in batch.values():
                if part.folder not in still.manifest.folders():
                    self.store.remove(part.folder)

    def clean(self) -> None:
        """Remove manifests that nobody reads any more, and files that no remaining manifest names.

        What is younger than GRACE stays, so that neither a reader nor a writer loses anything under its
        hands. Ages are taken between files, so that no clock but the file system's counts.
        """
        found = manifests.versions(self._names(manifests.FOLDER))
        if not found:
            return
        born = {version: self.store.changed(manifests.name_of(version)) for version in found}
        limit = born[found[-1]] - GRACE
        # A manifest is as old as the commit that superseded it.
        old = [
            version for version, next in pairwise(found) if born[next] < limit and version in found[:-KEPT]
        ]
        named: set[str] = set()
        for version in found:
            content = None if version in old else self.store.read(manifests.name_of(version))
            if content is not None:
                named |= manifests.decode(content, manifests.name_of(version)).folders()
        for version in old:
            self.store.remove(manifests.name_of(version))
        for batch in filter(_BATCH.fullmatch, self._names(DATA)):
            self._clean_batch(f"{DATA}/{batch}", named, limit)

    def digests(self, spark: SparkSession) -> dict[str, str]:
        """Give, by table, the SHA-256 of its rows, each as JSON, in an order that depends on them alone."""
        from pyspark.sql import functions as f

        snapshot = self.latest()
        found = {}
        for name in TABLES:
            line = f.sha2(f.to_json(f.struct("*")), 256)
            # Sorted within buckets by the digest's first octet, so that no worker sorts them all.
            buckets = (
                snapshot.table(spark, name)
                .select(line.alias("row"))
                .groupBy(f.substring("row", 1, 2).alias("bucket"))
                .agg(f.sha2(f.concat_ws("", f.sort_array(f.collect_list("row"))), 256).alias("digest"))
            )
            whole = "".join(row.digest for row in buckets.orderBy("bucket").collect())
            found[name] = hashlib.sha256(whole.encode()).hexdigest()
        return found

    def _write(self, folder: str, name: str, rows: DataFrame, count: int) -> Part:
        pieces = -(-count // FILE_ROWS)
        split = rows.coalesce(1) if pieces == 1 else rows.repartitionByRange(pieces, *ORDER[name])
        split.sortWithinPartitions(*ORDER[name]).write.options(**WRITING).parquet(self.store.uri(folder))
        files = tuple(file for file in self._names(folder) if file.endswith(".parquet"))
        if not files:
            raise WarehouseError(f"{self.path}: Spark wrote {folder} where the driver does not see it")
        return Part(folder, files, count)

    def _clean_batch(self, folder: str, named: Collection[str], limit: float) -> None:
        if self.store.changed(folder) >= limit:
            return
        parts = [f"{folder}/{table}" for table in self._names(folder)]
        in_use = [part for part in parts if part in named]
        if not in_use:
            self.store.remove(folder)
            return
        for part in parts:
            if part not in in_use:
                self.store.remove(part)

    def _names(self, folder: str) -> list[str]:
        try:
            return self.store.names(folder)
        except StoreError as failure:
            raise WarehouseError(f"{self.path}: {failure}") from None


_BATCH = re.compile(r"[0-9a-f]{32}")


def _literal(uri: str) -> str:
    """Escape in `uri` all that Hadoop takes for a pattern."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", uri)
