"""A verdict has one form: whatever field it has is in its event, in its row and in the finding of a page."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pyarrow as pa
import pytest

from conformance.evidence.folder import STREAM
from conformance.evidence.kinds import AnyEvent, Judged
from conformance.evidence.results import rule_results
from conformance.evidence.stream import read
from conformance.evidence.verdicts import Verdict
from harness.wire.journal import Opened
from reports.model.columns import VERDICTS, columns_of
from reports.model.findings import Finding
from reports.model.rows import row_of
from reports.model.single import column_of, rows_in
from reports.tests.samples import LOCKED, make_run
from spec.rules import Level

NAMES = [each.name for each in fields(Judged)]
AT = "main.1.1"


def some(name: str, hint: Any) -> Any:
    """Make a value of this type that no other field has, and that is not the field's default."""
    if get_origin(hint) is tuple:
        return (some(f"{name} 1", get_args(hint)[0]), some(f"{name} 2", get_args(hint)[0]))
    if get_args(hint):  # X | None
        return some(name, get_args(hint)[0])
    if issubclass(hint, StrEnum):
        return list(hint)[-1]
    return f"the {name}" if hint is str else hint(len(name))


HINTS = get_type_hints(Judged)
TOLD = Judged(**{name: some(name, HINTS[name]) for name in NAMES} | {"rule": "x-1/r", "connection": AT})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    events: list[AnyEvent] = [Opened(0.0, AT, "127.0.0.1:5673", "x-1"), TOLD]
    return make_run(tmp_path_factory.mktemp("one") / "run", frames={LOCKED: events})


@pytest.mark.parametrize("name", NAMES)
def test_every_field_of_a_verdict_arrives_in_each_layer(folder: Path, name: str) -> None:
    value = getattr(TOLD, name)
    lines = map(json.loads, (folder / STREAM).read_text().splitlines())
    (event,) = (line for line in lines if line["event"] == "judged" and line["rule"] == TOLD.rule)
    (result,) = (each for each in rule_results(read(folder)) if each.rule == TOLD.rule)
    (row,) = (each for each in rows_in(folder).verdicts if each["rule"] == TOLD.rule)
    (cells,) = pa.RecordBatch.from_pylist([row], schema=VERDICTS).to_pylist()
    as_json = list(value) if isinstance(value, tuple) else value
    assert event[name] == row[name] == cells[name] == as_json
    assert getattr(result.deciding, name) == value
    assert getattr(Finding.of(cells), name) == value
    assert getattr(column_of(folder).findings[TOLD.rule], name) == value


def test_a_finding_is_a_verdict_and_more() -> None:
    assert {each.name for each in fields(Finding)} > set(NAMES)
    assert set(NAMES) <= set(VERDICTS.names)


def test_what_older_tables_do_not_have_is_as_if_nobody_had_said_it() -> None:
    row = row_of(TOLD, Judged) | {"cause": None, "frame": None, "expected": None}
    assert replace(TOLD, cause="", frame=None, expected=()) == Judged(
        **{name: getattr(Finding.of(row), name) for name in NAMES}
    )


def test_what_a_broken_run_did_not_reach_was_judged_at_no_level(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", merged=False, partial=True, verdicts={LOCKED: Verdict.PASS})
    (stream,) = folder.glob("events-*.jsonl")
    stream.write_bytes(stream.read_bytes().splitlines(keepends=True)[0])
    (row,) = rows_in(folder).verdicts
    assert (row["verdict"], row["level"], row["tests"]) == ("not-run", "", 0)
    found = Finding.of(row)
    assert (found.verdict, found.judged_at, found.seen) == (Verdict.NOT_RUN, "", (Verdict.NOT_RUN,))
    assert replace(found, tests=1, level=Level.MAY).judged_at == "may"


def test_columns_are_made_of_the_types_of_fields() -> None:
    kinds = dict(columns_of(Judged))
    assert (kinds["verdict"], kinds["frame"], kinds["duration"]) == (pa.string(), pa.int32(), pa.float64())
    assert kinds["expected"] == pa.list_(pa.string())
