"""What a warehouse of a fleet costs to ask: `python -m reports.trials.fleet`, a million runs unless told.

To judge and ingest so many would take weeks. So what ingest and compaction would leave behind is written at
once: the rows of some real run folders (`reports.trials.benchmark_runs`), read by their seals, over and over
in files as compaction makes them (as many rows, as sorted, as compressed), each run with an identity, a load
and durations of its own. Each of PRODUCTS is judged NIGHTLY times each night, and a night is a build.
Exchanges are not kept, as after `ingest --frames-for`. Then matrix and audit are asked, by the commands' own
functions.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
from rich.console import Console

from reports.model.columns import RUNS, stored
from reports.trials.benchmark import Bench, quicker
from reports.trials.benchmark_runs import TARGETS, Generator
from reports.trials.costs import Cost
from reports.warehouse.compaction import FINAL
from reports.warehouse.place import Place, place_at
from reports.warehouse.spark import session
from reports.warehouse.tables import DICTIONARY_OCTETS, GROUP_ROWS, PAGE_ROWS, ensured

PRODUCTS = 50
NIGHTLY = 55
LATER = 25
"""The version of the later samples."""
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
SAMPLES = (*range(TARGETS), *range(LATER * TARGETS, (LATER + 1) * TARGETS))
"""Numbers of the run folders of which rows are copied: an early and a later version of each product."""
AT_RANDOM = {"duration": 1.0, "decided_at": 1.0, "waited": 0.5}
"""Columns that no two runs share the values of, and in what part of the rows they are not zero."""
HEADS = 50_000
"""So many rows of `runs` are made at once."""


@dataclass(frozen=True, slots=True)
class Run:
    """The run with a `number`, of which 0 is the oldest."""

    number: int

    @property
    def night(self) -> int:
        return self.number // (PRODUCTS * NIGHTLY)

    @property
    def product(self) -> int:
        return self.number % PRODUCTS

    @property
    def sample(self) -> int:
        """Which of SAMPLES its rows are those of: a product changes once in a hundred nights."""
        return self.product % TARGETS + TARGETS * (self.night // 100 % 2)

    @property
    def started(self) -> datetime:
        within = self.number % (PRODUCTS * NIGHTLY)
        return BEGAN + timedelta(days=self.night, seconds=within * 24 * 3600 / (PRODUCTS * NIGHTLY))

    @property
    def month(self) -> str:
        return f"{self.started:%Y-%m}"

    @property
    def identity(self) -> str:
        return hashlib.sha256(f"run {self.number}".encode()).hexdigest()[:12]

    @property
    def load(self) -> str:
        return f"{self.started:%Y%m%dT%H%M%S}-{self.number:016x}"


def files(count: int, rules: int) -> Iterator[tuple[Run, ...]]:
    """Part `count` runs into files as compaction leaves them: of one month, and with about FINAL rows."""
    found: list[Run] = []
    for run in map(Run, range(count)):
        if found and (len(found) * rules >= FINAL or run.month != found[0].month):
            yield tuple(found)
            found = []
        found.append(run)
    if found:
        yield tuple(found)


@cache
def _samples(folder: Path) -> pa.Table:
    """Read what is copied: the rows of each sample by rule, one sample behind the other."""
    return pa.concat_tables(parquet.read_table(path) for path in sorted(folder.glob("*.parquet")))


def write_samples(scratch: Path, rules: int) -> tuple[list[dict[str, Any]], int]:
    """Write the rows of the samples' verdicts into `scratch`; gives what describes each, and rows of each."""
    generator, heads, rows = Generator(rules), [], 0
    names = stored("verdicts").names
    for at, folder in enumerate(generator.write(scratch / "folders", SAMPLES)):
        table = parquet.read_table(folder / "rows" / "verdicts.parquet")
        table = table.select([name for name in names if name in table.column_names]).sort_by("rule")
        for place, field in enumerate(table.schema):
            if pa.types.is_string(field.type):
                table = table.set_column(place, field.name, pc.dictionary_encode(table.column(place)))
        parquet.write_table(table, scratch / f"{at:02}.parquet")
        heads += parquet.read_table(folder / "rows" / "runs.parquet").to_pylist()
        rows = table.num_rows
    return heads, rows


def write_file(given: tuple[str, str, tuple[Run, ...]]) -> tuple[str, int, dict[str, Any], str]:
    """Write the verdicts of some runs; gives path, octets, what Delta Lake keeps of the file, and month."""
    scratch, table, runs = given
    copied = _samples(Path(scratch))
    rules = copied.num_rows // len(SAMPLES)
    runs = tuple(sorted(runs, key=lambda run: run.identity))
    first = np.array([run.sample * rules for run in runs], np.int64)
    rows = copied.take(pa.array((first[:, None] + np.arange(rules, dtype=np.int64)).ravel()))
    rng = np.random.default_rng(runs[0].number)
    for name, share in AT_RANDOM.items():
        drawn = pa.array(np.where(rng.random(rows.num_rows) < share, rng.random(rows.num_rows), 0.0))
        there = rows.column(name)
        own = pc.if_else(pc.is_valid(there), drawn, pa.scalar(None, pa.float64()))
        rows = rows.set_column(rows.column_names.index(name), name, own)
    every = pa.array(np.repeat(np.arange(len(runs), dtype=np.int32), rules))
    for name in ("run", "load"):
        texts = pa.array([run.identity if name == "run" else run.load for run in runs])
        column = pa.DictionaryArray.from_arrays(every, texts)
        rows = rows.set_column(rows.column_names.index(name), name, column)
    path = f"month={runs[0].month}/{runs[0].load}.parquet"
    place = Path(table, path)
    place.parent.mkdir(parents=True, exist_ok=True)
    written(rows, place)
    named = rows.column("rule").slice(0, rules).to_pylist()
    ends = {"rule": (named[0], named[-1]), "run": _ends(run.identity for run in runs)}
    ends["load"] = _ends(run.load for run in runs)
    told = {
        "numRecords": rows.num_rows,
        "minValues": {name: least for name, (least, _) in ends.items()},
        "maxValues": {name: largest for name, (_, largest) in ends.items()},
        "nullCount": dict.fromkeys(ends, 0),
    }
    return path, place.stat().st_size, told, runs[0].month


