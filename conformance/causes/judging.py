"""What a fault turns red: its rules judged on a peer that has it, and compared with a peer that has none."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import partial

from conformance.causes.dictionary import Sign
from conformance.causes.faults import Fault
from conformance.evidence.kinds import Judged
from conformance.evidence.verdicts import is_worse
from conformance.proof.detection import Bench, judge_rules
from harness.dialect import dialect
from spec.applicability import judged_with
from spec.catalogue import catalogue
from spec.rules import Rule

SAMPLE = 100
"""Rules that are judged of many more."""


def prepared() -> Bench:
    """Judge all rules that have a check on a peer without a fault."""
    bench = Bench()
    for _ in bench.prepare(catalogue().rules):
        pass
    return bench


def signs(fault: Fault, bench: Bench, seen: dict[str, Judged] | None = None) -> Mapping[str, Sign]:
    """Give the rules that come out worse with a fault than without, each with its sign.

    `seen` is what rules came to with this change, and grows: several faults are one change, of several rules.

    Looked at are those that could show it (see harness.peers.footprint). Of many (what touches the log-in
    touches nearly all) these near its own rule are, and a `SAMPLE` of the others; all of them when one of
    that is worse. Judged of these are the ones that can tell the two apart (see `Bench.tells_apart`).
    """
    touches = dialect(fault.document).proof.touches
    may = [
        rule
        for rule in bench.rules.values()
        if judged_with(rule.document) == fault.document
        and (rule.id == fault.rule or touches(fault.change, bench.footprints[rule.id]))
    ]
    close = [rule for rule in may if near(rule.id) == near(fault.rule)]
    others = [rule for rule in may if near(rule.id) != near(fault.rule)]
    random.Random(f"{fault.rule} {fault.says}").shuffle(others)
    worse = partial(_worse, fault, bench, {} if seen is None else seen)
    found = worse(others[:SAMPLE])
    if found:
        found |= worse(others[SAMPLE:])
    return found | worse(close)


def near(identity: str) -> str:
    """Give what rules near each other have in common: document and chapter, or class and method."""
    document, _, rest = identity.partition("/")
    family, _, place = rest.rpartition("/")
    return f"{document}/{family}/{'.'.join(place.split('.')[:2])}"


def _worse(fault: Fault, bench: Bench, seen: dict[str, Judged], rules: Sequence[Rule]) -> dict[str, Sign]:
    unseen = [rule for rule in rules if rule.id not in seen]
    apart = [rule for rule in unseen if rule.id == fault.rule or bench.tells_apart(rule, fault.change)]
    seen |= {rule.id: bench.clean[rule.id] for rule in unseen}
    seen |= judge_rules(apart, partial(bench.build, fault.change))
    judged = ((rule.id, seen[rule.id]) for rule in rules)
    return {each: Sign.of(came) for each, came in judged if is_worse(came.verdict, bench.clean[each].verdict)}
