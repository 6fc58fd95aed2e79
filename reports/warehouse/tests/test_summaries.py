"""The tables for dashboards say what the matrix says, to any reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import polars
from click.testing import Result
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from conformance.evidence.verdicts import Verdict
from reports.commands.tests.on_spark import here as here
from reports.ingest.ingest import ingest
from reports.tests.samples import EMPTY, LOCKED, make_run
from reports.warehouse.jobs import columns
from reports.warehouse.warehouse import Warehouse

FAILED = {LOCKED: Verdict.FAIL, EMPTY: Verdict.PASS}


def test_they_say_what_the_matrix_says(
    spark: SparkSession, here: Callable[..., Result], tmp_path: Path
) -> None:
    runs = [
        make_run(tmp_path / "r1", run="r1", version="1.0"),
        make_run(tmp_path / "r2", run="r2", version="1.0", verdicts=FAILED),
        make_run(tmp_path / "r3", run="r3", version="1.1", started="2026-11-21T12:00:00+00:00"),
    ]
    place = tmp_path / "warehouse"
    ingest(lambda: spark, runs, Warehouse(str(place)))
    for _ in range(2):  # written over, not added to
        done = here("summarise", "--warehouse", place)
        assert done.exit_code == 0, done.output
        assert [line.rpartition(": ")[2] for line in done.stdout.splitlines()] == [
            "2 rows",
            "4 rows",
            "1 rows",
        ]
    snapshot = Warehouse(str(place)).snapshot()
    matrix = columns(snapshot.table(spark, "runs"), snapshot.table(spark, "verdicts"))
    found = polars.read_delta(f"{place}/summaries/findings")
    assert sorted(found.select("version", "rule", "verdict").rows()) == sorted(
        (column.build.version, rule, str(each.verdict))
        for column in matrix
        for rule, each in column.findings.items()
    )
    builds = polars.read_delta(f"{place}/summaries/builds")
    assert sorted(builds.select("version", "runs", "standing").rows()) == sorted(
        (each.build.version, each.runs, str(each.standing)) for each in matrix
    )
    with duckdb.connect() as connection:
        connection.register("flaky", DeltaTable(f"{place}/summaries/flaky").to_pyarrow_dataset())
        assert connection.sql("SELECT version, rule, seen FROM flaky").fetchall() == [
            ("1.0", LOCKED, ["fail", "pass"])
        ]


def test_of_what_is_asked_for_alone(spark: SparkSession, here: Callable[..., Result], tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name, run=name, product=name) for name in ("One", "Other")]
    place = tmp_path / "warehouse"
    ingest(lambda: spark, runs, Warehouse(str(place)))
    assert here("summarise", "--warehouse", place, "--product", "One").exit_code == 0
    assert set(polars.read_delta(f"{place}/summaries/findings")["product"]) == {"One"}
    missing = here("summarise", "--warehouse", place, "--product", "None")
    assert missing.exit_code == 2
    assert "there are One; Other" in missing.output
