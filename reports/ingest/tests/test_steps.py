"""Whatever a writer has done when it is killed, no run shows in part, and the next one ends its work.

The executors' part is played by this process, so that it can end after each step of theirs, too; and the
warehouse stands on this machine, or behind the API of S3 (a server of its own, on the loopback address).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from conformance.evidence.stream import read
from conformance.evidence.verdicts import Verdict
from conformance.tests.endurance import some
from reports.ingest import ingest as ingesting
from reports.ingest import parsing, settling, stores
from reports.ingest.ingest import ingest
from reports.ingest.intake import Folder
from reports.ingest.making import Made
from reports.ingest.reconciling import Decision
from reports.ingest.sealing import seal
from reports.ingest.stores import Stored, stored_at
from reports.model.columns import TABLES
from reports.tests.samples import EMPTY, LOCKED, make_run, make_runs, rewrite
from reports.warehouse import adding, cleaning, compaction
from reports.warehouse.place import Place
from reports.warehouse.tables import append, ensured, refusals
from reports.warehouse.tests.contents import digests, lines, rows
from reports.warehouse.warehouse import Warehouse

STEPS = 200
"""More steps than any of these ingests takes."""
VERDICTS = {LOCKED: Verdict.FAIL, EMPTY: Verdict.PASS}


class Killed(BaseException):
    """Stands for the end of the process: nothing catches it, and what would clean up does not run."""


class Steps:
    """Lets so many steps that change tables happen, and not one more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = STEPS
        monkeypatch.setattr(parsing, "append", self._counted(append))
        for module in (adding, settling, compaction, cleaning):
            monkeypatch.setattr(module, "refusals", self._counted(refusals))

    def _counted(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise Killed
            return step(*arguments)

        return counted


def _there(_: object, place: Place, stored: Sequence[Stored]) -> list[Made]:
    batches = stores.taken(place, {}, stores.named(stored).to_batches())
    return [Made.heard(row["offered"], row["row"]) for batch in batches for row in batch.to_pylist()]


def _here(_: object, place: Place, folders: Mapping[int, Folder]) -> dict[int, dict[str, Any]]:
    return parsing.parsed_here(place, folders)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    monkeypatch.setattr(ingesting, "_parsed", _here)
    monkeypatch.setattr(ingesting, "made_of_stored", _there)
    return Steps(monkeypatch)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Make four runs, of which two bring rows of their own."""
    made = make_runs(tmp_path_factory.mktemp("runs"), 4, verdicts=VERDICTS)
    for run in made[::2]:
        seal(run, read(run))
    return made


def _nowhere() -> Any:
    """Stand for a session where none is used."""
    return None


def whole(warehouse: Path | str, **options: str) -> None:
    """Demand of each run that shows that all of it does."""
    shown = {row["run"] for row in rows(warehouse, "runs", **options)}
    for table, each in (("verdicts", 2), ("frames", 8)):
        found = Counter(row["run"] for row in rows(warehouse, table, **options))
        assert found == dict.fromkeys(shown, each)


@pytest.mark.endurance
@pytest.mark.parametrize("where", ["here", "remote", "read from a store"])
def test_killed_after_any_step_and_run_again_it_comes_to_the_same(
    where: str,
    steps: Steps,
    runs: Sequence[Path],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is handed in second replaces a part and comes out of the quarantine: all there is to write.

    Here everything is merged and cleaned away at once, so that these are among the steps.
    """
    options: Mapping[str, str] = request.getfixturevalue("remote") if where == "remote" else {}
    part = make_run(tmp_path / "part", run="r0002", verdicts=VERDICTS, partial=True)
    broken, mended = (make_run(tmp_path / name / "mended", run="mended") for name in ("broken", "whole"))
    rewrite(broken, [(b"queue.purge", b"queue.purgE")])

    def begun() -> Warehouse:
        steps.left = STEPS
        place = f"s3://kept/{uuid4().hex}" if options else str(tmp_path / uuid4().hex)
        first = ingest(_nowhere, [part, broken], Warehouse(place))
        assert [each.outcome for each in first.taken] == [Decision.ADDED, Decision.QUARANTINED]
        return Warehouse(place)

    def ended(warehouse: Warehouse, left: int = STEPS) -> None:
        steps.left = left
        with monkeypatch.context() as patched:
            if not options:
                patched.setattr(compaction, "FAN", 2)
                patched.setattr(cleaning, "GRACE", 0.0)
                patched.setattr(cleaning, "load_before", lambda _: "9")
            given = [*runs[1:3], mended]
            stored = [found for path in given for found in stored_at(path.as_uri())]
            ingest(_nowhere, stored if where == "read from a store" else given, warehouse)

    uncut = begun()
    ended(uncut)
    taken = STEPS - steps.left
    assert taken > (3 if options else 12)
    for left in some(range(taken), 2 if options else 5):
        cut = begun()
        with pytest.raises(Killed):
            ended(cut, left)
        whole(cut.path, **options)
        ended(cut)
        assert digests(cut.path, **options) == digests(uncut.path, **options)


def _ingest_each(place: str, runs: Sequence[Path]) -> None:
    """Do in a process of its own what is killed there."""
    ingesting._parsed = _here  # type: ignore[assignment]
    for run in runs:
        ingest(_nowhere, [run], Warehouse(place))


@pytest.mark.endurance
@pytest.mark.parametrize("moment", some([each / 20 for each in range(20)], 2))
def test_two_killed_at_any_moment_leave_whole_runs(
    moment: float, steps: Steps, runs: Sequence[Path], tmp_path: Path
) -> None:
    place, starting = tmp_path / "w", get_context("spawn")
    orders = (runs, runs[::-1])
    writers = [starting.Process(target=_ingest_each, args=(str(place), order)) for order in orders]
    for writer in writers:
        writer.start()
    while not (place / "runs" / "_delta_log").exists():
        assert all(writer.is_alive() for writer in writers)
        time.sleep(0.01)
    time.sleep(moment)
    for writer in writers:
        writer.kill()
        writer.join()
    for table in TABLES:
        ensured(Warehouse(str(place)).place, table)
    whole(place)
    for kept in (place, tmp_path / "expected"):
        ingest(_nowhere, runs, Warehouse(str(kept)))
    assert digests(place) == digests(tmp_path / "expected")


def test_three_at_once_put_each_run_in_once_on_s3_and_spark_reads_it(
    spark: SparkSession, runs: Sequence[Path], remote: Mapping[str, str], tmp_path: Path
) -> None:
    place = f"s3://kept/{uuid4().hex}"
    other = make_run(tmp_path / "other", run="r0001")
    with ThreadPoolExecutor(3) as together:
        doing = [
            together.submit(ingest, lambda: spark, order, Warehouse(place))
            for order in (runs[:3], runs[2::-1], runs[1:3])
        ]
    outcomes = Counter(each.outcome for one in doing for each in one.result().taken)
    assert outcomes == {Decision.ADDED: 3, Decision.KNOWN: 5}
    (left,) = ingest(lambda: spark, [other], Warehouse(place)).of(Decision.QUARANTINED)
    assert "another complete run r0001 is there already" in left.reason
    whole(place, **remote)
    ingest(lambda: spark, [*runs[:3], other], Warehouse(str(tmp_path / "here")))
    assert digests(place, **remote) == digests(tmp_path / "here")
    snapshot = Warehouse(place).snapshot()
    for table in ("runs", "verdicts", "frames", "quarantine"):
        found = [row.asDict(recursive=True) for row in snapshot.table(spark, table).collect()]
        assert lines(found) == lines(rows(place, table, **remote))
