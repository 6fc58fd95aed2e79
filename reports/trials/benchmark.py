"""What a warehouse of many runs costs: `python -m reports.trials.benchmark`.

Makes run folders (`reports.trials.benchmark_runs`), takes them in through the real ingest, and asks the
questions of the commands, with half the runs and with all of them, so that the growth shows. Each question is
asked three times: once to warm the virtual machine up, and of the other two the quicker counts.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from reports.audit import audit_text, claims
from reports.audit.audit import audit
from reports.compare import comparison_text
from reports.compare.comparison import compare
from reports.compare.matrix import as_json, matrix
from reports.model.columns import TABLES
from reports.model.findings import Build
from reports.trials.benchmark_runs import CONNECTIONS, TARGETS, Generator, identity
from reports.warehouse.spark import session
from scenarios.registry import checks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from reports.warehouse.warehouse import Snapshot, Warehouse

RESULTS = ("matrix", "comparison", "flakiness", "audit")
"""The four that `report`, `compare` and `audit` give."""
EVERY = 0.05
"""Seconds between two looks at the memory in use."""
WIDTH = 120
"""Columns that the table needs."""
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Cost:
    """What a stage took: seconds by the clock and of processors, the most memory at once, and octets read.

    All our processes count together. Memory is in octets; what they say to each other counts as read as
    well. Seconds of processors tell what it costs on a machine that others use too. `notes` is what else
    there is to tell.
    """

    seconds: float = 0.0
    processors: float = 0.0
    memory: int = 0
    read: int = 0
    notes: dict[str, float] = field(default_factory=dict)

    def add(self, later: Cost) -> None:
        self.seconds += later.seconds
        self.processors += later.processors
        self.read += later.read
        self.memory = max(self.memory, later.memory)


@contextmanager
def cost() -> Iterator[Cost]:
    """Measure what is done inside."""
    before = _used()
    taken, latest, over = Cost(memory=_memory()), dict(before), threading.Event()

    def look() -> None:
        taken.memory = max(taken.memory, _memory())
        latest.update(_used())  # a process that has ended stays as it was last seen

    def watch() -> None:
        while not over.wait(EVERY):
            look()

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    began = time.perf_counter()
    try:
        yield taken
    finally:
        taken.seconds = time.perf_counter() - began
        over.set()
        watching.join()
        look()
        grown = [latest[each] - before.get(each, Counter()) for each in latest]
        taken.read = sum(each["read"] for each in grown)
        taken.processors = sum(each["ticks"] for each in grown) / TICKS_PER_SECOND


def _family() -> Iterator[Path]:
    """Find the folders in /proc of this process and all that came from it."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        stat = _told(folder / "stat")
        if stat:
            children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(folder.name))
    waiting = [os.getpid()]
    while waiting:
        process = waiting.pop()
        waiting += children.get(process, [])
        yield Path(f"/proc/{process}")


def _memory() -> int:
    """Add up the resident memory of all our processes, in octets; what they share counts for each."""
    return sum(int(told.split()[1]) * PAGE for each in _family() if (told := _told(each / "statm")))


def _used() -> dict[str, Counter[str]]:
    """Read by process the octets that it has read and the ticks of processors that it has used so far."""
    found = {}
    for each in _family():
        stat, io = _told(each / "stat"), _told(each / "io")
        if stat and io:
            ticks = sum(int(tick) for tick in stat.rpartition(")")[2].split()[11:13])
            found[each.name] = Counter(read=int(io.split()[1]), ticks=ticks)
    return found


