import dataclasses
import json
from collections import Counter
from pathlib import Path

import pytest

from spec import ledger
from spec.annotations import AnnotationError
from spec.catalogue import DOCUMENTS, catalogue
from spec.ledger import Ledger, build, dump, faults, key, load, rebuild
from spec.readers.xml import DocumentError
from spec.statements import of_definition
from spec.tests.faults import identity_faults

FILE = DOCUMENTS / "amqp0-9-1.ledger.json"
COMMITTED = load(FILE)
ALL = catalogue().rules
RULES = tuple(rule for rule in ALL if rule.document == "0-9-1")
IDENTITY = "0-9-1/queue.declare.durable.persistence"


def rebuilt(folder: Path) -> Ledger:
    return next(each for _, each in rebuild(folder, catalogue(folder)))


def edited(folder: Path, old: str, new: str) -> Ledger:
    """Build the ledger of the document after `old`, which stands in it once, became `new`."""
    path = folder / "amqp0-9-1.xml"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    return rebuilt(folder)


def test_committed_file_is_what_a_rebuild_gives() -> None:
    made = dict(rebuild(DOCUMENTS, catalogue()))[FILE]
    assert dump(made) == FILE.read_text(encoding="utf-8")


def test_rebuild_keeps_reasons_and_writes_the_same_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "DOCUMENTS", folder)
    assert ledger.main() == 0
    assert (folder / FILE.name).read_bytes() == FILE.read_bytes()


def test_rebuild_without_reasons_lists_what_needs_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / FILE.name).unlink()
    monkeypatch.setattr(ledger, "DOCUMENTS", folder)
    assert ledger.main() == 1
    assert capsys.readouterr().out.count("needs either a rule or a reason why it has none.") == 31


def test_ledger_names_the_document_of_the_catalogue() -> None:
    assert COMMITTED.document == catalogue().documents[0]


def test_ledger_and_catalogue_agree() -> None:
    assert faults(COMMITTED, ALL) == ()


def test_every_sentence_in_capitals_is_a_rule_s() -> None:
    capitals = [each for each in COMMITTED.entries if any(word.isupper() for word in each.keywords)]
    assert capitals
    assert [each for each in capitals if not each.claimed_by] == []


def test_the_sentence_outside_every_rule_element_is_claimed_by_one_of_the_prose() -> None:
    others = [each for each in COMMITTED.entries if each.claimed_by.startswith("0-9-1/prose/")]
    assert [(each.section, each.claimed_by.rpartition("/")[2]) for each in others] == [
        ("tx", "2.2.9.transaction-covers-publish-and-ack")
    ]
    wrong = faults(COMMITTED, [rule for rule in ALL if rule.id != others[0].claimed_by])
    assert [fault for fault in wrong if "which is no rule." in fault]


def test_comments_on_what_a_server_sends_are_claimed_by_rules_of_the_grammar() -> None:
    others = [each for each in COMMITTED.entries if each.claimed_by.startswith("0-9-1/grammar/")]
    assert [f"0-9-1/grammar/{each.section}.reserved-1.carries" for each in others] == [
        each.claimed_by for each in others
    ]
    assert [each.section for each in others] == ["connection.open-ok", "channel.open-ok", "basic.get-empty"]


def test_no_sentence_waits_for_a_rule() -> None:
    assert not [each for each in COMMITTED.entries if each.reason.startswith("no rule yet")]


def test_classes_of_reasons() -> None:
    classes = Counter(each.reason.split(":")[0] for each in COMMITTED.entries if each.reason)
    assert set(classes) <= set(ledger.REASONS)
    assert classes["grammar"] == 15


def test_offset_leads_to_the_sentence() -> None:
    text = (DOCUMENTS / "amqp0-9-1.xml").read_text(encoding="utf-8")
    for entry in COMMITTED.entries:
        sentence = text[entry.offset :].split("</doc>")[0].split("-->")[0]
        assert entry.keywords[0].split()[0] in sentence
        assert text[entry.offset - 1] in " >"


