"""`latest` names the run that began last; names that were given up still work, and no help shows them."""

from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from conformance.commands.cli import main
from conformance.commands.clicked import RUN
from conformance.evidence.folder import RunInfo, newest, write_run
from conformance.evidence.kinds import EvidenceError
from conformance.gate.gate import Exit

TOLD = RunInfo(run="r", started="", suite="1", target="embedded")


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder in which runs are put, with four of them and something else in it."""
    monkeypatch.chdir(tmp_path)
    place = Path("runs")
    for name, started in {
        "z-first": "2026-01-01T10:00:00+00:00",
        "several/embedded": "2026-01-03T10:00:00+00:00",
        "a-third": "2026-01-02T10:00:00+00:00",
        "unknown": "whenever",
    }.items():
        (place / name).mkdir(parents=True)
        write_run(place / name, replace(TOLD, started=started))
    (place / "broken").mkdir()
    (place / "broken/run.json").write_text("{")
    return place


def test_the_latest_is_the_one_that_began_last(runs: Path) -> None:
    assert newest() == runs / "several/embedded"
    assert RUN.convert("latest", None, None) == runs / "several/embedded"
    assert RUN.convert("runs/a-third", None, None) == runs / "a-third"


def test_a_place_without_a_run_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EvidenceError, match="there is no run in runs/ here, so none is the latest"):
        newest()
    done = CliRunner().invoke(main, ["check", "latest"])
    assert done.exit_code == Exit.NOTHING
    assert "there is no run in runs/ here" in done.output


def test_every_command_that_takes_a_run_takes_the_latest() -> None:
    found = {
        name: parameter.type
        for name, command in main.commands.items()
        for parameter in command.params
        if isinstance(parameter, click.Argument) and parameter.name in ("run", "runs")
    }
    assert {"replay", "render", "check", "verify", "clean"} <= found.keys()
    assert set(found.values()) == {RUN}
    baseline = main.commands["baseline"]
    assert isinstance(baseline, click.Group)
    assert baseline.commands["update"].params[0].type is RUN


def test_old_names_work_and_are_not_shown(runs: Path) -> None:
    told = [CliRunner().invoke(main, [name, str(runs / "a-third")]) for name in ("check", "verify")]
    assert told[0].output == told[1].output
    assert told[0].exit_code == told[1].exit_code == Exit.NOT_MET
    shown = CliRunner().invoke(main, ["--help"]).output
    assert " check " in shown
    assert " verify " not in shown
    shown = CliRunner().invoke(main, ["run", "--help"]).output
    assert "--repeat N" in shown
    assert "--verify" not in shown
