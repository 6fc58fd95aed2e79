"""The ledger of a document that is not among our files: always checked, rebuilt where the text is at hand."""

import dataclasses
import hashlib
from pathlib import Path

import pytest

from spec import ledger
from spec.catalogue import DOCUMENTS, catalogue
from spec.ledger import Entry, Ledger, dump, faults, load, rebuild, texts
from spec.readers.keywords import fingerprint
from spec.readers.pages import FRONT
from spec.readers.xml import DocumentError
from spec.rules import Level
from spec.tests.faults import identity_faults

FILE = DOCUMENTS / "amqp1-0-part2.ledger.json"
COMMITTED = load(FILE)
RULES = tuple(rule for rule in catalogue().rules if rule.document == "1-0")


def test_ledger_and_catalogue_agree() -> None:
    assert faults(COMMITTED, RULES) == ()
    assert COMMITTED.document == next(each for each in catalogue().documents if each.prefix == "1-0")


def test_committed_file_is_what_a_rebuild_gives() -> None:
    folder = texts()
    if folder is None:
        pytest.skip("the text is not at hand: AMQP_SPEC_DOCUMENTS names no folder")
    made = dict(rebuild(DOCUMENTS, catalogue(), folder))
    assert dump(made[FILE]) == FILE.read_text(encoding="utf-8")


def test_every_keyword_is_counted() -> None:
    assert len({(each.line, each.sha256) for each in COMMITTED.entries if each.keywords}) == 206


def test_every_keyword_is_a_rule_s_but_a_few() -> None:
    free = [each for each in COMMITTED.entries if each.section != FRONT and each.keywords and each.reason]
    assert [(each.section, each.line) for each in free] == [
        ("2.1.1", 204),
        ("2.3", 293),
        ("2.3.1", 322),
        ("2.4.2", 358),
        ("2.5.5", 523),
        ("2.5.6", 568),
        ("2.5.6", 568),
        ("2.6.12", 768),
        ("2.7.1", 882),
        ("2.7.1", 890),
    ]
    assert all(each.reason.startswith("description: ") for each in free)


def test_lost_lists_are_told() -> None:
    lost = [each for each in COMMITTED.entries if "lost in this text" in each.reason]
    assert [(each.section, each.line, each.keywords) for each in lost] == [("2.2", 274, ())]
    told = {rule.id for rule in RULES if "lost in this text" in " ".join(rule.reading.split())}
    announced = {
        each.claimed_by for each in COMMITTED.entries if (each.section, each.line) == ("2.6.13", 834)
    }
    assert announced == told


def test_removing_a_rule_fails() -> None:
    for rule in RULES:
        others = tuple(each for each in catalogue().rules if each.id != rule.id)
        assert len(identity_faults(dataclasses.replace(catalogue(), rules=others))) == 1
        gone = [fault for fault in faults(COMMITTED, others) if f"claimed by {rule.id}, which" in fault]
        assert len(gone) == len(rule.claims)


def test_removing_an_entry_fails() -> None:
    for entry in COMMITTED.entries:
        if entry.claimed_by:
            less = Ledger(COMMITTED.document, tuple(each for each in COMMITTED.entries if each != entry))
            (fault, *_) = faults(less, RULES)
            assert fault.startswith(f"The rule {entry.claimed_by} claims {entry.sha256} on line {entry.line}")


def test_rule_that_claims_less_than_the_ledger_says_fails() -> None:
    rule = next(each for each in RULES if len(each.claims) > 1)
    less = dataclasses.replace(rule, claims=rule.claims[:1])
    wrong = faults(COMMITTED, [less if each == rule else each for each in RULES])
    assert any(fault.startswith(f"The rule {rule.id} does not claim ") for fault in wrong)


def test_level_that_is_no_keyword_s_needs_a_reason() -> None:
    plain = next(each for each in RULES if each.level == Level.MUST and not each.reason)
    weaker = dataclasses.replace(plain, level=Level.MAY)
    wrong = faults(COMMITTED, [weaker if each == plain else each for each in RULES])
    assert wrong == (f"The rule {plain.id} needs a reason: no keyword of its sentences is of level may.",)
    argued = dataclasses.replace(weaker, reason="Because.")
    assert faults(COMMITTED, [argued if each == plain else each for each in RULES]) == ()


def test_sentence_is_nowhere_in_the_file() -> None:
    assert {field.name for field in dataclasses.fields(Entry)} == {
        "section",
        "line",
        "offset",
        "sha256",
        "keywords",
        "claimed_by",
        "reason",
    }


TEXT = "1.1 Peers\nA peer MUST do it. It is so. Others may not care. A peer should know.\n"


