"""Detection where the point is the socket: over TCP with latency, and as a proxy before RabbitMQ."""

from __future__ import annotations

from collections.abc import Container, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest

from conformance.evidence.kinds import Judged
from conformance.evidence.verdicts import Verdict
from conformance.proof.detection import Bench, Fate, deviations, fate, judge_rule
from conformance.tests.endurance import some
from harness.targets.client.target import BeforeServer
from harness.targets.embedded import ServedTarget
from harness.targets.target import Target
from harness.tests.proxied import ProxiedTarget
from scenarios.registry import Scenario, checks
from spec.applicability import protocol
from spec.catalogue import catalogue
from spec.rules import Role, Rule

LATENCY = 0.02
RULES = catalogue().rules
DOCUMENTS = {rule.document for rule in RULES}


@pytest.mark.endurance
def test_over_tcp_with_latency_the_table_is_the_same() -> None:
    bench = Bench(lambda change, _: ServedTarget(change, latency=LATENCY))
    list(bench.prepare(RULES))
    wanted = some(deviations(RULES), 250)
    found = list(bench.detect_all(wanted, others=False, processes=32))
    assert len(found) == len(wanted)
    alive = [
        f"{each.rule.id}: {each.deviation.says}: {each.seen}"
        for each in found
        if each.fate is not Fate.KILLED
    ]
    assert alive == []


def quick(rule: Rule) -> bool:
    """Say whether a rule's scenarios neither wait for seconds nor need the broker to themselves."""
    return all(
        isinstance(check, Scenario) and not (check.slow or check.exclusive or check.alone or check.disruptive)
        for check in checks().of(rule.id, Role.SERVER)
    )


def interposed() -> list[tuple[Rule, str, BeforeServer]]:
    return [
        (rule, deviation.says, deviation.change)
        for rule in RULES
        if quick(rule)
        for deviation in checks().deviations.get(rule.id, ())
        if hasattr(deviation.change, "before")
    ]


AT_ONCE = 4
RULES_EACH = 12
"""Rules of each document whose deviations are tried before RabbitMQ."""


def chosen(spoken: Container[str]) -> list[Rule]:
    able: dict[str, dict[str, Rule]] = {}
    for rule, _, _ in interposed():
        if rule.document in spoken:
            able.setdefault(rule.document, {})[rule.id] = rule
    return [
        rule for document, rules in able.items() for rule in some(list(rules.values()), RULES_EACH, document)
    ]


GLOBAL = "it sets global, by which RabbitMQ means the channel, as the document does where it is clear"
NO_FLOW = "it is about a channel that was paused, which RabbitMQ does not implement: it answers with 540"
NO_ATTACH = "it speaks behind the answering attach, and RabbitMQ 3.10 ends the connection instead of one"
BY_END = "it leaves the error out of a detach, and RabbitMQ 3.10 refuses a link by the end of its session"
TOGETHER = "it counts acknowledgements, and RabbitMQ confirms several messages by one"
UNSEEN = {
    ("0-9-1/grammar/basic.qos.global.decides", "takes it for set always"): GLOBAL,
    ("0-9-1/grammar/basic.qos.global.decides", "takes it for set without a size"): GLOBAL,
    ("0-9-1/grammar/basic.qos.global.decides", "takes it the other way round"): GLOBAL,
    ("0-9-1/grammar/channel.flow-ok.active.carries", "always confirms one"): NO_FLOW,
    ("0-9-1/grammar/queue.declare-ok.consumer-count.carries", "counts the paused"): NO_FLOW,
    ("0-9-1/grammar/basic.return.reply-code.carries", "gives another code"): (
        "it is about a message that was immediate, which RabbitMQ does not implement: it answers with 540"
    ),
    ("1-0/2.4.3.close-answered", "says something behind its close"): (
        "it speaks where the server ends the stream, and RabbitMQ leaves that to us after both closes"
    ),
    ("1-0/2.6.14.interleaved-links", "refuses it"): (
        "the second disposition is replaced, and RabbitMQ settles both messages in one"
    ),
    ("1-0/2.7.1.channel-max-respected", "answers on the number it hears"): (
        "it needs a channel above ours, and RabbitMQ repeats our channel-max as its own"
    ),
    ("1-0/2.7.2.highest-handle-usable", "states more than it takes"): (
        "RabbitMQ states the highest handle that there can be, and nobody can state more"
    ),
    ("1-0/2.7.3.name-per-container", "takes all containers for one"): (
        "it makes the names of containers one, and RabbitMQ 3.10 keeps links by session, whoever has it"
    ),
    ("1-0/2.7.3.no-source-no-messages", "sends from nowhere"): NO_ATTACH,
    ("1-0/2.7.3.no-target-no-messages", "takes them to nowhere"): NO_ATTACH,
    ("1-0/2.7.3.zero-size-is-no-limit", "takes zero for a size"): (
        "it states a size, and RabbitMQ 3.10 does not look at what a receiver states"
    ),
    ("1-0/2.7.5.continuation-id-repeated", "loses what follows"): (
        "it says that the rest is aborted, and RabbitMQ 3.10 takes what came for the message"
    ),
    ("1-0/2.8.15.not-found", "gives no reason"): BY_END,
    ("1-0/2.8.15.unauthorized-access", "gives no reason"): BY_END,
    ("rabbitmq/confirm.select.all-messages-acknowledged", "forgets one"): TOGETHER,
    ("rabbitmq/confirm.select.all-messages-acknowledged", "confirms one twice"): TOGETHER,
    ("rabbitmq/dlx.history.by-reason", "counts it with the other"): (
        "it leaves out the last of three deaths, which RabbitMQ has for that in the other queue"
    ),
}
"""Deviations that nobody can see before RabbitMQ, and why; before the reference peer all of them are seen."""


