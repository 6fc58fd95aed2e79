"""Many write and read at once, and each sees a whole version; what nobody needs any more goes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from reports.model.columns import FRAMES, RUNS
from reports.warehouse import manifest, warehouse
from reports.warehouse.compaction import compact
from reports.warehouse.manifest import FAN, FINAL, Batch, Manifest, Part, WarehouseError, rows, to_merge
from reports.warehouse.store import HadoopStore, LocalStore, Store, StoreError, store_at
from reports.warehouse.warehouse import DATA, GRACE, KEPT, Snapshot, Warehouse


def batch(name: str, **counts: int) -> Batch:
    return {table: Part(f"{DATA}/{name}/{table}", ("a.parquet",), count) for table, count in counts.items()}


def batches(*sizes: int) -> list[Batch]:
    return [batch(f"{number}", runs=size) for number, size in enumerate(sizes)]


@pytest.fixture(params=[LocalStore, HadoopStore])
def store(request: pytest.FixtureRequest, tmp_path: Path, spark: SparkSession) -> Store:
    """Give a store on either file system; the one behind Hadoop is this machine's too, by its URI."""
    return LocalStore(tmp_path) if request.param is LocalStore else HadoopStore(f"file://{tmp_path}")


def test_only_one_can_give_a_file_its_name(store: Store, tmp_path: Path) -> None:
    assert store.names("manifests") == []
    assert store.read("manifests/1.json") is None
    assert store.create("manifests/1.json", b"first\xff\n")
    assert not store.create("manifests/1.json", b"second")
    assert store.read("manifests/1.json") == b"first\xff\n"
    assert [name for name in store.names("manifests") if not name.startswith(".")] == ["1.json"]
    assert store.changed("manifests/1.json") == pytest.approx(
        (tmp_path / "manifests" / "1.json").stat().st_mtime, abs=0.01
    )


def test_what_is_removed_is_gone_and_may_have_been_before(store: Store) -> None:
    store.create("data/one/a", b"")
    store.create("data/two/b", b"")
    for _ in range(2):
        store.remove("data/one")
        store.remove("data/two/b")
    assert [store.names(name) for name in ("data", "data/one", "data/two")] == [["two"], [], []]
    assert store.changed("data/one") == float("inf")


def test_where_a_rename_may_overwrite_nothing_is_written() -> None:
    with pytest.raises(StoreError, match="on s3a two writers could overwrite"):
        HadoopStore("s3a://bucket/warehouse").create("manifests/1.json", b"")


def test_a_file_that_is_no_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WarehouseError, match="not a directory"):
        Warehouse(str(tmp_path / "file")).latest()
    with pytest.raises(WarehouseError, match="not a directory"):
        Warehouse(str(tmp_path / "file")).commit(Snapshot(Manifest(), LocalStore(tmp_path)), [], batches(1))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("warehouse", LocalStore),
        ("file:///a%20b", LocalStore),
        ("hdfs://name/w", HadoopStore),
        ("C:\\w", LocalStore),
    ],
)
def test_which_file_system_a_path_means(path: str, kind: type[Store]) -> None:
    assert isinstance(store_at(path), kind)


def test_a_file_uri_means_the_folder_it_names() -> None:
    assert store_at("file:///a%20b").uri("x") == "file:///a b/x"


def test_of_two_writers_one_wins_and_the_other_learns_it(tmp_path: Path) -> None:
    one, two = (Warehouse(str(tmp_path)) for _ in range(2))
    base = one.latest(), two.latest()
    assert base[0].version == 0
    won = one.commit(base[0], added=[batch("a", runs=1)])
    assert won is not None
    assert won.version == 1
    assert two.commit(base[1], added=[batch("b", runs=1)]) is None
    assert two.latest().manifest == won.manifest
    again = two.commit(two.latest(), without=[batch("a", runs=1)], added=[batch("b", runs=1), {}])
    assert again is not None
    assert again.manifest == one.latest().manifest == Manifest(2, (batch("b", runs=1),))


def test_a_writer_that_slept_until_its_version_was_cleaned_away_does_not_win(tmp_path: Path) -> None:
    mine = Warehouse(str(tmp_path))
    mine.commit(mine.latest(), added=batches(1))
    slept = mine.latest()
    mine.commit(slept, added=batches(2))
    mine.commit(mine.latest(), added=batches(3))
    for version in (1, 2):
        mine.store.remove(manifest.name_of(version))
    assert mine.commit(slept, added=batches(4)) is None
    assert manifest.versions(mine.store.names(manifest.FOLDER)) == [3]


