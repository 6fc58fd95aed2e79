"""The ledger of RabbitMQ's reference of the protocol: what it has from 0-9-1, and what is its own."""

import dataclasses
from collections import Counter

import pytest

from spec.catalogue import DOCUMENTS, catalogue
from spec.ledger import Ledger, dump, faults, load, rebuild, texts
from spec.rules import Claim, Level

FILE = DOCUMENTS / "rabbitmq" / "ledger.json"
COMMITTED = load(FILE)
RULES = tuple(rule for rule in catalogue().rules if rule.document == "rabbitmq")


def test_ledger_and_catalogue_agree() -> None:
    assert faults(COMMITTED, catalogue().rules) == ()
    assert COMMITTED.document == next(each for each in catalogue().documents if each.prefix == "rabbitmq")
    assert not (DOCUMENTS / COMMITTED.document.file).exists()


def test_committed_file_is_what_a_rebuild_gives() -> None:
    folder = texts()
    if folder is None:
        pytest.skip("the text is not at hand: AMQP_SPEC_DOCUMENTS names no folder")
    made = dict(rebuild(DOCUMENTS, catalogue(), folder))
    assert dump(made[FILE]) == FILE.read_text(encoding="utf-8")


def test_every_keyword_is_counted() -> None:
    assert len({each.offset for each in COMMITTED.entries if each.keywords}) == 73
    owners = Counter(each.claimed_by.partition("/")[0] for each in COMMITTED.entries if each.keywords)
    assert owners == {"0-9-1": 55, "rabbitmq": 15, "": 3}


def test_what_it_has_from_0_9_1_is_claimed_as_there() -> None:
    there = {(each.sha256, each.claimed_by, each.reason) for each in load_of_0_9_1().entries}
    own = {rule.id for rule in RULES}
    taken = [each for each in COMMITTED.entries if each.claimed_by not in own]
    assert {(each.sha256, each.claimed_by, each.reason) for each in taken} <= there


def load_of_0_9_1() -> Ledger:
    return load(DOCUMENTS / "amqp0-9-1.ledger.json")


def test_removing_a_rule_fails() -> None:
    for rule in RULES:
        others = [each for each in catalogue().rules if each.id != rule.id]
        gone = [each for each in faults(COMMITTED, others) if f"claimed by {rule.id}, which" in each]
        assert len(gone) == len(rule.claims)


def test_rule_without_a_text_at_hand_claims_nothing_whatever_its_words() -> None:
    rule = next(each for each in RULES if not each.claims)
    told = dataclasses.replace(rule, text="It MUST be so.")
    assert faults(Ledger(COMMITTED.document, ()), [told]) == ()
    assert faults(Ledger(COMMITTED.document, ()), [dataclasses.replace(told, source="")])


def test_level_needs_a_reason_where_there_is_a_keyword_to_depart_from() -> None:
    plain = next(each for each in RULES if each.name == "cyclical")
    weaker = dataclasses.replace(plain, level=Level.MAY)
    entries = COMMITTED.entries_of(plain.id)
    assert faults(Ledger(COMMITTED.document, entries), [weaker]) == (
        f"The rule {plain.id} needs a reason: no keyword of its sentences is of level may.",
    )
    bare = tuple(dataclasses.replace(each, keywords=()) for each in entries)
    assert faults(Ledger(COMMITTED.document, bare), [weaker]) == ()


def test_claims_are_in_the_section_of_their_rule() -> None:
    for rule in RULES:
        assert {each.section for each in rule.claims} <= {rule.section}, rule.id
    assert Claim("exchange.bind", 256, "73f0a68c56cfecdc") in RULES[6].claims
