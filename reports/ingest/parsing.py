"""The evidence of runs to rows, on the executors: what `mapInArrow` calls there. Knows no driver.

Each task adds the details of its runs to the tables itself, under loads of its own, and gives back what
describes them. Repeated it does so under other loads, and what it left the first time nobody names.
"""

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from conformance.evidence.kinds import EvidenceError
from conformance.interop.folder import LEGS
from reports.ingest.intake import Folder, told
from reports.interop.rows import interop_rows_of
from reports.model.batches import batch_of, packed
from reports.model.columns import ORDER, stored
from reports.model.rows import TableRow, rows_of
from reports.warehouse.place import Place
from reports.warehouse.tables import append, new_load

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
        ("table", pa.string()),  # that describes the run
        ("row", pa.binary()),  # the run's own there, as an Arrow stream
        ("reason", pa.string()),  # why there is nothing else
    ]
)
TASK_OCTETS = 8 * 1024 * 1024
"""So much evidence becomes rows before these are written."""


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


def parsed(place: Place, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Make batches of PARSED from batches of GIVEN, once the details of their runs are in the warehouse.

    A folder that cannot be read stops no other.
    """
    for batch in batches:
        heads: list[TableRow] = []
        details: dict[str, list[pa.RecordBatch]] = {name: [] for name in DETAILS}
        octets = 0
        for number in range(batch.num_rows):
            position, folder, files = (column[number].as_py() for column in batch.columns)
            head, found = read(folder, dict(files))
            heads.append({"position": position} | head)
            for name, rows in found.items():
                details[name].append(rows)
            octets += sum(len(content) for _, content in files)
            if octets >= TASK_OCTETS:
                _write(place, details)
                octets = 0
        _write(place, details)
        yield batch_of(PARSED, heads)


def parsed_here(place: Place, folders: Mapping[int, Folder]) -> dict[int, TableRow]:
    """Make rows of the `folders` in this process; gives what describes each, by position."""
    batches = parsed(place, given([[*folders.items()]]).to_batches())
    return {row["position"]: row for batch in batches for row in batch.to_pylist()}


DETAILS = ("frames", "verdicts", "interop_legs")
"""In the order in which they are written."""


def _write(place: Place, details: Mapping[str, list[pa.RecordBatch]]) -> None:
    for name, batches in details.items():
        if batches:
            rows = pa.Table.from_batches(batches)
            append(place, name, rows.sort_by([(column, "ascending") for column in ORDER[name]]))
            batches.clear()


def read(folder: str, files: Mapping[str, bytes]) -> tuple[TableRow, Mapping[str, pa.RecordBatch]]:
    """Read the evidence of one run: its row of PARSED, and the rows of its details by table."""
    load = new_load()
    try:
        described, run, tables = (_interop if LEGS in files else _judged)(folder, files)
        beside = {"load": load, "month": run["started"][:7]}
        details = {
            name: batch_of(stored(name), [row | beside for row in rows])
            for name, rows in tables.items()
            if rows
        }
        own = packed(batch_of(stored(described), [run | beside]))
    except EvidenceError as failure:
        return {"reason": told(folder, str(failure))}, {}
    except Exception as failure:  # nobody foresaw what stands there; the other folders must not suffer
        reason = f"{folder}: not the evidence of a run ({type(failure).__name__}: {failure})"
        return {"reason": told(folder, reason)}, {}
    return {"table": described, "row": own, "reason": ""}, details


def _judged(folder: str, files: Mapping[str, bytes]) -> tuple[str, TableRow, Mapping[str, list[TableRow]]]:
    rows = rows_of(folder, files)
    return "runs", rows.run, {"verdicts": rows.verdicts, "frames": rows.frames}


def _interop(folder: str, files: Mapping[str, bytes]) -> tuple[str, TableRow, Mapping[str, list[TableRow]]]:
    rows = interop_rows_of(folder, files)
    return "interop_runs", rows.run, {"interop_legs": rows.legs}