def test_no_warehouse_is_told(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="there is no warehouse; ingest a run to make one"):
        Warehouse(str(tmp_path)).snapshot()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"schema": 2}', "its schema is 2, and this suite reads 1"),
        (b"{", "not the manifest of a warehouse"),
        (b"[]", "not the manifest of a warehouse"),
        (b'{"schema": 1, "version": 1, "batches": [{"runs": {}}]}', "not the manifest of a warehouse"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_told(tmp_path: Path, content: bytes, told: str) -> None:
    mine = Warehouse(str(tmp_path))
    mine.store.create(manifest.name_of(1), content)
    with pytest.raises(WarehouseError, match=told):
        mine.snapshot()


def test_a_manifest_is_read_as_it_was_written() -> None:
    whole = Manifest(7, (batch("a", runs=1, frames=2), batch("b", verdicts=3)))
    assert manifest.decode(manifest.encode(whole), "m") == whole


def test_batches_of_one_size_are_merged_when_there_are_enough_of_them() -> None:
    assert to_merge(batches(*[1] * (FAN - 1), 100)) == ()
    assert to_merge(batches(*[1] * FAN, 100)) == tuple(batches(*[1] * FAN, 100)[:FAN])
    assert to_merge(batches(*[FINAL] * FAN)) == ()
    assert to_merge(batches(*[100] * FAN, *[2] * FAN)) == tuple(batches(*[100] * FAN, *[2] * FAN)[FAN:])


def test_batches_stay_few_and_a_row_is_seldom_written_again() -> None:
    held: list[Batch] = []
    written = 0
    for number in range(1000):
        held.append(batch(f"{number}", runs=3, verdicts=600, frames=2000))
        while chosen := to_merge(held):
            written += sum(map(rows, chosen))
            held = [each for each in held if each not in chosen]
            held.append(batch(f"m{written}", runs=sum(map(rows, chosen))))
        assert len(held) < 4 * FAN
    assert written < 4 * 1000 * 2603


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warehouse, "FILE_ROWS", 30)


def frame(rule: int, run: int, number: int) -> dict[str, object]:
    return {
        "rule": f"x/{rule:02}",
        "run": f"r{run}",
        "connection": "c",
        "number": number,
        "octets": b"\x00\xff",
    }


def filled(spark: SparkSession, path: Path, runs: int) -> Warehouse:
    """Make a warehouse into which `runs` batches were written, one run each, with frames in no order."""
    mine = Warehouse(str(path))
    for run in range(runs):
        made = {
            "runs": pa.Table.from_pylist([{"run": f"r{run}"}], schema=RUNS),
            "frames": pa.Table.from_pylist(
                [frame(rule, run, number) for number in (2, 0, 1) for rule in range(7)], schema=FRAMES
            ),
        }
        tables = {name: (spark.createDataFrame(table), table.num_rows) for name, table in made.items()}
        assert mine.commit(mine.latest(), added=[mine.write(tables)])
    return mine


@pytest.mark.usefixtures("small_files")
def test_merging_changes_no_row_keeps_the_order_and_leaves_old_snapshots_whole(
    spark: SparkSession, tmp_path: Path
) -> None:
    mine = filled(spark, tmp_path, FAN)
    before, digests = mine.snapshot(), mine.digests(spark)
    assert before.files("frames") == FAN
    assert compact(spark, mine) == 1
    after = mine.snapshot()
    assert len(after.manifest.batches) == 1
    assert after.files("runs") == 1
    assert mine.digests(spark) == digests
    assert before.table(spark, "frames").count() == after.table(spark, "frames").count() == FAN * 21
    in_files = [
        [tuple(row) for row in after.read(spark, "frames", [part]).select("rule", "run", "number").collect()]
        for whole in after.manifest.parts("frames")
        for part in (Part(whole.folder, (file,), 0) for file in whole.files)
    ]
    assert len(in_files) > 1
    assert all(each == sorted(each) for each in in_files)
    # Between files nothing overlaps: a rule stands in one of them, or in two that follow each other.
    assert [row for each in sorted(in_files) for row in each] == sorted(
        row for each in in_files for row in each
    )


def test_a_merge_that_came_too_late_is_thrown_away(spark: SparkSession, tmp_path: Path) -> None:
    mine = filled(spark, tmp_path, FAN)
    theirs = Warehouse(str(tmp_path))

    class Slow(LocalStore):
        def create(self, name: str, content: bytes) -> bool:
            if theirs.latest().version == FAN:
                assert compact(spark, theirs) == 1
            return super().create(name, content)

    assert compact(spark, Warehouse("", Slow(tmp_path))) == 0
    assert mine.latest().version == FAN + 1
    data = {path.parent.relative_to(tmp_path).as_posix() for path in (tmp_path / DATA).rglob("*.parquet")}
    named = [
        manifest.decode(path.read_bytes(), "") for path in sorted((tmp_path / manifest.FOLDER).iterdir())
    ]
    assert data == set().union(*(each.folders() for each in named))


