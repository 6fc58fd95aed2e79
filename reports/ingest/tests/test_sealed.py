"""A run that brings its rows comes to the same as one of which the events are read, and to nothing else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conformance.engine import closing
from conformance.engine.controller import judge_here
from conformance.engine.options import Options
from conformance.evidence.folder import read_run
from conformance.evidence.stream import State, read, verify
from conformance.evidence.verdicts import Verdict
from reports.ingest import sealing
from reports.ingest.ingest import Ingested, ingest
from reports.ingest.reconciling import Decision
from reports.ingest.sealing import FAILED, ROWS, SEAL, file_of, seal, sealed
from reports.model.single import column_of
from reports.site.folders import site_of
from reports.site.rendering import render
from reports.tests.samples import EMPTY, LOCKED, make_run, rewrite
from reports.warehouse.tests.contents import digests, rows
from reports.warehouse.warehouse import Warehouse

VERDICTS = {LOCKED: Verdict.FAIL, EMPTY: Verdict.PASS}


def nobody() -> SparkSession:
    raise AssertionError("Spark was asked for")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = make_run(tmp_path / "with" / "run", verdicts=VERDICTS)
    seal(folder, read(folder))
    return folder


def without(run: Path) -> Path:
    """Give the same run as it would be without rows of its own."""
    copy = shutil.copytree(run, run.parents[1] / "without" / run.name, dirs_exist_ok=True)
    shutil.rmtree(copy / ROWS)
    return copy


def test_its_rows_are_those_that_its_events_become(spark: SparkSession, run: Path, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    done = ingest(nobody, [run], Warehouse(str(ours)))
    ingest(lambda: spark, [without(run)], Warehouse(str(theirs)))
    assert [each.outcome for each in done.taken] == [Decision.ADDED]
    assert digests(ours) == digests(theirs)
    assert len(rows(ours, "verdicts")) == len(VERDICTS)
    assert len(rows(ours, "frames")) > len(VERDICTS)
    for folder in (run, without(run)):
        again = ingest(nobody, [folder], Warehouse(str(ours)))
        assert [each.outcome for each in again.taken] == [Decision.KNOWN]


def test_its_folder_alone_shows_the_same_with_them_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "with" / "run"
    judge_here(_asked(run, "0-9-1/queue.purge.*"))
    seal(run, read(run))
    assert sealed(run) is not None
    shown = []
    for folder in (run, without(run)):
        monkeypatch.chdir(folder.parent)
        render(folder.parent / "site", site_of([Path("run")]))
        files = (folder.parent / "site").rglob("*.*")
        shown.append((column_of(Path("run")), {each.name: each.read_bytes() for each in files}))
    assert shown[0] == shown[1]
    assert [name for name in shown[0][1] if name.endswith(".pcapng")] != []


def test_it_is_called_as_its_folder_is_now(run: Path, tmp_path: Path) -> None:
    ingest(nobody, [run.rename(run.with_name("moved"))], Warehouse(str(tmp_path / "w")))
    assert [row["folder"] for row in rows(tmp_path / "w", "runs")] == ["moved"]


def _said(run: Path, **changes: Any) -> None:
    told = json.loads((run / ROWS / SEAL).read_bytes())
    (run / ROWS / SEAL).write_text(json.dumps(told | changes))


def _cut(run: Path) -> None:
    path = run / ROWS / file_of("frames")
    path.write_bytes(path.read_bytes()[:-1])


STALE: dict[str, Callable[[Path], object]] = {
    "its evidence was changed": lambda run: rewrite(run, [(b"queue.purge", b"queue.purgE")]),
    "its evidence goes on": lambda run: (run / "events-gw0.jsonl").write_bytes(b""),
    "a file of rows was changed": _cut,
    "a file of rows is gone": lambda run: (run / ROWS / file_of("verdicts")).unlink(),
    "it was never sealed": lambda run: (run / ROWS / SEAL).unlink(),
    "the seal is no JSON": lambda run: (run / ROWS / SEAL).write_bytes(b"\xff{"),
    "the seal is another thing": lambda run: (run / ROWS / SEAL).write_text("[]"),
    "the seal says less": lambda run: (run / ROWS / SEAL).write_text("{}"),
    "the seal says what it cannot": lambda run: _said(run, rows={"frames": "many"}),
    "it has two runs": lambda run: _said(run, rows={"runs": 2, "verdicts": 2, "frames": 8}),
    "its month is another place": lambda run: _said(run, month="../../elsewhere"),
    "its load is everywhere": lambda run: _said(run, load="a"),
    "its files are elsewhere": lambda run: _said(run, hashes={"../events.jsonl": "0" * 64}),
    "its columns are those of another suite": lambda run: _said(run, columns="0" * 64),
}


@pytest.mark.parametrize("why", STALE)
def test_where_rows_are_not_of_the_evidence_the_events_are_read(
    why: str, spark: SparkSession, run: Path, tmp_path: Path
) -> None:
    STALE[why](run)
    asked: list[str] = []

    def somebody() -> SparkSession:
        asked.append(why)
        return spark

    def taken(folder: Path, place: str) -> tuple[Ingested, dict[str, str]]:
        done = ingest(somebody, [folder], Warehouse(str(tmp_path / place)))
        return done, digests(tmp_path / place)

    (ours, with_rows), (theirs, without_them) = taken(run, "ours"), taken(without(run), "theirs")
    assert asked == [why, why]
    assert [(each.outcome, each.reason) for each in ours.taken] == [
        (each.outcome, each.reason) for each in theirs.taken
    ]
    assert with_rows == without_them


OTHER_LOAD = f"20261120T120000-{'0' * 16}"


@pytest.mark.parametrize("told", [{"rows": {"runs": 1, "verdicts": 1, "frames": 1}}, {"load": OTHER_LOAD}])
def test_a_seal_that_says_what_is_not_so_is_told(told: dict[str, Any], run: Path, tmp_path: Path) -> None:
    _said(run, **told)
    (left,) = ingest(nobody, [run], Warehouse(str(tmp_path / "w"))).of(Decision.QUARANTINED)
    assert left.reason.startswith("run: rows/")
    assert rows(tmp_path / "w", "runs") == []


def test_rows_of_another_table_are_told(run: Path, tmp_path: Path) -> None:
    frames, verdicts = (run / ROWS / file_of(name) for name in ("frames", "verdicts"))
    shutil.copy(verdicts, frames)
    hashes = json.loads((run / ROWS / SEAL).read_bytes())["hashes"]
    _said(run, hashes=hashes | {frames.name: hashes[verdicts.name]})
    (left,) = ingest(nobody, [run], Warehouse(str(tmp_path / "w"))).of(Decision.QUARANTINED)
    assert left.reason == "run: rows/frames.parquet has other columns than its table"


def test_a_large_run_brings_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = (_asked(tmp_path / name, "0-9-1/queue.purge.*") for name in ("small", "large"))
    judge_here(small)
    monkeypatch.setattr(closing, "LARGE", 1)
    judge_here(large)
    assert not (tmp_path / "small" / ROWS).exists()
    run = tmp_path / "large"
    assert sealed(run) is not None
    assert {f"{ROWS}/{SEAL}", f"{ROWS}/{file_of('frames')}"} <= read_run(run).files.keys()
    assert verify(run).state is State.OK
    assert ingest(nobody, [run], Warehouse(str(tmp_path / "w"))).of(Decision.ADDED)


def test_a_run_whose_rows_fail_is_whole_without_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "LARGE", 1)

    def broken(*_: object) -> None:
        raise LookupError("what nobody foresaw")

    monkeypatch.setattr(sealing, "rows_from", broken)
    judge_here(_asked(tmp_path / "run", "0-9-1/queue.purge.*"))
    assert verify(tmp_path / "run").state is State.OK
    assert sealed(tmp_path / "run") is None
    assert "what nobody foresaw" in (tmp_path / "run" / ROWS / FAILED).read_text()


def test_a_run_that_was_cut_short_brings_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "LARGE", 1)
    judge_here(_asked(tmp_path / "cut", "0-9-1/queue.*", budget=0.05))
    assert verify(tmp_path / "cut").state is State.PARTIAL
    assert not (tmp_path / "cut" / ROWS).exists()


def _asked(folder: Path, selector: str, **more: Any) -> Options:
    return Options(target="embedded", selectors=(selector,), output=str(folder), **more)
