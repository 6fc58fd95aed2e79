"""The same runs make the same tables, wherever Spark runs, in any order, whoever is killed or in the way."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from conformance.evidence.verdicts import Verdict
from conformance.tests.endurance import some
from reports.commands.commands import render_site
from reports.ingest import intake
from reports.ingest.ingest import ingest
from reports.ingest.reconciling import Decision
from reports.ingest.tests.cluster import CLUSTER, home
from reports.tests.samples import EMPTY, LOCKED, make_run, make_runs
from reports.tests.writer import PORTION, Writer, site_of
from reports.warehouse.manifest import Batch
from reports.warehouse.store import LocalStore
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
    done = ingest(spark, runs, Warehouse(str(path)))
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
    one_core: Callable[[], Writer], runs: Sequence[Path], expected: Path, tmp_path: Path
) -> None:
    alone, together = tmp_path / "alone", tmp_path / "together"
    one, two = one_core(), Writer(CLUSTER, **home(tmp_path / "spark"))
    one.begin(alone, runs[::-1], site=True)
    two.begin(together, [*runs[3:], *runs[:3]], site=True)
    for each in (one, two):
        assert each.finished().count(Decision.ADDED) == 5
    two.end()
    executors = [path for path in (tmp_path / "spark" / "work").glob("app-*/*") if path.is_dir()]
    assert sorted(path.name for path in executors) == ["0", "1"]  # both workers had one
    # They had our packages from us.
    assert any((path / "amqp_conformance.zip").exists() for path in executors)
    assert digests(alone) == digests(together) == digests(expected)
    site = octets_of(site_of(expected))
    assert octets_of(site_of(alone)) == site
    assert octets_of(site_of(together)) == site


def test_two_at_once_put_each_run_in_once(
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
    mine = [each.outcome for each in ingest(spark, runs, Warehouse(str(tmp_path))).taken]
    assert (mine + [Decision(each) for each in other.finished()]).count(Decision.ADDED) == 5
    assert digests(tmp_path) == digests(expected)


def test_killed_in_a_commit_and_run_again_it_comes_to_the_same(
    one_core: Callable[[], Writer],
    spark: SparkSession,
    runs: Sequence[Path],
    expected: Path,
    tmp_path: Path,
) -> None:
    process = one_core()
    process.begin(tmp_path, runs[::-1], killed=2)
    assert process.finished() == []
    assert process.killed
    assert Warehouse(str(tmp_path)).snapshot().version == 1
    ingest(spark, runs[::-1], Warehouse(str(tmp_path)))
    assert digests(tmp_path) == digests(expected)


STEPS = 100
"""More steps than any of these ingests takes."""


class Killed(BaseException):
    """Stands for the end of the process: nothing catches it, and what would clean up does not run."""


class Steps:
    """Lets so many steps that change files happen, and not one more."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed


class CountedStore(LocalStore):
    def __init__(self, root: Path, step: Steps) -> None:
        super().__init__(root)
        self._step = step

    def create(self, name: str, content: bytes) -> bool:
        self._step()
        return super().create(name, content)

    def remove(self, name: str) -> None:
        self._step()
        super().remove(name)


class CountedWarehouse(Warehouse):
    """A batch is written table by table, so that a process may end after each."""

    def __init__(self, root: Path, left: int) -> None:
        self.step = Steps(left)
        super().__init__(str(root), CountedStore(root, self.step))

    def write(self, tables: dict[str, tuple[DataFrame, int]]) -> Batch:  # type: ignore[override]
        written: dict[str, tuple[DataFrame, int]] = {}
        for name, table in tables.items():
            self.step()
            written[name] = table
            batch = super().write(written)
        return batch


@pytest.mark.endurance
def test_killed_after_any_step_and_run_again_it_comes_to_the_same(
    spark: SparkSession, runs: Sequence[Path], tmp_path: Path
) -> None:
    """What is handed in second replaces a part and comes out of the quarantine: all there is to write."""
    whole, other, part, broken = runs[1], runs[2], runs[5], make_run(tmp_path / "mended", run="mended")
    stream = (broken / "events.jsonl").read_bytes()
    (broken / "events.jsonl").write_bytes(stream[200:])
    before = tmp_path / "before"
    assert len(ingest(spark, [part, broken], Warehouse(str(before))).of(Decision.QUARANTINED)) == 1
    (broken / "events.jsonl").write_bytes(stream)
    uncut = CountedWarehouse(shutil.copytree(before, tmp_path / "uncut"), STEPS)
    ingest(spark, [whole, other, broken], uncut)
    taken = STEPS - uncut.step.left
    assert taken > 5
    found = {str(digests(tmp_path / "uncut"))}
    for left in some(range(taken), 2):
        place = shutil.copytree(before, tmp_path / f"{left}")
        with pytest.raises(Killed):
            ingest(spark, [whole, other, broken], CountedWarehouse(place, left))
        ingest(spark, [whole, other, broken], Warehouse(str(place)))
        found.add(str(digests(place)))
    assert len(found) == 1
