"""Which run speaks, what flickers, and where an exchange stands, over tables made by hand."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Standing
from reports.model.columns import FRAMES, RUNS, TABLES, VERDICTS
from reports.model.findings import Build, Finding
from reports.tests.samples import make_run
from reports.trials.benchmark import rows_scanned
from reports.warehouse.jobs import HISTORY, columns, exchanges, findings, flakiness, frames_of
from spec.rules import Level

PASS, FAIL, WARN, NOT_RUN = Verdict.PASS, Verdict.FAIL, Verdict.WARN, Verdict.NOT_RUN
A, B = "x-1/a", "x-1/b"


def nothing(table: pa.Schema) -> dict[str, Any]:
    """Make a row of `table` that says nothing: empty texts, and null elsewhere."""
    return {field.name: "" if pa.types.is_string(field.type) else None for field in table}


def run(name: str, minute: int, *, version: str = "1.0", **changes: Any) -> dict[str, Any]:
    row = nothing(RUNS) | {
        "run": name,
        "folder": f"folder-{name}",
        "started": f"2026-11-20T12:{minute:02}:00.000000Z",
        "product": "Peer",
        "version": version,
        "target": "embedded",
        "role": "server",
        "level": "must",
        "partial": False,
        "whole": True,
        "standing": str(Standing.CERTIFIED),
        "sentence": f"said by {name}",
        "exit_status": 0,
        "scores": [{"level": "must", "judged": 2, "against": 0, "standing": str(Standing.CERTIFIED)}],
        "documents": [{"prefix": "x-1", "title": "X", "revision": "1", "sha256": "00"}],
    }
    return row | changes


def verdict(run: str, rule: str, came: Verdict, **changes: Any) -> dict[str, Any]:
    row = nothing(VERDICTS) | {
        "run": run,
        "document": "x-1",
        "rule": rule,
        "verdict": str(came),
        "level": "must",
        "expected": ["405", "504"],
        "tests": 1,
        "duration": 0.5,
        "connection": "main.1.1",
        "frame": 3,
        "decided_at": None,
        "waited": 0.25,
        "exchange": rule,
    }
    return row | changes


def verdicts_of(said: Mapping[str, Mapping[str, Verdict]]) -> list[dict[str, Any]]:
    return [verdict(run, rule, came) for run, rules in said.items() for rule, came in rules.items()]


def table(spark: SparkSession, name: str, rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    return spark.createDataFrame(pa.Table.from_pylist(list(rows), schema=TABLES[name]))


def found_in(spark: SparkSession, runs: list[dict[str, Any]], verdicts: list[dict[str, Any]]) -> list[Any]:
    frame = findings(table(spark, "runs", runs), table(spark, "verdicts", verdicts))
    return sorted(frame.collect(), key=lambda row: (row.version, row.rule))


def test_the_newest_run_that_came_to_its_end_and_judged_the_rule_speaks(spark: SparkSession) -> None:
    runs = [
        run("z", 1), run("y", 2), run("x", 3, whole=False), run("cut", 4, partial=True),
        run("other", 1, version="2.0"),
    ]  # fmt: skip
    said = {
        "z": {A: FAIL, B: FAIL},
        "y": {A: PASS, B: WARN},
        "x": {A: PASS},
        "cut": {A: NOT_RUN, B: NOT_RUN},
        "other": {A: FAIL},
    }
    first, second, third = found_in(spark, runs, verdicts_of(said))
    assert (first.rule, first.run, first.verdict, first.runs) == (A, "x", "pass", 4)
    assert (second.rule, second.run, second.verdict, second.runs) == (B, "y", "warn", 3)
    assert (third.version, third.rule, third.run, third.verdict) == ("2.0", A, "other", "fail")
    assert first.seen == ["fail", "pass"]  # in the table's order, and what the cut run lacks is not in it
    assert second.seen == ["fail", "warn"]
    assert third.seen == ["fail"]


def test_of_two_runs_that_started_together_the_greater_identity_counts_as_newer(spark: SparkSession) -> None:
    said = {"a": {A: PASS}, "c": {A: FAIL}, "b": {A: WARN}}
    (row,) = found_in(spark, [run(name, 1) for name in said], verdicts_of(said))
    assert (row.run, row.verdict) == ("c", "fail")


def test_a_partial_run_speaks_only_where_nothing_else_does(spark: SparkSession) -> None:
    runs = [run("cut", 1, partial=True), run("again", 2, partial=True)]
    said = {"cut": {A: FAIL, B: WARN}, "again": {A: NOT_RUN}}
    first, second = found_in(spark, runs, verdicts_of(said))
    assert (first.verdict, first.seen, first.runs) == ("not-run", ["not-run"], 2)
    assert (second.verdict, second.seen, second.runs) == ("warn", ["warn"], 1)


def test_columns_carry_every_field_of_the_rows(spark: SparkSession) -> None:
    told = {"signature": "got 404", "detail": "d", "reading": "r", "test": "t", "cause": "c", "actual": "404"}
    column, *others = columns(
        table(spark, "runs", [run("one", 1), run("two", 2, whole=False), run("cut", 3, partial=True)]),
        table(spark, "verdicts", [verdict("one", A, FAIL, **told), *verdicts_of({"two": {B: PASS}})]),
    )
    assert others == []
    assert column.build == Build("Peer", "1.0", "embedded")
    assert (column.run, column.sentence, column.standing) == ("one", "said by one", Standing.CERTIFIED)
    assert (column.runs, column.partial) == (3, 1)
    assert (column.scores[0].judged, column.documents[0]["title"]) == (2, "X")
    assert list(column.findings) == [A, B]
    assert column.findings[A] == Finding(
        rule=A, verdict=FAIL, **told, level=Level.MUST, duration=0.5, tests=1,
        expected=("405", "504"), run="one", folder="folder-one",
        started="2026-11-20T12:01:00.000000Z",
        connection="main.1.1", frame=3, decided_at=None, waited=0.25, exchange=A, seen=(FAIL,), runs=1,
    )  # fmt: skip
    assert not column.findings[A].flaky


def test_a_column_of_one_run_is_the_one_made_from_its_folder(spark: SparkSession, tmp_path: Path) -> None:
    single = pytest.importorskip("reports.model.single")
    folder = make_run(tmp_path / "run", verdicts={A: PASS, B: FAIL})
    rows = single.rows_in(folder)
    (column,) = columns(table(spark, "runs", [rows.run]), table(spark, "verdicts", rows.verdicts))
    alone = single.column_of(folder)
    assert {rule: each.verdict for rule, each in column.findings.items()} == {A: PASS, B: FAIL}
    where = str(folder), folder.name  # the warehouse knows the folder's last name only
    assert repr(column) == repr(alone).replace(*where)


def test_a_build_without_a_verdict_is_an_empty_column(spark: SparkSession) -> None:
    (column,) = columns(
        table(spark, "runs", [run("cut", 1, partial=True, product="", version="")]),
        table(spark, "verdicts", []),
    )
    assert (column.build.name, column.findings, column.partial) == ("embedded", {}, 1)


def test_nothing_ingested_makes_no_column(spark: SparkSession) -> None:
    runs, verdicts = table(spark, "runs", []), table(spark, "verdicts", [])
    assert columns(runs, verdicts) == []
    assert flakiness(runs, verdicts).collect() == []


def test_whole_rows_are_asked_for_of_the_runs_that_speak_alone(spark: SparkSession) -> None:
    runs = table(spark, "runs", [run("old", 1), run("new", 2), run("other", 3, version="2.0")])
    said = {"old": {A: PASS, B: FAIL}, "new": {A: FAIL}, "other": {A: PASS}}
    rows = table(spark, "verdicts", verdicts_of(said))
    asked: list[set[str] | None] = []

    def whole(of: Collection[str] | None) -> DataFrame:
        asked.append(None if of is None else set(of))
        return rows

    counted = rows.select("run", "rule", "verdict")
    assert columns(runs, counted, whole) == columns(runs, rows)
    assert asked == [{"old", "new", "other"}]  # of the old one the new says nothing
    del said["old"][B]
    newest = table(spark, "verdicts", verdicts_of(said)).select("run", "rule", "verdict")
    columns(runs, newest, whole)
    assert asked[-1] == {"new", "other"}


def test_flakiness_tells_the_history_of_what_changed(spark: SparkSession) -> None:
    history = [PASS, FAIL, FAIL, PASS, WARN]
    runs = [run(f"r{minute}", minute) for minute in range(len(history))]
    runs += [run("cut", 30, partial=True), run("other", 31, version="2.0")]
    said = {f"r{minute}": {A: came, B: PASS} for minute, came in enumerate(history)}
    said |= {"cut": {A: NOT_RUN, B: NOT_RUN}, "other": {A: PASS, B: FAIL}}
    runs, verdicts = runs[::-1], verdicts_of(said)[::-1]
    (row,) = flakiness(table(spark, "runs", runs), table(spark, "verdicts", verdicts)).collect()
    assert (row.product, row.version, row.target, row.rule) == ("Peer", "1.0", "embedded", A)
    assert (row.runs, row.changes) == (5, 3)
    assert row.last == ["pass", "fail", "fail", "pass", "warn"]
    assert row.seen == ["fail", "warn", "pass"]
    assert (row.first_change.run, row.last_change.run) == ("r1", "r4")
    assert row.first_change.started == "2026-11-20T12:01:00.000000Z"


def test_flakiness_and_findings_agree_on_what_is_flaky(spark: SparkSession) -> None:
    came = itertools.cycle([PASS, FAIL, PASS, PASS, WARN])
    said = {f"r{minute:02}": {f"x-1/{n}": next(came) for n in range(4)} for minute in range(HISTORY + 5)}
    said |= {name: rules | {A: PASS} for name, rules in said.items()}
    runs = [
        run(name, minute, version=str(minute % 2), partial=minute % 7 == 0)
        for minute, name in enumerate(said)
    ]
    frames = table(spark, "runs", runs), table(spark, "verdicts", verdicts_of(said))
    flaky = {(row.version, row.rule): row for row in flakiness(*frames).collect()}
    found = [(column.build.version, each) for column in columns(*frames) for each in column.findings.values()]
    assert {(version, each.rule) for version, each in found if each.flaky} == flaky.keys()
    assert {key: tuple(row.seen) for key, row in flaky.items()} == {
        (version, each.rule): each.seen for version, each in found if each.flaky
    }


def test_only_the_newest_verdicts_are_told_one_by_one(spark: SparkSession) -> None:
    count = HISTORY + 3
    said = {f"r{minute:02}": {A: PASS if minute else FAIL} for minute in range(count)}
    runs = [run(name, minute) for minute, name in enumerate(said)]
    (row,) = flakiness(table(spark, "runs", runs), table(spark, "verdicts", verdicts_of(said))).collect()
    assert (row.runs, row.changes, row.last) == (count, 1, ["pass"] * HISTORY)


def test_each_distinct_finding_is_shown_once_by_the_newest(spark: SparkSession) -> None:
    runs = table(spark, "runs", [run(f"r{minute}", minute, version=str(minute)) for minute in range(5)])
    rows = [
        verdict("r0", A, FAIL, signature="404"),
        verdict("r1", A, FAIL, signature="404"),
        verdict("r2", A, FAIL, signature="no answer"),
        verdict("r3", A, PASS, reading="one"),
        verdict("r4", A, FAIL, signature="404", connection=None, exchange=None),
        verdict("r4", B, PASS, exchange=A),  # a passive rule: its connection was another rule's
    ]
    shown = exchanges(findings(runs, table(spark, "verdicts", rows))).collect()
    told = sorted((row.rule, row.verdict, row.signature, row.reading, row.run, row.exchange) for row in shown)
    assert told == [
        (A, "fail", "404", "", "r1", A),
        (A, "fail", "no answer", "", "r2", A),
        (A, "pass", "", "one", "r3", A),
        (B, "pass", "", "", "r4", A),
    ]


@pytest.fixture
def frames(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """Write forty rules into two files, sorted, four rules to a row group."""
    for half in range(2):
        rows = [
            {"rule": f"x-1/{rule:02}", "run": f"r{run}", "connection": connection, "number": number}
            for rule in range(half * 20, half * 20 + 20)
            for run in range(3)
            for connection in ("main.1.1", "main.1.2")
            for number in range(10)
        ]
        whole = [nothing(FRAMES) | row for row in rows]
        target = tmp_path / f"{half}.parquet"
        pq.write_table(pa.Table.from_pylist(whole, schema=FRAMES), target, row_group_size=240)
    return spark.read.parquet(str(tmp_path))


def test_frames_of_gives_the_exchanges_wanted_and_no_others(frames: DataFrame) -> None:
    wanted = [("x-1/07", "r1", "main.1.2"), ("x-1/31", "r2", "main.1.1"), ("x-1/31", "r9", "main.1.1")]
    rows = frames_of(frames, wanted)
    assert rows.columns == FRAMES.names
    got = {(row.rule, row.run, row.connection) for row in rows.collect()}
    assert got == {("x-1/07", "r1", "main.1.2"), ("x-1/31", "r2", "main.1.1")}
    assert rows.count() == 20
    assert frames_of(frames, []).count() == 0


def test_frames_of_reads_no_more_than_the_row_groups_that_may_hold_it(frames: DataFrame) -> None:
    rows = frames_of(frames, [("x-1/07", "r1", "main.1.2")])
    assert len(rows.collect()) == 10
    plan = rows._jdf.queryExecution().executedPlan().toString()
    pushed = next(line for line in plan.splitlines() if "PushedFilters" in line)
    assert "EqualTo(rule,x-1/07)" in pushed
    assert "EqualTo(run,r1)" in pushed
    assert rows_scanned(rows) <= 240
    assert len(frames.collect()) == rows_scanned(frames) == 2400
