"""Rows as Arrow has them."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from conformance.evidence.printable import printable
from reports.model.rows import TableRow


def packed(row: pa.RecordBatch) -> bytes:
    """Write the row that describes a run as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, row.schema) as writer:
        writer.write_batch(row)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def unpacked(row: bytes) -> pa.Table:
    """Give the row that describes a run, as its table has it."""
    with pa.ipc.open_stream(row) as reader:
        return reader.read_all()


def batch_of(schema: pa.Schema, rows: list[TableRow]) -> pa.RecordBatch:
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
