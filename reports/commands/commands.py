"""What the commands of `reports.commands.cli` do, one function each; gives the exit status.

Spark is started by those that touch a warehouse, once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from conformance.evidence.folder import RUN_FILE
from conformance.evidence.printable import printable
from conformance.gate.gate import Exit
from conformance.interop.folder import LEGS
from reports.audit import audit_text
from reports.audit.audit import Audit, audit
from reports.audit.claims import Claims, load
from reports.compare import comparison_text
from reports.compare.comparison import Comparison, compare
from reports.compare.matrix import Detection, read_detection
from reports.interop import text as interop_text
from reports.model.findings import Column
from reports.model.single import column_of
from reports.warehouse.asked import Asked, builds_called
from reports.warehouse.spark import Cluster, require, require_installed, session
from spec.catalogue import catalogue

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from reports.ingest.ingest import Ingested
    from reports.ingest.stores import Stored
    from reports.warehouse.warehouse import Snapshot

MARKS = (RUN_FILE, LEGS)
"""The files by which a folder is known as that of a run."""
EVERYTHING = Asked()
FEW = 100
"""Runs, or builds, up to which they are read faster by a virtual machine that does not compile it well."""


def _comparison_page(found: Comparison) -> str:
    from reports.site.alone import comparison_page

    return comparison_page(found)


def _audit_page(found: Audit) -> str:
    from reports.site.alone import audit_page

    return audit_page(found)


COMPARISONS: Mapping[str, Callable[[Comparison], str]] = {
    "json": comparison_text.as_json,
    "markdown": comparison_text.as_markdown,
    "html": _comparison_page,
}
AUDITS: Mapping[str, Callable[[Audit], str]] = {
    "json": audit_text.as_json,
    "markdown": audit_text.as_markdown,
    "html": _audit_page,
}
"""The forms of both that are one text."""


def ingest_runs(
    runs: Sequence[Path | str], warehouse: str, frames_for: int | None, cluster: Cluster, console: Console
) -> int:
    """Put run folders (paths, and URIs of stores) into a warehouse and say what became of them.

    What went over the wire in months that ended more than `frames_for` days ago is removed (None: nothing).
    """
    from reports.ingest.reconciling import Decision

    require_installed()
    folders = list(_all_of(runs))
    with at_need(cluster, console, warehouse, len(folders)) as spark:
        done = ingested(spark, folders, warehouse, console)
    for outcome in Decision:
        if outcome is not Decision.QUARANTINED and (taken := done.of(outcome)):
            names = [f"{each.folder} (partial)" if each.partial else str(each.folder) for each in taken]
            console.print(Text(f"{len(names)} {outcome}: {_some(names)}"), soft_wrap=True)
    if frames_for is not None:
        _forget_frames(warehouse, frames_for, console)
    left = done.of(Decision.QUARANTINED)
    for each in left:
        told = Text(f"{Decision.QUARANTINED}: {printable(each.reason)}", style="bold red")
        console.print(told, soft_wrap=True)
    return int(Exit.NOT_MET if left else Exit.MET)


def _forget_frames(warehouse: str, days: int, console: Console) -> None:
    from reports.warehouse.cleaning import forget_frames
    from reports.warehouse.warehouse import Warehouse

    since = datetime.now(UTC).date() - timedelta(days=days)
    if gone := forget_frames(Warehouse(warehouse), since):
        console.print(Text(f"{gone:,} rows of exchanges from before {since:%Y-%m} are gone"), soft_wrap=True)


def write_dictionary(output: Path, missing: bool, cluster: Cluster, console: Console) -> int:
    """Compute the fault dictionary, and say how much there is in it; of what is `missing` only, if told so.

    Raises DictionaryError where what is there already is none, or nothing can be written.
    """
    from conformance.causes.dictionary import DictionaryError, read, write
    from conformance.causes.faults import known_faults
    from reports.causes.computing import compute

    if not output.absolute().parent.is_dir():  # told before minutes are spent
        raise DictionaryError(f"{output} cannot be written: its directory is not there")
    known = {each.key: each for each in read(output)} if missing else {}
    faults = [each for each in known_faults() if each.key not in known]
    if faults:
        require()
        with (
            session(cluster.master, conf=cluster.conf) as spark,
            _bar("judging faults", len(faults), console) as moved,
        ):
            known |= {each.key: each for each in compute(spark, faults, moved)}
    entries = [known[each.key] for each in known_faults()]
    write(output, entries)
    signs = sum(len(each.signs) for each in entries)
    octets = output.stat().st_size
    told = f"{len(entries)} faults, {len(faults)} of them judged now, turn {signs} rules red"
    console.print(Text(f"{told}; {output} has {octets:,} octets"), soft_wrap=True)
    return int(Exit.MET)


def _all_of(runs: Sequence[Path | str]) -> Iterator[Path | Stored]:
    from reports.ingest.stores import stored_at

    for each in runs:
        yield from stored_at(each) if isinstance(each, str) else all_of([each])


def all_of(folders: Sequence[Path]) -> Iterator[Path]:
    """Give the run folders; one of several targets, which holds a run of each, stands for these."""
    for each in folders:
        own = any((each / mark).exists() for mark in MARKS)
        inside = [] if own else sorted({found.parent for mark in MARKS for found in each.glob(f"*/{mark}")})
        yield from inside or [each]


def write_summaries(warehouse: str, asked: Asked, cluster: Cluster, console: Console) -> int:
    """Write the tables for dashboards, and say how large they are."""
    from reports.warehouse.summaries import path_of, summarise

    with starting(cluster, console, warehouse) as spark:
        made = summarise(spark, _snapshot(warehouse), asked)
    for name, rows in made.items():
        console.print(Text(f"{warehouse}/{path_of(name)}: {rows:,} rows"), soft_wrap=True)
    return int(Exit.MET)


def write_site(
    warehouse: str,
    output: Path,
    detection: Path | None,
    claims: Path | None,
    asked: Asked,
    cluster: Cluster,
    console: Console,
) -> int:
    """Render the site of what is asked for of a warehouse; one of the same is left as it is."""
    from reports.commands.unchanged import state_of
    from reports.site.publishing import is_of

    require_installed()
    proofs = None if detection is None else read_detection(detection)
    told = None if claims is None else load(claims)
    snapshot = _snapshot(warehouse)
    state = state_of(snapshot, asked, (detection, claims))
    if is_of(output, state):
        console.print(Text(f"nothing has changed; begin with {output / 'index.html'}"))
        return int(Exit.MET)
    with starting(cluster, console, warehouse, builds=asked.builds) as spark:
        pages = render_site(spark, snapshot, output, proofs, asked, told, state)
    console.print(Text(f"{pages} files; begin with {output / 'index.html'}"))
    return int(Exit.MET)


def compare_builds(
    old: str, new: str, form: str, warehouse: str | None, cluster: Cluster, console: Console
) -> int:
    """Print what differs between two run folders, or two builds of a warehouse."""
    if warehouse is None:
        before, after = column_of(Path(old)), column_of(Path(new))
    else:
        with starting(cluster, console, warehouse, builds=2) as spark:
            before, after = builds_called((old, new), spark, _snapshot(warehouse))
    found = compare(before, after)
    if form == "table":
        comparison_text.show(found, console)
    else:
        click.echo(COMPARISONS[form](found), nl=False)
    return int(Exit.NOT_MET if found.regressions else Exit.MET)


def compare_sides(old: str, new: str, form: str, warehouse: str, cluster: Cluster, console: Console) -> int:
    """Print what came out otherwise between two versions of a client, or of a broker."""
    from reports.commands.between import FORMS, between

    with starting(cluster, console, warehouse) as spark:
        found = between(spark, _snapshot(warehouse), old, new)
    if form == "table":
        interop_text.show(found, console)
    else:
        click.echo(FORMS[form](found), nl=False)
    return int(Exit.NOT_MET if found.regressed else Exit.MET)


def audit_claims(
    runs: Sequence[Path],
    claims: Path,
    form: str,
    strict: bool,
    warehouse: str | None,
    asked: Asked,
    cluster: Cluster,
    console: Console,
) -> int:
    """Print what measurements, in a warehouse those of their product, say of a vendor's claims."""
    told = load(claims)
    if warehouse is None:
        measured = [column_of(run) for run in runs]
    else:
        from reports.warehouse import jobs

        with starting(cluster, console, warehouse, builds=asked.builds) as spark:
            ours = replace(asked, products=asked.products or (told.product,))
            measured = jobs.columns(*ours.rows(spark, _snapshot(warehouse)))
    found = _audited(told, measured)
    if form == "table":
        console.print(audit_text.as_terminal(found))
    else:
        click.echo(AUDITS[form](found), nl=False)
    return found.exit_status(strict)


