"""The same runs make the same tables, wherever Spark runs, in any order, whoever is killed or in the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from conformance.evidence.verdicts import Verdict
from reports.commands.commands import render_site
from reports.ingest import intake
from reports.ingest.ingest import ingest
from reports.ingest.reconciling import Decision
from reports.ingest.tests.cluster import Standalone
from reports.tests.samples import EMPTY, LOCKED, make_run, make_runs
from reports.tests.writer import PORTION, Writer, site_of
from reports.warehouse.tests import contents
from reports.warehouse.tests.contents import digests
from reports.warehouse.warehouse import Warehouse


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Make whole runs, one that is part of another, and one that is none; the whole comes before its part."""
    place = tmp_path_factory.mktemp("runs")
    verdicts = {LOCKED: Verdict.FAIL, EMPTY: Verdict.PASS}
    whole = make_runs(place, 5, verdicts=verdicts, frames=20)
    part = make_run(place / "part", run="r0002", verdicts=verdicts, partial=True)
    (place / "broken").mkdir()
    return [*whole, part, place / "broken"]


@pytest.fixture(scope="module")
def expected(spark: SparkSession, runs: Sequence[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the warehouse that comes of the runs, on `local[2]`, in one piece, and its site."""
    path = tmp_path_factory.mktemp("expected")
    done = ingest(lambda: spark, runs, Warehouse(str(path)))
    assert len(done.of(Decision.ADDED)) == 5
    render_site(spark, Warehouse(str(path)).snapshot(), site_of(path))
    return path


def octets_of(site: Path) -> dict[str, bytes]:
    found = {str(path.relative_to(site)): path.read_bytes() for path in site.rglob("*") if path.is_file()}
    assert {"index.html", "matrix.json", "matrix.csv"} <= found.keys()
    return found


@pytest.fixture(scope="module")
def one_core() -> Iterator[Callable[[], Writer]]:
    """Give a writer on `local[1]`, the same one until it is killed: its start is dear."""
    started: list[Writer] = []

    def running() -> Writer:
        if not started or started[-1].killed:
            started.append(Writer("local[1]"))
        return started[-1]

    yield running
    for each in started:
        each.end()


def test_one_core_and_a_cluster_make_the_same_tables_and_site_in_any_order(
    one_core: Callable[[], Writer], cluster: Standalone, runs: Sequence[Path], expected: Path, tmp_path: Path
) -> None:
    alone, together = tmp_path / "alone", tmp_path / "together"
    one, two = one_core(), Writer(cluster.url)
    one.begin(alone, runs[::-1], site=True)
    two.begin(together, [*runs[3:], *runs[:3]], site=True)
    for each in (one, two):
        assert each.finished().count(Decision.ADDED) == 5
    two.end()
    executors = [path for path in cluster.kept.glob("*/app-*/*") if path.is_dir()]
    assert {path.name for path in executors} == {"0", "1"}  # both workers had one
    # They had our packages from us.
    assert any((path / "amqp_conformance.zip").exists() for path in executors)
    assert digests(alone) == digests(together) == digests(expected)
    site = octets_of(site_of(expected))
    assert octets_of(site_of(alone)) == site
    assert octets_of(site_of(together)) == site


def test_three_at_once_put_each_run_in_once(
    one_core: Callable[[], Writer],
    spark: SparkSession,
    runs: Sequence[Path],
    expected: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intake, "PORTION_RUNS", PORTION)
    other = one_core()
    other.begin(tmp_path, runs[::-1])
    with ThreadPoolExecutor(2) as together:
        ours = [
            together.submit(ingest, lambda: spark, order, Warehouse(str(tmp_path)))
            for order in (runs, [*runs[2:], *runs[:2]])
        ]
    outcomes = [each.outcome for one in ours for each in one.result().taken]
    assert (outcomes + [Decision(each) for each in other.finished()]).count(Decision.ADDED) == 5
    assert digests(tmp_path) == digests(expected)


def test_two_killed_before_they_commit_and_run_again_come_to_the_same(
    one_core: Callable[[], Writer],
    spark: SparkSession,
    runs: Sequence[Path],
    expected: Path,
    tmp_path: Path,
) -> None:
    other = Writer("local[1]")
    processes = {one_core(): 2, other: 1}
    for process, killed in processes.items():
        process.begin(tmp_path, runs[::-1], killed=killed)
    for process in processes:
        assert process.finished() == []
        assert process.killed
    other.end()
    assert len(contents.rows(tmp_path, "runs")) <= PORTION
    ingest(lambda: spark, runs[::-1], Warehouse(str(tmp_path)))
    assert digests(tmp_path) == digests(expected)
