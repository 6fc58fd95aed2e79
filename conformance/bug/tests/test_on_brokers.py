"""A script that never shows a finding is wrong only where the suite still sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.bug.folder import Written
from conformance.bug.handed import Handed
from conformance.bug.tests.on_brokers import is_seen_again
from conformance.evidence.kinds import Judged
from conformance.evidence.verdicts import Verdict
from conformance.proof.detection import judge_rule
from harness.dialect import dialect
from harness.peers.serve import TcpPeer
from harness.targets.named import target
from harness.targets.target import UrlTarget
from scenarios.registry import checks
from spec.catalogue import catalogue

RULE = "0-9-1/queue.bind.exchange.exchange-existence"
NEVER_PAUSED = "0-9-1/grammar/channel.flow-ok.implemented"
NEEDS_A_RESTART = "0-9-1/queue.declare.durable.persistence"
NEEDS_AN_ADDRESS = "1-0/2.6.6.closed-by-reattaching"
STOOD_STILL = "silence instead of what is due"
"""What a judgement says of a target that stood still."""


def found(rule: str, signature: str, place: Path) -> Written:
    return Written(Judged(test=rule, rule=rule, verdict=Verdict.FAIL, signature=signature), place, Handed())


@pytest.mark.parametrize(
    ("rule", "broken", "seen"),
    [(RULE, True, True), (RULE, False, False), (NEVER_PAUSED, False, False), (NEEDS_A_RESTART, False, True)],
)
def test_a_finding_is_looked_for_again(rule: str, broken: bool, seen: bool, tmp_path: Path) -> None:
    change = checks().deviations[RULE][0].change if broken else None
    with TcpPeer(dialect("0-9-1").proof.peer(change)) as served:
        goal = UrlTarget(f"amqp://guest:guest@127.0.0.1:{served.port}")
        signature = judge_rule(catalogue()[rule], goal).signature
        assert is_seen_again(found(rule, signature, tmp_path), goal) is seen
        assert is_seen_again(found(rule, STOOD_STILL, tmp_path), goal) is (rule == NEEDS_A_RESTART)


def test_what_needs_a_facility_is_judged_with_it(tmp_path: Path) -> None:
    """A target by its URL has none, so that it would never be gone there."""
    with target("embedded") as goal:
        assert not is_seen_again(found(NEEDS_AN_ADDRESS, STOOD_STILL, tmp_path), goal)
