"""Runs that stand in a store come into the warehouse as those of this machine do, read by the executors."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from conformance.evidence.kinds import EvidenceError
from conformance.evidence.stream import read
from conformance.evidence.verdicts import Verdict
from reports.commands.cli import RunOrUri
from reports.ingest import stores
from reports.ingest.ingest import ingest
from reports.ingest.reconciling import Decision
from reports.ingest.sealing import ROWS, SEAL, seal
from reports.ingest.stores import fetched, stored_at
from reports.ingest.tests.buckets import uploaded
from reports.tests.samples import EMPTY, LOCKED, make_run, make_runs, rewrite
from reports.warehouse.place import WarehouseError
from reports.warehouse.tables import files_of, opened
from reports.warehouse.tests.contents import digests
from reports.warehouse.warehouse import Warehouse

VERDICTS = {LOCKED: Verdict.FAIL, EMPTY: Verdict.PASS}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder of runs: two of which have made rows, one cut short, one broken, one changed since."""
    place = tmp_path_factory.mktemp("runs")
    made = make_runs(place, 3, verdicts=VERDICTS)
    made.append(make_run(place / "100% a run", run="r9", verdicts=VERDICTS))
    for each in made[1:]:
        seal(each, read(each))
    make_run(place / "part", run="r8", verdicts=VERDICTS, partial=True)
    rewrite(made[2], [(b"queue.purge", b"queue.purgE")])
    (place / "broken").mkdir()
    (place / "broken" / "run.json").write_text("{")
    return place


def test_a_store_comes_to_the_same_as_its_folders(
    spark: SparkSession, runs: Path, s3: str, remote: Mapping[str, str], tmp_path: Path
) -> None:
    key = uuid4().hex
    stored = stored_at(uploaded(s3, runs, key))
    folders = sorted(runs.iterdir())
    assert [each.name for each in stored] == [each.name for each in folders]
    there, here = Warehouse(f"s3://kept/{key}-warehouse"), Warehouse(str(tmp_path))
    found, expected = (ingest(lambda: spark, *each) for each in ((stored, there), (folders, here)))
    told = [(each.outcome, each.partial, each.reason) for each in expected.taken]
    assert [(each.outcome, each.partial, each.reason) for each in found.taken] == told
    assert len(found.of(Decision.ADDED)) == 4
    assert [str(each.folder).rpartition("/")[2] for each in found.of(Decision.QUARANTINED)] == [
        "broken",
        "run-0003",
    ]
    assert digests(there.path, **remote) == digests(here.path)


def test_what_is_held_is_read_and_not_made_again(spark: SparkSession, runs: Path, tmp_path: Path) -> None:
    stored = stored_at(runs.as_uri())
    warehouse = Warehouse(str(tmp_path))
    ingest(lambda: spark, stored, warehouse)
    before = _files(warehouse)
    again = ingest(lambda: spark, stored, warehouse)
    assert len(again.of(Decision.KNOWN)) == 4
    assert _files(warehouse) == before


def test_another_complete_run_of_that_name_is_left_out(
    spark: SparkSession, runs: Path, tmp_path: Path
) -> None:
    warehouse = Warehouse(str(tmp_path / "warehouse"))
    other = make_run(tmp_path / "other", run="r0001", said="something else")
    ingest(lambda: spark, stored_at((runs / "run-0001").as_uri()), warehouse)
    (left,) = ingest(lambda: spark, stored_at(other.as_uri()), warehouse).of(Decision.QUARANTINED)
    assert left.reason.startswith("other: ")
    assert "another complete run r0001 is there already" in left.reason


def test_of_a_run_with_rows_only_these_are_left_on_the_executor(runs: Path, tmp_path: Path) -> None:
    (stored,) = stored_at((runs / "run-0002").as_uri())
    folder = fetched(stored, tmp_path / "0")
    assert (folder.name, folder.run, bool(folder.seal)) == ("run-0002", "r0002", True)
    assert [each.name for each in (tmp_path / "0").iterdir()] == [ROWS]
    assert (tmp_path / "0" / ROWS / SEAL).exists()


def test_rows_that_were_changed_do_not_count(runs: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(runs / "run-0002", copy)
    with (copy / ROWS / "verdicts.parquet").open("ab") as file:
        file.write(b"x")
    (stored,) = stored_at(copy.as_uri())
    folder = fetched(stored, tmp_path / "0")
    assert folder.seal is None
    assert "events.jsonl" in folder.files


def test_more_than_a_run_has_is_not_fetched(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "RUN_OCTETS", 100)
    (stored,) = stored_at((runs / "run-0001").as_uri())
    folder = fetched(stored, tmp_path / "0")
    assert folder.reason.startswith("run-0001: its evidence is larger than ")
    assert not any((tmp_path / "0").iterdir())


def test_where_nothing_is_that_is_said(tmp_path: Path, remote: Mapping[str, str]) -> None:
    with pytest.raises(EvidenceError, match=r"^s3://kept/nothing: there is no run folder$"):
        stored_at("s3://kept/nothing")
    with pytest.raises(WarehouseError, match=r"^s3://no-bucket/runs: "):
        stored_at("s3://no-bucket/runs")


def test_a_uri_is_no_path(tmp_path: Path) -> None:
    told: Sequence[str] = ("s3://kept/runs", str(tmp_path))
    assert [RunOrUri().convert(each, None, None) for each in told] == ["s3://kept/runs", tmp_path]


def _files(warehouse: Warehouse) -> set[str]:
    tables = (opened(warehouse.place, name) for name in ("runs", "verdicts", "frames"))
    return {each["path"] for table in tables if table for each in files_of(table)}
