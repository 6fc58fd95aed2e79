"""Each run is in the warehouse once, whatever is handed in; what is broken is told, and alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from conformance.evidence.folder import RUN_FILE
from conformance.evidence.verdicts import Verdict
from reports.ingest import intake, settling
from reports.ingest.ingest import Progress, ingest
from reports.ingest.intake import portions, read
from reports.ingest.parsing import GIVEN, parsed
from reports.ingest.reconciling import Decision, Left, Offered, Plan, RunCopy, plan, quarantine
from reports.model.batches import unpacked
from reports.model.columns import TABLES
from reports.tests.samples import EMPTY, LOCKED, make_run, make_runs, rewrite
from reports.warehouse.tables import ensured
from reports.warehouse.tests import contents
from reports.warehouse.tests.contents import digests
from reports.warehouse.warehouse import Warehouse

ADDED, REPLACED, KNOWN, QUARANTINED = Decision
FAILED = {LOCKED: Verdict.FAIL, EMPTY: Verdict.PASS}


def rows(spark: SparkSession, warehouse: Warehouse, table: str, *columns: str) -> list[tuple[object, ...]]:
    found = warehouse.snapshot().table(spark, table).select(*columns).collect()
    return sorted(tuple(row) for row in found)


def outcomes(spark: SparkSession, warehouse: Warehouse, *folders: Path) -> list[Decision]:
    return [each.outcome for each in ingest(lambda: spark, folders, warehouse).taken]


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(str(tmp_path / "ware house é*"))


def no_folder(folder: Path) -> None:
    shutil.rmtree(folder)


def nothing_in_it(folder: Path) -> None:
    no_folder(folder)
    folder.mkdir()


def no_description(folder: Path) -> None:
    (folder / RUN_FILE).unlink()


def later_schema(folder: Path) -> None:
    described = json.loads((folder / RUN_FILE).read_bytes())
    (folder / RUN_FILE).write_text(json.dumps(described | {"schema": 99}))


def another_octet(folder: Path) -> None:
    rewrite(folder, [(b"queue.purge.empty[empty]", b"queue.purge.empty[emptY]")])


def damaged_in_the_middle(folder: Path) -> None:
    stream = folder / "events.jsonl"
    lines = stream.read_bytes().splitlines(keepends=True)
    stream.write_bytes(b"".join([*lines[:5], b'{"event":"octets","wa\n', *lines[6:-1]]))


def unreadable(folder: Path) -> None:
    (folder / "events.jsonl").unlink()
    (folder / "events.jsonl").symlink_to("/proc/self/mem")


def unforeseen(folder: Path) -> None:
    """Make a run claim a standing no suite has; without its footer no hash speaks against it."""
    rewrite(folder, [(b'"standing":"certified"', b'"standing":"splendid!"')])
    stream = folder / "events.jsonl"
    stream.write_bytes(b"".join(stream.read_bytes().splitlines(keepends=True)[:-1]))


BROKEN: dict[Callable[[Path], None], str] = {
    no_folder: "neither run.json nor events.jsonl",
    nothing_in_it: "neither run.json nor events.jsonl",
    no_description: "run.json: cannot be read (No such file or directory)",
    later_schema: "its schema is 99, and this suite reads 2",
    another_octet: "events.jsonl was changed after the run: its hash is not the footer's",
    damaged_in_the_middle: "events.jsonl:6: not JSON",
    unreadable: "events.jsonl: cannot be read (Input/output error)",
    unforeseen: "splendid!",
}


def test_what_is_broken_is_told_and_the_rest_goes_in(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    good = make_runs(tmp_path, 2)
    folders = [make_run(tmp_path / harm.__name__, run=harm.__name__) for harm in BROKEN]
    for folder, harm in zip(folders, BROKEN, strict=True):
        harm(folder)
    done = ingest(lambda: spark, [good[0], *folders, good[1]], warehouse)
    assert [each.folder for each in done.of(ADDED)] == good
    left = done.of(QUARANTINED)
    assert [each.folder for each in left] == folders
    for taken, (harm, reason) in zip(left, BROKEN.items(), strict=True):
        assert reason in taken.reason
        assert taken.reason.startswith(harm.__name__)
        assert str(tmp_path) not in taken.reason
        assert taken.reason.isprintable()
    assert rows(spark, warehouse, "quarantine", "folder", "reason") == sorted(
        (each.folder.name, each.reason) for each in left
    )
    assert rows(spark, warehouse, "runs", "run") == [("r0001",), ("r0002",)]
    again = ingest(lambda: spark, [good[0], *folders, good[1]], warehouse)
    assert [each.outcome for each in again.taken] == [KNOWN, *[QUARANTINED] * len(folders), KNOWN]
    assert again.versions == done.versions  # nothing was written


def test_mended_it_leaves_the_quarantine(spark: SparkSession, warehouse: Warehouse, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "r1")
    other = make_run(tmp_path / "elsewhere" / "r1", run="other")
    later_schema(other)
    whole = (folder / "events.jsonl").read_bytes()
    another_octet(folder)
    assert outcomes(spark, warehouse, folder, other) == [QUARANTINED, QUARANTINED]
    (folder / "events.jsonl").write_bytes(whole)
    assert outcomes(spark, warehouse, folder) == [ADDED]
    assert rows(spark, warehouse, "quarantine", "folder", "run") == [("r1", "other")]
    assert rows(spark, warehouse, "runs", "run") == [("r1",)]


def test_a_truncated_stream_goes_in_as_partial_and_its_completion_replaces_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    warehouse = Warehouse(str(tmp_path / "warehouse"))
    whole, other = make_run(tmp_path / "whole", verdicts=FAILED), make_run(tmp_path / "other", run="r2")
    torn, shorter = (shutil.copytree(whole, tmp_path / name) for name in ("torn", "shorter"))
    stream = whole.joinpath("events.jsonl").read_bytes()
    (torn / "events.jsonl").write_bytes(stream[:-400])
    (shorter / "events.jsonl").write_bytes(stream[: len(stream) // 2])
    done = ingest(lambda: spark, [torn, other], warehouse)
    assert [(each.outcome, each.partial) for each in done.taken] == [(ADDED, True), (ADDED, False)]
    assert rows(spark, warehouse, "runs", "run", "partial") == [("r1", True), ("r2", False)]
    assert outcomes(spark, warehouse, shorter) == [KNOWN]
    assert outcomes(spark, warehouse, whole) == [REPLACED]
    expected = Warehouse(str(tmp_path / "expected"))
    assert outcomes(spark, expected, other, whole) == [ADDED, ADDED]
    assert digests(warehouse.path) == digests(expected.path)
    assert outcomes(spark, warehouse, torn, whole) == [KNOWN, KNOWN]


def test_of_two_complete_runs_with_one_identity_the_second_is_left_out(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    first, second = make_run(tmp_path / "first"), make_run(tmp_path / "second", verdicts=FAILED)
    done = ingest(lambda: spark, [first, second, first], warehouse)
    assert [each.outcome for each in done.taken] == [ADDED, QUARANTINED, KNOWN]
    assert done.taken[1].reason.startswith("second: another complete run r1 is there already")
    assert rows(spark, warehouse, "verdicts", "rule", "verdict") == [(LOCKED, "pass"), (EMPTY, "pass")]


def test_a_warehouse_that_another_writer_was_faster_in(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between our decision and our commit another one adds one of our runs, and completes another."""
    mine = [make_run(tmp_path / name, run=name) for name in ("r1", "r2", "r3")]
    whole = make_run(tmp_path / "whole", run="r2")
    (mine[1] / "events.jsonl").write_bytes((mine[1] / "events.jsonl").read_bytes()[:-400])
    warehouse = Warehouse(str(tmp_path / "warehouse"))
    happens = [lambda: outcomes(spark, Warehouse(warehouse.path), mine[0], whole)]
    overtaken: list[list[Decision]] = []

    def overtake(*told: Any) -> Plan:
        decided = plan(*told)
        while happens:
            overtaken.append(happens.pop()())
        return decided

    monkeypatch.setattr(settling, "plan", overtake)
    assert outcomes(spark, warehouse, *mine) == [KNOWN, KNOWN, ADDED]
    assert overtaken == [[ADDED, ADDED]]
    expected = Warehouse(str(tmp_path / "expected"))
    assert outcomes(spark, expected, mine[2], whole, mine[0]) == [ADDED] * 3
    assert digests(warehouse.path) == digests(expected.path)


