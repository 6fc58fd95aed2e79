"""The rows of a run as Parquet beside its evidence, made when the run ends: nobody reads its events for them.

The events stay the truth. Rows count only while the evidence has the hashes that it had when they were made,
and they themselves have theirs; else the events are read, as those of a run without such rows are.
"""

from __future__ import annotations

import hashlib
import json
import re
import traceback
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.evidence.folder import RUN_FILE, read_run
from conformance.evidence.kinds import EvidenceError, Line, readers
from conformance.evidence.stream import State, Verification
from reports.model.rows import TableRow, digest_of, evidence_files, rows_from

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = "rows"
"""The folder of the rows, inside that of their run."""
SEAL, FAILED = "seal.json", "failed.txt"
SEALED = ("runs", "verdicts", "frames")
LOAD = "load"
"""The column that stands uncompressed: a run's file has one value of it, and each ingest puts in its own."""


def file_of(table: str) -> str:
    """Name the file in which the rows of a table stand."""
    return f"{table}.parquet"


def is_of_rows(name: str) -> bool:
    """Say whether a file in the folder of the rows is one of theirs."""
    return name == SEAL or name in map(file_of, SEALED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """What is said of the rows of a run.

    `run` is its identity, `month` that of its start ("2026-11"), `columns` tells the tables' columns from any
    others, `load` is the one that the rows have here. `evidence` and `hashes` are SHA-256 in hexadecimal, of
    the files that the rows were made of and of those that they stand in, by name. `rows` says how many each
    table has, `rules` the least and the largest rule.
    """

    run: str
    columns: str
    load: str
    month: str
    evidence: Mapping[str, str]
    hashes: Mapping[str, str]
    rows: Mapping[str, int]
    rules: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        # A folder may come from anywhere: what is said here becomes part of paths, and of what is replaced.
        if not (_LOAD.fullmatch(self.load) and _MONTH.fullmatch(self.month)):
            raise ValueError(f"no load or no month: {self.load!r}, {self.month!r}")
        if self.hashes.keys() != {file_of(name) for name in SEALED} or self.rows.get("runs") != 1:
            raise ValueError(f"other tables than {', '.join(SEALED)}")

    @property
    def digest(self) -> str:
        """Tell its evidence from any other, as `reports.model.rows.digest` does."""
        return digest_of(self.evidence)


_READERS = readers(Seal)
_LOAD, _MONTH = re.compile(r"\d{8}T\d{6}-[0-9a-f]{16}"), re.compile(r"\d{4}-\d\d")


def seal(folder: Path, lines: Sequence[Line]) -> None:
    """Write the rows of the complete run in `folder`, whose events are `lines`, where there is Parquet.

    A run has its evidence, whatever becomes of its rows: why there are none stands in their place.
    """
    if not _has_parquet():
        return
    place = folder / ROWS
    try:
        place.mkdir()
        hashes = {path.name: _sha256(path) for path in evidence_files(folder) if path.name != RUN_FILE}
        whole = Verification(State.OK, "")
        found = rows_from(str(folder), digest_of(hashes), read_run(folder), lines, whole)
        tables = {"runs": [found.run], "verdicts": found.verdicts, "frames": found.frames}
        told = _written(place, tables, hashes, month=found.run["started"][:7])
        (place / SEAL).write_text(json.dumps(asdict(told), indent=2) + "\n", encoding="ascii")
    except Exception:
        (place / SEAL).unlink(missing_ok=True)
        with suppress(OSError):
            (place / FAILED).write_text(traceback.format_exc(), encoding="utf-8", errors="backslashreplace")


def sealed(folder: Path) -> Seal | None:
    """Read what is said of the rows in `folder`: None where there are none, or not of its evidence."""
    if not (folder / ROWS / SEAL).is_file() or not _has_parquet():
        return None
    try:
        data = json.loads((folder / ROWS / SEAL).read_bytes())
        told = Seal(**{name: read(data[name]) for name, read in _READERS.items()})
        there = {path.name for path in evidence_files(folder)} - {RUN_FILE}
        same = there == told.evidence.keys() and told.columns == columns()
        return told if same and _same(folder, told.evidence) and _same(folder / ROWS, told.hashes) else None
    except (EvidenceError, OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def rows_sealed(folder: Path, table: str, rules: Collection[str] | None = None) -> list[TableRow]:
    """Read the rows of a `table` that a sealed run has made, of some `rules` or all."""
    import pyarrow.parquet as parquet

    from reports.model.columns import TABLES

    only = None if rules is None else [("rule", "in", sorted(rules))]
    found = parquet.read_table(folder / ROWS / file_of(table), columns=TABLES[table].names, filters=only)
    rows: list[TableRow] = found.to_pylist()
    return rows


def columns() -> str:
    """Tell these columns of the tables from those of another suite."""
    from reports.model.columns import stored

    told = "\n".join(f"{name}\n{stored(name)}" for name in SEALED)
    return hashlib.sha256(told.encode()).hexdigest()


def _has_parquet() -> bool:
    try:
        import pyarrow.parquet  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


def _same(place: Path, hashes: Mapping[str, str]) -> bool:
    return all(_sha256(place / name) == told for name, told in hashes.items())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _written(
    place: Path, tables: Mapping[str, list[dict[str, Any]]], evidence: Mapping[str, str], month: str
) -> Seal:
    import pyarrow as pa

    from reports.model.batches import batch_of
    from reports.model.columns import ORDER, stored
    from reports.warehouse.tables import new_load

    load, rules = new_load(), dict[str, tuple[str, ...]]()
    for name, rows in tables.items():
        batch = batch_of(stored(name), [row | {"load": load, "month": month} for row in rows])
        table = pa.Table.from_batches([batch])
        table = table.sort_by([(column, "ascending") for column in ORDER[name]])
        if "month" in table.column_names:  # a partition's value stands in no file of it
            table = table.drop_columns(["month"])
        _write(table, place / file_of(name))
        named = [row["rule"] for row in rows if "rule" in row]
        rules[name] = (min(named), max(named)) if named else ()
    return Seal(
        run=tables["runs"][0]["run"],
        columns=columns(),
        load=load,
        month=month,
        evidence=evidence,
        hashes={file_of(name): _sha256(place / file_of(name)) for name in tables},
        rows={name: len(rows) for name, rows in tables.items()},
        rules=rules,
    )


def _write(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as parquet

    from reports.warehouse.tables import GROUP_ROWS, PAGE_ROWS

    parquet.write_table(
        table,
        path,
        row_group_size=GROUP_ROWS,
        max_rows_per_page=PAGE_ROWS,
        use_dictionary=[name for name in table.column_names if name != "octets"],
        compression={name: "NONE" if name == LOAD else "ZSTD" for name in table.column_names},
        write_page_index=True,
        store_schema=False,
    )
