"""Many write and read at once, and each sees what is whole; what nobody needs any more goes."""

from __future__ import annotations

import os
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from reports.ingest.reconciling import Decision
from reports.model.columns import TABLES, published
from reports.warehouse import compaction, place
from reports.warehouse.cleaning import clean
from reports.warehouse.compaction import compact
from reports.warehouse.place import WarehouseError, place_at
from reports.warehouse.tables import ensured, load_before, new_load, refusals
from reports.warehouse.tests.contents import digests, lines, rows
from reports.warehouse.tests.filling import add_frames, filled, frame, name
from reports.warehouse.warehouse import GRACE, Warehouse


@pytest.mark.parametrize(
    ("path", "found", "local"),
    [
        ("warehouse", str(Path("warehouse").absolute()), True),
        ("file:///a%20b", "/a b", True),
        ("s3://bucket/w/", "s3://bucket/w", False),
    ],
)
def test_which_place_a_path_means(
    path: str, found: str, local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {"AWS_ENDPOINT_URL": "http://here", "HOME": "/"})
    told = place_at(path)
    assert (told.path, told.local) == (found, local)
    assert dict(told.options) == ({} if local else {"AWS_ENDPOINT_URL": "http://here"})


@pytest.mark.parametrize("astray", place.ASTRAY)
def test_a_path_that_leads_astray_is_told(astray: str) -> None:
    with pytest.raises(WarehouseError, match="Delta Lake finds no path with"):
        Warehouse(f"a{astray}20b")


def test_a_missing_delta_lake_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "find_spec", lambda _: None)
    with pytest.raises(WarehouseError, match="Delta Lake is not installed: install amqp"):
        Warehouse("w")


def test_no_warehouse_is_told(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="there is no warehouse; ingest a run to make one"):
        Warehouse(str(tmp_path)).snapshot()


def test_a_file_that_is_no_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    mine = Warehouse(str(tmp_path / "file"))
    assert mine.latest().versions == {}
    with pytest.raises(WarehouseError, match="Could not create local directory"):
        ensured(mine.place, "runs")


def test_what_is_no_table_is_told(tmp_path: Path) -> None:
    (tmp_path / "runs" / "_delta_log").mkdir(parents=True)
    (tmp_path / "runs" / "_delta_log" / f"{0:020}.json").write_text("{")
    with pytest.raises(WarehouseError) as told:
        Warehouse(str(tmp_path)).snapshot()
    assert str(told.value).startswith(f"{tmp_path}: ")
    assert "\n" not in str(told.value)


def test_a_refusal_tells_what_failed_and_its_last_cause() -> None:
    cause = "\n \x1b[31m↳\x1b[0m "
    said = f"Kernel error -> Generic S3 error{cause}Error performing GET{cause}refused\n"
    told = pytest.raises(WarehouseError, match=r"^s3://b/w: Kernel error -> Generic S3 error: refused$")
    with told, refusals(place_at("s3://b/w")):
        raise OSError(said)


def test_of_several_that_make_a_table_all_have_the_same(tmp_path: Path) -> None:
    here = place_at(str(tmp_path))
    with ThreadPoolExecutor(6) as together:
        made = list(together.map(lambda _: ensured(here, "frames"), range(6)))
    assert len({table.metadata().id for table in made}) == 1
    assert made[0].metadata().partition_columns == ["month"]


def test_what_no_run_names_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    mine = filled(tmp_path, 2)
    before, digest = mine.snapshot(), digests(tmp_path)
    load = new_load()
    add_frames(mine, load, [frame(1, 0, 9), frame(1, 7, 9)])
    assert digests(tmp_path) == digest
    for snapshot in (before, mine.snapshot()):
        assert snapshot.table(spark, "frames").count() == 2 * 21
    assert name(mine, load, 0, events=2) == [Decision.QUARANTINED]
    assert name(mine, load, 7) == [Decision.ADDED]
    after = mine.snapshot()
    assert after.table(spark, "frames").count() == 2 * 21 + 1
    assert after.table(spark, "frames", of={"r7"}).select("run", "number").collect() == [("r7", 9)]
    assert after.table(spark, "frames", of={"nobody"}).collect() == []
    assert before.table(spark, "frames").count() == 2 * 21
    assert before.table(spark, "runs").count() == 2


def test_a_suite_writes_beside_a_later_one_whose_tables_have_more_columns(tmp_path: Path) -> None:
    mine = filled(tmp_path, 1)
    for each in ("runs", "frames"):
        ensured(mine.place, each).alter.add_columns(
            Schema.from_arrow(pa.schema([("later", pa.int32())])).fields
        )
    load = new_load()
    add_frames(mine, load, [frame(1, 5, 1)])
    assert name(mine, load, 5) == [Decision.ADDED]
    assert name(mine, load, 5) == [Decision.KNOWN]
    assert len(rows(tmp_path, "frames")) == 22


def test_what_was_read_too_long_ago_is_not_named(tmp_path: Path) -> None:
    mine = Warehouse(str(tmp_path))
    with pytest.raises(WarehouseError, match="was read too long ago; ingest it again"):
        name(mine, load_before(GRACE), 1)


