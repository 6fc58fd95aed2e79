"""Warehouses with few runs, whose rows say no more than a test asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from reports.ingest.reconciling import Decision, Offered, RunCopy
from reports.ingest.settling import settle
from reports.model.columns import stored
from reports.warehouse.tables import append, ensured, new_load
from reports.warehouse.warehouse import Warehouse


def frame(rule: int, run: int, number: int) -> dict[str, object]:
    return {
        "rule": f"0-9-1/queue.declare.{rule:02}",
        "run": f"r{run}",
        "connection": "c",
        "number": number,
        "octets": b"\x00\xff",
    }


def add_frames(warehouse: Warehouse, load: str, found: Sequence[dict[str, object]]) -> None:
    ensured(warehouse.place, "frames")
    beside = {"load": load, "month": "2026-11"}
    append(
        warehouse.place,
        "frames",
        pa.Table.from_pylist([row | beside for row in found], schema=stored("frames")),
    )


def name(warehouse: Warehouse, load: str, run: int, **changes: Any) -> Sequence[Decision]:
    """Make a run visible whose details were written under `load`."""
    row: dict[str, Any] = {
        "run": f"r{run}",
        "digest": load,
        "partial": False,
        "events": 1,
        "started": "2026-11-20T12",
    } | changes
    copy = RunCopy(*(row[each] for each in ("run", "digest", "partial", "events")))
    told = pa.Table.from_pylist([row | {"load": load}], schema=stored("runs"))
    return settle(warehouse.place, [Offered("f", copy.run, load, copy)], {0: told})[0]


def filled(path: Path, runs: int) -> Warehouse:
    """Make a warehouse into which `runs` loads were written, one run each, with frames in no order."""
    mine = Warehouse(str(path))
    for run in range(runs):
        load = new_load()
        add_frames(mine, load, [frame(rule, run, number) for number in (2, 0, 1) for rule in range(7)])
        assert name(mine, load, run) == [Decision.ADDED]
    return mine
