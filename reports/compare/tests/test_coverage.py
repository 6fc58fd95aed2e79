"""Coverage counts every sentence and every rule once, and says why what is white is white."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports.compare.coverage import Coverage, coverage, ledgers
from scenarios.registry import Checks, checks
from spec.catalogue import catalogue
from spec.ledger import Entry, Ledger
from spec.rules import Testability


@pytest.fixture(scope="module")
def covered() -> Coverage:
    every = coverage(ledgers(), catalogue(), checks())
    return next(each for each in every if each.document.prefix == "0-9-1")


def with_entries(*entries: Entry) -> Coverage:
    book = ledgers()[0]
    (found,) = coverage([Ledger(book.document, entries)], catalogue(), checks())
    return found


def entry(**changes: Any) -> Entry:
    return replace(Entry("queue.declare", 1, 1, "00", ("must",), "", ""), **changes)


def test_every_sentence_and_every_rule_stands_in_one_section(covered: Coverage) -> None:
    all_of_them = coverage(ledgers(), catalogue(), checks())
    for found, book in zip(all_of_them, ledgers(), strict=True):
        assert Counter(each.entry for each in found.sentences) == Counter(book.entries)
    held = Counter(each.rule.id for found in all_of_them for each in found.rules)
    assert held == Counter(rule.id for rule in catalogue().rules)


def test_the_sections_add_up_to_the_document(covered: Coverage) -> None:
    for name in ("sentences", "claimed", "white", "rules", "checked", "beyond", "bare", "deviations"):
        total = getattr(covered.counts, name)
        assert total == sum(getattr(part.counts, name) for part in covered.parts), name
    counts = covered.counts
    assert counts.sentences == counts.claimed + sum(covered.reasons.values())
    assert counts.rules == counts.checked + counts.beyond + counts.bare


def test_sections_come_in_the_order_of_the_document(covered: Coverage) -> None:
    names = [part.section for part in covered.parts]
    assert names.index("connection.start") < names.index("queue.declare") < names.index("basic.publish")
    assert len(names) == len(set(names))


def test_a_rule_without_a_check_says_why(covered: Coverage) -> None:
    bare = [each for each in covered.rules if not each.checks]
    assert bare
    assert all(each.why for each in bare)
    assert {each.rule.testability for each in bare if each.beyond} <= {
        Testability.CLIENT,
        Testability.UNTESTABLE,
    }


def test_without_checks_every_rule_that_could_have_one_is_bare() -> None:
    every = coverage(ledgers(), catalogue(), Checks({}, {}, {}))
    could = [
        rule
        for rule in catalogue().rules
        if rule.testability not in (Testability.CLIENT, Testability.UNTESTABLE)
    ]
    assert sum(found.counts.bare for found in every) == len(could)
    assert all(found.counts.checked == 0 for found in every)
    assert all(each.why for found in every for each in found.rules)


def test_a_sentence_with_a_reason_is_not_white() -> None:
    found = with_entries(entry(reason="grammar: a range of the domain."))
    assert found.counts.white == 0
    assert found.reasons == {"grammar": 1}
    assert found.sentences[0].reason == "a range of the domain."


@pytest.mark.parametrize("reason", ["", "no rule yet: somebody should write one."])
def test_a_sentence_without_a_rule_is_white_until_it_is_argued_away(reason: str) -> None:
    found = with_entries(entry(reason=reason))
    assert found.counts.white == 1
    assert found.sentences[0].kind


def test_a_claimed_sentence_is_neither_white_nor_argued() -> None:
    found = with_entries(entry(claimed_by=catalogue().rules[0].id))
    assert (found.counts.claimed, found.counts.white, found.reasons) == (1, 0, {})


def test_no_document_of_0_9_1_has_a_white_spot_without_a_reason() -> None:
    every = [each for each in coverage(ledgers(), catalogue(), checks()) if is_0_9_1(each)]
    assert [each.document.prefix for each in every] == ["0-9-1", "0-9-1/prose", "0-9-1/grammar"]
    for found in every:
        assert [each.entry for each in found.sentences if each.white] == []
        assert [each.entry for each in found.sentences if not (each.claimed or each.reason)] == []


def test_no_rule_is_without_a_check_and_without_a_reason() -> None:
    for found in coverage(ledgers(), catalogue(), checks()):
        assert found.counts.bare == 0, found.document.prefix
        assert [each.rule.id for each in found.rules if not (each.checks or each.rule.reason)] == []


def test_the_pages_have_the_numbers() -> None:
    root = Path(__file__).parents[3]
    page = (root / "spec/README.md").read_text(encoding="utf-8")
    every = coverage(ledgers(), catalogue(), checks())
    for found in every:
        counts = found.counts
        row = f"| `{found.document.prefix}` | {counts.rules} | {counts.checked} | {counts.of_clients} |"
        assert row in page
    proof = " ".join((root / "conformance/proof/README.md").read_text(encoding="utf-8").split())
    assert f"of the {sum(found.counts.checked for found in every)} rules that have a check" in proof
    readme = (root / "README.md").read_text(encoding="utf-8")
    assert f"| {len(catalogue().rules)} rules | what they are |" in readme


def is_0_9_1(found: Coverage) -> bool:
    return found.document.prefix.partition("/")[0] == "0-9-1"


@pytest.mark.parametrize("identity", ["0-9-1/tx.commit.transacted", "0-9-1/grammar/queue.declare.answers"])
def test_a_check_that_is_taken_away_leaves_its_rule_bare(identity: str) -> None:
    every = checks()
    less = Checks(
        {rule: found for rule, found in every.scenarios.items() if rule != identity},
        every.watches,
        every.deviations,
    )
    bare = [
        each for found in coverage(ledgers(), catalogue(), less) for each in found.rules if not each.checks
    ]
    assert identity in [each.rule.id for each in bare if not each.beyond]


def test_reasons_come_with_the_commonest_first(covered: Coverage) -> None:
    counts = list(covered.reasons.values())
    assert counts == sorted(counts, reverse=True)
