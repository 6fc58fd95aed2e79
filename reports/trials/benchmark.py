"""What a warehouse of many runs costs: `python -m reports.trials.benchmark`.

Makes run folders as wide as real ones (`reports.trials.benchmark_runs`: some 46,000 events), takes them in
through the real ingest, and asks what the commands ask, by their own functions, with half the runs and with
all of them, so that the growth shows. Each question is asked three times: once to warm the virtual machine
up, and of the other two the quicker counts. What ingest costs is told beside for runs that have all made
rows, read here and from a store by the executors, and for some of which the events have to be read.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
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
from reports.ingest.sealing import ROWS
from reports.model.columns import TABLES
from reports.trials.benchmark_runs import PARTIAL_EVERY, TARGETS, Generator, identity
from reports.trials.costs import Cost, cost
from reports.warehouse.asked import Asked, builds_called
from reports.warehouse.spark import session
from scenarios.registry import checks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from reports.ingest.stores import Stored
    from reports.warehouse.warehouse import Snapshot, Warehouse

NEWEST = Asked(builds=30)
"""What the commands are about unless they are told otherwise."""
FEW = 4
"""Runs of which the events are read, to tell what that costs."""
ROWED = PARTIAL_EVERY - 1
"""Runs that all came to their end and made rows, to tell what these cost."""
RESULTS = ("matrix", "comparison", "flakiness", "audit")
"""The four that `report`, `compare` and `audit` give."""
WIDTH = 120
"""Columns that the table needs."""


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

    def apart(self) -> dict[str, Cost]:
        """Take some runs into warehouses of their own: by their rows, read by executors, by events alone."""
        from reports.ingest.stores import stored_at

        place = self.scratch / "apart"
        folders = self.generator.write(place, range(ROWED))
        found = {"ingest of rows": self._taken(folders)}
        found["ingest of rows in a store"] = self._taken(stored_at(place.as_uri()))
        for folder in folders[:FEW]:
            shutil.rmtree(folder / ROWS)
        found["ingest of events"] = self._taken(folders[:FEW])
        shutil.rmtree(place)
        return found

    def _taken(self, folders: Sequence[Path | Stored]) -> Cost:
        from reports.ingest.ingest import ingest
        from reports.warehouse.warehouse import Warehouse

        with cost() as taken:
            ingest(lambda: self.spark, folders, Warehouse(str(self.scratch / "other")))
        shutil.rmtree(self.scratch / "other")  # the next time is as the first
        taken.notes["runs per second"] = len(folders) / taken.seconds
        taken.notes["per second of a core"] = len(folders) / taken.processors
        return taken

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
        return {name: quicker(question) for name, question in questions.items()}

    def matrix(self) -> Mapping[str, float]:
        """Make matrix.json over the newest builds, as the site has it."""
        from reports.warehouse.jobs import columns

        found = columns(*NEWEST.rows(self.spark, self.warehouse.snapshot()))
        path = self.scratch / "matrix.json"
        with path.open("w", encoding="ascii") as file:
            file.writelines(as_json(matrix(self.generator.catalogue, checks(), found)))
        return {"builds": len(found), "findings": sum(len(each.findings) for each in found)}

    def comparison(self) -> Mapping[str, float]:
        """Compare two versions of one product."""
        pair = [f"Broker 0 3.{version}.0" for version in (0, 1)]
        old, new = builds_called(pair, self.spark, self.warehouse.snapshot())
        found = compare(old, new)
        comparison_text.as_json(found)
        return {"changes": len(found.changes)}

    def flakiness(self) -> Mapping[str, float]:
        """Find all that is flaky on any build."""
        from reports.warehouse.jobs import flakiness

        runs, verdicts = self._tables("runs", "verdicts")
        return {"flaky": flakiness(runs, verdicts).toArrow().num_rows}

    def audit(self) -> Mapping[str, float]:
        """Audit a claim on every rule, against the newest versions of the product."""
        from reports.warehouse.jobs import columns

        ours = replace(NEWEST, products=(self.claims.product,))
        found = columns(*ours.rows(self.spark, self.warehouse.snapshot()))
        audited = audit(self.claims, found, self.generator.rules)
        audit_text.as_json(audited)
        return {"claims": len(audited.results), "builds": len(audited.builds)}

    def exchanges(self) -> Mapping[str, float]:
        """Look up an exchange for each distinct finding on each rule, of the builds that the site shows."""
        from reports.warehouse.jobs import exchanges, findings, frames_of

        snapshot = self.warehouse.snapshot()
        shown = exchanges(findings(*NEWEST.rows(self.spark, snapshot)))
        keys = shown.select("exchange", "run", "connection").toArrow()
        wanted = set(zip(*(column.to_pylist() for column in keys.columns), strict=True))
        frames = snapshot.table(self.spark, "frames", of={run for _, run, _ in wanted})
        rows = frames_of(frames, wanted).toArrow().num_rows
        return {"findings": keys.num_rows, "exchanges": len(wanted), "rows": rows}

    def lookup(self) -> Mapping[str, float]:
        """Look up the exchange of one rule in one run."""
        from reports.warehouse.jobs import frames_of

        place = len(self.generator.rules) // 2
        frames = self.warehouse.snapshot().table(self.spark, "frames", of={identity(7)})
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


def quicker(question: Callable[[], Mapping[str, float]]) -> Cost:
    """Ask a question once to warm up and twice for its cost; gives the quicker, with `seconds at first`."""
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
        stages = {"ingest": bench.grow(done, upto, console)} | bench.apart() | bench.ask()
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
@click.option("--runs", type=click.IntRange(min=4 * TARGETS), default=400, show_default=True, metavar="N")
@click.option("--rules", type=click.IntRange(min=100), default=2000, show_default=True, help="judged per run")
@click.option("--chunk", type=click.IntRange(min=1), default=50, show_default=True, help="runs per ingest")
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
