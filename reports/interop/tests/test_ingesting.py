"""A run of clients and brokers is taken into the warehouse as a run of rules is, and judged as strictly."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conformance.evidence.kinds import EvidenceError
from conformance.interop.folder import LEGS, SUMMARY
from conformance.interop.known import Known
from conformance.interop.outcomes import Outcome
from reports.commands.commands import all_of
from reports.ingest import intake
from reports.ingest.ingest import ingest
from reports.ingest.reconciling import Decision
from reports.interop.rows import InteropRows, interop_rows_of
from reports.model.columns import INTEROP_LEGS, INTEROP_RUNS
from reports.tests.interop import make_interop_run
from reports.tests.samples import make_run
from reports.warehouse.warehouse import Warehouse

ADDED, REPLACED, KNOWN, QUARANTINED = Decision
LOST = {"field.i8": Outcome.LOST, "body.empty": Outcome.SAME}
MINDED = Known("one", "here", "field.*", "receive", "lost", "nobody minds")


def told(folder: Path, **changes: Any) -> None:
    """Change what the summary says; None takes it out."""
    whole = json.loads((folder / SUMMARY).read_bytes()) | changes
    kept = {name: each for name, each in whole.items() if each is not None}
    (folder / SUMMARY).write_text(json.dumps(kept))


def lines(folder: Path, old: bytes, new: bytes) -> None:
    """Change the legs and the hash with them, so that only what they say speaks against them."""
    content = (folder / LEGS).read_bytes()
    assert old in content
    content = content.replace(old, new, 1)
    (folder / LEGS).write_bytes(content)
    told(folder, sha256=sha256(content).hexdigest())


def read(folder: Path) -> InteropRows:
    return interop_rows_of(folder.name, intake.read(folder).files)


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "no-summary": (lambda at: (at / SUMMARY).unlink(), f"{SUMMARY}: cannot be read (No such file"),
    "no-json": (lambda at: (at / SUMMARY).write_text("{"), f"{SUMMARY}: not JSON"),
    "a-list": (lambda at: (at / SUMMARY).write_text("[]"), f"{SUMMARY}: not the summary of a run"),
    "later": (lambda at: told(at, schema=99), "its schema is 99, and this suite reads 1"),
    "earlier": (
        lambda at: told(at, run=None, excused=None),
        "it does not tell run, excused, as that of an earlier suite",
    ),
    "of-rules": (lambda at: told(at, run="r1"), 'run is "r1"'),
    "at-no-time": (lambda at: told(at, started="yesterday"), "does not say when it started"),
    "number": (lambda at: told(at, legs=True), "legs is true"),
    "octet": (
        lambda at: (at / LEGS).write_bytes((at / LEGS).read_bytes().replace(b"same", b"lost", 1)),
        f"{LEGS} was changed after the run: its hash is not the summary's",
    ),
    "torn": (lambda at: lines(at, b'{"protocol"', b'{"proto'), f"{LEGS}:1: not a leg"),
    "outcome": (lambda at: lines(at, b'"same"', b'"fine"'), f"{LEGS}:1: not a leg ('fine' is not a valid"),
    "no-leg": (lambda at: lines(at, b'"leg": "send", ', b""), f"{LEGS}:1: it has no leg"),
    "no-text": (lambda at: lines(at, b'"case": "field.i8"', b'"case": 8'), f"{LEGS}:1: case is no text"),
    "fewer": (lambda at: told(at, legs=7), "beside it: legs are 6 there, and 7 here"),
    "excused": (lambda at: told(at, excused={"0": "why"}, known=1), "known failure that is none"),
    "another": (lambda at: told(at, clients={"one": "2.0"}), "the client differs in field.i8"),
    "broker": (lambda at: told(at, brokers={}), "the broker differs in field.i8"),
    "protocol": (lambda at: told(at, protocol="1-0"), "the protocol differs in field.i8"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_told_in_a_sentence(tmp_path: Path, name: str) -> None:
    harm, reason = BROKEN[name]
    folder = make_interop_run(tmp_path / name)
    read(folder)
    harm(folder)
    with pytest.raises(EvidenceError) as failure:
        read(folder)
    assert reason in str(failure.value)
    assert str(failure.value).isprintable()


def test_a_leg_that_is_there_twice_is_told(tmp_path: Path) -> None:
    folder = make_interop_run(tmp_path / "twice")
    first = (folder / LEGS).read_bytes().splitlines(keepends=True)[0]
    told(folder, legs=7)
    lines(folder, first, first * 2)
    with pytest.raises(EvidenceError, match=r"field\.i8 has a leg twice"):
        read(folder)


def test_a_folder_of_two_runs_is_told(tmp_path: Path) -> None:
    make_interop_run(make_run(tmp_path / "both"))
    assert intake.read(tmp_path / "both").reason.startswith("both: it holds two runs")


def test_rows_say_who_changed_a_value_and_what_is_known(tmp_path: Path) -> None:
    widened = {"field.i8": Outcome.WIDENED}
    folder = make_interop_run(tmp_path / "run", sends=widened, passes=LOST, gets=LOST, known=[MINDED])
    found = read(folder)
    assert [(row["leg"], row["changed_by"], row["fails"], row["known"]) for row in found.legs] == [
        ("send", "one", False, ""),
        ("broker", "here", True, ""),
        ("receive", "one", True, "nobody minds"),
    ]
    assert set(found.run) == set(INTEROP_RUNS.names)
    assert set(found.legs[0]) == set(INTEROP_LEGS.names)
    assert (found.run["new"], found.run["known"]) == (1, 1)


def test_the_folder_of_several_runs_stands_for_them(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / "all" / "a"), make_interop_run(tmp_path / "all" / "b")]
    assert list(all_of([tmp_path / "all", runs[1]])) == [*runs, runs[1]]


def test_both_kinds_of_runs_go_in_once_and_nothing_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    warehouse = Warehouse(str(tmp_path / "w"))
    good = make_interop_run(tmp_path / "good", gets=LOST, broke={"there": "it does not start"})
    other = make_interop_run(tmp_path / "other", number=1, sends=LOST)
    broken = make_interop_run(tmp_path / "broken", number=3)
    told(broken, legs=1)
    runs = [make_run(tmp_path / "rules"), good, broken]
    done = ingest(lambda: spark, runs, warehouse)
    assert [each.outcome for each in done.taken] == [ADDED, ADDED, QUARANTINED]
    snapshot = warehouse.snapshot()
    assert snapshot.table(spark, "interop_legs").where("fails").select("case").collect() == [("field.i8",)]
    (run,) = snapshot.table(spark, "interop_runs").collect()
    assert (run.run, run.events, run.broke[0].why) == ("interop-0000000000000001", 6, "it does not start")
    assert snapshot.table(spark, "runs").count() == 1
    again = ingest(lambda: spark, runs, warehouse)
    assert [each.outcome for each in again.taken] == [KNOWN, KNOWN, QUARANTINED]
    assert again.versions == done.versions  # nothing was written
    (left,) = ingest(lambda: spark, [other], warehouse).of(QUARANTINED)
    assert "another complete run interop-0000000000000001 is there already" in left.reason
    assert warehouse.snapshot().table(spark, "interop_legs").count() == 6
