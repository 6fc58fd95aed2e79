"""What passive rules come to, with and without an occasion."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.engine.judge import Judge
from conformance.engine.passive import conclude_passive, give_occasion
from conformance.evidence.keeping import Memory
from conformance.evidence.kinds import Judged
from conformance.evidence.verdicts import Verdict
from conformance.proof.detection import judge_rule
from harness.amqp0_9_1.broken.deviations import changes
from harness.amqp0_9_1.peer.policy import Level, Policy
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.wire.vocabulary import INTERNAL_ERROR, RESOURCE_ERROR
from harness.amqp1_0.broken.deviations import offers_header
from harness.amqp1_0.wire.frames import PROTOCOL_HEADER, empty_frame
from harness.play.watching import Fold, Gaps
from harness.targets.embedded import EmbeddedTarget
from scenarios.registry import Watch, checks
from spec.catalogue import catalogue
from spec.rules import Role

RESOURCES = "0-9-1/grammar/constant.resource-error.level"
FAULTS = "0-9-1/grammar/constant.internal-error.level"
EARLY = "1-0/2.4.5.empty-frames-before-open-on-channel-zero"
NOTHING = Fold(lambda _: None, (), Gaps.BEARS)
UNREADABLE = "content header: refuses one badly formatted"


def test_without_an_occasion_nothing_passes() -> None:
    rule = catalogue()["0-9-1/prose/4.2.3.heartbeat-form"]
    every_server = Watch(rule.id, "looks", NOTHING, "0-9-1/channel.open.state")
    judged = conclude_passive(rule, every_server, ())
    assert (judged.verdict, judged.signature) == (Verdict.INCONCLUSIVE, "no occasion")


@pytest.mark.parametrize(
    ("facilities", "why"), [(set[str](), "the target has no facility address"), ({"address"}, None)]
)
def test_where_nothing_could_give_an_occasion_that_is_why(facilities: set[str], why: str | None) -> None:
    (watch,) = checks().passive("1-0/2.8.7.tag-length", Role.SERVER)
    target = EmbeddedTarget()
    target.facilities = frozenset(facilities)
    with target:
        said = give_occasion(watch, Judge(target, Memory(), "occasion"), {})
    assert (said.detail if said else None) == why


def test_what_the_run_has_played_is_not_played_again() -> None:
    (watch,) = checks().passive("1-0/2.8.7.tag-length", Role.SERVER)
    tests = [each.test for each in checks().scenarios[watch.during]]
    during = watch.during
    played = {test: Judged(test=test, rule=during, verdict=Verdict.PASS) for test in tests}
    told = Memory()
    with EmbeddedTarget() as target:
        assert give_occasion(watch, Judge(target, told, "occasion"), played) is None
        assert told.lines == []
        assert give_occasion(watch, Judge(target, told, "occasion"), {}) is None
    assert told.lines


def test_where_the_server_decides_on_the_occasion_the_rule_is_inapplicable_and_says_why() -> None:
    rule = catalogue()[RESOURCES]
    (watch,) = checks().watches[RESOURCES]
    judged = conclude_passive(rule, watch, ())
    assert judged.verdict is Verdict.INAPPLICABLE
    assert judged.detail == "no Close of this run has the code 506, and no client can bring it about"


@pytest.mark.parametrize("rule", [RESOURCES, FAULTS, EARLY])
def test_what_never_comes_is_no_occasion(rule: str) -> None:
    assert judge_rule(catalogue()[rule], EmbeddedTarget()).verdict is Verdict.INAPPLICABLE


@pytest.mark.parametrize(
    ("rule", "change", "policy", "verdict"),
    [
        (RESOURCES, None, Policy(content_too_large=RESOURCE_ERROR), Verdict.PASS),
        (FAULTS, changes(UNREADABLE, answer=refuse(INTERNAL_ERROR)), None, Verdict.PASS),
        (FAULTS, changes(UNREADABLE, answer=refuse(INTERNAL_ERROR, Level.CHANNEL)), None, Verdict.WARN),
        (EARLY, offers_header(PROTOCOL_HEADER + empty_frame().encode()), None, Verdict.PASS),
    ],
)
def test_where_it_comes_it_is_judged(rule: str, change: Any, policy: Any, verdict: Verdict) -> None:
    assert judge_rule(catalogue()[rule], EmbeddedTarget(change, policy)).verdict is verdict
