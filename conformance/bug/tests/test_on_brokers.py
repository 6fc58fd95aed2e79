"""A script that never shows a finding is wrong only where the suite still sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.bug.folder import Written
from conformance.bug.handed import Handed
from conformance.bug.tests.on_brokers import is_seen_again
from conformance.evidence.kinds import Judged
from conformance.evidence.verdicts import Verdict
from harness.dialect import dialect
from harness.peers.serve import TcpPeer
from harness.targets.target import UrlTarget
from scenarios.registry import checks

RULE = "0-9-1/queue.bind.exchange.exchange-existence"
NEVER_PAUSED = "0-9-1/grammar/channel.flow-ok.implemented"
NEEDS_A_FACILITY = "0-9-1/queue.declare.durable.persistence"


@pytest.mark.parametrize(
    ("rule", "broken", "seen"),
    [(RULE, True, True), (RULE, False, False), (NEVER_PAUSED, False, False), (NEEDS_A_FACILITY, False, True)],
)
def test_a_finding_is_looked_for_again(rule: str, broken: bool, seen: bool, tmp_path: Path) -> None:
    found = Written(Judged(test=rule, rule=rule, verdict=Verdict.FAIL), tmp_path, Handed())
    change = checks().deviations[RULE][0].change if broken else None
    with TcpPeer(dialect("0-9-1").proof.peer(change)) as served:
        assert is_seen_again(found, UrlTarget(f"amqp://guest:guest@127.0.0.1:{served.port}")) is seen
