"""Real runs rendered, at their end and again by the command; finished, deviating and broken off."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.evidence.folder import read_run, write_run
from conformance.evidence.kinds import Judged
from conformance.evidence.stream import State, read, verify
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Exit
from conformance.render.rendering import TEXTS, load
from conformance.render.tests.reports import allure_results, from_terminal, told_by_all, told_by_terminal
from conformance.tests.commands import Command, command, environment
from harness.dialect import dialect
from harness.peers.serve import TcpPeer
from scenarios.registry import checks

BROKEN = "0-9-1/queue.bind.exchange.exchange-existence"


DEVIATING = f"""
from conformance.commands.cli import main
from harness.targets import embedded
from scenarios.registry import checks
change = checks().deviations[{BROKEN!r}][0].change
embedded.MODES["deviating"] = lambda: embedded.EmbeddedTarget(change)
main()
"""
"""The command line, with one more embedded target: a peer that breaks a rule."""


@pytest.fixture(scope="module")
def deviating() -> Iterator[str]:
    """The URL of a peer that breaks one rule by what it says: for one that is silent a run waits twice."""
    known = checks().deviations[BROKEN]
    (change,) = (each.change for each in known if each.says == "looks for no exchange")
    with TcpPeer(dialect("0-9-1").proof.peer(change, None)) as served:
        yield f"amqp://guest:guest@127.0.0.1:{served.port}"


@pytest.fixture(scope="module", params=["whole", "deviating", "one section", "unreachable"])
def finished(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str, str]:
    """A run's folder, the standing it should have, and what the run printed."""
    run = tmp_path_factory.mktemp("reports") / "run"
    arguments, standing = {
        "whole": (["--level", "should"], "certified"),
        # Other processes do not know this target.
        "deviating": (["--target", "embedded:deviating", "--parallel", "0"], "not certified"),
        "one section": (["section:queue.bind"], "partial"),
        "unreachable": (["--target", "amqp://guest:guest@127.0.0.1:1", "--parallel", "0"], "partial"),
    }[request.param]
    done = subprocess.run(
        [sys.executable, "-c", DEVIATING, "run", *arguments, "--verbose", "--output", str(run)],
        env=environment() | {"COLUMNS": "118"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (run / "run.json").exists(), done.stderr
    return run, standing, done.stdout


def test_all_reports_of_a_real_run_agree(finished: tuple[Path, str, str]) -> None:
    run, standing, printed = finished
    report = load(run)
    wanted = {result.rule: result.verdict for result in report.results}
    assert wanted.keys() == set(report.started.selected)
    # Of a target that was never reached the terminal has the totals, and no line for each rule.
    never = report.gate.exit_status is Exit.UNREACHABLE
    in_lines = {} if never else wanted
    for name, told in told_by_all(report, run):
        assert told == (in_lines if name == "terminal" else wanted, standing), name
    assert told_by_terminal(printed, report.summary()["sentence"])[0] == in_lines
    for verdict, count in Counter(wanted.values()).items():
        assert f"{count} {verdict.row.symbol} {verdict}" in " ".join(printed.split())
    assert (wanted.get(BROKEN) is Verdict.FAIL) == (standing == "not certified")


def test_rendered_again_a_run_says_the_same(finished: tuple[Path, str, str], tmp_path: Path) -> None:
    run, _, printed = finished
    done = command("render", run, "--output", tmp_path, env=environment())
    assert (done.returncode, done.stderr) == (0, "")
    for path in (each for each in tmp_path.rglob("*") if each.is_file()):
        assert path.read_bytes() == (run / path.relative_to(tmp_path)).read_bytes(), path.name
    names = {name for name, _ in TEXTS.values()} | {"allure-results"}
    assert {each.name for each in tmp_path.iterdir()} == names
    wide = environment() | {"COLUMNS": "118"}
    shown = command("render", run, "--format", "terminal", env=wide).stdout
    assert printed.startswith(shown.rstrip("\n"))


def test_a_deviation_is_found_and_told(amqp_conformance: Command, deviating: str, tmp_path: Path) -> None:
    amqp_conformance("run", BROKEN, "--target", deviating, "--output", "run", "--parallel", "0")
    for form in ("terminal", "junit", "github", "gitlab", "tap"):
        text = amqp_conformance("render", "run", "--format", form).stdout
        assert BROKEN in text
        assert "queue.bind-ok" in text
        assert f"amqp-conformance replay run {BROKEN}" in text
    assert "partial: must" in amqp_conformance("render", "run", "--format", "badge").stdout


def test_rendering_keeps_a_run_whole(amqp_conformance: Command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    amqp_conformance("run", "0-9-1/channel.open.state", "--output", run)
    moved = run.rename(tmp_path / "moved")
    before = read_run(moved).files
    done = amqp_conformance("render", moved)
    assert done.returncode == 0
    assert done.stdout.split() == sorted(
        str(moved / name) for name in [*(name for name, _ in TEXTS.values()), "allure-results"]
    )
    assert verify(moved).state is State.OK
    after = read_run(moved).files
    assert after.keys() == before.keys()
    assert after["summary.github.md"] != before["summary.github.md"]  # it names the folder
    assert after["events.jsonl"] == before["events.jsonl"]


def test_what_was_changed_is_not_rendered(amqp_conformance: Command, tmp_path: Path) -> None:
    run = tmp_path / "run"
    amqp_conformance("run", "0-9-1/channel.open.state", "--output", run)
    stream = run / "events.jsonl"
    stream.write_text(stream.read_text().replace('"verdict":"pass"', '"verdict":"fail"'))
    done = amqp_conformance("render", run)
    assert done.returncode == 2
    assert "is not rendered" in done.stderr
    assert "changed" in done.stderr or "Not as" in done.stderr


@pytest.mark.parametrize("run", ["no-such-run", "empty", "undated"])
def test_what_is_no_run_is_one_sentence_and_status_2(
    amqp_conformance: Command, tmp_path: Path, told_whole: Path, run: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "undated").mkdir()
    (tmp_path / "undated" / "events.jsonl").write_bytes((told_whole / "events.jsonl").read_bytes())
    write_run(tmp_path / "undated", replace(read_run(told_whole), files={}, started="yesterday"))
    done = amqp_conformance("render", run)
    assert done.returncode == 2
    assert run in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def told_whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of some sections that came to its end."""
    run = tmp_path_factory.mktemp("whole") / "run"
    sections = ["section:queue.bind", "section:connection.*", "section:tx.*"]
    command("run", *sections, "--output", run, env=environment())
    return run


@pytest.mark.parametrize("part", [0.5, 0.9])
def test_a_run_that_was_killed_is_rendered(
    amqp_conformance: Command, tmp_path: Path, told_whole: Path, part: float
) -> None:
    run = tmp_path / "run"
    whole = load(told_whole)
    lines = (told_whole / "events.jsonl").read_bytes().splitlines(keepends=True)
    run.mkdir()
    write_run(run, replace(read_run(told_whole), files={}))
    kept = lines[: int(len(lines) * part)]
    (run / "events-main.jsonl").write_bytes(b"".join(kept) + b'{"event":"judged","wa')
    assert amqp_conformance("render", run).returncode == 0
    report = load(run)
    reached = {line.event.rule for line in read(run) if isinstance(line.event, Judged)}
    assert 0 < len(reached) < len(whole.results)
    wanted = {
        result.rule: result.verdict if result.rule in reached else Verdict.NOT_RUN for result in whole.results
    }
    assert {result.rule for result in report.results} == wanted.keys()
    for name, (told, standing) in told_by_all(report, run):
        assert standing == "partial", name
        assert {told[rule] for rule in wanted.keys() - reached} == {Verdict.NOT_RUN}, name
    assert "never came to its end" in from_terminal(report)


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_pytests_own_allure_results_say_the_same(tmp_path: Path, deviating: str, workers: list[str]) -> None:
    suite = Path(__file__).parents[2] / "suite"
    subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", str(suite), *workers, "--rules", "section:queue.bind",
            "--rules", "section:connection.start",
            "--target", deviating, "--output", str(tmp_path / "run"), f"--alluredir={tmp_path / 'a'}",
        ],
        env=environment(), capture_output=True, check=False,
    )  # fmt: skip
    keys = ("name", "fullName", "status", "historyId", "testCaseId", "labels")
    theirs, ours = (
        {str(each["historyId"]): {key: each[key] for key in keys} for each in allure_results(folder)}
        for folder in (tmp_path / "a", tmp_path / "run" / "allure-results")
    )
    assert len(ours) > 10
    assert theirs == ours
    assert {json.dumps(each["status"]) for each in ours.values()} >= {'"failed"', '"passed"', '"skipped"'}
