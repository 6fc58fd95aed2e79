"""Files of Parquet that somebody has made, added to a table as they are. Knows no Spark."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.warehouse.place import Place
from reports.warehouse.tables import conflicts, ensured, refusals, tries

PIECE = 2**19
"""Octets that go to an object store at once."""


@dataclass(frozen=True, slots=True)
class Added:
    """The rows of a run in a table, as the `octets` of a file that bears no month.

    All are of one `load`, `month` and `run`; `rules` are the least and the largest rule.
    """

    month: str
    load: str
    rows: int
    run: str
    rules: tuple[str, ...]
    octets: bytes

    @property
    def path(self) -> str:
        """Where the file stands in its table."""
        return f"month={self.month}/{self.load}.parquet"

    @property
    def statistics(self) -> str:
        """What Delta Lake keeps of a file, to leave it out of a search."""
        least, largest = ({"load": self.load, "run": self.run, "rule": self.rules[at]} for at in (0, -1))
        return json.dumps(
            {
                "numRecords": self.rows,
                "minValues": least,
                "maxValues": largest,
                "nullCount": dict.fromkeys(least, 0),
            }
        )


def add(place: Place, name: str, files: Sequence[Added]) -> None:
    """Add `files` to a table that is there, by one change of it. Raises WarehouseError where it cannot be."""
    from deltalake.transaction import AddAction, RemoveAction

    if not files:
        return
    with refusals(place):
        _put(place, name, files)
    now = time.time_ns() // 1_000_000
    actions: list[AddAction | RemoveAction] = [
        AddAction(each.path, len(each.octets), {"month": each.month}, now, True, each.statistics)
        for each in files
    ]
    for _ in tries(place):
        with conflicts(), refusals(place):
            table = ensured(place, name)
            table.create_write_transaction(actions, "append", table.schema(), ["month"])
            return


def _put(place: Place, name: str, files: Sequence[Added]) -> None:
    if place.local:
        for each in files:
            path = Path(place.of(name), each.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(each.octets)
        return
    from deltalake.fs import DeltaStorageHandler
    from pyarrow.fs import PyFileSystem

    store = PyFileSystem(DeltaStorageHandler(place.of(name), dict(place.options)))
    for each in files:
        # Whole it would come as another type than the one that Delta Lake's stream takes.
        with store.open_output_stream(each.path, buffer_size=2 * PIECE) as sink:
            for at in range(0, len(each.octets), PIECE):
                sink.write(each.octets[at : at + PIECE])