def aged(path: Path, seconds: float) -> None:
    """Make what is at `path` older."""
    for each in (path, *path.rglob("*")):
        before = each.stat().st_mtime
        os.utime(each, (before - seconds, before - seconds))


def versions_of(store: Store, count: int) -> None:
    """Make `count` commits that each replace the batch of the one before."""
    mine = Warehouse("", store)
    for number in range(1, count + 1):
        for table in ("runs", "frames"):
            store.create(f"{DATA}/{number:032x}/{table}/a.parquet", b"")
        base = mine.latest()
        added = [batch(f"{number:032x}", runs=1, frames=1)]
        assert mine.commit(base, without=base.manifest.batches, added=added)


def test_what_nobody_can_be_reading_any_more_is_cleaned_away(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    versions_of(store, KEPT + 3)
    orphan = f"{DATA}/{'f' * 32}"
    store.create(f"{orphan}/runs/a.parquet", b"")
    store.create(f"{DATA}/notes.txt", b"not ours")
    Warehouse("", store).clean()
    assert len(store.names(DATA)) == KEPT + 3 + 2  # all of it is young
    aged(tmp_path, 2 * GRACE)
    last = tmp_path / manifest.name_of(KEPT + 3)
    os.utime(last)  # the last commit was just now, so all that it superseded has been old but for one moment
    Warehouse("", store).clean()
    assert manifest.versions(store.names(manifest.FOLDER)) == list(range(4, KEPT + 4))
    assert store.names(DATA) == [f"{number:032x}" for number in range(4, KEPT + 4)] + ["notes.txt"]


def test_a_version_that_was_superseded_just_now_stays_for_its_readers(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    versions_of(store, KEPT + 5)
    aged(tmp_path, 2 * GRACE)
    for version in range(3, KEPT + 6):  # the third superseded the second just now
        os.utime(tmp_path / manifest.name_of(version))
    Warehouse("", store).clean()
    assert manifest.versions(store.names(manifest.FOLDER)) == list(range(2, KEPT + 6))
    assert store.read(f"{DATA}/{2:032x}/runs/a.parquet") is not None
    assert store.read(f"{DATA}/{1:032x}/runs/a.parquet") is None


def test_of_a_batch_only_the_table_that_is_shared_stays(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    versions_of(store, 1)
    mine = Warehouse("", store)
    shared = {"frames": mine.latest().manifest.batches[0]["frames"]}
    for number in range(KEPT + 1):
        assert mine.commit(
            mine.latest(), mine.latest().manifest.batches, [shared, batch(f"{number}", runs=1)]
        )
    aged(tmp_path, 2 * GRACE)
    os.utime(tmp_path / manifest.name_of(KEPT + 2))
    mine.clean()
    assert store.names(f"{DATA}/{1:032x}") == ["frames"]


def test_the_digest_is_that_of_the_rows_and_of_each(spark: SparkSession, tmp_path: Path) -> None:
    one, two = filled(spark, tmp_path / "one", 2), filled(spark, tmp_path / "two", 1)
    same = filled(spark, tmp_path / "same", 2)
    assert one.digests(spark) == same.digests(spark)
    assert one.digests(spark)["frames"] != two.digests(spark)["frames"]
    assert one.digests(spark)["verdicts"] == two.digests(spark)["verdicts"]


def test_an_exchange_is_read_without_the_rest(spark: SparkSession, tmp_path: Path) -> None:
    """Rows as they come, run by run, and as good as incompressible."""
    count, per_run, rules = 100_000, 5_000, 50
    number = f.col("id")
    rows = spark.range(count).select(
        f.format_string("x/%02d", (number % rules).cast("int")).alias("rule"),
        f.format_string("r%02d", (number / per_run).cast("int")).alias("run"),
        *(f.lit(None).cast(each).alias(name) for name, each in (("connection", "string"), ("number", "int"))),
        f.unhex(f.sha2(number.cast("string"), 512)).alias("octets"),
    )
    mine = Warehouse(str(tmp_path))
    snapshot = mine.commit(mine.latest(), added=[mine.write({"frames": (rows, count)})])
    assert snapshot is not None
    size = sum(path.stat().st_size for path in tmp_path.rglob("*.parquet"))
    assert size > 5_000_000
    frames = snapshot.table(spark, "frames")
    assert octets_read(spark, frames) > size * 0.9
    one = frames.where("rule = 'x/07' and run = 'r13'")
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
