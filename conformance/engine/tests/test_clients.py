"""Clients are judged by what they send to our server; verdicts, evidence and captures are of their role."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

from conformance.engine import controller
from conformance.engine.captured import judge_capture
from conformance.engine.controller import judge_here
from conformance.engine.options import Options
from conformance.evidence.folder import read_run
from conformance.evidence.kinds import Judged, RunStarted, TargetRestarted
from conformance.evidence.stream import read
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Exit
from conformance.proof.detection import Fate, fate, judge_rule
from conformance.tests.commands import Command
from conformance.tests.endurance import WHOLE, some
from harness.targets.client.described import ClientDescription, MemoryClient, ProgramClient
from harness.targets.named import target
from scenarios.registry import Watch, checks
from spec.applicability import protocol
from spec.catalogue import catalogue
from spec.rules import Role

RULES = tuple(
    sorted(
        rule
        for known in (checks().scenarios, checks().watches)
        for rule, found in known.items()
        if any(each.role is Role.CLIENT for each in found)
    )
)
"""All that have a check of clients."""
OWN = {"0-9-1": "client:own", "1-0": "client:own-1-0"}
"""Our own clients, by their protocols."""
PASSIVE = {rule for rule in RULES if checks().passive(rule, Role.CLIENT)}
KEPT = {Verdict.PASS, Verdict.INFO, Verdict.INAPPLICABLE}
"""What a good client comes to: rules at level may are recorded, those about what it never says not its."""
NEVER_FILLED = {rule for rule in RULES if rule.startswith("1-0/grammar/") and rule.endswith(".sent")}
"""Rules of fields that a good client need not fill: what it never says is not applicable."""


def kept(rule: str) -> set[Verdict]:
    return KEPT | {Verdict.INAPPLICABLE} if rule in NEVER_FILLED else KEPT


CLOSE_ANSWERED = "0-9-1/prose/2.3.7.close-answered"


def verdicts(run: Path) -> Mapping[str, Verdict]:
    """Give what each test of a run came to."""
    judged = (line.event for line in read(run, "judged"))
    return {each.test: each.verdict for each in judged if isinstance(each, Judged)}


def of(spoken: str) -> tuple[str, ...]:
    """Give the rules of a protocol."""
    return tuple(rule for rule in RULES if protocol(catalogue()[rule].document) == spoken)


def judged_as(named: str, run: Path, count: int = len(RULES)) -> Mapping[str, Verdict]:
    """Judge a client by all rules of its protocol, or by a sample of so many."""
    rules = some(of("1-0" if "1-0" in named else "0-9-1"), count)
    judge_here(Options(target=named, selectors=tuple(rules), capture="all", output=str(run)))
    return verdicts(run)


@pytest.mark.parametrize("spoken", OWN)
def test_our_own_client_passes_all_and_the_run_says_whom_it_judged(spoken: str, tmp_path: Path) -> None:
    run = judge_here(Options(target=OWN[spoken], selectors=of(spoken), output=str(tmp_path / "run")))
    come_to = verdicts(tmp_path / "run")
    assert [test for test, each in come_to.items() if each not in kept(test.partition("[")[0])] == []
    assert len(PASSIVE) >= 24
    assert run.gate.sentence.startswith("not a certification")
    info = read_run(tmp_path / "run")
    started = next(line.event for line in run.report.lines if isinstance(line.event, RunStarted))
    assert (info.role, started.role, info.product) == (Role.CLIENT, Role.CLIENT, "amqp-conformance")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give the run of a client, which is judged once for all tests."""

    @cache
    def play(named: str) -> Path:
        run = tmp_path_factory.mktemp("played") / "run"
        judged_as(named, run)
        return run

    return play


@pytest.mark.endurance
@pytest.mark.parametrize("own", OWN.values())
def test_two_runs_agree_and_so_does_the_same_client_as_a_program(
    own: str, played: Callable[[str], Path], tmp_path: Path
) -> None:
    once = verdicts(played(own))
    again = judged_as(own, tmp_path / "again", 60)
    # In a part of a run a client fills fewer fields than in the whole.
    unfilled = {
        test
        for test, each in again.items()
        if each is Verdict.INAPPLICABLE and test.partition("[")[0] in NEVER_FILLED
    }
    told = {test: each for test, each in again.items() if test not in unfilled}
    assert len(told) > 40
    assert told.items() <= once.items()
    assert again == once or not WHOLE
    assert verdicts(played(f"{own}-program")) == once


@pytest.mark.parametrize("named", [*OWN.values(), *(f"{own}-program" for own in OWN.values())])
def test_a_capture_gives_the_verdicts_of_the_run(named: str, played: Callable[[str], Path]) -> None:
    run = played(named)
    live = verdicts(run)
    again = {each.test: each.verdict for each in judge_capture(run / "capture.pcapng", Role.CLIENT)}
    judged = {test.partition("[")[0] for test in live}
    assert {test.partition("[")[0] for test in again} == PASSIVE & judged
    # A capture does not tell whether there was an occasion at all.
    silent = {test for test, each in live.items() if each is Verdict.INAPPLICABLE}
    assert {test for test, each in again.items() if each is Verdict.INCONCLUSIVE} == silent & again.keys()
    assert {test: each for test, each in again.items() if test not in silent}.items() <= live.items()


