import hashlib
from pathlib import Path

import pytest

from spec.annotations import AnnotationError
from spec.catalogue import DOCUMENTS, UnknownRule, catalogue
from spec.readers.amqp0_9_1 import grammar
from spec.readers.xml import DocumentError
from spec.tests.faults import identity_faults

IDENTITY = "0-9-1/queue.declare.durable.persistence"
PERSISTENCE = '["0-9-1/queue.declare.durable.persistence"]'


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_document_is_named_with_its_revision_and_hash() -> None:
    document = catalogue().documents[0]
    octets = (DOCUMENTS / document.file).read_bytes()
    assert document.sha256 == hashlib.sha256(octets).hexdigest()
    assert document.revision == f"{grammar().major}-{grammar().minor}-{grammar().revision}" == document.prefix


def test_rule_is_found_by_identity() -> None:
    rule = catalogue()[IDENTITY]
    assert rule.id == IDENTITY
    assert rule.text == "The server MUST recreate the durable queue after a restart."
    assert rule.named("field") == "durable"
    assert rule.named("domain") is None


def test_catalogue_has_115_rules_of_0_9_1_of_which_51_scenarios_are_ours() -> None:
    rules = [rule for rule in catalogue().rules if rule.document == "0-9-1"]
    assert len(rules) == 115
    assert sum(rule.scenario_is_ours for rule in rules) == 51


def test_every_rule_has_a_text_and_a_scenario() -> None:
    assert len(catalogue().rules) == len(catalogue().by_identity)
    assert all(rule.scenario and rule.text for rule in catalogue().rules)


def test_document_that_is_not_copied_is_named_as_its_rules_name_it() -> None:
    document = next(each for each in catalogue().documents if each.prefix == "1-0")
    assert (document.prefix, document.file) == ("1-0", "amqp1-0-part2-transport.txt")
    assert "Committee Specification Draft 02" in document.revision
    assert len(document.sha256) == 64
    assert not (DOCUMENTS / document.file).exists()


def test_unknown_identity_says_what_is_near() -> None:
    with pytest.raises(KeyError) as caught:
        catalogue()["0-9-1/queue.declare.durable.persistance"]
    assert isinstance(caught.value, UnknownRule)
    sentence = str(caught.value)
    assert sentence.startswith(
        f"There is no rule '0-9-1/queue.declare.durable.persistance'; near are {IDENTITY}, "
    )


def test_identity_like_no_other_has_no_neighbours() -> None:
    with pytest.raises(UnknownRule, match=r"^There is no rule '\?\?'\.$"):
        catalogue()["??"]


def test_published_identities_are_those_of_the_catalogue() -> None:
    assert identity_faults(catalogue()) == ()


def test_identity_that_vanishes_is_noticed(folder: Path) -> None:
    replace(folder / "amqp0-9-1.xml", '<rule name="persistence">', '<rule name="endurance">')
    replace(
        folder / "amqp0-9-1.annotations.toml", PERSISTENCE, PERSISTENCE.replace("persistence", "endurance")
    )
    assert identity_faults(catalogue(folder), folder) == (
        f"{IDENTITY} was published in amqp0-9-1.identities.txt and has vanished without an alias.",
        "0-9-1/queue.declare.durable.endurance is not yet published in amqp0-9-1.identities.txt.",
    )


def test_renamed_rule_is_found_by_its_alias(folder: Path) -> None:
    new = IDENTITY.replace("persistence", "endurance")
    replace(folder / "amqp0-9-1.xml", '<rule name="persistence">', '<rule name="endurance">')
    replace(folder / "amqp0-9-1.annotations.toml", PERSISTENCE, f'["{new}"]')
    (folder / "amqp0-9-1.identities.txt").open("a", encoding="utf-8").write(f"{new}\n")
    (folder / "aliases.toml").write_text(f'"{IDENTITY}" = "{new}"\n', encoding="utf-8")
    assert identity_faults(catalogue(folder), folder) == ()
    assert catalogue(folder)[IDENTITY].id == new