def test_a_writer_gives_up_when_others_always_come_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = filled(tmp_path, 1)
    monkeypatch.setattr("reports.warehouse.tables.TRIES", 3)
    monkeypatch.setattr("reports.warehouse.tables.PAUSE", 0.0)
    old = ensured(mine.place, "runs")
    monkeypatch.setattr("reports.ingest.settling.ensured", lambda *_: DeltaTable(old.table_uri, version=0))
    with pytest.raises(WarehouseError, match="other writers came in between 3 times"):
        name(mine, new_load(), 2)


def test_readers_beside_writers_and_merges_see_whole_runs(spark: SparkSession, tmp_path: Path) -> None:
    filled(tmp_path, 1)

    def writing(first: int) -> int:
        mine, merged = Warehouse(str(tmp_path)), 0
        for run in range(first, first + 10):
            load = new_load()
            add_frames(mine, load, [frame(rule, run, number) for number in range(3) for rule in range(7)])
            name(mine, load, run)
            merged += compact(mine)
        return merged

    looks = 0
    with ThreadPoolExecutor(2) as together:
        doing = [together.submit(writing, first) for first in (100, 200)]
        while not all(each.done() for each in doing):
            with_spark = Warehouse(str(tmp_path)).snapshot().table(spark, "frames").groupBy("run").count()
            found = {row["run"]: row["count"] for row in with_spark.collect()}
            assert set(found.values()) == {21}
            assert set(Counter(row["run"] for row in rows(tmp_path, "frames")).values()) == {21}
            looks += 1
    assert looks > 1
    assert sum(each.result() for each in doing) >= 2
    assert len(rows(tmp_path, "frames")) == 21 * 21


def aged(path: Path, seconds: float) -> None:
    """Make a file older."""
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_what_nobody_can_be_reading_or_writing_any_more_is_cleaned_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = filled(tmp_path, 1)
    old = load_before(3 * GRACE)
    monkeypatch.setattr("reports.ingest.settling._young", lambda *_: None)
    add_frames(mine, f"{old}-named", [frame(1, 5, 1)])
    name(mine, f"{old}-named", 5)
    for left in (f"{old}-orphan", new_load()):
        add_frames(mine, left, [frame(1, 6, 1)])
    strays = [tmp_path / "frames" / "month=2026-11" / f"{each}.parquet" for each in ("old", "young")]
    for stray in strays:
        stray.write_bytes(b"")
    aged(strays[0], 2 * GRACE)
    digest = digests(tmp_path)
    assert clean(mine)
    assert digests(tmp_path) == digest
    loads = mine.snapshot().tables["frames"].to_pyarrow_dataset().to_table(["load"])["load"].to_pylist()
    assert sorted(set(loads))[0] == f"{old}-named"
    assert len(set(loads)) == 3
    assert [stray.exists() for stray in strays] == [False, True]
    assert not clean(mine)  # not again within a day


def test_spark_polars_and_duckdb_read_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    mine = filled(tmp_path, 3)
    add_frames(mine, new_load(), [frame(1, 9, 1)])
    for each in TABLES:
        ensured(mine.place, each)
    snapshot = mine.snapshot()
    with duckdb.connect() as connection:
        for each, table in snapshot.tables.items():
            connection.register(each, table.to_pyarrow_dataset())
        for each, count in {"runs": 3, "frames": 63, "interop_legs": 0, "quarantine": 0}.items():
            in_spark = [row.asDict(recursive=True) for row in snapshot.table(spark, each).collect()]
            in_duckdb = connection.sql(published(each)).to_arrow_table().to_pylist()
            assert len(in_spark) == count
            assert lines(in_spark) == lines(in_duckdb) == lines(rows(tmp_path, each))


def test_an_exchange_is_read_without_the_rest(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows as they come, run by run, and as good as incompressible; all in one file."""
    monkeypatch.setattr(compaction, "OF_A_RUN", {})
    count, per_run, rules = 100_000, 5_000, 50
    mine = Warehouse(str(tmp_path))
    for run in range(count // per_run):
        load = new_load()
        numbers = range(run * per_run, (run + 1) * per_run)
        made: list[dict[str, object]] = [
            {"rule": f"0-9-1/queue.declare.{number % rules:02}", "run": f"r{run}", "octets": os.urandom(64)}
            for number in numbers
        ]
        add_frames(mine, load, made)
        name(mine, load, run)
    compact(mine)
    snapshot = mine.snapshot()
    assert len(snapshot.files("frames")) == 1
    size = sum(Path(file).stat().st_size for file in snapshot.files("frames"))
    assert size > 5_000_000
    frames = snapshot.table(spark, "frames")
    assert octets_read(spark, frames) > size * 0.9
    one = frames.where("rule = '0-9-1/queue.declare.07' and run = 'r13'")
    assert one.count() == per_run // rules
    assert octets_read(spark, one) < size * 0.1


def octets_read(spark: SparkSession, rows: DataFrame) -> int:
    """Say how many octets of the files are read for `rows`, as Hadoop counts; it counts no vectored reads."""
    jvm: Any = spark.sparkContext._jvm
    settings = spark.sparkContext._jsc.hadoopConfiguration()

    def total() -> int:
        every = jvm.org.apache.hadoop.fs.FileSystem.getAllStatistics()
        return sum(each.getBytesRead() for each in every if each.getScheme() == "file")

    settings.set("parquet.hadoop.vectored.io.enabled", "false")
    before = total()
    rows.agg(f.max("octets"), f.max("run")).collect()
    settings.unset("parquet.hadoop.vectored.io.enabled")
    return total() - before
