"""Detection where the point is the socket: over TCP with latency, and as a proxy before RabbitMQ."""

from __future__ import annotations

import pytest

from conformance.detection import Bench, Fate, deviations, fate, judge_rule
from conformance.verdicts import Verdict
from harness.embedded import ServedTarget
from harness.proxy import BeforeServer, ProxiedTarget
from harness.target import Target
from scenarios.registry import Scenario, checks
from spec.catalogue import catalogue
from spec.rules import Rule

LATENCY = 0.02
RULES = catalogue().rules


def test_over_tcp_with_latency_the_table_is_the_same() -> None:
    bench = Bench(lambda change: ServedTarget(change, latency=LATENCY))
    list(bench.prepare(RULES))
    wanted = deviations(RULES)
    found = list(bench.detect_all(wanted, others=False, processes=16))
    assert len(found) == len(wanted)
    alive = [
        f"{each.rule.id}: {each.deviation.says}: {each.seen}"
        for each in found
        if each.fate is not Fate.KILLED
    ]
    assert alive == []


TOLD_BY_A_RESET = {
    ("0-9-1/connection.start.protocol-name", "closes without a header"),
    ("0-9-1/connection.start.server-support", "says nothing"),
}
"""RabbitMQ resets the connection behind its header. Without the header a reset is all that comes, and a frame
before it may have been lost: inconclusive is the right verdict there."""


def quick(rule: Rule) -> bool:
    """Whether a rule's scenarios neither wait for seconds nor need the broker to themselves."""
    return all(
        isinstance(check, Scenario) and not (check.slow or check.exclusive or check.alone or check.disruptive)
        for check in checks().of(rule.id)
    )


def interposed() -> list[tuple[Rule, str, BeforeServer]]:
    return [
        (rule, deviation.says, deviation.change)
        for rule in RULES
        if quick(rule)
        for deviation in checks().deviations.get(rule.id, ())
        if hasattr(deviation.change, "before")
    ]


@pytest.mark.broker("rabbitmq")
def test_deviations_before_rabbitmq_are_killed(rabbitmq: Target) -> None:
    tried, alive = 0, []
    for rule in {rule.id: rule for rule, _, _ in interposed()}.values():
        clean = judge_rule(rule, ProxiedTarget(rabbitmq, None))
        if clean.verdict is not Verdict.PASS:
            continue  # where RabbitMQ itself misses the rule nothing can be told from its deviation
        for _, says, change in (each for each in interposed() if each[0] is rule):
            tried += 1
            seen = judge_rule(rule, ProxiedTarget(rabbitmq, change))
            if (rule.id, says) in TOLD_BY_A_RESET:
                assert seen.verdict is Verdict.INCONCLUSIVE
            elif fate(rule, clean, seen) is not Fate.KILLED:
                alive.append(f"{rule.id}: {says}: {seen}")
    assert tried >= 30
    assert alive == []
