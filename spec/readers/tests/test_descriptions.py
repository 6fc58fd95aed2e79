"""What the document says of every field and property a server sends: each is claimed by one rule."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from spec.catalogue import DOCUMENTS, catalogue
from spec.grammar.amqp0_9_1.families import families
from spec.grammar.amqp0_9_1.members import from_server
from spec.grammar.amqp0_9_1.rules import PREFIX, derived
from spec.ledger import build, dump, faults, load, rebuild
from spec.readers.amqp0_9_1 import DOCUMENT, grammar
from spec.readers.descriptions import Description, descriptions
from spec.readers.xml import DocumentError
from spec.rules import Level, Rule, Testability
from spec.statements import of_descriptions

FILE = DOCUMENTS / "amqp0-9-1.grammar.ledger.json"
COMMITTED = load(FILE)
FOUND = descriptions(DOCUMENT)
RULES = [each.rule for each in derived()]
EXCEPTIONS = families().by_key["carries"].members
CLAIMING = [each for each in RULES if each.claims]


def told(name: str) -> Description:
    """Find the description of a field by its class, method and name."""
    return next(each for each in FOUND if ".".join(part for _, part in each.path) == name)


def rule(name: str) -> Rule:
    return next(each for each in RULES if each.id == f"{PREFIX}/{name}")


def test_every_field_and_property_a_server_sends_is_described() -> None:
    spec = grammar()
    fields = [f"{m.full_name}.{f.name}" for m in spec.methods.values() if from_server(m) for f in m.fields]
    properties = [f"{owner.name}.{each.name}" for owner in spec.classes for each in owner.properties]
    names = [".".join(part for _, part in each.path) for each in FOUND]
    assert sorted(names) == sorted(fields + properties)
    assert (len(fields), len(properties)) == (43, 14)
    assert [each for each in FOUND if not each.text] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "queue.purge-ok.message-count",
            "number of messages in queue. Reports the number of messages purged.",
        ),
        ("basic.cancel-ok.consumer-tag", "consumer tag. Identifier for the consumer, valid within the"),
        ("basic.get-ok.routing-key", "Message routing key. Specifies the routing key name specified when"),
        ("basic.get-empty.reserved-1", 'Deprecated: "cluster-id", must be empty'),
        ("basic.priority", "message priority, 0 to 9"),
    ],
)
def test_text_is_the_field_s_own_or_its_domain_s(name: str, text: str) -> None:
    assert told(name).text.startswith(text)


def test_place_is_where_the_field_begins() -> None:
    source = DOCUMENT.read_text(encoding="utf-8")
    for each in FOUND:
        assert source.startswith(f'<field name="{each.path[-1][1]}"', each.offset)


def test_each_description_is_claimed_by_one_rule() -> None:
    claims = Counter(claim for each in CLAIMING for claim in each.claims)
    assert claims == Counter(each.claim for each in FOUND)
    assert set(claims.values()) == {1}
    assert {each.claimed_by for each in COMMITTED.entries} == {each.id for each in CLAIMING}
    assert [each for each in COMMITTED.entries if each.reason] == []


def test_committed_file_is_what_a_rebuild_gives() -> None:
    assert dump(dict(rebuild(DOCUMENTS, catalogue()))[FILE]) == FILE.read_text(encoding="utf-8")
    assert faults(COMMITTED, catalogue().rules) == ()


def test_removing_a_rule_fails() -> None:
    for gone in CLAIMING:
        others = [each for each in RULES if each.id != gone.id]
        assert [each for each in faults(COMMITTED, others) if f"claimed by {gone.id}, which" in each]
        made = build(COMMITTED.document, of_descriptions(DOCUMENT, others), {})
        (open_,) = [each for each in faults(made, others) if "needs either a rule or a reason" in each]
        assert f" in {gone.section} " in open_


def test_adding_a_field_fails(tmp_path: Path) -> None:
    old = '<method name="cancel-ok" synchronous="1" index="31" label="confirm a cancelled consumer">'
    text = DOCUMENT.read_text(encoding="utf-8")
    at = text.index("</method>", text.index(old))
    path = tmp_path / "more.xml"
    path.write_text(f'{text[:at]}<field name="why" domain="reply-text"/>{text[at:]}', encoding="utf-8")
    made = build(COMMITTED.document, of_descriptions(path, RULES), {})
    (fault,) = faults(made, RULES)
    assert "in basic.cancel-ok at character" in fault
    assert fault.endswith("needs either a rule or a reason why it has none.")
    assert {each.rule.id for each in derived(path)} - {each.id for each in RULES} == {
        f"{PREFIX}/basic.cancel-ok.{name}" for name in ("why.carries", "why.keeps-notnull")
    }


def test_changing_a_description_fails(tmp_path: Path) -> None:
    old = "Reports the number of messages purged."
    path = tmp_path / "other.xml"
    path.write_text(DOCUMENT.read_text(encoding="utf-8").replace(old, "Reports nothing."), encoding="utf-8")
    with pytest.raises(DocumentError, match=r"queue\.purge-ok\.message-count\.carries claims"):
        list(of_descriptions(path, RULES))


def test_level_is_what_the_document_asks_of_a_server() -> None:
    levels = {
        each.id.removeprefix(f"{PREFIX}/"): each.level for each in RULES if each.name.endswith("carries")
    }
    assert {name for name, level in levels.items() if level is Level.MUST} == {
        "connection.start.locales.carries",
        "basic.deliver.delivery-tag.carries",
        "basic.get-ok.delivery-tag.carries",
    }
    assert set(levels.values()) == {Level.MUST, Level.SHOULD}
    assert all(rule(name).reason for name in levels)


def test_what_cannot_be_compared_says_why() -> None:
    untold = [each for each in RULES if each.claims and each.testability is Testability.UNTESTABLE]
    fields = {each.place.path[-2][1] for each in untold if each.name.endswith("carries")}
    assert fields == {"challenge", "heartbeat", "reply-text"}
    assert all(each.reason for each in untold)


def test_readings_and_relations_are_of_fields_there_are() -> None:
    names = {".".join(part for _, part in each.path) for each in FOUND}
    assert {*EXCEPTIONS} <= names
    assert "0-9-1/domain.delivery-tag.non-zero" in rule("basic.get-ok.delivery-tag.carries").related
    assert "0-9-1/basic.publish.mandatory.01" in rule("basic.return.exchange.carries").related


def test_rule_of_another_document_claims_no_description() -> None:
    stray = replace(rule("basic.get-ok.exchange.carries"), claims=(replace(FOUND[0].claim, sha256="0" * 16),))
    with pytest.raises(DocumentError, match=r"basic\.get-ok\.exchange\.carries claims"):
        list(of_descriptions(DOCUMENT, [stray]))
