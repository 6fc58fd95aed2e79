"""What a fault turns red: its rules judged on a peer that has it, and compared with a peer that has none."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.causes.dictionary import Sign
from conformance.causes.faults import Fault
from conformance.evidence.verdicts import fold
from conformance.proof.detection import Bench, judge_rule
from harness.dialect import dialect
from spec.applicability import judged_with
from spec.catalogue import catalogue


def prepared() -> Bench:
    """Judge all rules that have a check on a peer without a fault."""
    bench = Bench()
    for _ in bench.prepare(catalogue().rules):
        pass
    return bench


def signs(fault: Fault, bench: Bench) -> Mapping[str, Sign]:
    """Give the rules that come out worse with a fault than without, each with its sign.

    Judged are those that could show it (see harness.peers.footprint): the others cannot tell the two apart.
    """
    found: dict[str, Sign] = {}
    touches = dialect(fault.document).proof.touches
    for rule in bench.rules.values():
        if judged_with(rule.document) != fault.document:
            continue
        if rule.id != fault.rule and not touches(fault.change, bench.footprints[rule.id]):
            continue
        clean = bench.clean[rule.id]
        seen = judge_rule(rule, bench.build(fault.change, rule.document))
        if seen.verdict is not clean.verdict and fold([seen.verdict, clean.verdict]) is seen.verdict:
            found[rule.id] = Sign.of(seen)
    return found