def test_any_order_and_any_portions_make_the_same_tables(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = make_runs(tmp_path, 4, verdicts=FAILED)
    torn = make_run(tmp_path / "torn", run="r0002", verdicts=FAILED, partial=True)
    heard: list[Progress] = []
    one, two = Warehouse(str(tmp_path / "one")), Warehouse(str(tmp_path / "two"))
    ingest(lambda: spark, [torn, *runs], one)
    monkeypatch.setattr(intake, "PORTION_RUNS", 2)
    done = ingest(lambda: spark, [*reversed(runs), torn], two, heard.append)
    assert [each.outcome for each in done.taken] == [*[ADDED] * 4, KNOWN]
    assert heard == [Progress(done, 5) for done in (0, 2, 4, 5)]
    assert digests(one.path) == digests(two.path)
    assert len(set(digests(one.path).values())) == 4  # those that hold nothing are alike


def test_more_evidence_than_a_run_has_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_run(tmp_path / "r1")
    size = sum(len(content) for content in intake.read(folder).files.values())
    monkeypatch.setattr(intake, "RUN_OCTETS", size)
    assert intake.read(folder).reason == ""
    monkeypatch.setattr(intake, "RUN_OCTETS", size - 1)
    assert intake.read(folder).reason.startswith("r1: its evidence is larger than")


def test_a_portion_holds_no_more_than_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = make_runs(tmp_path, 5)
    monkeypatch.setattr(intake, "PORTION_OCTETS", 2 * intake.read(runs[0]).octets)
    assert [[each.name for each in portion] for portion in portions(map(read, runs))] == [
        ["run-0001", "run-0002"],
        ["run-0003", "run-0004"],
        ["run-0005"],
    ]


def test_half_a_character_and_a_number_too_large_harm_nobody(tmp_path: Path) -> None:
    """A worker's file has no hash: whatever stands there must become rows or a reason."""
    half, large = (make_run(tmp_path / name, partial=True, merged=False) for name in ("half", "large"))
    for folder, old, new in (
        (half, b"queue.declare-ok", b"queue\\ud800"),
        (large, b'"frame":2', b'"frame":9999999999'),
    ):
        stream = folder / "events-main.jsonl"
        stream.write_bytes(stream.read_bytes().replace(old, new))
    given = [
        {"position": at, "folder": folder.name, "files": list(intake.read(folder).files.items())}
        for at, folder in enumerate((half, large))
    ]
    warehouse = Warehouse(str(tmp_path / "w"))
    for name in TABLES:
        ensured(warehouse.place, name)
    batches = parsed(warehouse.place, pa.Table.from_pylist(given, schema=GIVEN).to_batches())
    first, second = (row for batch in batches for row in batch.to_pylist())
    assert first["reason"] == ""
    assert second["reason"].startswith("large: not the evidence of a run (ArrowInvalid")
    (run,) = unpacked(first["row"]).to_pylist()
    assert (first["table"], run["run"], run["partial"]) == ("runs", "r1", True)
    assert contents.rows(warehouse.path, "verdicts") == []  # nobody has named it
    verdicts = polars.read_delta(f"{warehouse.path}/verdicts").to_dicts()
    assert {row["actual"] for row in verdicts} == {"queue\\ud800 channel=1"}
    assert {row["load"] for row in verdicts} == {run["load"]}


PART, MORE, WHOLE = (
    RunCopy("r1", digest, partial, events)
    for digest, partial, events in (("b", True, 3), ("a", True, 4), ("c", False, 9))
)
OTHER_WHOLE = RunCopy("r1", "d", False, 9)


def offered(*evidence: RunCopy) -> list[Offered]:
    return [Offered(f"f-{each.digest}", each.run, each.digest, each) for each in evidence]


@pytest.mark.parametrize(
    ("evidence", "held", "expected", "keep"),
    [
        ([PART], [], [ADDED], {0}),
        ([PART, MORE, WHOLE], [], [KNOWN, KNOWN, ADDED], {2}),
        ([WHOLE, MORE, PART], [], [ADDED, KNOWN, KNOWN], {0}),
        ([MORE, WHOLE], [PART], [KNOWN, REPLACED], {1}),
        ([PART], [MORE], [KNOWN], set()),
        ([MORE], [MORE], [KNOWN], set()),
        ([OTHER_WHOLE], [WHOLE], [QUARANTINED], set()),
        ([WHOLE, OTHER_WHOLE], [PART], [REPLACED, QUARANTINED], {0}),
    ],
)
def test_which_evidence_of_a_run_counts(
    evidence: list[RunCopy], held: list[RunCopy], expected: list[Decision], keep: set[int]
) -> None:
    decided = plan(offered(*evidence), held)
    assert (list(decided.outcomes), set(decided.keep)) == (expected, keep)


def test_the_quarantine_forgets_what_a_folder_was_before() -> None:
    before = [
        Left("f", "r1", "old", "f: bad"),
        Left("f", "", "older", "f: worse"),
        Left("f", "r2", "x", "f: no"),
    ]
    broken = Offered("f", "r1", "new", None, "f: still bad")
    reasons = plan([broken], []).reasons
    leave, release = quarantine([broken], reasons, before)
    assert leave == (Left("f", "r1", "new", "f: still bad"),)
    assert release == {before[0], before[1]}
    assert quarantine([broken], reasons, leave) == ((), frozenset())


def test_a_snapshot_of_nothing_has_the_tables(spark: SparkSession, tmp_path: Path) -> None:
    empty = Warehouse(str(tmp_path)).latest()
    assert empty.table(spark, "frames").columns[:3] == ["rule", "run", "connection"]
    assert empty.table(spark, "runs").count() == 0
