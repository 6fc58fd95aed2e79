"""From one run folder to rows: nothing is lost, nothing is decided anew, damage is a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from conformance.evidence.folder import RUN_FILE, STREAM
from conformance.evidence.kinds import AnyEvent, EvidenceError, Judged
from conformance.evidence.results import rule_results
from conformance.evidence.stream import read
from conformance.evidence.verdicts import Verdict
from harness.wire.journal import Direction, Ended, Octets, Opened
from reports.model.columns import FRAMES, RUNS, VERDICTS
from reports.model.rows import Rows, digest, evidence_files, rows_of
from reports.model.single import column_of, rows_in
from reports.tests.samples import EMPTY, LOCKED, make_run

MIXED = {LOCKED: Verdict.FAIL, EMPTY: Verdict.PASS, "x-1/tx.commit": Verdict.WARN}


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in evidence_files(folder)}


def damaged(folder: Path, old: bytes, new: bytes, name: str = STREAM) -> Path:
    content = (folder / name).read_bytes()
    assert old in content
    (folder / name).write_bytes(content.replace(old, new, 1))
    return folder


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    return rows_in(make_run(tmp_path / "a", verdicts=MIXED, frames=3))


def test_the_rows_have_the_columns_of_the_tables(rows: Rows) -> None:
    for schema, found in ((RUNS, [rows.run]), (VERDICTS, rows.verdicts), (FRAMES, rows.frames)):
        assert found
        assert all(set(row) == set(schema.names) for row in found)
        assert pa.RecordBatch.from_pylist(found, schema=schema).to_pylist() == found


def test_the_verdicts_are_those_the_run_came_to(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "a", verdicts=MIXED)
    results = rule_results(read(folder))
    assert [(each.rule, str(each.verdict), each.signature) for each in results] == [
        (row["rule"], row["verdict"], row["signature"]) for row in rows_in(folder).verdicts
    ]


def test_standing_and_scores_are_those_the_run_said(rows: Rows) -> None:
    assert rows.run["standing"] == "not certified"
    assert [(each["level"], each["judged"], each["against"]) for each in rows.run["scores"]] == [
        ("must", 3, 1),
        ("should", 3, 1),
        ("may", 3, 1),
    ]


def test_every_unit_is_a_row_with_its_number(rows: Rows) -> None:
    exchange = [row for row in rows.frames if row["rule"] == LOCKED]
    assert [(row["number"], row["kind"]) for row in exchange] == [
        (0, "opened"),
        (1, "sent"),
        (2, "sent"),
        (3, "received"),
        (4, "ended"),
    ]
    (verdict,) = (row for row in rows.verdicts if row["rule"] == LOCKED)
    assert (verdict["exchange"], verdict["frame"]) == (LOCKED, 3)
    assert (verdict["decided_at"], verdict["waited"]) == (0.03, 0.25)


def test_a_rule_broken_during_another_points_to_the_exchange_of_that_one(tmp_path: Path) -> None:
    at = "main.1.1"
    events: list[AnyEvent] = [
        Opened(0.0, at, "127.0.0.1:5673", "x-1"),
        Octets(0.1, at, Direction.RECEIVED, b"\0", "basic.deliver delivery-tag=0"),
        Judged(test="x-1/passive[look]", rule="x-1/passive", verdict=Verdict.FAIL, connection=at, frame=1),
        Ended(0.2, at, "harness", "fin"),
    ]
    folder = make_run(tmp_path / "a", frames={LOCKED: events})
    found = {row["rule"]: row["exchange"] for row in rows_in(folder).verdicts}
    assert found["x-1/passive"] == LOCKED


def test_a_run_cut_short_is_partial_and_says_why(tmp_path: Path) -> None:
    run = rows_in(make_run(tmp_path / "a", partial=True)).run
    assert (run["partial"], run["why"], run["standing"]) == (True, "the total budget was spent", "partial")


def test_what_a_crashed_run_did_not_reach_is_not_run(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "a", merged=False, partial=True)
    (stream,) = folder.glob("events-*.jsonl")
    lines = stream.read_bytes().splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if b'"judged"' in line)
    stream.write_bytes(b"".join(lines[: first + 1]) + lines[first + 1][:20])  # a torn line
    rows = rows_in(folder)
    assert {row["rule"]: row["verdict"] for row in rows.verdicts} == {LOCKED: "pass", EMPTY: "not-run"}
    assert rows.run["partial"]
    assert (rows.run["exit_status"], rows.run["scores"]) == (None, [])


def test_a_lost_end_is_partial(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "a")
    lines = (folder / STREAM).read_bytes().splitlines(keepends=True)
    (folder / STREAM).write_bytes(b"".join(lines[:-2]))
    run = rows_in(folder).run
    assert (run["partial"], run["why"]) == (True, "the run never came to its end")


def test_another_hash_is_refused(tmp_path: Path) -> None:
    folder = damaged(make_run(tmp_path / "a", verdicts=MIXED), b'"verdict":"fail"', b'"verdict":"pass"')
    with pytest.raises(EvidenceError, match="changed after the run: its hash is not the footer's"):
        rows_in(folder)


def test_an_unknown_schema_is_refused(tmp_path: Path) -> None:
    folder = damaged(make_run(tmp_path / "a"), b'"schema": 2', b'"schema": 9', RUN_FILE)
    with pytest.raises(EvidenceError, match=r"a/run.json: .*its schema is 9, and this suite reads 2"):
        rows_in(folder)


def test_a_description_of_another_run_is_refused(tmp_path: Path) -> None:
    folder = damaged(make_run(tmp_path / "a"), b'"version": "1.0"', b'"version": "2.0"', RUN_FILE)
    with pytest.raises(EvidenceError, match="does not describe the run whose events are beside it"):
        rows_in(folder)


def test_a_run_that_does_not_say_when_it_started_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="does not say when it started"):
        rows_in(make_run(tmp_path / "a", started="yesterday"))


@pytest.mark.parametrize("name", [RUN_FILE, STREAM])
def test_half_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    folder = make_run(tmp_path / "a")
    (folder / name).unlink()
    with pytest.raises(EvidenceError, match=r"a/run.json: cannot be read|no events here"):
        rows_in(folder)


def test_a_folder_without_evidence_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="not a run folder"):
        evidence_files(tmp_path)


def test_the_start_is_told_in_one_form(tmp_path: Path) -> None:
    told = [
        rows_in(make_run(tmp_path / str(number), started=text)).run["started"]
        for number, text in enumerate(("2026-11-20T12:00:00+00:00", "2026-11-20T14:00:00.000000+02:00"))
    ]
    assert told == ["2026-11-20T12:00:00.000000Z"] * 2


def test_rendering_anew_does_not_make_it_another_run(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "a")
    before = digest(files(folder))
    described = json.loads((folder / RUN_FILE).read_text())
    (folder / RUN_FILE).write_text(json.dumps(described | {"files": {}}))
    assert digest(files(folder)) == before
    assert digest({STREAM: b"other"}) != before


def test_a_sentence_names_the_folder_as_the_user_did(tmp_path: Path) -> None:
    content = files(make_run(tmp_path / "a")) | {STREAM: b"{}\n"}
    with pytest.raises(EvidenceError) as refused:
        rows_of("runs/a", content)
    assert "runs/a" in str(refused.value)
    assert "/tmp" not in str(refused.value)


def test_a_folder_is_a_column(tmp_path: Path) -> None:
    column = column_of(make_run(tmp_path / "a", verdicts=MIXED))
    assert column.build.name == "Peer 1.0"
    assert {rule: finding.verdict for rule, finding in column.findings.items()} == MIXED
    assert [column.count(verdict) for verdict in (Verdict.FAIL, Verdict.WARN, Verdict.INFO)] == [1, 1, 0]
