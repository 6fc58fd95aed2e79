"""Files of the warehouse as executors read them by other means than Spark's. Knows no driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    place: Place,
    name: str,
    columns: Sequence[str],
    runs: Mapping[str, str],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Read some `columns` of text of `runs`, which stand by their loads, in the files that `batches` name.

    A load is that of one run. So the run is told by it, and comes first.
    """
    import pyarrow.parquet as parquet

    root, store = place.of(name), None if place.local else _store(place, name)
    loads, called = pa.array(list(runs), pa.string()), pa.array(list(runs.values()), pa.string())
    schema = pa.schema([(each, pa.string()) for each in ("run", *columns)])
    for batch in batches:
        for file in batch.column(0).to_pylist():
            inside = file if store is None else file.removeprefix(f"{root}/")
            read = ["load", *columns]
            with parquet.ParquetFile(inside, filesystem=store, read_dictionary=read) as opened:
                for rows in opened.iter_batches(columns=read, batch_size=BATCH):
                    load = rows.column(rows.schema.get_field_index("load"))
                    at = pc.index_in(load.dictionary, loads).take(load.indices)  # null: of another run
                    kept, here = rows.filter(pc.is_valid(at)), at.drop_null()
                    if kept.num_rows:
                        texts = [kept.column(each).cast(pa.string()) for each in columns]
                        yield pa.RecordBatch.from_arrays([called.take(here), *texts], schema=schema)


BATCH = 200_000
"""Rows that are looked through at once."""


def _store(place: Place, name: str) -> Any:
    import pyarrow.fs as fs
    from deltalake.fs import DeltaStorageHandler

    return fs.PyFileSystem(DeltaStorageHandler(place.of(name), dict(place.options)))
