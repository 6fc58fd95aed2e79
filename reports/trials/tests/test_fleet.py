"""A fleet that is made at once is as one that was judged, taken in and compacted."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from reports.model.columns import ORDER, stored
from reports.trials.benchmark import rows_scanned
from reports.trials.fleet import BEGAN, NIGHTLY, PRODUCTS, Run, build, files
from reports.warehouse.asked import Asked
from reports.warehouse.jobs import columns
from reports.warehouse.place import place_at
from reports.warehouse.tables import PAGE_ROWS
from reports.warehouse.warehouse import Snapshot, Warehouse

RULES = 100
COUNT = 3 * PRODUCTS * 10


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    place = tmp_path_factory.mktemp("fleet")
    build(place, place_at(str(place / "w")), COUNT, RULES, Console(quiet=True))
    return Warehouse(str(place / "w")).snapshot()


def test_every_run_of_a_product_is_counted(spark: SparkSession, fleet: Snapshot) -> None:
    (column,) = columns(*Asked(products=("Broker 7",)).rows(spark, fleet))
    assert (column.build.label, column.runs) == (f"main {BEGAN:%Y-%m-%d}", COUNT // PRODUCTS)
    assert {finding.runs for finding in column.findings.values()} == {COUNT // PRODUCTS}
    assert len(column.findings) == RULES


def test_files_are_as_compaction_leaves_them(fleet: Snapshot) -> None:
    (file,) = fleet.files("verdicts")
    rows = parquet.read_table(file, partitioning=None)
    assert rows.schema.equals(pa.schema([each for each in stored("verdicts") if each.name != "month"]))
    assert rows.num_rows == COUNT * RULES
    assert rows.equals(rows.sort_by([(name, "ascending") for name in ORDER["verdicts"]]))
    assert pc.count_distinct(rows.column("duration")).as_py() > 0.99 * rows.num_rows


def test_of_a_file_only_the_pages_of_the_runs_asked_about_are_read(
    spark: SparkSession, fleet: Snapshot
) -> None:
    one = fleet.table(spark, "verdicts", of={Run(70).identity})
    assert len(one.collect()) == RULES
    assert rows_scanned(one) <= 2 * PAGE_ROWS
    every = fleet.table(spark, "verdicts").select("run")
    assert len(every.collect()) == rows_scanned(every) == COUNT * RULES


def test_a_file_holds_one_month_and_no_more_than_compaction_would_merge() -> None:
    found = list(files(32 * PRODUCTS * NIGHTLY, 2000))
    assert sum(map(len, found)) == 32 * PRODUCTS * NIGHTLY
    assert {len({run.month for run in each}) for each in found} == {1}
    assert max(map(len, found)) == 500
