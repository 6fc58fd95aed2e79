"""The rules of the prose of AMQP 0-9-1, their ledger, and how they relate to those of the XML."""

import dataclasses
import re
from collections import Counter
from pathlib import Path

import pytest

from spec.catalogue import DOCUMENTS, Catalogue, catalogue
from spec.ledger import Ledger, build, dump, faults, key, load, rebuild, texts
from spec.readers.amqp0_9_1 import grammar
from spec.readers.keywords import fingerprint
from spec.readers.pages import FRONT
from spec.rules import Level, Party, Testability
from spec.statements import Statement, of_pages
from spec.tests.faults import identity_faults, relation_faults

PREFIX = "0-9-1/prose"
FILE = DOCUMENTS / "amqp0-9-1-prose.ledger.json"
COMMITTED = load(FILE)
ALL = catalogue().rules
RULES = tuple(rule for rule in ALL if rule.document == PREFIX)
CAPITALS = tuple(each for each in COMMITTED.entries if any(word.isupper() for word in each.keywords))

CONTRADICTORY = (
    "1.4.3.persistent-survives-restart",
    "2.2.4.unknown-virtual-host-refused",
    "2.3.7.close-by-handshake",
    "3.1.3.4.headers-instance",
    "4.2.1.table-types-in-doubt",
    "4.2.1.array-counts-octets",
    "4.2.3.unknown-frame-type-fatal",
    "4.2.3.bad-frame-end-fatal",
    "4.2.3.own-frames-fit",
    "4.2.3.oversized-frame-refused",
    "4.2.3.connection-frames-on-zero",
    "4.2.3.heartbeat-on-channel-refused",
    "4.2.3.heartbeat-form",
    "4.2.5.1.integers-unsigned",
    "4.2.5.3.names-kept-whole",
    "4.2.5.5.field-names-validated",
    "4.2.5.5.decimals-kept",
    "4.2.6.interrupted-content",
    "4.2.6.1.wrong-class-id-refused",
    "4.3.channel-max-meaning",
    "4.5.owned-queues-deleted",
)
"""Rules on which the document contradicts itself or the XML."""


def without(identity: str) -> Catalogue:
    return dataclasses.replace(catalogue(), rules=tuple(rule for rule in ALL if rule.id != identity))


def test_counts() -> None:
    assert len(RULES) == 174
    assert Counter(rule.level for rule in RULES) == {Level.MUST: 111, Level.SHOULD: 46, Level.MAY: 17}
    assert Counter(rule.testability for rule in RULES) == {
        Testability.ACTIVE: 120,
        Testability.PASSIVE: 22,
        Testability.UNTESTABLE: 3,
        Testability.CLIENT: 29,
    }


def test_document_is_the_text_and_not_among_our_files() -> None:
    assert COMMITTED.document == next(each for each in catalogue().documents if each.prefix == PREFIX)
    assert COMMITTED.document.file == "amqp0-9-1-specification.txt"
    assert not (DOCUMENTS / COMMITTED.document.file).exists()


def test_rules_stand_in_the_order_of_their_sections_and_of_the_published_identities() -> None:
    sections = [tuple(map(int, rule.section.split("."))) for rule in RULES]
    assert sections == sorted(sections)
    published = (DOCUMENTS / "amqp0-9-1-prose.identities.txt").read_text(encoding="utf-8").split()
    assert published == [rule.id for rule in RULES]


def test_ledger_and_catalogue_agree() -> None:
    assert faults(COMMITTED, ALL) == ()


def test_committed_file_is_what_a_rebuild_gives() -> None:
    folder = texts()
    if folder is None:
        pytest.skip("the text is not at hand: AMQP_SPEC_DOCUMENTS names no folder")
    made = dict(rebuild(DOCUMENTS, catalogue(), folder))
    assert dump(made[FILE]) == FILE.read_text(encoding="utf-8")


