"""Scripts of what deviating peers come to: with the deviation they end with 1, without it with 0."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.bug.exchange import Exchange, lines_of
from conformance.bug.handed import ROOMY, Handed, arguments, handed, played
from conformance.bug.player import THERE
from conformance.engine.judge import Judge
from conformance.evidence.keeping import Memory
from conformance.proof.detection import deviations
from harness.amqp0_9_1.broken.deviations import Interposer, answers, ignores
from harness.amqp0_9_1.wire.vocabulary import ACCESS_REFUSED, Channel, Queue
from harness.dialect import dialect
from harness.peers.deviation import Deviation
from harness.peers.serve import TcpPeer
from harness.play.expect import Unmet
from harness.targets.embedded import EmbeddedTarget
from harness.wire.journal import Opened
from scenarios.registry import Scenario, checks
from spec.catalogue import catalogue

RUN = "0123456789ab"
NEITHER = Interposer(
    (
        *answers(Queue.Bind, Channel.Close(ACCESS_REFUSED), when=lambda it: not it.exchange).rules,
        *answers(Queue.Unbind, Channel.Close(ACCESS_REFUSED), when=lambda it: not it.exchange).rules,
        *ignores(Channel.CloseOk).rules,
    )
)
"""Neither binds to the default exchange nor unbinds from it, as some brokers do."""
EACH = 8
"""Deviations of each document that are tried."""


def found(deviation: Deviation, policy: object = None) -> Exchange | None:
    """Judge the rule of a deviation on a peer that has it; give what was said where it was found."""
    rule, evidence = catalogue()[deviation.rule], Memory()
    with EmbeddedTarget(deviation.change, policy) as goal:
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


def on_peer(deviation: Deviation, script: Handed, folder: Path, policy: object = None) -> int:
    proof = dialect(catalogue()[deviation.rule].document).proof
    peer = proof.peer(deviation.change, policy, time.monotonic)
    file = folder / "script.py"
    file.write_text(script.text)
    with TcpPeer(peer) as served:
        return played(file, "127.0.0.1", served.port, arguments(script.sources, served.use))[0]


@pytest.mark.parametrize(
    ("rule", "change", "how"),
    [
        ("1-0/grammar/begin.properties.typed", None, "what is legal comes where the broken peer goes on"),
        (
            "0-9-1/queue.unbind.exchange.default-exchange",
            NEITHER,
            "what does not come is not answered",
        ),
    ],
)
def test_a_peer_without_the_fault_may_go_another_way(
    rule: str, change: Any, how: str, tmp_path: Path
) -> None:
    deviation = deviations([catalogue()[rule]])[0]
    deviation = replace(deviation, change=change or deviation.change)
    exchange = found(deviation)
    assert exchange is not None
    script = handed(exchange, rule, catalogue()[rule].document, "script.py")
    assert script.text, (how, script.why)
    assert on_peer(deviation, script, tmp_path) == THERE


def test_of_a_protocol_that_scripts_do_not_speak_the_reason_is_told() -> None:
    exchange = next(filter(None, map(found, sample("fast"))))
    made = handed(exchange, exchange.judged.rule, "fast", "script.py")
    assert (made.text, made.why) == ("", "scripts do not speak AMQP/Fast")


def test_of_a_test_that_was_played_twice_only_the_last_time_is_told() -> None:
    rule, evidence, broken = catalogue()["0-9-1/queue.delete.01"], Memory(), []

    def always_ended(broker: Any) -> None:
        broken.append(broker)
        broker.channel().stays_quiet()
        raise Unmet(("queue.declare-ok",), "connection ended (fin)", ended=True)

    scenario = Scenario(rule.id, "t", always_ended, frozenset(), slow=False, disruptive=False, alone=False)
    with EmbeddedTarget() as goal:
        judged = Judge(goal, evidence, "test", alone=False).judge(rule, scenario)
    opened = [line for line in evidence.lines if isinstance(line.event, Opened)]
    assert len(broken) == 2
    assert [line for line in lines_of(evidence.lines, judged) if line in opened] == opened[-1:]


def test_large_frames_are_played_with_a_peer_that_has_room(tmp_path: Path) -> None:
    rule, roomy = "1-0/2.7.3.larger-message-refused", dialect("1-0").proof.policies[ROOMY]
    wrong = next(each for each in deviations([catalogue()[rule]]) if each.says == "has another condition")
    exchange = found(wrong, roomy)
    assert exchange is not None
    script = handed(exchange, rule, "1-0", "script.py")
    assert script.text, script.why
    assert on_peer(wrong, script, tmp_path, roomy) == THERE
