"""Builds of one version that have labels of their own are builds of their own."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession

from conformance.evidence.verdicts import Verdict
from reports.commands.commands import render_site
from reports.compare.comparison import compare
from reports.ingest.ingest import ingest
from reports.model.findings import before
from reports.tests.samples import EMPTY, LOCKED, make_run
from reports.warehouse.jobs import columns, flakiness
from reports.warehouse.warehouse import Warehouse

FAILED = {LOCKED: Verdict.FAIL, EMPTY: Verdict.PASS}


def test_what_a_commit_broke_is_a_regression_and_not_flaky(spark: SparkSession, tmp_path: Path) -> None:
    folders = [
        make_run(
            tmp_path / run, run=run, label=label, started=f"2026-11-{day}T12:00:00+00:00", verdicts=verdicts
        )
        for run, label, day, verdicts in (
            ("r1", "main 9f1", 20, {LOCKED: Verdict.PASS, EMPTY: Verdict.PASS}),
            ("r2", "main 0a2", 21, FAILED),
            ("r3", "main 0a2", 22, FAILED),
        )
    ]
    warehouse = Warehouse(str(tmp_path / "warehouse"))
    ingest(lambda: spark, folders, warehouse)
    runs, verdicts = (warehouse.snapshot().table(spark, name) for name in ("runs", "verdicts"))
    old, new = found = columns(runs, verdicts)
    assert [each.build.name for each in found] == ["Peer 1.0 [main 9f1]", "Peer 1.0 [main 0a2]"]
    assert [(each.runs, each.findings[LOCKED].flaky) for each in found] == [(1, False), (2, False)]
    assert flakiness(runs, verdicts).count() == 0
    assert before(new, found) is old
    assert before(old, found) is None
    (change,) = compare(old, new).changes
    assert (change.rule, change.regression, change.flaky) == (LOCKED, True, False)
    render_site(spark, warehouse.snapshot(), tmp_path / "site")
    builds = json.loads((tmp_path / "site" / "matrix.json").read_bytes())["builds"]
    assert [each["label"] for each in builds] == ["main 9f1", "main 0a2"]
    assert len(list((tmp_path / "site" / "targets").glob("*.html"))) == 2


def test_without_labels_the_same_is_flaky(spark: SparkSession, tmp_path: Path) -> None:
    folders = [make_run(tmp_path / "r1", run="r1"), make_run(tmp_path / "r2", run="r2", verdicts=FAILED)]
    warehouse = Warehouse(str(tmp_path / "warehouse"))
    ingest(lambda: spark, folders, warehouse)
    runs, verdicts = (warehouse.snapshot().table(spark, name) for name in ("runs", "verdicts"))
    (column,) = columns(runs, verdicts)
    assert column.findings[LOCKED].flaky
    assert [row.rule for row in flakiness(runs, verdicts).collect()] == [LOCKED]
