"""The evidence of runs to rows, on the executors: what `mapInArrow` calls there. Knows no driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from conformance.kinds import EvidenceError
from conformance.printable import printable
from reports.evidence import Row, Rows, rows_of
from reports.intake import Folder, told
from reports.tables import FRAMES, RUNS, VERDICTS

GIVEN = pa.schema(
    [
        ("position", pa.int32()),  # of the folder among those handed in together
        ("folder", pa.string()),
        ("files", pa.map_(pa.string(), pa.binary())),
    ]
)
TOLD = pa.schema(
    [
        ("run", pa.string()),
        ("digest", pa.string()),
        ("partial", pa.bool_()),
        ("events", pa.int64()),
        ("verdicts", pa.int64()),  # how many rows
        ("frames", pa.int64()),
        ("reason", pa.string()),  # why there is nothing else, then alone
    ]
)
TABLES: Mapping[str, pa.Schema] = {"told": TOLD, "runs": RUNS, "verdicts": VERDICTS, "frames": FRAMES}
PARSED = pa.schema(
    [("position", pa.int32()), *((name, pa.struct(list(schema))) for name, schema in TABLES.items())]
)
"""A row belongs to one table, and has that table's column alone."""
AT_ONCE = 10_000
"""Rows of one batch that goes back to Spark."""


def given(groups: Iterable[Iterable[tuple[int, Folder]]]) -> pa.Table:
    """The folders as they go to the executors, by position: each group is worked on by one task."""
    batches = [
        pa.RecordBatch.from_pylist(
            [{"position": at, "folder": each.name, "files": list(each.files.items())} for at, each in group],
            schema=GIVEN,
        )
        for group in groups
    ]
    return pa.Table.from_batches(batches, schema=GIVEN)


def parsed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """From batches of GIVEN to batches of PARSED. One folder that cannot be read is told, and alone."""
    for batch in batches:
        for number in range(batch.num_rows):
            position, folder, files = (column[number].as_py() for column in batch.columns)
            yield from _parsed(position, folder, dict(files))


def _parsed(position: int, folder: str, files: Mapping[str, bytes]) -> Iterator[pa.RecordBatch]:
    try:
        rows = rows_of(folder, files)
        tables = {"runs": [rows.run], "verdicts": rows.verdicts, "frames": rows.frames}
        arrays = {name: _structs(TABLES[name], table) for name, table in tables.items()}
        head = _head(rows)
    except EvidenceError as failure:
        arrays, head = {}, {"reason": told(folder, str(failure))}
    except Exception as failure:  # nobody foresaw what stands there; the other folders must not suffer
        reason = f"{folder}: not the evidence of a run ({type(failure).__name__}: {failure})"
        arrays, head = {}, {"reason": told(folder, reason)}
    yield _batch(position, "told", _structs(TOLD, [head]))
    for name, array in arrays.items():
        for start in range(0, len(array), AT_ONCE):
            yield _batch(position, name, array.slice(start, AT_ONCE))


def _head(rows: Rows) -> Row:
    facts = {name: rows.run[name] for name in ("run", "digest", "partial", "events")}
    return facts | {"verdicts": len(rows.verdicts), "frames": len(rows.frames), "reason": ""}


def _structs(schema: pa.Schema, rows: list[Row]) -> pa.Array:
    """The `rows` as one array of structs. Text that is none (half a surrogate pair) becomes visible."""
    try:
        return _columns(schema, rows)
    except UnicodeEncodeError:
        return _columns(schema, [_visible(row) for row in rows])


def _columns(schema: pa.Schema, rows: list[Row]) -> pa.Array:
    columns = [pa.array([row.get(each.name) for row in rows], each.type) for each in schema]
    return pa.StructArray.from_arrays(columns, fields=list(schema))


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


def _batch(position: int, name: str, structs: pa.Array) -> pa.RecordBatch:
    count = len(structs)
    columns = [structs if each.name == name else pa.nulls(count, each.type) for each in list(PARSED)[1:]]
    return pa.RecordBatch.from_arrays([pa.array([position] * count, pa.int32()), *columns], schema=PARSED)
