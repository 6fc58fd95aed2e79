"""`diagnose RUN`: what a peer does wrong is named, each finding once, and no client is diagnosed."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from conformance.causes.diagnosis import Alike, Diagnosis
from conformance.causes.dictionary import dictionary
from conformance.causes.faults import known_faults
from conformance.causes.telling import grouped
from conformance.commands.diagnose import SHOWN, closing, diagnose_run
from conformance.commands.run import causes_of
from conformance.commands.tests.test_replaying import deviating
from conformance.engine import controller
from conformance.engine.options import Options
from conformance.evidence.folder import read_run
from conformance.evidence.kinds import EvidenceError
from conformance.gate.gate import Exit
from conformance.render.rendering import load

BROKEN = "0-9-1/grammar/basic.qos.trailing"
FAULT = next(each for each in dictionary() if each.rule == BROKEN and len(each.signs) > 1)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a run of all that a fault turns red, on a peer that has it."""
    change = next(each.change for each in known_faults() if each.key == FAULT.key)
    deviating(monkeypatch, change)
    controller.judge_here(Options(selectors=tuple(FAULT.signs), output=str(tmp_path / "run")))
    return tmp_path / "run"


def told(run: Path, every: bool = False, form: str = "text") -> str:
    console = Console(file=(said := StringIO()), width=200)
    assert diagnose_run(run, every, form, console) == Exit.MET
    return said.getvalue()


def test_the_fault_is_named_with_the_rules_that_follow_from_it(run: Path) -> None:
    data = json.loads(told(run, form="json"))
    (cause,) = data["causes"]
    assert cause["fault"] == FAULT.says
    assert {each["rule"] for each in cause["rules"]} == FAULT.signs.keys()
    assert data["alone"] == []


def test_a_cause_is_told_with_its_closest_rule_and_its_frame(run: Path) -> None:
    lines = [line.strip() for line in told(run, every=True).splitlines()]
    assert lines[0].startswith(f"1. It {FAULT.says}")
    assert lines[1].partition(": ")[0].split()[1] in FAULT.signs
    assert lines[2].startswith("frame type=1 channel=")
    assert lines[-1] == f"{len(FAULT.signs)} findings: 1 cause with {len(FAULT.signs)} rules, 0 alone"


def test_no_more_causes_are_told_than_one_looks_at_and_what_is_left_is_counted() -> None:
    groups = [
        Alike("this", f"that {number}", (f"a{number}", f"b{number}", f"c{number}")) for number in range(17)
    ]
    told = Diagnosis((), ("x", "y"), tuple(groups))
    assert closing(told, SHOWN, False) == (
        "53 findings: 15 causes with 45 rules, 2 causes more with 6 rules, 2 alone (--all names all)"
    )
    assert closing(told, 17, True) == "53 findings: 17 causes with 51 rules, 2 alone"


@pytest.mark.parametrize(("due", "place"), [("that", "that"), ("", "what is due")])
def test_what_is_alike_is_told_by_what_came_and_was_due(due: str, place: str) -> None:
    (group,) = grouped(Diagnosis((), (), (Alike("this", due, ("a", "b", "c")),)))
    assert group.says == f"There comes this in place of {place}: 3 rules, of no fault that is known"


def test_a_run_of_a_client_is_not_diagnosed(run: Path) -> None:
    kept = run / "run.json"
    kept.write_text(kept.read_text().replace('"role": "server"', '"role": "client"'))
    assert str(read_run(run).role) == "client"
    with pytest.raises(EvidenceError, match="is of a client"):
        told(run)


def test_a_run_tells_what_most_of_its_findings_follow_from(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert causes_of(load(run)) == []  # they are too few
    monkeypatch.setattr("conformance.commands.run.MANY", len(FAULT.signs))
    (cause,) = causes_of(load(run))
    assert cause.startswith(f"It {FAULT.says}")
