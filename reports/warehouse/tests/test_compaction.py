"""Small files are merged, by several at once and beside writers, and no row is lost or doubled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from reports.ingest.reconciling import Decision, Offered
from reports.ingest.settling import settle
from reports.warehouse import compaction
from reports.warehouse.compaction import FAN, FINAL, File, compact, to_merge
from reports.warehouse.tables import new_load, sorted_rows
from reports.warehouse.tests.contents import digests, rows
from reports.warehouse.tests.filling import add_frames, filled, frame, name
from reports.warehouse.warehouse import Warehouse


def files(*sizes: int) -> list[File]:
    return [File(size, f"{number:06}", f"{number:06}") for number, size in enumerate(sizes)]


def test_files_are_merged_as_far_back_as_none_outweighs_those_behind_it() -> None:
    assert to_merge(files(100, *[1] * (FAN - 1))) == ()
    assert sum(each.rows for each in to_merge(files(100, *[1] * FAN))) == FAN
    assert len(to_merge(files(100, FAN, *[1] * FAN))) == FAN + 1
    assert to_merge(files(*[FINAL] * FAN)) == ()
    assert len(to_merge(files(FINAL, *[FINAL // 3] * 5))) == 4
    assert len(to_merge(files(*[FINAL] * FAN, *[2] * FAN))) == FAN


def test_files_stay_few_and_a_row_is_seldom_written_again() -> None:
    held: list[File] = []
    written = 0
    for number in range(1000):
        held.append(File(2000, f"{number:06}", f"{number:06}"))
        if chosen := to_merge(held):
            held = [each for each in held if each not in chosen]
            count = sum(each.rows for each in chosen)
            held.append(File(count, min(each.first for each in chosen), max(each.last for each in chosen)))
            written += count
        assert len(held) < 2 * FAN
    assert written < 6 * 1000 * 2000


def test_merging_changes_no_row_sorts_and_leaves_old_snapshots_whole(
    spark: SparkSession, tmp_path: Path
) -> None:
    mine = filled(tmp_path, FAN)
    before, digest = mine.snapshot(), digests(tmp_path)
    assert len(before.files("frames")) == FAN
    assert compact(mine) == 2  # frames, and runs
    after = mine.snapshot()
    assert digests(tmp_path) == digest
    assert before.table(spark, "frames").count() == after.table(spark, "frames").count() == FAN * 21
    (file,) = after.files("frames")
    assert len(after.files("runs")) == 1
    found = [tuple(row) for row in spark.read.parquet(file).select("rule", "run", "number").collect()]
    assert found == sorted(found)
    assert compact(mine) == 0


Between = Callable[[str, Callable[[], object]], None]


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Between:
    """Let something happen between the reading of a table's rows for a merge and their writing."""

    def happening(name: str, what: Callable[[], object]) -> None:
        left = [what]

        def slow(table: DeltaTable, *arguments: Any) -> Any:
            told = sorted_rows(table, *arguments)
            while left and table.table_uri.rstrip("/").endswith(f"/{name}"):
                left.pop()()
            return told

        monkeypatch.setattr(compaction, "sorted_rows", slow)

    return happening


@pytest.mark.parametrize(("table", "merged"), [("runs", (0, 3)), ("frames", (1, 2)), ("quarantine", (2, 1))])
def test_a_merge_that_came_too_late_is_thrown_away(
    tmp_path: Path, between: Between, table: str, merged: tuple[int, int]
) -> None:
    """The tables are merged in turn, here by two at once: each by one of them, and no row is doubled."""
    mine = filled(tmp_path, FAN)
    for number in range(FAN):
        settle(mine.place, [Offered(f"f{number}", "r", "", None, "torn")], {})
    digest = digests(tmp_path)
    theirs: list[int] = []
    between(table, lambda: theirs.append(compact(Warehouse(str(tmp_path)))))
    assert (compact(mine), *theirs) == merged
    assert [len(mine.snapshot().files(each)) for each in ("runs", "frames", "quarantine")] == [1, 1, 1]
    assert digests(tmp_path) == digest


def test_what_is_added_beside_a_merge_makes_it_not_futile(tmp_path: Path, between: Between) -> None:
    mine = filled(tmp_path, FAN)
    late = "99991231T000000"
    between("frames", lambda: add_frames(mine, late, [frame(1, 77, 1)]))
    assert compact(mine) == 2
    assert len(mine.snapshot().files("frames")) == 2
    assert len(rows(tmp_path, "frames")) == FAN * 21


def test_a_run_that_is_named_anew_beside_a_merge_stands_there_once(tmp_path: Path, between: Between) -> None:
    mine = filled(tmp_path, FAN)
    name(mine, new_load(), 9, partial=True)
    decided: list[Sequence[Decision]] = []
    between("runs", lambda: decided.append(name(mine, new_load(), 9, events=2)))
    compact(mine)
    assert decided == [[Decision.REPLACED]]
    assert Counter(row["run"] for row in rows(tmp_path, "runs"))["r9"] == 1
