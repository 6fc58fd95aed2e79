"""Scripts of what deviating peers come to: with the deviation they end with 1, without it with 0."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from conformance.bug.exchange import Exchange, lines_of
from conformance.bug.handed import Handed, arguments, handed, played
from conformance.bug.player import THERE
from conformance.engine.judge import Judge
from conformance.evidence.keeping import Memory
from conformance.proof.detection import deviations
from harness.dialect import dialect
from harness.peers.deviation import Deviation
from harness.peers.serve import TcpPeer
from harness.targets.embedded import EmbeddedTarget
from scenarios.registry import Scenario, checks
from spec.catalogue import catalogue

RUN = "0123456789ab"
EACH = 8
"""Deviations of each document that are tried."""


def found(deviation: Deviation) -> Exchange | None:
    """Judge the rule of a deviation on a peer that has it; give what was said where it was found."""
    rule, evidence = catalogue()[deviation.rule], Memory()
    with EmbeddedTarget(deviation.change) as goal:
        judge = Judge(goal, evidence, f"amqp-conformance-{RUN}", lively=False)
        for check in checks().of(rule.id):
            if isinstance(check, Scenario) and not check.exclusive:
                judged = judge.judge(rule, check)
                evidence.write(judged)
                if judged.verdict.finding and judged.connection:
                    return Exchange(lines_of(evidence.lines, judged), judged, RUN, "memory")
    return None


def sample(document: str) -> list[Deviation]:
    rules = [rule for rule in catalogue().rules if rule.document.startswith(document)]
    known = deviations(rules)
    return random.Random(document).sample(known, EACH)


@pytest.mark.parametrize("document", ["0-9-1", "1-0", "rabbitmq"])
def test_a_script_tells_a_peer_with_the_fault_from_one_without(document: str, tmp_path: Path) -> None:
    tried = [(each, exchange) for each in sample(document) if (exchange := found(each)) is not None]
    made = []
    for deviation, exchange in tried:
        rule = catalogue()[deviation.rule]
        script = handed(exchange, rule.id, rule.document, "script.py")
        if script.text:
            made.append(rule.id)
            assert on_peer(deviation, script, tmp_path) == THERE, (rule.id, deviation.says)
    assert len(made) * 3 >= len(tried) * 2, [each.rule for each, _ in tried if each.rule not in made]


def on_peer(deviation: Deviation, script: Handed, folder: Path) -> int:
    peer = dialect(catalogue()[deviation.rule].document).proof.peer(deviation.change, None, time.monotonic)
    file = folder / "script.py"
    file.write_text(script.text)
    with TcpPeer(peer) as served:
        return played(file, "127.0.0.1", served.port, arguments(script.sources, served.use))[0]