def _ends(texts: Iterable[str]) -> tuple[str, str]:
    found = sorted(texts)
    return found[0], found[-1]


def written(rows: pa.Table, place: Path) -> None:
    """Write a file as those of the warehouse are (reports.warehouse.tables.writing)."""
    parquet.write_table(
        rows,
        place,
        compression="zstd",
        row_group_size=GROUP_ROWS,
        max_rows_per_page=PAGE_ROWS,
        dictionary_pagesize_limit=DICTIONARY_OCTETS,
        store_schema=False,
        write_page_index=True,
    )


def _heads(described: Sequence[dict[str, Any]], runs: Sequence[Run]) -> pa.Table:
    """Make the rows of `runs` by what describes the samples."""
    copied = pa.Table.from_pylist(list(described), schema=RUNS)
    rows = copied.take(pa.array([run.sample for run in runs]))
    own = {
        "load": [run.load for run in runs],
        "run": [run.identity for run in runs],
        "digest": [hashlib.sha256(run.identity.encode()).hexdigest() for run in runs],
        "folder": [f"{run.started:%Y%m%d-%H%M%S}-{run.identity}" for run in runs],
        "started": [f"{run.started:%Y-%m-%dT%H:%M:%S.%f}Z" for run in runs],
        "target": [f"process:broker-{run.product}" for run in runs],
        "product": [f"Broker {run.product}" for run in runs],
        "label": [f"main {run.started:%Y-%m-%d}" for run in runs],
    }
    columns = [pa.array(own[name]) if name in own else rows.column(name) for name in stored("runs").names]
    return pa.table(columns, schema=stored("runs"))


def build(scratch: Path, place: Place, count: int, rules: int, console: Console) -> None:
    """Make a warehouse of `count` runs about `rules` rules each, by all cores."""
    from deltalake import write_deltalake
    from deltalake.transaction import AddAction, RemoveAction

    described, rows = write_samples(scratch, rules)
    told = ensured(place, "verdicts")
    schema = told.schema()
    began, done = time.monotonic(), 0
    actions: list[AddAction | RemoveAction] = []
    parts = list(files(count, rows))
    given = ((str(scratch), place.of("verdicts"), runs) for runs in parts)
    with multiprocessing.get_context("spawn").Pool() as pool:  # who forks must not have Delta Lake
        for path, octets, kept, month in pool.imap(write_file, given):
            now = time.time_ns() // 1_000_000
            actions.append(AddAction(path, octets, {"month": month}, now, True, json.dumps(kept)))
            done += kept["numRecords"]
            if len(actions) % 50 == 0:
                pace = done / (time.monotonic() - began)
                console.print(f"  {done:,} verdicts, {pace:,.0f} a second", highlight=False)
    told.create_write_transaction(actions, "append", schema, ["month"])
    ensured(place, "runs")
    for start in range(0, count, HEADS):
        heads = _heads(described, [Run(number) for number in range(start, min(start + HEADS, count))])
        write_deltalake(place.of("runs"), heads, mode="append")


@click.command()
@click.option("--runs", type=click.IntRange(min=1), default=1_000_000, show_default=True, metavar="N")
@click.option("--rules", type=click.IntRange(min=100), default=2000, show_default=True, help="judged per run")
@click.option(
    "--scratch", type=click.Path(path_type=Path), metavar="DIR", help="make it here, and leave it there"
)
@click.option("--memory", metavar="SIZE", help="of Spark's driver (default: as the commands have it)")
def main(runs: int, rules: int, scratch: Path | None, memory: str | None) -> None:
    """Build the warehouse of a fleet and ask it for the matrix and an audit."""
    console = Console()
    with tempfile.TemporaryDirectory(prefix="amqp-conformance-fleet-") as folder:
        where = scratch or Path(folder)
        place = place_at(str(where / "warehouse"))
        if not Path(place.of("runs")).exists():
            where.mkdir(parents=True, exist_ok=True)
            build(where, place, runs, rules, console)
        with session(memory=memory) as spark:
            bench = Bench(spark, where, rules, 0)
            for name, size in bench.tables().items():
                console.print(name, size)
            for question in (bench.matrix, bench.audit):
                console.print(question.__name__, _told(quicker(question)), highlight=False)


def _told(taken: Cost) -> str:
    used = f"{taken.processors:.1f} s of cores, {taken.memory / 2**20:,.0f} MiB in use"
    notes = ", ".join(f"{name} {value:,.10g}" for name, value in taken.notes.items())
    return f"{taken.seconds:.1f} s, {used}, {taken.read / 2**20:,.0f} MiB read; {notes}"


if __name__ == "__main__":
    main()