def small(folder: Path, text: str = TEXT, claimed: str = "A peer MUST do it.", digest_of: str = "") -> Path:
    """Make a folder of documents with one rule on a text that lies beside it."""
    documents = folder / "documents"
    documents.mkdir()
    (folder / "text.txt").write_text(text, encoding="utf-8")
    digest = hashlib.sha256((digest_of or text).encode()).hexdigest()
    where = f'section="1.1" line="2" sha256="{fingerprint(claimed)}"'
    (documents / "rules.xml").write_text(
        f'<document prefix="t" title="T" revision="1" text="text.txt" sha256="{digest}">'
        f'<rule name="r" {where} level="must" binds="peer" judged="server" testability="active">'
        '<doc>Do.</doc><doc type="scenario">Try.</doc></rule></document>',
        encoding="utf-8",
    )
    for name in ("aliases.toml", "one-fault.toml"):
        (documents / name).write_text("", encoding="utf-8")
    (documents / "index.toml").write_text(
        '[t]\nfile = "rules.xml"\nreader = "envelope"\nidentities = "i.txt"\nledger = "l.json"\n',
        encoding="utf-8",
    )
    return documents


def made(documents: Path) -> Ledger:
    ((path, found),) = rebuild(documents, catalogue(documents), documents.parent)
    assert path == documents / "l.json"
    return found


def test_small_text_is_listed(tmp_path: Path) -> None:
    documents = small(tmp_path)
    found = made(documents)
    assert [(each.line, each.keywords, each.claimed_by) for each in found.entries] == [
        (2, ("MUST",), "t/1.1.r"),
        (2, ("should",), ""),
    ]
    (fault,) = faults(found, catalogue(documents).rules)
    assert fault.endswith("needs either a rule or a reason why it has none.")


def test_reason_is_kept_and_lists_what_has_no_keyword(tmp_path: Path) -> None:
    documents = small(tmp_path)
    found = made(documents)
    reason = "description: of no consequence."
    bare = Entry("1.1", 0, 0, fingerprint("It is so."), (), "", reason)
    last = dataclasses.replace(found.entries[-1], reason=reason)
    kept = Ledger(found.document, (found.entries[0], bare, last))
    (documents / "l.json").write_text(dump(kept), encoding="utf-8")
    again = made(documents)
    assert [(each.keywords, each.reason) for each in again.entries[1:]] == [
        ((), reason),
        (("should",), reason),
    ]
    assert faults(again, catalogue(documents).rules) == ()


def test_claimed_sentence_without_keyword_is_listed(tmp_path: Path) -> None:
    found = made(small(tmp_path, claimed="It is so."))
    assert [(each.keywords, each.claimed_by) for each in found.entries] == [
        (("MUST",), ""),
        ((), "t/1.1.r"),
        (("should",), ""),
    ]


def test_adding_a_sentence_fails(tmp_path: Path) -> None:
    documents = small(tmp_path, f"{TEXT}A server MUST be quick.\n", digest_of=TEXT)
    with pytest.raises(DocumentError, match=r"text\.txt: is not the judged text"):
        made(documents)


def test_adding_a_sentence_to_the_judged_text_needs_a_rule_or_a_reason(tmp_path: Path) -> None:
    documents = small(tmp_path, f"{TEXT}A server MUST be quick.\n")
    wrong = faults(made(documents), catalogue(documents).rules)
    assert sum(fault.endswith("needs either a rule or a reason why it has none.") for fault in wrong) == 2


def test_claim_that_fits_no_sentence_fails(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"text\.txt:2: t/1\.1\.r claims"):
        made(small(tmp_path, claimed="A peer MUST do that."))


def test_without_the_text_the_ledger_is_left_alone_and_still_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = small(tmp_path)
    text = dump(made(documents))
    (documents / "l.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr(ledger, "DOCUMENTS", documents)
    monkeypatch.setattr(ledger, "catalogue", lambda: catalogue(documents))
    monkeypatch.delenv(ledger.TEXTS, raising=False)
    assert list(rebuild(documents, catalogue(documents), texts())) == []
    assert ledger.main() == 1
    assert "needs either a rule or a reason" in capsys.readouterr().out
    assert (documents / "l.json").read_text(encoding="utf-8") == text


def test_with_the_text_the_ledger_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = small(tmp_path, "1.1 Peers\nA peer MUST do it.\n")
    monkeypatch.setattr(ledger, "DOCUMENTS", documents)
    monkeypatch.setattr(ledger, "catalogue", lambda: catalogue(documents))
    monkeypatch.setenv(ledger.TEXTS, str(tmp_path))
    assert ledger.main() == 0
    assert capsys.readouterr().out == ""
    assert load(documents / "l.json") == made(documents)


def test_text_that_should_be_at_hand_and_is_not(tmp_path: Path) -> None:
    documents = small(tmp_path)
    (tmp_path / "text.txt").unlink()
    with pytest.raises(DocumentError, match=r"text\.txt: cannot be read"):
        made(documents)