def before(rabbitmq: Target, rule: Rule) -> list[tuple[str, str, Fate, Judged]]:
    """Try a rule's deviations before RabbitMQ: what became of each, and what it came to.

    None where RabbitMQ itself misses the rule: nothing can be told then from what deviates.
    """
    clean = judge_rule(rule, ProxiedTarget(rabbitmq, None))
    if clean.verdict is not Verdict.PASS:
        return []
    changes = [(says, change) for each, says, change in interposed() if each is rule]
    seen = [(says, judge_rule(rule, ProxiedTarget(rabbitmq, change))) for says, change in changes]
    return [(rule.id, says, fate(rule, clean, each), each) for says, each in seen]


@pytest.mark.endurance
@pytest.mark.broker("rabbitmq")
def test_deviations_before_rabbitmq_are_killed(rabbitmq: Target) -> None:
    assert rabbitmq.protocols is not None
    spoken = {document for document in DOCUMENTS if protocol(document) in rabbitmq.protocols}
    with ThreadPoolExecutor(AT_ONCE) as together:  # nearly all of it is waiting
        found = [*chain.from_iterable(together.map(lambda rule: before(rabbitmq, rule), chosen(spoken)))]
    tried = {(rule, says) for rule, says, _, _ in found}
    alive = {(rule, says): seen for rule, says, came, seen in found if came is not Fate.KILLED}
    for document in spoken:
        assert sum(catalogue()[rule].document == document for rule, _ in tried) >= 8
    assert alive.keys() == UNSEEN.keys() & tried, alive


AT_THE_DOOR: Mapping[str, tuple[str, ...]] = {
    "0-9-1/prose/4.2.3.connection-frames-on-zero": (
        "starts on channel 1", "tunes on channel 7", "opens on channel 1",
    ),
    "0-9-1/prose/4.2.3.frame-layout": ("has a type of its own before Start",),
    "0-9-1/prose/4.2.3.frame-end-is-ce": ("ends Start with zero", "ends Tune with zero"),
    "0-9-1/prose/2.2.4.handshake-in-order": ("starts twice", "tunes twice", "opens twice"),
    "0-9-1/prose/2.2.4.mechanisms-listed": ("lists none",),
    "0-9-1/connection.tune.frame-max.minimum": ("proposes frames that are too small",),
    "0-9-1/prose/1.4.2.version-written-out": ("writes it as 9-1",),
    "0-9-1/prose/2.3.5.1.one-command-per-frame": (
        "starts without locales",
        "starts and says more",
        "starts with text for its properties",
        "tunes without a heartbeat",
        "says what nobody knows before Tune",
    ),
    "0-9-1/prose/4.2.1.table-types-understood": ("has a type of its own",),
}  # fmt: skip
"""What a server may do wrong when a connection is opened; all of it can be seen at once."""


@pytest.mark.broker("rabbitmq")
@pytest.mark.parametrize("identity", AT_THE_DOOR)
def test_before_rabbitmq_too_the_rule_that_is_broken_at_the_door_is_red(
    rabbitmq: Target, identity: str
) -> None:
    rule = catalogue()[identity]
    changes = {each.says: each.change for each in checks().deviations[identity]}
    clean = judge_rule(rule, ProxiedTarget(rabbitmq, None))
    assert clean.verdict is Verdict.PASS
    for says in AT_THE_DOOR[identity]:
        seen = judge_rule(rule, ProxiedTarget(rabbitmq, changes[says]))
        assert fate(rule, clean, seen) is Fate.KILLED, (says, seen)


def test_every_exception_is_about_a_deviation() -> None:
    assert {(rule.id, says) for rule, says, _ in interposed()} >= UNSEEN.keys()