def test_removing_a_rule_fails() -> None:
    """Every one of the 115: by its sentences or, where they have no keyword, by its identity."""
    path = DOCUMENTS / "amqp0-9-1.xml"
    kept = {key(each.section, each.sha256): each.reason for each in COMMITTED.entries if each.reason}
    elsewhere = {
        key(each.section, each.sha256): [each.claimed_by]
        for each in COMMITTED.entries
        if each.claimed_by.startswith(("0-9-1/prose/", "0-9-1/grammar/"))
    }
    assert build(COMMITTED.document, of_definition(path, ALL), kept, elsewhere) == COMMITTED
    for rule in RULES:
        others = tuple(each for each in catalogue().rules if each.id != rule.id)
        less = dataclasses.replace(catalogue(), rules=others)
        assert len(identity_faults(less)) == 1
        claims = sum(each.claimed_by == rule.id for each in COMMITTED.entries)
        gone = [fault for fault in faults(COMMITTED, less.rules) if f"claimed by {rule.id}, which" in fault]
        assert len(gone) == claims
        made = build(COMMITTED.document, of_definition(path, less.rules), kept, elsewhere)
        assert (made != COMMITTED) == (claims > 0)


def test_rules_without_any_keyword_are_the_two_on_syntax() -> None:
    claimed = {each.claimed_by for each in COMMITTED.entries}
    assert [rule.id for rule in RULES if rule.id not in claimed] == [
        "0-9-1/exchange.declare.exchange.syntax",
        "0-9-1/queue.declare.queue.syntax",
    ]


def test_adding_a_sentence_fails(folder: Path) -> None:
    old = "This method confirms the deletion of a queue."
    made = edited(folder, old, f"{old} A server MUST be quick.")
    assert dump(made) != FILE.read_text(encoding="utf-8")
    (fault,) = faults(made, catalogue(folder).rules)
    assert "in queue.delete-ok at character" in fault
    assert fault.endswith("needs either a rule or a reason why it has none.")


def test_changing_a_sentence_fails(folder: Path) -> None:
    made = edited(
        folder, "The server MUST recreate the durable queue", "The server MUST revive the durable queue"
    )
    assert [each.sha256 for each in made.entries] != [each.sha256 for each in COMMITTED.entries]
    assert made.document.sha256 != COMMITTED.document.sha256


def test_removing_a_sentence_fails(folder: Path) -> None:
    made = edited(folder, "The client should not wait for a reply method.", "")
    assert len(made.entries) == len(COMMITTED.entries) - 1


def test_removing_an_annotation_key_fails(folder: Path) -> None:
    path = folder / "amqp0-9-1.annotations.toml"
    table = f'["{IDENTITY}"]\nlevel = "must"\n'
    text = path.read_text(encoding="utf-8")
    assert table in text
    path.write_text(text.replace(table, f'["{IDENTITY}"]\n'), encoding="utf-8")
    with pytest.raises(AnnotationError, match="lacks the key 'level'"):
        rebuilt(folder)


def test_claim_by_an_identity_that_is_gone_fails() -> None:
    entries = tuple(
        dataclasses.replace(each, claimed_by="0-9-1/gone") if each.claimed_by == IDENTITY else each
        for each in COMMITTED.entries
    )
    wrong = faults(Ledger(COMMITTED.document, entries), ALL)
    assert any("is claimed by 0-9-1/gone, which is no rule." in fault for fault in wrong)
    assert f"The rule {IDENTITY} has a keyword and claims no sentence." in wrong


@pytest.mark.parametrize(
    ("reason", "complaint"),
    [
        ("", "needs either a rule or a reason"),
        ("for no reason at all", "has a reason that begins with none of"),
        ("description: see 0-9-1/nowhere.", "has a reason that refers to 0-9-1/nowhere, which is no rule."),
    ],
)
def test_reason_that_is_none_fails(reason: str, complaint: str) -> None:
    first = dataclasses.replace(next(each for each in COMMITTED.entries if each.reason), reason=reason)
    (fault,) = faults(Ledger(COMMITTED.document, (first,)), ())
    assert complaint in fault


def test_same_words_elsewhere_need_a_reason_of_their_own(folder: Path) -> None:
    sentence = "The client should not wait for a reply method."
    old = "This method confirms the deletion of a queue."
    made = edited(folder, old, f"{old} {sentence}")
    assert [each.section for each in made.entries if not each.reason and not each.claimed_by] == [
        "queue.delete-ok"
    ]


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"document": {}, "sentences": []}'])
def test_what_is_no_ledger_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ledger.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(DocumentError, match=r"ledger\.json: is no ledger"):
        load(path)


def test_committed_file_is_plain_json_with_one_sentence_per_line() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert len(text.splitlines()) == len(json.loads(text)["sentences"]) + 5


def test_doc_with_markup_inside_is_refused(folder: Path) -> None:
    old = "This method confirms the deletion of a queue."
    with pytest.raises(DocumentError, match="holds more than text"):
        edited(folder, old, f"{old} It <b>MUST</b>.")
