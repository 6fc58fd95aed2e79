"""Where AMQP 0-9-1 contradicts itself or is silent, a rule says so and how it is read.

Where a peer can settle it one way or the other, a choice in harness/amqp0_9_1/peer/policy.py begins with the
identity of such a rule.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from spec.catalogue import catalogue
from spec.rules import Rule

POLICY = Path(__file__).parents[2] / "harness" / "amqp0_9_1" / "peer" / "policy.py"

READ: tuple[Mapping[str, tuple[str, ...]], ...] = (
    {
        "exchange.declare.type.typed": ("530", "channel exception", "equally legal"),
        "exchange.declare.passive.equivalent": ("530", "equally legal"),
    },
    {
        "queue.declare.auto-delete.pre-existence": ("Both cannot hold", "equally legal"),
        "queue.declare.passive.equivalent": ("Both are legal",),
    },
    {
        "queue.unbind.01": ("connection exception", "soft error"),
        "queue.unbind.queue.must-exist": ("soft error", "equally legal"),
        "queue.unbind.exchange.must-exist": ("soft error", "equally legal"),
    },
    {
        "basic.publish.exchange.03": ("540", "hard error"),
    },
    {
        "queue.bind.queue.queue-known": ("404", "502", "hard error"),
        "queue.unbind.queue.queue-known": ("404", "502", "hard error"),
        "queue.purge.queue.queue-known": ("404", "502", "hard error"),
        "queue.delete.queue.queue-known": ("404", "502", "hard error"),
    },
    {
        "basic.qos.prefetch-count.01": ("prefetch-size", "contradicts"),
    },
    {
        "basic.reject.requeue.01": ("MUST NOT", "both legal"),
    },
    {
        "basic.reject.01": ("size 1", "not judged"),
    },
    {
        "exchange.default-access": ("Unbind",),
        "queue.unbind.exchange.default-exchange": ("Unbind", "more special"),
    },
    {
        "exchange.required-instances": ("amq.headers", "amq.match"),
        "prose/3.1.3.4.headers-instance": ("amq.headers", "amq.match"),
    },
    {
        "prose/4.2.6.1.wrong-class-id-refused": ("contradicts itself", "501", "505", "either"),
        "grammar/basic.publish.content-class": ("501", "505", "either"),
    },
    {
        "prose/4.2.3.heartbeat-on-channel-refused": ("contradicts itself", "503", "501", "either"),
    },
    {
        "prose/4.2.3.unknown-frame-type-fatal": ("2.3.7", "handshake", "without a further octet"),
        "prose/4.2.3.bad-frame-end-fatal": ("2.3.7", "without a further octet"),
        "prose/4.2.3.oversized-frame-refused": ("501", "2.3.3", "legal, not preferred"),
        "prose/2.3.7.close-by-handshake": ("4.2.3", "without a handshake"),
        "grammar/undefined-type": ("2.3.7", "without a further octet", "501"),
    },
    {
        "prose/4.2.6.interrupted-content": ("contradicts itself", "505", "abort"),
        "grammar/basic.publish.content-missing": ("505", "given up"),
    },
    {
        "prose/4.2.3.heartbeat-form": ("type as 4", "8 is read"),
    },
    {
        "prose/4.2.3.heartbeat-form": ("leaves out the field for the size",),
    },
    {
        "prose/4.2.5.5.field-names-validated": ("503", "502", "either"),
    },
    {
        "prose/4.2.1.table-types-in-doubt": ("other meaning", "recorded"),
        "grammar/table.short-string.round-trip": ("means something else", "recorded"),
        "grammar/table.short-int.round-trip": ("means something else", "recorded"),
        "grammar/table.short-uint.round-trip": ("means something else", "recorded"),
        "grammar/table.long-uint.round-trip": ("means something else", "recorded"),
        "grammar/table.long-long-int.round-trip": ("below 2^63",),
        "grammar/table.long-long-uint.round-trip": ("below 2^63",),
    },
    {
        "prose/4.2.5.5.decimals-kept": ("sign",),
        "grammar/table.decimal-value.round-trip": ("unsigned", "positive"),
    },
    {
        "prose/4.2.1.array-counts-octets": ("octets", "number of values"),
        "grammar/table.field-array.round-trip": ("octets, not values",),
    },
    {
        "connection.tune-ok.channel-max.upper-limit": ("offer of 0",),
        "connection.tune-ok.frame-max.upper-limit": ("offer of 0", "whether no limit is higher"),
    },
    {
        "prose/4.3.channel-max-meaning": ("a count", "highest number", "both legal"),
        "connection.tune-ok.channel-max.upper-limit": ("highest channel number", "total number"),
        "prose/2.3.3.beyond-channel-max-disconnected": ("highest number", "number of channels"),
    },
    {
        "prose/4.2.3.own-frames-fit": ("8 octets more", "cannot be split"),
    },
    {
        "prose/2.2.4.unknown-virtual-host-refused": ("contradicts itself", "402", "530"),
        "connection.open.virtual-host.security": ("530", "2.2.4"),
    },
    {
        "exchange.declare.passive.not-found": ("no-wait", "leaves open"),
        "queue.declare.passive.passive": ("no-wait", "leaves open"),
    },
    {
        "queue.declare.exclusive.exclusive": ("declare twice", "leaves out Get and Unbind"),
    },
    {
        "basic.cancel.01": ("synchronous", "silence is legal"),
    },
    {
        "basic.consume.consumer-tag.02": ("530", "Cancel-Ok"),
    },
    {
        "basic.recover.01": ("not marked synchronous", "Recover-Ok"),
        "basic.recover-async.01": ("MAY", "540"),
        "grammar/basic.recover.implemented": ("no response", "recover-ok"),
    },
    {
        "basic.publish.mandatory.01": ("no constant", "Any reply code"),
        "basic.publish.immediate.01": ("313",),
    },
    {
        "queue.unbind.queue.must-exist": ("The client is told", "judged at SHOULD"),
    },
    {
        "prose/2.3.6.error-level": ("other level", "legal, not preferred"),
        "grammar/constant.not-found.level": ("4.8.1", "usual case"),
    },
    {
        "prose/4.5.owned-queues-deleted": ("auto-delete", "exclusive"),
    },
    {
        "prose/4.2.3.connection-frames-on-zero": ("non-zero", "this section decides"),
    },
    {
        "exchange.declare.exchange.reserved": ("durable", "does not say"),
    },
    {
        "basic.publish.exchange.02": ("must be zero", "inapplicable"),
    },
    {
        "queue.declare.passive.equivalent": ("exclusive queue durable says nothing",),
    },
    {
        "prose/4.2.5.1.integers-unsigned": ("8*OCTET", "exactly so many"),
    },
    {
        "prose/4.2.5.3.names-kept-whole": ("127 octets", "shorter is a miss"),
        "grammar/queue.declare.queue.assert-length": ("128 octets", "recorded"),
    },
)
"""For each contradiction the rules that are read, and words that say what it is and what is made of it."""


def rule(name: str) -> Rule:
    return catalogue()[f"0-9-1/{name}"]


def test_every_contradiction_is_read() -> None:
    assert len(READ) == 39
    assert all(READ)


@pytest.mark.parametrize(("name", "words"), [each for rules in READ for each in rules.items()])
def test_a_rule_says_what_is_contradictory_and_how_it_is_read(name: str, words: tuple[str, ...]) -> None:
    said = f"{rule(name).reading} {rule(name).reason}"
    assert [each for each in words if each not in said] == [], said
    # What a rule means for the server when it addresses the client is argued in its reason.
    assert rule(name).reading or name == "queue.unbind.queue.must-exist"


def test_every_choice_of_the_reference_peer_is_one_of_them() -> None:
    found = re.findall(r'"""(0-9-1/\S+):\s', POLICY.read_text(encoding="utf-8"))
    assert len(found) == 25
    assert {*found} <= {f"0-9-1/{name}" for rules in READ for name in rules}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("prose/4.2.3.unknown-frame-type-fatal", "grammar/undefined-type"),
        ("prose/4.2.6.1.wrong-class-id-refused", "grammar/basic.publish.content-class"),
        ("prose/4.2.6.body-beyond-size", "grammar/basic.publish.content-body-overlong"),
        ("prose/4.2.6.interrupted-content", "grammar/basic.publish.content-missing"),
        ("prose/4.3.channel-max-meaning", "connection.tune-ok.channel-max.upper-limit"),
        ("prose/4.2.3.heartbeat-on-channel-refused", "prose/4.2.7.invalid-heartbeat-refused"),
        ("prose/3.1.3.4.headers-instance", "exchange.required-instances"),
        ("queue.unbind.01", "queue.unbind.queue.must-exist"),
        ("exchange.declare.type.typed", "exchange.declare.passive.equivalent"),
        ("queue.declare.auto-delete.pre-existence", "queue.declare.passive.equivalent"),
    ],
)
def test_what_contradicts_or_repeats_a_rule_is_related_to_it(one: str, other: str) -> None:
    known = catalogue()
    assert rule(other) in known.related(rule(one))
    assert rule(one) in known.related(rule(other))
