"""What a rule asks, its checks, and what a run comes to belong to the role of the target."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.engine import controller
from conformance.engine.cases import cases
from conformance.engine.options import Options
from conformance.evidence.folder import read_run
from conformance.evidence.kinds import Judged, RunStarted
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Exit
from harness.play.watching import Fold, Gaps
from harness.targets.client.described import MemoryClient
from scenarios import registry
from scenarios.registry import Checks, Scenario, Watch, checks, watching
from spec.catalogue import catalogue
from spec.rules import Role, Testability

OF_SERVERS = next(
    rule for rule in catalogue().rules if rule.binds == "server" and not rule.beyond(Role.SERVER)
)
OF_CLIENTS = next(rule for rule in catalogue().rules if rule.testability is Testability.CLIENT)
UNASKED = catalogue()["0-9-1/prose/4.3.many-channels"]
"""A rule that clients would not be judged by yet, if it had no check of them."""
OF_BOTH = next(rule for rule in catalogue().rules if rule.binds == "peer" and not rule.beyond(Role.SERVER))


def played(_: object) -> None:
    """Do nothing."""


def scenario(role: Role) -> Scenario:
    return Scenario(OF_BOTH.id, f"on_a_{role}", played, frozenset(), False, False, False, role)


def test_a_rule_says_on_whom_it_can_be_judged() -> None:
    assert not OF_SERVERS.beyond(Role.SERVER)
    assert OF_SERVERS.beyond(Role.CLIENT) == "it binds the server, and a client is judged"
    assert OF_CLIENTS.beyond(Role.SERVER) == OF_CLIENTS.reason != ""
    assert not OF_CLIENTS.beyond(Role.CLIENT)
    assert not OF_BOTH.beyond(Role.CLIENT)


def test_every_check_is_for_a_role_that_its_rule_concerns() -> None:
    for rule in catalogue().rules:
        assert all(rule.concerns(each.role) for each in checks().of(rule.id)), rule.id


def test_a_rule_that_servers_alone_show_has_no_check_of_clients() -> None:
    unseen = [rule.id for rule in catalogue().rules if rule.unseen_on_clients]
    assert [rule for rule in unseen if checks().of(rule, Role.CLIENT)] == []


def test_only_the_checks_for_the_role_of_the_target_are_cases() -> None:
    known = Checks({OF_BOTH.id: [scenario(Role.SERVER), scenario(Role.CLIENT)]}, {}, {})
    for role in Role:
        assert [case.id for case in cases([OF_BOTH], known, role)] == [f"{OF_BOTH.id}[on_a_{role}]"]


def test_a_connection_of_a_server_is_not_looked_at_for_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = next(iter(checks().watches))
    (watch, *_) = checks().watches[rule]
    for role in Role:
        only = Watch(rule, watch.name, watch.fold, watch.during, "", role)
        monkeypatch.setattr(registry, "checks", lambda only=only: Checks({}, {rule: [only]}, {}))
        found = {each: watching.__wrapped__(rule.partition("/")[0], "", each).rules for each in Role}
        assert {each for each, rules in found.items() if rules} == {role}
    assert isinstance(watch.fold, Fold)
    assert isinstance(watch.fold.gap, Gaps)


def test_a_run_on_a_client_judges_it_as_one_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [each for each in checks().scenarios[UNASKED.id] if each.role is not Role.CLIENT]
    monkeypatch.setitem(checks().scenarios, UNASKED.id, others)
    monkeypatch.setattr(controller, "target", lambda *_: MemoryClient())
    run = controller.judge_here(
        Options(selectors=(OF_CLIENTS.id, UNASKED.id, OF_SERVERS.id), output=str(tmp_path / "run"))
    )
    judged = {line.event.rule: line.event for line in run.report.lines if isinstance(line.event, Judged)}
    assert judged[OF_SERVERS.id].verdict is judged[UNASKED.id].verdict is Verdict.UNTESTABLE
    assert judged[UNASKED.id].detail == "the suite has no check of a client for it yet"
    assert judged[OF_CLIENTS.id].verdict is Verdict.PASS
    assert run.gate.exit_status is Exit.MET
    assert [each.rule for each in run.gate.reasons if each.rule] == []
    assert set(run.gate.apart) == {OF_SERVERS, UNASKED}
    started = next(line.event for line in run.report.lines if isinstance(line.event, RunStarted))
    assert (started.role, read_run(tmp_path / "run").role) == (Role.CLIENT, Role.CLIENT)
