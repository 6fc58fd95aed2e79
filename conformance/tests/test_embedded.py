"""The whole way on the embedded peer: command line, suite, evidence, gate."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree

from conformance.engine.cases import cases
from conformance.evidence.captured import read_capture
from conformance.evidence.folder import read_run
from conformance.evidence.kinds import Judged
from conformance.evidence.results import rule_results
from conformance.evidence.stream import State, read, verify
from conformance.evidence.verdicts import Verdict
from conformance.tests.commands import Command, command, environment
from conformance.tests.endurance import some
from scenarios.registry import checks
from spec.applicability import optional
from spec.catalogue import catalogue
from spec.rules import Role
from spec.selection import select

RULES = {rule.id for rule in catalogue().rules if rule.document not in optional()}


def verdicts(run: Path) -> dict[str, tuple[Verdict, str]]:
    """Give what every rule came to, with its signature: all that two runs must agree on."""
    return {result.rule: (result.verdict, result.signature) for result in rule_results(read(run))}


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("serial") / "run"
    command("run", "--level", "should", "--capture", "all", "--output", run, env=environment())
    return run


def test_every_rule_has_a_verdict_and_none_is_an_error(serial: Path) -> None:
    found = verdicts(serial)
    assert found.keys() == RULES
    bad = (Verdict.ERROR, Verdict.FAIL, Verdict.INCONCLUSIVE)
    assert {rule: each for rule, each in found.items() if each[0] in bad} == {}


def test_the_run_folder_is_whole(serial: Path) -> None:
    assert verify(serial).state is State.OK
    described = read_run(serial)
    assert described.product
    assert described.documents[0]["sha256"]
    assert described.capture == "all"
    cases = etree.parse(serial / "junit.xml").findall(".//testcase")
    assert {case.get("name") for case in cases} == RULES
    assert (serial / "capture.pcapng").stat().st_size > 10_000


@pytest.mark.parametrize(("asked", "holds"), [(None, ("findings", 0)), ("none", ("none", None))])
def test_a_capture_of_no_finding_holds_no_connection(
    amqp_conformance: Command, tmp_path: Path, asked: str | None, holds: tuple[str, int | None]
) -> None:
    more = ("--capture", asked) if asked else ()
    amqp_conformance("run", "0-9-1/channel.open.state", "--output", tmp_path / "run", *more)
    kept = tmp_path / "run" / "capture.pcapng"
    found = len(list(read_capture(kept))) if kept.exists() else None
    assert (read_run(tmp_path / "run").capture, found) == holds
    assert verify(tmp_path / "run").state is State.OK


@pytest.mark.endurance
@pytest.mark.parametrize(
    "way",
    [
        ["--parallel", "2"],
        ["--shuffle", "7"],
        ["--target", "embedded:tcp"],
        ["--target", "embedded:tcp", "--parallel", "12", "--shuffle", "8"],
        [],
    ],
)
def test_serial_parallel_shuffled_and_repeated_runs_agree(
    serial: Path, amqp_conformance: Command, tmp_path: Path, way: list[str]
) -> None:
    rules = some(sorted(RULES), 120, way)
    amqp_conformance("run", *rules, "--level", "should", "--output", tmp_path / "run", *way)
    before = verdicts(serial)
    assert verdicts(tmp_path / "run") == {rule: before[rule] for rule in rules}


def test_as_many_judge_at_once_as_were_asked_for_in_no_more_processes_than_there_are_cores(
    amqp_conformance: Command, tmp_path: Path
) -> None:
    way = ("--target", "embedded:tcp", "--parallel", "9", "--output", tmp_path / "run")
    amqp_conformance("run", "class:queue", *way)
    judges = {line.worker for line in read(tmp_path / "run")} - {"main"}
    cores = os.cpu_count() or 1
    assert 9 <= len(judges) < 9 + cores  # every process has as many
    assert len({judge.partition("-")[0] for judge in judges}) <= cores


def by_pytest(tmp_path: Path, rules: str, *more: str) -> tuple[str, list[str]]:
    """Give what pytest itself says of a run of the suite by two workers, and the names in its JUnit file."""
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", str(Path(__file__).parents[1] / "suite"), "-n", "2",
            "--rules", rules, "--output", str(tmp_path / "run"), *more,
            f"--junitxml={tmp_path / 'j.xml'}", f"--alluredir={tmp_path / 'a'}",
        ],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = etree.parse(tmp_path / "j.xml").findall(".//testcase")
    return done.stdout, [str(case.get("name")) for case in found]


def test_what_is_begun_first_is_told_first(tmp_path: Path) -> None:
    _, names = by_pytest(tmp_path, "class:queue", "--target", "embedded:tcp")
    told = [name.removeprefix("test_rule[")[:-1] for name in names]
    order = [case.id for case in cases(select(catalogue().rules, ["class:queue"]), checks(), Role.SERVER)]
    lines = [(line.worker, line.event) for line in read(tmp_path / "run")]
    for worker in ("gw0", "gw1"):
        its = {each.test for judge, each in lines if isinstance(each, Judged) and judge == worker}
        assert its
        assert [each for each in told if each in its] == [each for each in order if each in its]


def test_pytest_itself_runs_the_suite(tmp_path: Path) -> None:
    said, names = by_pytest(tmp_path, "section:queue.bind")
    wanted = {rule.id for rule in catalogue().rules if rule.section == "queue.bind"}
    assert {name.removeprefix("test_rule[").partition("[")[0].rstrip("]") for name in names} == wanted
    assert list((tmp_path / "a").glob("*-result.json")), said
    assert verdicts(tmp_path / "run").keys() == wanted


def test_a_worker_for_whom_no_case_is_left_reports_nothing(tmp_path: Path) -> None:
    rule = "0-9-1/channel.open.state"
    said, names = by_pytest(tmp_path, rule)
    assert "1 passed" in said
    assert [name.partition("[")[2].partition("[")[0] for name in names] == [rule]


def test_one_rule_that_passes_meets_its_gate_but_certifies_nothing(amqp_conformance: Command) -> None:
    done = amqp_conformance("run", "0-9-1/channel.open.state")
    assert done.returncode == 0
    assert "not a certification" in done.stdout


def test_a_passive_rule_alone_gets_its_occasion(amqp_conformance: Command, tmp_path: Path) -> None:
    rule = "0-9-1/domain.delivery-tag.non-zero"
    amqp_conformance("run", rule, "--output", tmp_path / "run")
    assert verdicts(tmp_path / "run") == {rule: (Verdict.PASS, "")}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "no.such.rule"], "No rule matches"),
        (["run", "--target", "nonsense"], "known are"),
        (["run", "--target", "ftp://localhost"], "scheme"),
        (["run", "--baseline", "missing.toml"], "missing.toml"),
        (["run", "--level", "maybe"], "maybe"),
        (["explain", "0-9-1/no.such"], "There is no rule"),
        (["replay", "no-such-run", "0-9-1/basic.01"], "no-such-run"),
        (["clean", "no-such-run"], "no-such-run"),
    ],
)
def test_wrong_usage_is_one_sentence_and_status_2(
    amqp_conformance: Command, arguments: list[str], sentence: str
) -> None:
    done = amqp_conformance(*arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr + done.stdout


def test_an_unreachable_target_leaves_a_readable_run_and_status_3(
    amqp_conformance: Command, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    done = amqp_conformance("run", "--target", "amqp://guest:guest@127.0.0.1:1", "--output", run)
    assert done.returncode == 3
    assert "cannot be reached" in done.stdout
    assert verify(run).state is State.PARTIAL
    allowed = {Verdict.NOT_RUN, Verdict.UNTESTABLE}
    assert {verdict for verdict, _ in verdicts(run).values()} == allowed


def test_a_run_needs_a_folder_of_its_own(amqp_conformance: Command, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("precious")
    done = amqp_conformance("run", "--output", tmp_path / "run")
    assert done.returncode == 2
    assert [each.name for each in (tmp_path / "run").iterdir()] == ["mine.txt"]


def test_rules_as_json(amqp_conformance: Command) -> None:
    entries = json.loads(amqp_conformance("rules", "--format", "json").stdout)
    assert len(entries) == len(catalogue().rules)
    wanted = {
        "id", "document", "section", "level", "binds", "judged", "text", "scenario", "on_failure",
        "testability", "reason", "checks",
    }  # fmt: skip
    assert all(wanted <= entry.keys() for entry in entries)


def test_replay_shows_both_exchanges(amqp_conformance: Command, serial: Path) -> None:
    done = amqp_conformance("replay", serial, "0-9-1/channel.open.state")
    assert done.returncode == 0
    assert "recorded: pass" in done.stdout
    assert done.stdout.count("connection.close channel=0") == 2


def test_tampering_is_found(amqp_conformance: Command, tmp_path: Path) -> None:
    amqp_conformance("run", "0-9-1/channel.open.state", "--output", tmp_path / "run")
    stream = tmp_path / "run" / "events.jsonl"
    stream.write_text(stream.read_text().replace('"verdict":"pass"', '"verdict":"fail"'))
    done = amqp_conformance("verify", tmp_path / "run")
    assert done.returncode == 1
    assert done.stdout.startswith("tampered")