def _told(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # the process has ended since it was listed
        return ""


class Bench:
    """One benchmark in a `scratch` folder, with `rules` judged per run."""

    def __init__(self, spark: SparkSession, scratch: Path, rules: int, chunk: int) -> None:
        from reports.warehouse.warehouse import Warehouse

        self.spark = spark
        self.scratch = scratch
        self.chunk = chunk
        self.warehouse: Warehouse = Warehouse(str(scratch / "warehouse"))
        self.generator = Generator(rules)
        self.claims = claims.read(_statement(self.generator), "the benchmark")

    def grow(self, begin: int, end: int, console: Console) -> Cost:
        """Take the runs from number `begin` up to `end` in; making their folders does not count."""
        from reports.ingest.ingest import ingest
        from reports.ingest.reconciling import Decision

        total = Cost()
        for start in range(begin, end, self.chunk):
            folders = self.generator.write(self.scratch / "runs", range(start, min(start + self.chunk, end)))
            with cost() as taken:
                done = ingest(lambda: self.spark, folders, self.warehouse)
            if len(done.of(Decision.ADDED)) != len(folders):
                raise click.ClickException(f"not all runs from {start} on were taken in: {done.taken}")
            shutil.rmtree(self.scratch / "runs")
            total.add(taken)
            console.print(f"  {start + len(folders)} runs, {taken.seconds:.1f} s", highlight=False)
        total.notes["runs per second"] = (end - begin) / total.seconds
        return total

    def ask(self) -> dict[str, Cost]:
        """Ask every question once to warm up, and then for what it costs."""
        questions = {
            "matrix": self.matrix,
            "comparison": self.comparison,
            "flakiness": self.flakiness,
            "audit": self.audit,
            "site's exchanges": self.exchanges,
            "one exchange": self.lookup,
        }
        return {name: _quicker(question) for name, question in questions.items()}

    def matrix(self) -> Mapping[str, float]:
        """Make matrix.json over all builds."""
        from reports.warehouse.jobs import columns

        runs, verdicts = self._tables("runs", "verdicts")
        found = columns(runs, verdicts)
        path = self.scratch / "matrix.json"
        with path.open("w", encoding="ascii") as file:
            file.writelines(as_json(matrix(self.generator.catalogue, checks(), found)))
        return {"builds": len(found), "findings": sum(len(each.findings) for each in found)}

    def comparison(self) -> Mapping[str, float]:
        """Compare two versions of one product."""
        from reports.warehouse.jobs import columns

        pair = [Build("Broker 0", f"3.{version}.0", "process:broker-0") for version in (0, 1)]
        runs, verdicts = self._tables("runs", "verdicts")
        old, new = columns(runs, verdicts, builds=pair)
        found = compare(old, new)
        comparison_text.as_json(found)
        return {"changes": len(found.changes)}

    def flakiness(self) -> Mapping[str, float]:
        """Find all that is flaky on any build."""
        from reports.warehouse.jobs import flakiness

        runs, verdicts = self._tables("runs", "verdicts")
        return {"flaky": flakiness(runs, verdicts).toArrow().num_rows}

    def audit(self) -> Mapping[str, float]:
        """Audit a claim on every rule, against all versions of the product."""
        from reports.warehouse.jobs import BUILD, columns

        runs, verdicts = self._tables("runs", "verdicts")
        ours = runs.where(runs["product"] == self.claims.product).select(*BUILD).distinct()
        found = columns(runs, verdicts, builds=[Build.of(row.asDict()) for row in ours.collect()])
        audited = audit(self.claims, found, self.generator.rules)
        audit_text.as_json(audited)
        return {"claims": len(audited.results), "builds": len(audited.builds)}

    def exchanges(self) -> Mapping[str, float]:
        """Look up an exchange for each distinct finding on each rule, of the builds that the site shows."""
        from reports.warehouse.jobs import exchanges, findings, frames_of, of_builds

        runs, verdicts, frames = self._tables("runs", "verdicts", "frames")
        shown = exchanges(findings(of_builds(runs, newest=30), verdicts))
        keys = shown.select("exchange", "run", "connection").toArrow()
        wanted = set(zip(*(column.to_pylist() for column in keys.columns), strict=True))
        rows = frames_of(frames, wanted).toArrow().num_rows
        return {"findings": keys.num_rows, "exchanges": len(wanted), "rows": rows}

    def lookup(self) -> Mapping[str, float]:
        """Look up the exchange of one rule in one run."""
        from reports.warehouse.jobs import frames_of

        (frames,) = self._tables("frames")
        place = CONNECTIONS // 2
        wanted = (self.generator.rules[place].id, identity(7), f"main.{place + 1}.1")
        found = frames_of(frames, [wanted])
        return {"rows": found.toArrow().num_rows, "rows scanned": rows_scanned(found)}

    def tables(self) -> dict[str, dict[str, int]]:
        """Count rows, files and octets of each table."""
        snapshot = self.warehouse.snapshot()
        return {name: self._size(snapshot, name) for name in TABLES}

    def _size(self, snapshot: Snapshot, name: str) -> dict[str, int]:
        files = [Path(file) for file in snapshot.files(name)]
        return {
            "rows": snapshot.rows(name),
            "files": len(files),
            "octets": sum(file.stat().st_size for file in files),
        }

    def _tables(self, *names: str) -> list[DataFrame]:
        snapshot = self.warehouse.snapshot()
        return [snapshot.table(self.spark, name) for name in names]


def _quicker(question: Callable[[], Mapping[str, float]]) -> Cost:
    with cost() as first:
        question()
    best = []
    for _ in range(2):
        with cost() as taken:
            taken.notes.update(question())
        best.append(taken)
    quicker = min(best, key=lambda taken: taken.seconds)
    quicker.notes["seconds at first"] = first.seconds
    return quicker


def _statement(generator: Generator) -> dict[str, object]:
    """Make a vendor's claim to keep every rule."""
    return {
        "vendor": "Vendor",
        "product": "Broker 0",
        "title": "Statement",
        "source": "made up",
        "document": generator.rules[0].document,
        "statuses": {"ok": "kept"},
        "claim": [{"rule": rule.id, "status": "ok"} for rule in generator.rules],
    }


def rows_scanned(frame: DataFrame) -> int:
    """Count the rows that scans of files gave to what stands above them when `frame` was collected."""
    return sum(_scans(frame._jdf.queryExecution().executedPlan()))


def _scans(plan: Any) -> list[int]:
    name = plan.nodeName()
    if name.startswith("Scan parquet"):
        return [int(plan.metrics().apply("numOutputRows").value())]
    if name == "AdaptiveSparkPlan":
        return _scans(plan.executedPlan())
    if name.endswith("QueryStage"):
        return _scans(plan.plan())
    children = plan.children()
    return [count for at in range(children.size()) for count in _scans(children.apply(at))]


def measure(spark: SparkSession, scratch: Path, runs: int, rules: int, chunk: int, console: Console) -> Any:
    """Give the figures of a benchmark with `runs` runs: for half of them, and for all."""
    bench = Bench(spark, scratch, rules, chunk)
    told: dict[str, Any] = {
        "runs": runs,
        "rules": rules,
        "master": spark.sparkContext.master,
        "cores": spark.sparkContext.defaultParallelism,
    }
    done = 0
    for share, upto in (("half", runs // 2), ("all", runs)):
        console.print(f"{share}: up to {upto} runs", style="bold")
        stages = {"ingest": bench.grow(done, upto, console)} | bench.ask()
        told[share] = {
            "runs": upto,
            "tables": bench.tables(),
            "stages": {name: asdict(taken) for name, taken in stages.items()},
        }
        done = upto
    together = {share: sum(told[share]["stages"][name]["seconds"] for name in RESULTS) for share in _SHARES}
    told["results together"] = together | {"factor": together["all"] / together["half"]}
    return told


_SHARES = ("half", "all")


def stages(told: Mapping[str, Any]) -> Table:
    """Tabulate what each stage took with half of the runs and with all."""
    halves = [told[share] for share in _SHARES]
    table = Table("stage", box=None)
    for half in halves:
        for heading in (f"{half['runs']} runs, s", "s of cores", "MiB in use", "MiB read"):
            table.add_column(heading, justify="right")
    table.add_column("factor", justify="right")
    for name in halves[0]["stages"]:
        taken = [half["stages"][name] for half in halves]
        cells = [
            cell
            for each in taken
            for cell in (
                f"{each['seconds']:.2f}",
                f"{each['processors']:.2f}",
                _mebibytes(each["memory"]),
                _mebibytes(each["read"]),
            )
        ]
        table.add_row(name, *cells, f"{taken[1]['seconds'] / taken[0]['seconds']:.2f}")
    together = told["results together"]
    ends = [cell for share in _SHARES for cell in (f"{together[share]:.2f}", "", "", "")]
    table.add_row("results together", *ends, f"{together['factor']:.2f}", style="bold")
    return table


def sizes(told: Mapping[str, Any]) -> Table:
    """Tabulate how large the tables are at the end."""
    table = Table("table", "rows", "files", "MiB", box=None)
    for name, size in told["all"]["tables"].items():
        table.add_row(name, f"{size['rows']:,}", str(size["files"]), f"{size['octets'] / 2**20:.1f}")
    return table


def _mebibytes(octets: int) -> str:
    return f"{octets / 2**20:,.1f}"


@click.command()
@click.option("--runs", type=click.IntRange(min=4 * TARGETS), default=10_000, show_default=True, metavar="N")
@click.option("--rules", type=click.IntRange(min=100), default=600, show_default=True, help="judged per run")
@click.option("--chunk", type=click.IntRange(min=1), default=500, show_default=True, help="runs per ingest")
@click.option("--master", metavar="URL", help="the Spark cluster (default: this machine, all cores)")
@click.option("--memory", metavar="SIZE", help="of Spark's driver (default: as the commands have it)")
@click.option("--json", "path", type=click.Path(path_type=Path), metavar="FILE", help="the figures as JSON")
def main(
    runs: int, rules: int, chunk: int, master: str | None, memory: str | None, path: Path | None
) -> None:
    """Build a warehouse of N runs and ask it what the commands ask."""
    console = Console(width=max(WIDTH, Console().width))
    scratch = tempfile.TemporaryDirectory(prefix="amqp-conformance-bench-")
    with scratch as folder, session(master, memory=memory) as spark:
        told = measure(spark, Path(folder), runs, rules, chunk, console)
    console.print(sizes(told), stages(told))
    for name, taken in told["all"]["stages"].items():
        notes = ", ".join(f"{key} {value:,.10g}" for key, value in taken["notes"].items())
        console.print(f"{name}: {notes}", highlight=False)
    if path is not None:
        path.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
