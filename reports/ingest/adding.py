"""Rows that stand as Parquet beside their evidence, brought into the tables as they are. Needs no Spark.

Only the load is another one each time, as it must be: it stands uncompressed and all loads are as long, so
the new one takes the place of the old, octet for octet.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.parquet as parquet

from conformance.evidence.kinds import EvidenceError
from reports.ingest.intake import Folder, told
from reports.ingest.sealing import LOAD, ROWS, Seal, file_of
from reports.model.batches import packed
from reports.model.columns import stored
from reports.model.rows import TableRow
from reports.warehouse.adding import Added, add
from reports.warehouse.place import Place
from reports.warehouse.tables import new_load

HEAD = 16 * 1024 * 1024
"""Octets that the row which describes a run does not have."""
DETAILS = ("frames", "verdicts")
"""In the order in which they are added."""


def added(place: Place, folders: Mapping[int, Folder]) -> dict[int, TableRow]:
    """Bring the details of the sealed runs in `folders` into the warehouse; gives what describes each.

    That is a row of `reports.ingest.parsing.PARSED`, by position. A folder that cannot be read stops no
    other.
    """
    heads: dict[int, TableRow] = {}
    details: dict[str, list[Added]] = {name: [] for name in DETAILS}
    for at, folder in folders.items():
        try:
            heads[at], found = _read(folder)
        except (EvidenceError, OSError) as failure:
            heads[at] = {"reason": told(folder.name, str(failure))}
            continue
        for name, each in found.items():
            details[name].append(each)
    for name, files in details.items():
        add(place, name, files)
    return heads


def _read(folder: Folder) -> tuple[TableRow, Mapping[str, Added]]:
    seal, load = folder.seal, new_load()
    assert seal is not None
    head = parquet.read_table(pa.BufferReader(_renewed(folder, seal, "runs", load))).to_pylist()[0]
    own = pa.RecordBatch.from_pylist([head | {"folder": folder.name}], schema=stored("runs"))
    found = {
        name: Added(seal.month, load, seal.rows[name], head["run"], seal.rules[name], octets)
        for name in DETAILS
        if seal.rows[name]
        for octets in [_renewed(folder, seal, name, load)]
    }
    return {"table": "runs", "row": packed(own), "reason": ""}, found


def _renewed(folder: Folder, seal: Seal, name: str, load: str) -> bytes:
    """Give the file of a table with another load.

    Raises EvidenceError where it had not one alone, or is not a file of that table.
    """
    octets = (folder.path / ROWS / file_of(name)).read_bytes().replace(seal.load.encode(), load.encode())
    try:
        groups = parquet.read_metadata(pa.BufferReader(octets))
        columns = groups.schema.to_arrow_schema()
        at = groups.schema.names.index(LOAD)
        loads = {
            (each.min, each.max)
            for number in range(groups.num_row_groups)
            for each in [groups.row_group(number).column(at).statistics]
        }
    except (pa.ArrowException, ValueError) as failure:
        raise EvidenceError(f"{ROWS}/{file_of(name)} is not what it is called ({failure})") from None
    expected = pa.schema([each for each in stored(name) if each.name != "month"])
    if not columns.equals(expected):
        raise EvidenceError(f"{ROWS}/{file_of(name)} has other columns than its table")
    size = sum(groups.row_group(number).total_byte_size for number in range(groups.num_row_groups))
    if groups.num_rows != seal.rows[name] or loads - {(load, load)} or (name == "runs" and size > HEAD):
        raise EvidenceError(f"{ROWS}/{file_of(name)} has other rows than its seal says")
    return octets