def test_every_check_of_clients_has_a_client_that_breaks_its_rule() -> None:
    assert set(RULES) == set(checks().of_clients)


@pytest.mark.parametrize("rule", RULES)
def test_a_client_that_breaks_a_rule_is_noticed(rule: str) -> None:
    asked = catalogue()[rule]
    spoken = protocol(asked.document)
    clean = judge_rule(asked, MemoryClient(spoken))
    assert clean.verdict in kept(rule)
    for deviation in checks().of_clients[rule]:
        seen = judge_rule(asked, MemoryClient(spoken, deviation.change))
        assert fate(asked, clean, seen) is Fate.KILLED, (deviation.says, seen)


def test_no_check_of_clients_judges_a_server() -> None:
    for rule in RULES:
        names = {each.name for each in checks().of(rule, Role.SERVER)}
        assert names.isdisjoint(each.name for each in checks().of(rule, Role.CLIENT))
        assert all(isinstance(each, Watch) for each in checks().of(rule, Role.CLIENT)) or rule not in PASSIVE


DYING = """
import os
from harness.amqp0_9_1.shims.own import Own
from harness.shims.serving import serve

class Dying(Own):
    def get(self, **_):
        os.write(2, b"no more of it")
        os._exit(9)

serve(Dying())
"""


def test_a_shim_that_dies_costs_no_other_rule_its_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dying.py").write_text(DYING)
    command = (sys.executable, str(tmp_path / "dying.py"))
    described = ClientDescription("dying", "dies", frozenset({"0-9-1"}), command, (), (), 5.0)
    monkeypatch.setattr(controller, "target", lambda *_: ProgramClient("dying", described))
    talks = "0-9-1/prose/2.3.7.close-by-handshake"
    run = judge_here(Options(selectors=(talks, CLOSE_ANSWERED), output=str(tmp_path / "run")))
    judged = {line.event.rule: line.event for line in run.report.lines if isinstance(line.event, Judged)}
    assert judged[talks].verdict is Verdict.ERROR
    assert "the shim ended amid get (status 9)" in judged[talks].detail
    assert judged[CLOSE_ANSWERED].verdict is Verdict.PASS
    assert any(isinstance(line.event, TargetRestarted) for line in run.report.lines)
    assert b"no more of it" in (tmp_path / "run" / "client.log").read_bytes()


def test_a_client_that_is_not_there_cannot_be_judged(tmp_path: Path, amqp_conformance: Command) -> None:
    (tmp_path / "mine.toml").write_text(
        'product = "mine"\nabout = "mine"\nprotocols = ["0-9-1"]\n'
        '[client]\ncommand = ["{python}", "-c", "import sys; sys.exit(3)"]\nwithin = 1\n'
    )
    done = amqp_conformance("run", CLOSE_ANSWERED, "--client", "mine", "--targets", tmp_path / "mine.toml")
    assert done.returncode == Exit.UNREACHABLE
    assert "client:mine does not say who it is: the shim ended amid hello (status 3)" in done.stdout
    unknown = amqp_conformance("run", CLOSE_ANSWERED, "--client", "nobody")
    assert unknown.returncode == Exit.NOTHING
    assert "there is no target 'client:nobody'; described are own, own-1-0, " in unknown.stderr


def test_the_command_line_judges_a_client(tmp_path: Path, amqp_conformance: Command) -> None:
    done = amqp_conformance(
        "run", CLOSE_ANSWERED, "--client", "own", "--capture", "all", "--output", tmp_path / "run"
    )
    assert done.returncode == Exit.MET, done.stdout + done.stderr
    listed = amqp_conformance("run", CLOSE_ANSWERED, "--client", "own", "--list")
    tests = len(checks().of(CLOSE_ANSWERED, Role.CLIENT))
    assert f"{tests} of {tests} tests would be judged on client:own" in listed.stdout
    checked = amqp_conformance("targets", "check", "client:own-program")
    assert checked.returncode == Exit.MET, checked.stdout
    read_back = amqp_conformance("judge", tmp_path / "run" / "capture.pcapng", "--role", "client")
    assert read_back.returncode == Exit.MET


@pytest.mark.broker("client:pika")
def test_what_pika_sent_is_judged_the_same_from_a_capture(tmp_path: Path) -> None:
    assert target("client:pika").role is Role.CLIENT
    rules = (CLOSE_ANSWERED, "0-9-1/grammar/queue.*", "0-9-1/prose/4.2.5*")
    judge_here(Options(target="client:pika", selectors=rules, capture="all", output=str(tmp_path / "run")))
    judged = verdicts(tmp_path / "run")
    again = judge_capture(tmp_path / "run" / "capture.pcapng", Role.CLIENT)
    asked = {each.test: each.verdict for each in again if each.test in judged}
    assert asked.items() <= judged.items()
    assert list(asked.values()).count(Verdict.PASS) > 10
