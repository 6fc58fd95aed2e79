"""`diagnose RUN`: what a peer does wrong is named, each finding once, and no client is diagnosed."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from conformance.causes.dictionary import dictionary
from conformance.causes.faults import known_faults
from conformance.commands.diagnose import diagnose_run
from conformance.commands.tests.test_replaying import deviating
from conformance.engine import controller
from conformance.engine.options import Options
from conformance.evidence.folder import read_run
from conformance.evidence.kinds import EvidenceError
from conformance.gate.gate import Exit

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
    assert lines[-1] == f"{len(FAULT.signs)} findings: 1 cause, 0 alone"


def test_a_run_of_a_client_is_not_diagnosed(run: Path) -> None:
    kept = run / "run.json"
    kept.write_text(kept.read_text().replace('"role": "server"', '"role": "client"'))
    assert str(read_run(run).role) == "client"
    with pytest.raises(EvidenceError, match="is of a client"):
        told(run)
