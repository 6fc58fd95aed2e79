"""Many small files become one, so that the files of a table stay few however often something is added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.model.columns import MONTHLY, ORDER, TABLES, WITH_LOAD
from reports.warehouse.place import Place
from reports.warehouse.tables import conflicts, ensured, files_of, refusals, sorted_rows, writing
from reports.warehouse.warehouse import Warehouse

FAN = 8
"""So many files become one."""
FINAL = 1_000_000
"""A file with so many rows is left as it is: it is large enough, and more of them take too much memory."""
OF_A_RUN = {"frames": 20_000}
"""The same for tables of which single runs are asked for: that of one has as many when it is large."""
ONE_FILE = 2**34
"""Octets that no such file has."""


@dataclass(frozen=True, slots=True)
class File:
    """A file: how many rows, the first and the last load in it, and the month."""

    rows: int
    first: str
    last: str
    month: str = ""


def compact(warehouse: Warehouse) -> int:
    """Merge what `to_merge` names, in each table and month once; gives how often.

    A merge that another writer made futile is thrown away.
    """
    return sum(_compacted(warehouse.place, name) for name in TABLES)


def to_merge(files: Sequence[File], final: int = FINAL) -> Sequence[File]:
    """Choose the files to make into one: the newest, as far back as none outweighs those behind it.

    None if these are neither FAN nor `final` rows. So each row is written again only when its file at least
    doubles, and the files stay about as few as their doublings.
    """
    chosen: list[File] = []
    held = 0
    for file in sorted(files, key=lambda each: (each.last, each.first), reverse=True):
        if max(file.rows, held) >= final or (chosen and file.rows > held):
            break
        chosen.append(file)
        held += file.rows
    return chosen if len(chosen) >= FAN or held >= final else ()


def _compacted(place: Place, name: str) -> int:
    files = files_of(ensured(place, name))
    if name not in WITH_LOAD:  # what is left out is little
        return int(len(files) >= FAN and _merged(place, name, "TRUE"))
    months: dict[str, list[File]] = {}
    for each in map(_file, files):
        months.setdefault(each.month, []).append(each)
    final = OF_A_RUN.get(name, FINAL)
    chosen = (to_merge(each, final) for each in months.values())
    return sum(_merged(place, name, _rows_in(name, each)) for each in chosen if each)


def _file(told: Mapping[str, Any]) -> File:
    return File(told["num_records"], told["min.load"], told["max.load"], told.get("partition.month") or "")


def _rows_in(name: str, chosen: Sequence[File]) -> str:
    """Say in SQL which rows stand in files: by their loads, so that what is added beside is no conflict."""
    first, last = min(each.first for each in chosen), max(each.last for each in chosen)
    which = f"load >= '{first}' AND load <= '{last}'"
    return f"{which} AND month = '{chosen[0].month}'" if name in MONTHLY else which


def _merged(place: Place, name: str, which: str) -> bool:
    """Write the rows for which the SQL `which` holds anew, sorted; False when another writer changed them.

    Delta Lake's own merging is no use: of two that merge the same files at once both come to an end, and
    each row stands there twice. (Its order, Z, would look at the first sixteen octets of a rule's name.)
    """
    from deltalake import write_deltalake

    with conflicts(), refusals(place):
        table = ensured(place, name)
        write_deltalake(
            table,
            sorted_rows(table, which, ORDER[name]),
            mode="overwrite",
            predicate=which,
            target_file_size=ONE_FILE,
            writer_properties=writing(),
        )
        return True
    return False