def test_every_sentence_in_capitals_is_a_rule_s_but_the_one_that_defines_the_words() -> None:
    free = [(each.section, each.line) for each in CAPITALS if not each.claimed_by and each.section != FRONT]
    assert free == [("1.4.1", 185)]
    assert len({each.offset for each in CAPITALS if each.section != FRONT}) == 60


def test_sentences_that_rules_of_the_xml_claim() -> None:
    claimed = [each for each in CAPITALS if each.claimed_by and not each.claimed_by.startswith(PREFIX)]
    assert [(each.section, each.claimed_by.removeprefix("0-9-1/")) for each in claimed] == [
        ("3.1.3.1", "exchange.required-types"),
        ("3.1.3.1", "exchange.required-instances"),
        ("3.1.3.1", "queue.declare.default-binding"),
        ("3.1.3.3", "exchange.recommended-types"),
        ("3.1.3.3", "exchange.required-instances"),
        ("3.1.3.4", "exchange.recommended-types"),
        ("3.1.10", "exchange.declare.exchange.reserved"),
        ("3.1.10", "queue.declare.queue.reserved"),
    ]


def test_every_keyword_in_lower_case_is_classified() -> None:
    lower = [each for each in COMMITTED.entries if each.keywords and each not in CAPITALS]
    classes = Counter(each.reason.split(":")[0] or "claimed" for each in lower if each.section != FRONT)
    assert classes == {"claimed": 14, "description": 9, "duty of the application": 1}
    assert {each.reason.split(":")[0] for each in COMMITTED.entries if each.section == FRONT} == {"licence"}


def test_lost_pages_are_told() -> None:
    (lost,) = (each for each in COMMITTED.entries if "lost in this text" in each.reason)
    assert (lost.section, lost.line, lost.keywords) == ("2.1.1", 225, ())


def test_removing_a_rule_fails() -> None:
    for rule in RULES:
        less = without(rule.id)
        assert len(identity_faults(less)) == 1
        gone = [fault for fault in faults(COMMITTED, less.rules) if f"claimed by {rule.id}, which" in fault]
        assert len(gone) == len(rule.claims)


def test_removing_a_rule_of_the_xml_that_claims_a_sentence_fails() -> None:
    identities = {each.claimed_by for each in COMMITTED.entries} - {rule.id for rule in RULES} - {""}
    assert len(identities) == 12
    for identity in identities:
        wrong = faults(COMMITTED, without(identity).rules)
        assert any(f"is claimed by {identity}, which is no rule." in fault for fault in wrong)


def test_adding_a_sentence_fails() -> None:
    said = "A server MUST be quick."
    (extra,) = build(COMMITTED.document, [Statement("4.7", 765, 1, said, "")], {}).entries
    (fault,) = faults(Ledger(COMMITTED.document, (*COMMITTED.entries, extra)), ALL)
    assert fault.startswith(f"The sentence {fingerprint(said)} in 4.7 at character 1 needs either a rule")


def test_adding_a_sentence_to_the_text_fails(tmp_path: Path) -> None:
    folder = texts()
    if folder is None:
        pytest.skip("the text is not at hand: AMQP_SPEC_DOCUMENTS names no folder")
    text = (folder / COMMITTED.document.file).read_text(encoding="utf-8")
    place = text.index("\n\n4.8 Error Handling 4.8.1")
    more = f"{text[:place]} A server MUST be quick.{text[place:]}"
    (tmp_path / "text.txt").write_text(more, encoding="utf-8")
    kept = {key(each.section, each.sha256): each.reason for each in COMMITTED.entries if each.reason}
    elsewhere: dict[str, list[str]] = {}
    for each in COMMITTED.entries:
        if each.claimed_by and not each.claimed_by.startswith(PREFIX):
            elsewhere.setdefault(key(each.section, each.sha256), []).append(each.claimed_by)
    made = build(COMMITTED.document, of_pages(tmp_path / "text.txt", RULES), kept, elsewhere)
    (fault,) = faults(made, ALL)
    assert fault.endswith("needs either a rule or a reason why it has none.")


