"""A rule accuses nobody of what another rule judges: a peer with that other fault is none of its findings.

What the documents allow is a variant of the reference peer, tried in test_detection.py. What they forbid in
another sentence cannot be one, and stands here.
"""

from __future__ import annotations

from typing import Any

import pytest

from conformance.evidence.verdicts import Verdict
from conformance.proof.detection import judge_rule
from harness.amqp0_9_1.broken.content_faults import header_with
from harness.amqp0_9_1.broken.deviations import drops, forwards, objects, rewrites
from harness.amqp0_9_1.wire.vocabulary import FRAME_ERROR, Connection, Queue
from harness.targets.embedded import EmbeddedTarget
from spec.catalogue import catalogue

FAULTS: dict[str, tuple[Any, str, str, Verdict]] = {
    "answers a Declare with no-wait": (
        forwards(Queue.Declare, lambda sent: sent.no_wait, no_wait=False),
        "0-9-1/grammar/queue.declare.no-wait",
        "0-9-1/prose/4.2.5.2.bits-packed-from-low",
        Verdict.PASS,
    ),
    "loses messages without a body": (
        drops("content header: without body completes the content"),
        "0-9-1/prose/4.2.6.1.empty-body",
        "0-9-1/prose/3.1.1.body-unmodified",
        Verdict.PASS,
    ),
    "knows no arrays": (
        objects(header_with(headers=lambda told: "array" in told or "probe" in told), FRAME_ERROR),
        "0-9-1/grammar/table.field-array.round-trip",
        "0-9-1/prose/4.2.1.array-counts-octets",
        Verdict.INAPPLICABLE,
    ),
}
"""What a peer does wrong, the rule it breaks, and one that it does not break, with the verdict of that."""


def test_what_comes_before_tune_is_held_to_no_frame_max() -> None:
    names = b" ".join(b"X-%d" % number for number in range(1000))
    long = EmbeddedTarget(rewrites(Connection.Start, mechanisms=lambda offered: offered + b" " + names))
    for rule in ("0-9-1/connection.tune-ok.frame-max.minimum", "0-9-1/prose/2.3.3.reduced-limits-borne"):
        assert judge_rule(catalogue()[rule], long).verdict is Verdict.PASS


@pytest.mark.parametrize(("change", "broken", "kept", "verdict"), FAULTS.values(), ids=list(FAULTS))
def test_a_fault_is_found_by_its_own_rule_only(change: Any, broken: str, kept: str, verdict: Verdict) -> None:
    assert judge_rule(catalogue()[broken], EmbeddedTarget(change)).verdict is Verdict.FAIL
    assert judge_rule(catalogue()[kept], EmbeddedTarget(change)).verdict is verdict
