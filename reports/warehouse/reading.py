"""Files of the warehouse as executors read them by other means than Spark's. Knows no driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from reports.warehouse.place import Place


def read_remote(
    place: Place, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Read the files of an object store that `batches` name."""
    import pyarrow.dataset as dataset

    root, store = place.of(name), _store(place, name)
    for batch in batches:
        for file in batch.column(0).to_pylist():
            inside = file.removeprefix(f"{root}/")
            yield from dataset.dataset(inside, schema=schema, filesystem=store, format="parquet").to_batches()


def read_texts(
    place: Place, name: str, columns: Sequence[str], loads: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Read some `columns` of text, with `load`, of the files that `batches` name: rows of `loads` alone."""
    import pyarrow.parquet as parquet

    wanted, root, at = pa.array(loads, pa.string()), place.of(name), list(columns).index("load")
    store = None if place.local else _store(place, name)
    schema = pa.schema([(each, pa.string()) for each in columns])
    for batch in batches:
        for file in batch.column(0).to_pylist():
            inside = file if store is None else file.removeprefix(f"{root}/")
            with parquet.ParquetFile(inside, filesystem=store, read_dictionary=list(columns)) as opened:
                for rows in opened.iter_batches(columns=list(columns), batch_size=BATCH):
                    kept = rows.filter(pc.is_in(rows.column(at), wanted))
                    if kept.num_rows:
                        yield kept.cast(schema)


BATCH = 200_000
"""Rows that are looked through at once."""


def _store(place: Place, name: str) -> Any:
    import pyarrow.fs as fs
    from deltalake.fs import DeltaStorageHandler

    return fs.PyFileSystem(DeltaStorageHandler(place.of(name), dict(place.options)))
