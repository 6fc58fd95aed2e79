"""What comes of messages that are counted after an overflow and not delivered: held back, or discarded."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.evidence.verdicts import Verdict
from conformance.proof.detection import judge_rule
from harness.amqp0_9_1.broken.basic_faults import counts_what_it_discards
from harness.amqp0_9_1.broken.deviations import drops
from harness.amqp0_9_1.client.tests.late import SlowToSend
from harness.amqp0_9_1.peer.life import lose
from harness.amqp0_9_1.peer.policy import Policy
from harness.amqp0_9_1.wire.vocabulary import Basic
from harness.targets.embedded import EmbeddedTarget
from spec.catalogue import catalogue

HELD_BACK = Policy(overflow="hold back")
AFTER_A_RESTART = "100 messages are held back; they come after a restart"
COUNTED = "100 messages are held back; that they are still counted has to do: the target cannot be restarted"


class NeverRestarted(EmbeddedTarget):
    """The reference peer where nobody can restart it."""

    facilities = EmbeddedTarget.facilities - {"restart"}


@pytest.mark.parametrize(
    ("target", "verdict", "detail"),
    [
        (EmbeddedTarget(None, HELD_BACK), Verdict.WARN, AFTER_A_RESTART),
        (NeverRestarted(None, HELD_BACK), Verdict.WARN, COUNTED),
        (NeverRestarted(counts_what_it_discards(lose)), Verdict.WARN, COUNTED),
    ],
)
def test_what_is_held_back_is_not_discarded(target: Any, verdict: Verdict, detail: str) -> None:
    judged = judge_rule(catalogue()["0-9-1/basic.02"], target)
    assert (judged.verdict, judged.detail) == (verdict, detail)


@pytest.mark.parametrize("in_a_restart", [(), (lose,)])
def test_what_does_not_come_after_a_restart_was_discarded(in_a_restart: Any) -> None:
    judged = judge_rule(catalogue()["0-9-1/basic.02"], EmbeddedTarget(counts_what_it_discards(*in_a_restart)))
    assert (judged.verdict, judged.signature) == (Verdict.FAIL, "silence instead of basic.deliver")


def test_a_restart_that_loses_everything_tells_nothing_about_the_overflow() -> None:
    forgets = drops("restart: keeps persistent messages")
    judged = judge_rule(catalogue()["0-9-1/basic.02"], EmbeddedTarget(forgets, HELD_BACK))
    assert (judged.verdict, judged.signature) == (Verdict.ERROR, "silence to the control delivery 1 of 1")


@pytest.mark.parametrize(("seconds", "verdict"), [(5.0, Verdict.PASS), (30.0, Verdict.ERROR)])
def test_a_server_that_is_slow_to_send_has_discarded_nothing(seconds: float, verdict: Verdict) -> None:
    judged = judge_rule(catalogue()["0-9-1/basic.02"], SlowToSend(Basic.Deliver, seconds))
    assert judged.verdict is verdict
