"""How a scenario's end becomes a verdict; no wire, only findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.engine.conclusion import Findings, conclude
from conformance.engine.judge import Judge
from conformance.evidence.keeping import EventWriter, Memory
from conformance.evidence.kinds import TargetRestarted, TestStarted
from conformance.evidence.verdicts import Verdict
from harness.play.context import Patience
from harness.play.expect import (
    ControlFailed,
    Inapplicable,
    Inconclusive,
    NotRun,
    OverBudget,
    StillComing,
    Unmet,
)
from harness.play.speaker import Speaker
from harness.targets.embedded import EmbeddedTarget
from harness.wire.journal import Expected, Grade
from harness.wire.transport import Unreachable
from scenarios.registry import Scenario
from spec.catalogue import catalogue
from spec.rules import Level, Rule

MUST = next(rule for rule in catalogue().rules if rule.level is Level.MUST)
SHOULD = next(rule for rule in catalogue().rules if rule.level is Level.SHOULD)
MAY = next(rule for rule in catalogue().rules if rule.level is Level.MAY)


def judging(play: Callable[[Any], Any]) -> Scenario:
    """Make a scenario of MUST that plays like this."""
    return Scenario(MUST.id, "t", play, frozenset(), slow=False, disruptive=False, alone=False)


@pytest.fixture
def findings(tmp_path: Path) -> Findings:
    return Findings(EventWriter(tmp_path, "main", lambda: 0.0))


def expectation(grade: Grade, actual: str = "a") -> Expected:
    return Expected(0.0, "c1", ("a", "b"), actual, grade, "a reading", 1, 0.0)


@pytest.mark.parametrize(
    ("rule", "verdict"), [(MUST, Verdict.FAIL), (SHOULD, Verdict.WARN), (MAY, Verdict.INFO)]
)
def test_what_is_missed_counts_by_level(findings: Findings, rule: Rule, verdict: Verdict) -> None:
    findings.write(expectation(Grade.UNMET, "silence"))
    judged = conclude(rule, "t", findings, Unmet(("a", "b"), "silence"), "document")
    assert judged.verdict is verdict
    assert judged.signature == "silence instead of a"


@pytest.mark.parametrize(
    ("stop", "verdict"),
    [
        (ControlFailed("queue.declare", "silence"), Verdict.ERROR),
        (OverBudget("late"), Verdict.ERROR),
        (StillComing("late"), Verdict.INCONCLUSIVE),
        (Inapplicable("absent"), Verdict.INAPPLICABLE),
        (Inconclusive("unclear"), Verdict.INCONCLUSIVE),
        (NotRun("lacking"), Verdict.NOT_RUN),
        (ZeroDivisionError("ours"), Verdict.ERROR),
    ],
)
def test_an_end_without_judgement_is_never_a_pass(
    findings: Findings, stop: Exception, verdict: Verdict
) -> None:
    findings.write(expectation(Grade.PREFERRED))
    assert conclude(MUST, "t", findings, stop, "document").verdict is verdict


def test_a_scenario_that_expects_nothing_is_an_error(findings: Findings) -> None:
    assert conclude(MUST, "t", findings, None, "document").verdict is Verdict.ERROR


def test_a_reset_that_may_have_eaten_a_frame_is_inconclusive(findings: Findings) -> None:
    findings.write(expectation(Grade.UNMET, "socket closed (rst)"))
    judged = conclude(MUST, "t", findings, Unmet(("a",), "socket closed (rst)", lost=True), "document")
    assert judged.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("grades", "profile", "verdict"),
    [
        ((Grade.PREFERRED,), "document", Verdict.PASS),
        ((Grade.TOLERATED, Grade.PREFERRED), "document", Verdict.WARN),
        ((Grade.TOLERATED, Grade.PREFERRED), "vendor", Verdict.PASS),
        ((Grade.RECORDED, Grade.PREFERRED), "document", Verdict.INFO),
        ((Grade.RECORDED, Grade.TOLERATED), "document", Verdict.WARN),
    ],
)
def test_the_least_preferred_step_decides(
    findings: Findings, grades: tuple[Grade, ...], profile: str, verdict: Verdict
) -> None:
    for grade in grades:
        findings.write(expectation(grade))
    assert conclude(MUST, "t", findings, None, profile).verdict is verdict


def test_a_may_is_only_recorded(findings: Findings) -> None:
    findings.write(expectation(Grade.PREFERRED))
    assert conclude(MAY, "t", findings, None, "document").verdict is Verdict.INFO


def test_a_scenario_that_wants_a_second_restart_is_an_error_and_never_half_played() -> None:
    def twice(broker: Any) -> Iterator[str]:
        broker.channel()
        yield "restart"
        broker.channel().stays_quiet()
        yield "restart"
        raise AssertionError("not reached")

    scenario = Scenario(MUST.id, "twice", twice, frozenset(), slow=False, disruptive=False, alone=False)
    with EmbeddedTarget() as goal:
        (judged,) = Judge(goal, Memory(), "test").exclusive([(MUST, scenario)])
    assert judged.verdict is Verdict.ERROR
    assert "one restart only" in judged.detail


@pytest.mark.parametrize(
    ("alone", "plays", "verdict", "detail"),
    [
        (False, 2, Verdict.PASS, "at first queue.declare was answered by silence"),
        (True, 1, Verdict.ERROR, "queue.declare was answered by silence"),
    ],
)
def test_a_control_that_failed_beside_others_is_tried_once_more_and_that_is_told(
    alone: bool, plays: int, verdict: Verdict, detail: str
) -> None:
    played = []

    def fails_at_first(broker: Any) -> None:
        played.append(broker)
        channel = broker.channel()
        if len(played) == 1:
            raise ControlFailed("queue.declare", "silence")
        channel.stays_quiet()

    scenario = judging(fails_at_first)
    with EmbeddedTarget() as goal:
        judged = Judge(goal, Memory(), "test", alone=alone).judge(MUST, scenario)
    assert (len(played), judged.verdict, judged.detail) == (plays, verdict, detail)


@pytest.mark.parametrize(("alone", "plays", "verdict"), [(False, 2, Verdict.PASS), (True, 1, Verdict.FAIL)])
def test_a_stream_that_was_ended_beside_others_is_tried_once_more(
    alone: bool, plays: int, verdict: Verdict
) -> None:
    played = []

    def ends_at_first(broker: Any) -> None:
        played.append(broker)
        broker.channel().stays_quiet()
        if len(played) == 1:
            raise Unmet(("a detach",), "stream ended (fin)", ended=True)

    scenario, memory = judging(ends_at_first), Memory()
    with EmbeddedTarget() as goal:
        judged = Judge(goal, memory, "test", alone=alone).judge(MUST, scenario)
    assert (len(played), judged.verdict) == (plays, verdict)
    assert [line.event for line in memory.lines].count(TestStarted(scenario.test, MUST.id)) == plays


def test_a_control_that_always_fails_stays_an_error() -> None:
    def fails(broker: Any) -> None:
        raise ControlFailed("queue.declare", "silence")

    scenario = judging(fails)
    with EmbeddedTarget() as goal:
        judged = Judge(goal, Memory(), "test", alone=False).judge(MUST, scenario)
    assert judged.verdict is Verdict.ERROR
    assert judged.detail.count("queue.declare was answered by silence") == 2


@pytest.mark.parametrize(
    ("apart", "stop", "restarts"),
    [(True, Unmet(("a",), "silence"), 1), (True, None, 0), (False, Unmet(("a",), "silence"), 0)],
)
def test_what_is_judged_apart_and_misses_is_followed_by_a_restart(
    apart: bool, stop: Unmet | None, restarts: int
) -> None:
    def comes_to(broker: Any) -> None:
        broker.channel().stays_quiet()
        if stop:
            raise stop

    scenario = judging(comes_to)
    memory = Memory()
    with EmbeddedTarget() as goal:
        Judge(goal, memory, "test", apart={MUST.id} if apart else set()).judge(MUST, scenario)
    assert [line.event for line in memory.lines].count(TargetRestarted()) == restarts


@pytest.mark.parametrize(("alone", "patiences"), [(False, [3.0, 10.0]), (True, [3.0])])
def test_silence_beside_others_is_waited_out_in_a_second_try(alone: bool, patiences: list[float]) -> None:
    waited = []

    def stays_silent(broker: Any) -> None:
        waited.append(broker.context.patience.answer)
        raise Unmet(("a",), "silence")

    scenario = judging(stays_silent)
    with EmbeddedTarget() as goal:
        patience = Patience.calibrated(0.0, alone=alone)
        judged = Judge(goal, Memory(), "test", patience=patience, alone=alone).judge(MUST, scenario)
    assert (waited, judged.verdict) == (patiences, Verdict.FAIL)


def test_what_the_target_did_wrong_is_not_asked_twice() -> None:
    played = []

    def misses(broker: Any) -> None:
        played.append(broker)
        raise Unmet(("a",), "b")

    scenario = judging(misses)
    with EmbeddedTarget() as goal:
        judged = Judge(goal, Memory(), "test", alone=False).judge(MUST, scenario)
    assert (len(played), judged.verdict) == (1, Verdict.FAIL)


@pytest.mark.parametrize(("alone", "restarts"), [(False, 0), (True, 1)])
def test_who_does_not_serve_at_once_beside_others_is_asked_again(
    alone: bool, restarts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[None] = []

    def serves(*_: object, **__: object) -> None:
        asked.append(None)
        if len(asked) == 1:
            raise Unreachable("begin was answered by the end of the stream")

    monkeypatch.setattr(Speaker, "serves", serves)

    def goes_on(broker: Any) -> None:
        broker.channel().stays_quiet()

    scenario = judging(goes_on)
    memory = Memory()
    with EmbeddedTarget() as goal:
        Judge(goal, memory, "test", alone=alone).judge(MUST, scenario)
    assert len(asked) == 2
    assert sum(isinstance(line.event, TargetRestarted) for line in memory.lines) == restarts