def test_sentence_may_be_claimed_by_rules_of_two_documents() -> None:
    said = [Statement("1.1", 2, 0, "It MUST.", "t/a"), Statement("1.1", 2, 0, "It MUST.", "t/b")]
    elsewhere = {key("1.1", fingerprint("It MUST.")): ["u/c"]}
    made = build(COMMITTED.document, said, {}, elsewhere)
    assert [each.claimed_by for each in made.entries] == ["t/a", "u/c", "t/b"]
    alone = build(COMMITTED.document, [dataclasses.replace(said[0], rule="")], {}, elsewhere)
    assert [each.claimed_by for each in alone.entries] == ["u/c"]


def test_reason_that_refers_to_no_rule_of_another_document_fails() -> None:
    entry = next(each for each in COMMITTED.entries if each.reason)
    wrong = dataclasses.replace(entry, reason="description: as 0-9-1/queue.nothing says.")
    entries = tuple(wrong if each == entry else each for each in COMMITTED.entries)
    (fault,) = faults(Ledger(COMMITTED.document, entries), ALL)
    assert fault.endswith("has a reason that refers to 0-9-1/queue.nothing, which is no rule.")


def test_rules_name_only_rules() -> None:
    assert relation_faults(catalogue()) == ()


def test_reference_to_no_rule_is_noticed_across_documents() -> None:
    seen = next(rule for rule in RULES if "0-9-1/basic.01" in rule.related)
    assert f"{seen.id} refers to 0-9-1/basic.01, which is no rule." in relation_faults(
        without("0-9-1/basic.01")
    )
    like = f"{PREFIX}/4.2.3.unknown-frame-type-fatal"
    complaint = f"{PREFIX}/4.2.3.bad-frame-end-fatal refers to {like}, which is no rule."
    assert complaint in relation_faults(without(like))


def test_relation_is_seen_from_both_sides() -> None:
    known = catalogue()
    prose, xml = known[f"{PREFIX}/3.1.3.4.headers-instance"], known["0-9-1/exchange.required-instances"]
    assert xml in known.related(prose)
    assert prose in known.related(xml)
    assert prose not in known.related(prose)


def test_what_only_a_client_shows_judges_the_client() -> None:
    for each in RULES:
        assert (each.judged == Party.CLIENT) == (each.testability == Testability.CLIENT), each.id


def test_errors_named_are_those_of_the_xml() -> None:
    known = {each.name for each in grammar().constants if each.error_class}
    codes = {str(each.value) for each in grammar().constants if each.value >= 200}
    assert {each.on_failure for each in RULES if each.on_failure} <= known
    for each in RULES:
        said = f"{each.text} {each.scenario} {each.reading}"
        assert set(re.findall(r"\b[45]0\d\b|\b5[34]\d\b", said)) - {"400"} <= codes, each.id


def test_every_refusal_has_a_reading_that_says_what_a_miss_is() -> None:
    for each in RULES:
        if each.on_failure:
            assert "miss" in each.reading, each.id
            assert "Preferred" in each.reading or "Demanded" in each.reading, each.id


def test_what_is_a_may_is_recorded() -> None:
    for each in RULES:
        if each.level == Level.MAY and each.testability != Testability.UNTESTABLE:
            assert "recorded" in each.reading, each.id


def test_contradictions_have_readings() -> None:
    assert len(CONTRADICTORY) == 21
    assert all(catalogue()[f"{PREFIX}/{name}"].reading for name in CONTRADICTORY)


def test_no_sentence_is_copied() -> None:
    """Our words are ours: no run of eight of them stands in the text."""
    folder = texts()
    if folder is None:
        pytest.skip("the text is not at hand: AMQP_SPEC_DOCUMENTS names no folder")
    theirs = f" {' '.join(words((folder / COMMITTED.document.file).read_text(encoding='utf-8')))} "
    copied = [
        (each.id, run)
        for each in RULES
        for ours in map(words, (each.text, each.scenario, each.reason, each.reading))
        for run in (" ".join(ours[start : start + 8]) for start in range(len(ours) - 7))
        if f" {run} " in theirs
    ]
    assert copied == []


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9\-]+", text.lower())
