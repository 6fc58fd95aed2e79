"""Where AMQP 0-9-1 contradicts itself or is silent, a rule says so and how it is read.

A1 and so on are the numbers of harness/amqp0_9_1/peer/policy.py, which has a choice for those that a peer can
settle one way or the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from spec.catalogue import catalogue
from spec.rules import Rule

POLICY = Path(__file__).parents[2] / "harness" / "amqp0_9_1" / "peer" / "policy.py"

READ: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "A1": (
        ("exchange.declare.type.typed", ("530", "channel exception", "equally legal")),
        ("exchange.declare.passive.equivalent", ("530", "equally legal")),
    ),
    "A2": (
        ("queue.declare.auto-delete.pre-existence", ("Both cannot hold", "equally legal")),
        ("queue.declare.passive.equivalent", ("Both are legal",)),
    ),
    "A3": (
        ("queue.unbind.01", ("connection exception", "soft error")),
        ("queue.unbind.queue.must-exist", ("soft error", "equally legal")),
        ("queue.unbind.exchange.must-exist", ("soft error", "equally legal")),
    ),
    "A4": (("basic.publish.exchange.03", ("540", "hard error")),),
    "A5": tuple(
        (f"queue.{each}.queue.queue-known", ("404", "502", "hard error"))
        for each in ("bind", "unbind", "purge", "delete")
    ),
    "A6": (("basic.qos.prefetch-count.01", ("prefetch-size", "contradicts")),),
    "A7": (("basic.reject.requeue.01", ("MUST NOT", "both legal")),),
    "A8": (("basic.reject.01", ("size 1", "not judged")),),
    "A9": (
        ("exchange.default-access", ("Unbind",)),
        ("queue.unbind.exchange.default-exchange", ("Unbind", "more special")),
    ),
    "A10": (
        ("exchange.required-instances", ("amq.headers", "amq.match")),
        ("prose/3.1.3.4.headers-instance", ("amq.headers", "amq.match")),
    ),
    "A11": (
        ("prose/4.2.6.1.wrong-class-id-refused", ("contradicts itself", "501", "505", "either")),
        ("grammar/basic.publish.content-class", ("501", "505", "either")),
    ),
    "A12": (("prose/4.2.3.heartbeat-on-channel-refused", ("contradicts itself", "503", "501", "either")),),
    "A13": (
        ("prose/4.2.3.unknown-frame-type-fatal", ("2.3.7", "handshake", "without a further octet")),
        ("prose/4.2.3.bad-frame-end-fatal", ("2.3.7", "without a further octet")),
        ("prose/4.2.3.oversized-frame-refused", ("501", "2.3.3", "legal, not preferred")),
        ("prose/2.3.7.close-by-handshake", ("4.2.3", "without a handshake")),
        ("grammar/undefined-type", ("2.3.7", "without a further octet", "501")),
    ),
    "A14": (
        ("prose/4.2.6.interrupted-content", ("contradicts itself", "505", "abort")),
        ("grammar/basic.publish.content-missing", ("505", "given up")),
    ),
    "A15": (("prose/4.2.3.heartbeat-form", ("type as 4", "8 is read")),),
    "A16": (("prose/4.2.3.heartbeat-form", ("leaves out the field for the size",)),),
    "A17": (("prose/4.2.5.5.field-names-validated", ("503", "502", "either")),),
    "A18": (
        ("prose/4.2.1.table-types-in-doubt", ("other meaning", "recorded")),
        *(
            (f"grammar/table.{each}.round-trip", ("means something else", "recorded"))
            for each in ("short-string", "short-int", "short-uint", "long-uint")
        ),
        *(
            (f"grammar/table.{each}.round-trip", ("below 2^63",))
            for each in ("long-long-int", "long-long-uint")
        ),
    ),
    "A19": (
        ("prose/4.2.5.5.decimals-kept", ("sign",)),
        ("grammar/table.decimal-value.round-trip", ("unsigned", "positive")),
    ),
    "A20": (
        ("prose/4.2.1.array-counts-octets", ("octets", "number of values")),
        ("grammar/table.field-array.round-trip", ("octets, not values",)),
    ),
    "A21": (
        ("connection.tune-ok.channel-max.upper-limit", ("offer of 0",)),
        ("connection.tune-ok.frame-max.upper-limit", ("offer of 0", "whether no limit is higher")),
    ),
    "A22": (
        ("prose/4.3.channel-max-meaning", ("a count", "highest number", "both legal")),
        ("connection.tune-ok.channel-max.upper-limit", ("highest channel number", "total number")),
        ("prose/2.3.3.beyond-channel-max-disconnected", ("highest number", "number of channels")),
    ),
    "A23": (("prose/4.2.3.own-frames-fit", ("8 octets more", "cannot be split")),),
    "A24": (
        ("prose/2.2.4.unknown-virtual-host-refused", ("contradicts itself", "402", "530")),
        ("connection.open.virtual-host.security", ("530", "2.2.4")),
    ),
    "A25": (
        ("exchange.declare.passive.not-found", ("no-wait", "leaves open")),
        ("queue.declare.passive.passive", ("no-wait", "leaves open")),
    ),
    "A26": (("queue.declare.exclusive.exclusive", ("declare twice", "leaves out Get and Unbind")),),
    "A27": (("basic.cancel.01", ("synchronous", "silence is legal")),),
    "A28": (("basic.consume.consumer-tag.02", ("530", "Cancel-Ok")),),
    "A29": (
        ("basic.recover.01", ("not marked synchronous", "Recover-Ok")),
        ("basic.recover-async.01", ("MAY", "540")),
        ("grammar/basic.recover.implemented", ("no response", "recover-ok")),
    ),
    "A30": (
        ("basic.publish.mandatory.01", ("no constant", "Any reply code")),
        ("basic.publish.immediate.01", ("313",)),
    ),
    "A31": (("queue.unbind.queue.must-exist", ("The client is told", "judged at SHOULD")),),
    "A32": (
        ("prose/2.3.6.error-level", ("other level", "legal, not preferred")),
        ("grammar/constant.not-found.level", ("4.8.1", "usual case")),
    ),
    "A33": (("prose/4.5.owned-queues-deleted", ("auto-delete", "exclusive")),),
    "A34": (("prose/4.2.3.connection-frames-on-zero", ("non-zero", "this section decides")),),
    "A35": (("exchange.declare.exchange.reserved", ("durable", "does not say")),),
    "A36": (("basic.publish.exchange.02", ("must be zero", "inapplicable")),),
    "A37": (("queue.declare.passive.equivalent", ("exclusive queue durable says nothing",)),),
    "A38": (("prose/4.2.5.1.integers-unsigned", ("8*OCTET", "exactly so many")),),
    "A39": (
        ("prose/4.2.5.3.names-kept-whole", ("127 octets", "shorter is a miss")),
        ("grammar/queue.declare.queue.assert-length", ("128 octets", "recorded")),
    ),
}
"""For each contradiction the rules that are read, and words that say what it is and what is made of it."""


def rule(name: str) -> Rule:
    return catalogue()[f"0-9-1/{name}"]


def test_every_contradiction_is_read() -> None:
    assert list(READ) == [f"A{number}" for number in range(1, 40)]
    assert all(READ.values())


@pytest.mark.parametrize(
    ("number", "name", "words"), [(number, *each) for number, rules in READ.items() for each in rules]
)
def test_a_rule_says_what_is_contradictory_and_how_it_is_read(
    number: str, name: str, words: tuple[str, ...]
) -> None:
    said = f"{rule(name).reading} {rule(name).reason}"
    assert [each for each in words if each not in said] == [], f"{number}: {said}"
    # What a rule means for the server when it addresses the client is argued in its reason.
    assert rule(name).reading or number == "A31"


def test_every_choice_of_the_reference_peer_is_one_of_them() -> None:
    found = set(re.findall(r"\bA\d+(?=\. )", POLICY.read_text(encoding="utf-8")))
    assert found
    assert found <= set(READ)


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
