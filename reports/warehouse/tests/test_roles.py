"""A warehouse keeps clients and servers apart; what it held before there were roles are servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from conformance.engine.controller import judge_here
from conformance.engine.options import Options
from conformance.evidence.verdicts import Verdict
from reports.commands.commands import render_site
from reports.ingest.ingest import ingest
from reports.model.findings import Build, Column
from reports.model.single import column_of
from reports.tests.samples import EMPTY, LOCKED, make_run
from reports.warehouse.asked import Asked, builds_called
from reports.warehouse.jobs import columns, exchanges, findings, flakiness
from reports.warehouse.tests.contents import rows
from reports.warehouse.warehouse import Warehouse
from spec.rules import Role

RULES = ("0-9-1/prose/4.2.2.header-begins-connection", "0-9-1/prose/2.3.7.close-answered")
FAILED = {LOCKED: Verdict.FAIL, EMPTY: Verdict.PASS}


def found(spark: SparkSession, warehouse: Warehouse) -> list[Column]:
    snapshot = warehouse.snapshot()
    return columns(snapshot.table(spark, "runs"), snapshot.table(spark, "verdicts"))


def test_the_same_build_in_two_roles_is_two_columns(spark: SparkSession, tmp_path: Path) -> None:
    server = make_run(tmp_path / "server", run="r1")
    client = make_run(tmp_path / "client", run="r2", role=Role.CLIENT, verdicts=FAILED)
    warehouse = Warehouse(str(tmp_path / "warehouse"))
    ingest(lambda: spark, [client, server], warehouse)
    told = found(spark, warehouse)
    assert [each.build.role for each in told] == [Role.SERVER, Role.CLIENT]
    assert [each.findings[LOCKED].verdict for each in told] == [Verdict.PASS, Verdict.FAIL]
    assert [each.findings[LOCKED].seen for each in told] == [(Verdict.PASS,), (Verdict.FAIL,)]
    assert [str(each.standing) for each in told] == ["certified", "not certified"]
    assert builds_called([told[1].build.name], spark, warehouse.snapshot()) == told[1:]
    runs, verdicts = (warehouse.snapshot().table(spark, name) for name in ("runs", "verdicts"))
    assert flakiness(runs, verdicts).count() == 0
    assert exchanges(findings(runs, verdicts)).where("rule = '" + EMPTY + "'").count() == 2


def test_a_warehouse_and_its_site_have_what_was_judged_in_each_role(
    spark: SparkSession, tmp_path: Path
) -> None:
    folders = [tmp_path / "server", tmp_path / "client"]
    for folder, target in zip(folders, ("embedded", "client:own"), strict=True):
        judge_here(Options(target=target, selectors=RULES, output=str(folder)))
    warehouse = Warehouse(str(tmp_path / "warehouse"))
    ingest(lambda: spark, folders, warehouse)
    told, alone = found(spark, warehouse), [column_of(folder) for folder in folders]
    assert [each.build.role for each in told] == list(Role)
    for ours, single in zip(told, alone, strict=True):
        assert (ours.build, ours.standing, ours.scores) == (single.build, single.standing, single.scores)
        assert {rule: each.verdict for rule, each in ours.findings.items()} == {
            rule: each.verdict for rule, each in single.findings.items()
        }
    assert [[each.findings[rule].verdict for rule in RULES] for each in told] == [
        [Verdict.UNTESTABLE, Verdict.PASS],
        [Verdict.PASS, Verdict.PASS],
    ]
    render_site(spark, warehouse.snapshot(), tmp_path / "site")
    builds = json.loads((tmp_path / "site" / "matrix.json").read_bytes())["builds"]
    assert [(each["role"], each["target"]) for each in builds] == [
        ("server", "embedded"),
        ("client", "client:own"),
    ]


def test_rows_from_before_there_were_roles_and_labels_are_of_servers_without_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    warehouse = Warehouse(str(tmp_path / "warehouse"))
    ingest(lambda: spark, [make_run(tmp_path / "old", run="r1")], warehouse)
    runs = tmp_path / "warehouse" / "runs"
    before = DeltaTable(str(runs)).to_pyarrow_table()
    assert before.column("role").to_pylist() == ["server"]
    write_deltalake(
        str(runs), before.drop_columns(["role", "label"]), mode="overwrite", schema_mode="overwrite"
    )
    assert [each.build.role for each in columns(*Asked().rows(spark, warehouse.snapshot()))] == [Role.SERVER]
    new = make_run(tmp_path / "new", run="r2", started="2026-11-21T12:00:00+00:00", verdicts=FAILED)
    ingest(lambda: spark, [new], warehouse)
    (column,) = found(spark, warehouse)
    assert (column.build, column.runs) == (Build("Peer", "1.0", "embedded"), 2)
    assert column.findings[LOCKED].seen == (Verdict.FAIL, Verdict.PASS)
    assert builds_called([column.build.name], spark, warehouse.snapshot()) == [column]
    assert [row["role"] for row in rows(warehouse.path, "runs")] == ["server", "server"]