def _audited(claims: Claims, columns: Sequence[Column]) -> Audit:
    return audit(claims, columns, catalogue().rules, catalogue().aliases)


def render_site(
    spark: SparkSession,
    snapshot: Snapshot,
    output: Path,
    detection: Detection | None = None,
    asked: Asked = EVERYTHING,
    claims: Claims | None = None,
    state: str = "",
) -> int:
    """Render the site of what is `asked` for of a warehouse into `output`; gives the number of its files.

    It bears the `state` that it is made of, if any. Raises SiteError when `output` holds something else, and
    EvidenceError where what is asked for is not there.
    """
    from reports.commands.between import interop_of
    from reports.compare.coverage import ledgers
    from reports.site.data import SiteData
    from reports.site.rendering import render
    from reports.warehouse import jobs
    from scenarios.registry import checks

    def look_up(wanted: Collection[jobs.Exchange]) -> Mapping[jobs.Exchange, list[dict[str, Any]]]:
        found: dict[jobs.Exchange, list[dict[str, Any]]] = {each: [] for each in wanted}
        frames = snapshot.table(spark, "frames", of={run for _, run, _ in wanted})
        for row in jobs.frames_of(frames, wanted).toArrow().to_pylist():
            found[row["rule"], row["run"], row["connection"]].append(row)
        return found

    columns = jobs.columns(*asked.rows(spark, snapshot))
    site = SiteData(
        catalogue=catalogue(),
        checks=checks(),
        columns=columns,
        ledgers=ledgers(),
        frames=look_up,
        detection=detection,
        audit=None if claims is None else _audited(claims, columns),
        interop=interop_of(spark, snapshot),
    )
    return len(render(output, site, state))


