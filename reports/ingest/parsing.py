"""The evidence of runs to rows, on the executors: what `mapInArrow` calls there. Knows no driver."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from conformance.evidence.kinds import EvidenceError
from conformance.evidence.printable import printable
from conformance.interop.folder import LEGS
from reports.ingest.intake import Folder, told
from reports.interop.rows import interop_rows_of
from reports.model.columns import TABLES
from reports.model.rows import TableRow, rows_of

GIVEN = pa.schema(
    [
        ("position", pa.int32()),  # of the folder among those handed in together
        ("folder", pa.string()),
        ("files", pa.map_(pa.string(), pa.binary())),
    ]
)
PARSED = pa.schema(
    [
        ("position", pa.int32()),
        ("table", pa.string()),  # whose rows these are; empty for the row that tells of the run
        ("rows", pa.binary()),  # an Arrow stream: Spark need not look into it until it is written
        ("run", pa.string()),
        ("digest", pa.string()),
        ("partial", pa.bool_()),
        ("events", pa.int64()),
        ("counts", pa.map_(pa.string(), pa.int64())),  # by table, how many rows
        ("reason", pa.string()),  # why there is nothing else
    ]
)
AT_ONCE = 10_000
"""Rows of one stream."""


def given(groups: Iterable[Iterable[tuple[int, Folder]]]) -> pa.Table:
    """Make the table of folders that goes to the executors, by position: one task works on each group."""
    batches = [
        pa.RecordBatch.from_pylist(
            [{"position": at, "folder": each.name, "files": list(each.files.items())} for at, each in group],
            schema=GIVEN,
        )
        for group in groups
    ]
    return pa.Table.from_batches(batches, schema=GIVEN)


def parsed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Make batches of PARSED from batches of GIVEN. A folder that cannot be read stops no other."""
    for batch in batches:
        for number in range(batch.num_rows):
            position, folder, files = (column[number].as_py() for column in batch.columns)
            yield from _parsed(position, folder, dict(files))


def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Make a table's own batches from batches with the streams of that table alone."""
    for batch in batches:
        for stream in batch.column(0):
            with pa.ipc.open_stream(stream.as_buffer()) as reader:
                yield from reader


def _parsed(position: int, folder: str, files: Mapping[str, bytes]) -> Iterator[pa.RecordBatch]:
    packed: list[TableRow] = []
    try:
        run, tables = (_interop if LEGS in files else _judged)(folder, files)
        for name, table in tables.items():
            packed += ({"table": name, "rows": stream} for stream in _packed(TABLES[name], table))
        head = _head(run, tables)
    except EvidenceError as failure:
        packed, head = [], {"reason": told(folder, str(failure))}
    except Exception as failure:  # nobody foresaw what stands there; the other folders must not suffer
        reason = f"{folder}: not the evidence of a run ({type(failure).__name__}: {failure})"
        packed, head = [], {"reason": told(folder, reason)}
    found = [{"table": ""} | head, *packed]
    yield _batch(PARSED, [row | {"position": position} for row in found])


def _judged(folder: str, files: Mapping[str, bytes]) -> tuple[TableRow, Mapping[str, list[TableRow]]]:
    rows = rows_of(folder, files)
    return rows.run, {"runs": [rows.run], "verdicts": rows.verdicts, "frames": rows.frames}


def _interop(folder: str, files: Mapping[str, bytes]) -> tuple[TableRow, Mapping[str, list[TableRow]]]:
    rows = interop_rows_of(folder, files)
    return rows.run, {"interop_runs": [rows.run], "interop_legs": rows.legs}


def _head(run: TableRow, tables: Mapping[str, list[TableRow]]) -> TableRow:
    facts = {name: run[name] for name in ("run", "digest", "partial", "events")}
    return facts | {"counts": [(name, len(rows)) for name, rows in tables.items()], "reason": ""}


def _packed(schema: pa.Schema, rows: list[TableRow]) -> Iterator[bytes]:
    batch = _batch(schema, rows)
    for start in range(0, len(rows), AT_ONCE):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_batch(batch.slice(start, AT_ONCE))
        yield sink.getvalue().to_pybytes()


def _batch(schema: pa.Schema, rows: list[TableRow]) -> pa.RecordBatch:
    """Put the `rows` under `schema`. Text that is none (half a surrogate pair) becomes visible."""
    try:
        return _columns(schema, rows)
    except UnicodeEncodeError:
        return _columns(schema, [_visible(row) for row in rows])


def _columns(schema: pa.Schema, rows: list[TableRow]) -> pa.RecordBatch:
    columns = [pa.array([row.get(each.name) for row in rows], each.type) for each in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value) if not _encodable(value) else value
    if isinstance(value, Mapping):
        return {key: _visible(each) for key, each in value.items()}
    return [_visible(each) for each in value] if isinstance(value, list) else value


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