def test_line_gone_from_the_published_identities_is_noticed(folder: Path) -> None:
    replace(folder / "amqp0-9-1.identities.txt", f"{IDENTITY}\n", "")
    assert identity_faults(catalogue(folder), folder) == (
        f"{IDENTITY} is not yet published in amqp0-9-1.identities.txt.",
    )


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (f'"{IDENTITY}" = "0-9-1/basic.01"', "is the identity of a living rule and cannot be an alias"),
        ('"0-9-1/old" = "0-9-1/new"', "0-9-1/old leads to 0-9-1/new, which is no rule"),
        ("old", "cannot be read"),
    ],
)
def test_alias_that_leads_nowhere_is_refused(folder: Path, line: str, complaint: str) -> None:
    (folder / "aliases.toml").write_text(line, encoding="utf-8")
    with pytest.raises(DocumentError, match=rf"aliases\.toml: .*{complaint}"):
        catalogue(folder)


@pytest.mark.parametrize(
    "key", ["title", "revision", "file", "reader", "identities", "ledger", "annotations"]
)
def test_index_lacks_a_key(folder: Path, key: str) -> None:
    lines = (folder / "index.toml").read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith(f"{key} =")]
    (folder / "index.toml").write_text("\n".join(kept), encoding="utf-8")
    with pytest.raises(DocumentError, match=rf"index\.toml: \[0-9-1\] lacks the key '{key}'\.$"):
        catalogue(folder)


def test_unknown_reader_is_refused(folder: Path) -> None:
    replace(folder / "index.toml", '"amqp xml with annotations"', '"tea leaves"')
    with pytest.raises(DocumentError, match=r"\[0-9-1\] has the unknown reader 'tea leaves'\.$"):
        catalogue(folder)


def test_missing_document_is_named(folder: Path) -> None:
    (folder / "amqp0-9-1.xml").unlink()
    with pytest.raises(DocumentError, match=r"amqp0-9-1\.xml: cannot be read"):
        catalogue(folder)


def test_rule_gone_from_the_document_leaves_its_annotation_behind(folder: Path) -> None:
    text = (folder / "amqp0-9-1.xml").read_text(encoding="utf-8")
    start = catalogue()[IDENTITY].place.offset
    end = text.index("</rule>", start) + len("</rule>")
    (folder / "amqp0-9-1.xml").write_text(text[:start] + text[end:], encoding="utf-8")
    with pytest.raises(
        AnnotationError, match=rf"\[{IDENTITY}\] annotates a rule that the document does not have"
    ):
        catalogue(folder)


def test_further_document_enters_by_an_entry(folder: Path) -> None:
    (folder / "more.xml").write_text(
        "<amqp><class name='c'><rule name='r'><doc>It MUST.</doc></rule></class></amqp>", encoding="utf-8"
    )
    keys = (
        ("level", "must"),
        ("binds", "peer"),
        ("judged", "peer"),
        ("testability", "active"),
        ("scenario", "Try."),
    )
    table = "\n".join(f'{key} = "{value}"' for key, value in keys)
    (folder / "more.toml").write_text(f'["more/c.r"]\n{table}\n', encoding="utf-8")
    names = {"file": "more.xml", "annotations": "more.toml", "identities": "more.txt", "ledger": "more.json"}
    names |= {"title": "More", "revision": "1", "reader": "amqp xml with annotations"}
    entry = "\n".join(f'{key} = "{value}"' for key, value in names.items())
    (folder / "index.toml").open("a", encoding="utf-8").write(f"\n[more]\n{entry}\n")
    known = [each.prefix for each in catalogue().documents]
    assert [each.prefix for each in catalogue(folder).documents] == [*known, "more"]
    assert catalogue(folder).rules[-1].id == "more/c.r"