def ingested(
    spark: Callable[[], SparkSession], runs: Sequence[Path | Stored], warehouse: str, console: Console
) -> Ingested:
    """Put run folders into a warehouse, with a bar on the console that shows how far it is."""
    from reports.ingest.ingest import ingest
    from reports.warehouse.warehouse import Warehouse

    with _bar("ingesting", len(runs), console) as moved:
        return ingest(spark, runs, Warehouse(warehouse), lambda progress: moved(progress.done))


def _snapshot(warehouse: str) -> Snapshot:
    from reports.warehouse.warehouse import Warehouse

    return Warehouse(warehouse).snapshot()


def _some(names: Sequence[str], most: int = 5) -> str:
    told = ", ".join(printable(name) for name in names[:most])
    return told if len(names) <= most else f"{told} and {len(names) - most} more"


@contextmanager
def starting(
    cluster: Cluster, console: Console, warehouse: str, coming: int = 0, builds: int | None = None
) -> Iterator[SparkSession]:
    """Start Spark for the block, with a word on the console: it takes seconds.

    `coming` is how many runs are to go into the `warehouse`, `builds` how many are asked about (None: all).
    """
    require()
    with ExitStack() as stack:
        with console.status("starting Spark …"):
            few = (builds is not None and builds <= FEW) or _runs_in(warehouse) + coming <= FEW
            brief = cluster.master is None and few
            spark = stack.enter_context(session(cluster.master, conf=cluster.conf, brief=brief))
        yield spark


@contextmanager
def at_need(
    cluster: Cluster, console: Console, warehouse: str, coming: int
) -> Iterator[Callable[[], SparkSession]]:
    """Give the block what starts Spark when it is first called, and ends it behind the block."""
    with ExitStack() as stack:
        yield cache(lambda: stack.enter_context(starting(cluster, console, warehouse, coming)))


def _runs_in(warehouse: str) -> int:
    """Count the runs in a warehouse, as there may be at most."""
    from reports.warehouse.warehouse import Warehouse

    return Warehouse(warehouse).latest().rows("runs")


@contextmanager
def _bar(what: str, total: int, console: Console) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)
