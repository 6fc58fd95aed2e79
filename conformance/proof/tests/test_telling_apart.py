"""A server that says what a clean one says comes to the same, and is not judged: it cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from conformance.causes.faults import Fault, known_faults
from conformance.proof.detection import Bench, deviations, judge_rules
from conformance.tests.endurance import some
from harness.dialect import dialect
from harness.peers.peer import PeerConnection
from scenarios.registry import checks
from spec.applicability import judged_with
from spec.catalogue import catalogue
from spec.rules import Role, Rule

DOCUMENTS = ("0-9-1", "1-0", "fast", "rabbitmq")
SAMPLE = 120
"""Rules of each document that are looked at."""
PAIRS = 40
"""Faults of each, with a rule that cannot tell them apart, that are judged all the same."""
each_document = pytest.mark.parametrize("document", DOCUMENTS)


def rules_of(document: str) -> list[Rule]:
    checked = [
        rule
        for rule in catalogue().rules
        if judged_with(rule.document) == document and checks().of(rule.id, Role.SERVER)
    ]
    return some(checked, SAMPLE)


@pytest.fixture(scope="module")
def bench() -> Bench:
    prepared = Bench()
    list(prepared.prepare(rule for document in DOCUMENTS for rule in rules_of(document)))
    return prepared


@each_document
def test_a_clean_server_is_not_told_apart(document: str, bench: Bench) -> None:
    unchanged = dialect(document).proof.fault(lambda tables: tables)
    apart = [rule.id for rule in rules_of(document) if bench.tells_apart(rule, unchanged)]
    # What is said on a port for TLS is not kept: it is other octets each time.
    assert [each for each in apart if "tls" not in each and "secure" not in each] == []


@each_document
def test_what_breaks_its_rule_is_told_apart(document: str, bench: Bench) -> None:
    faulty = dialect(document).proof.fault
    changes = [each for each in deviations(rules_of(document)) if isinstance(each.change, faulty)]
    assert len(changes) > 20
    missed = [each for each in changes if not bench.tells_apart(catalogue()[each.rule], each.change)]
    assert missed == []


@each_document
def test_what_is_not_told_apart_comes_to_the_same(document: str, bench: Bench) -> None:
    pairs = some(list(not_told_apart(document, bench)), PAIRS)
    assert len(pairs) >= PAIRS
    for fault, rule in pairs:
        ((_, seen),) = judge_rules([rule], partial(bench.build, fault.change))
        clean = bench.clean[rule.id]
        assert (seen.verdict, seen.signature) == (clean.verdict, clean.signature), (fault, rule.id)


def not_told_apart(document: str, bench: Bench) -> Iterator[tuple[Fault, Rule]]:
    """Give faults with a rule each that they could show in, by its footprint, and do not."""
    proof, rules = dialect(document).proof, rules_of(document)
    for fault in known_faults():
        if fault.document != document or not isinstance(fault.change, proof.fault):
            continue
        touched = (rule for rule in rules if proof.touches(fault.change, bench.footprints[rule.id]))
        rule = next(touched, None)
        if rule is not None and not bench.tells_apart(rule, fault.change):
            yield fault, rule


class Breaking:
    """A server that breaks where somebody connects."""

    def connect(self, now: float) -> PeerConnection:
        raise AssertionError(now)

    def use(self, facility: str) -> dict[str, str]:
        raise KeyError(facility)

    def restart(self) -> None:
        """Do nothing."""


def test_a_server_that_breaks_is_told_apart(bench: Bench) -> None:
    for document in DOCUMENTS:
        kept = bench.replays[rules_of(document)[0].id]
        assert not kept.is_the_same(lambda _: Breaking())
