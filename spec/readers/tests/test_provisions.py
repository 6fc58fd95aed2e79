from pathlib import Path

import pytest
from lxml import etree

from spec.readers.amqp0_9_1 import DOCUMENT, grammar
from spec.readers.provisions import Provision, elements, provisions
from spec.readers.xml import DocumentError

TEXT = DOCUMENT.read_text(encoding="utf-8")
RULES = provisions(DOCUMENT, "0-9-1")


def by_identity(identity: str) -> Provision:
    return next(each for each in RULES if each.id == f"0-9-1/{identity}")


def test_counts_of_the_document() -> None:
    scenarios = etree.parse(DOCUMENT).findall(".//rule/doc[@type='scenario']")
    assert len(RULES) == 115
    assert len(scenarios) == 82
    assert sum((each.text or "").strip() == "TODO." for each in scenarios) == 18
    assert sum(each.scenario is None for each in RULES) == 115 - 82 + 18
    assert sum(each.on_failure is not None for each in RULES) == 30


def test_every_on_failure_names_a_constant_with_a_class() -> None:
    classes = {each.name: each.error_class for each in grammar().constants}
    assert all(classes[each.on_failure] for each in RULES if each.on_failure)


def test_offset_leads_to_the_rule_itself() -> None:
    for rule in RULES:
        assert TEXT.startswith(f'<rule name="{rule.name}"', rule.place.offset)


def test_rules_come_in_document_order() -> None:
    offsets = [each.place.offset for each in RULES]
    assert offsets == sorted(offsets)


@pytest.mark.parametrize(
    ("identity", "name", "section", "path"),
    [
        ("basic.01", "01", "basic", "class basic / rule 01"),
        ("queue.unbind.01", "01", "queue.unbind", "class queue / method unbind / rule 01"),
        (
            "queue.declare.durable.persistence",
            "persistence",
            "queue.declare",
            "class queue / method declare / field durable / rule persistence",
        ),
        (
            "domain.delivery-tag.non-zero",
            "non-zero",
            "domain.delivery-tag",
            "domain delivery-tag / rule non-zero",
        ),
        ("tx.not-multiple-queues", "not multiple queues", "tx", "class tx / rule not multiple queues"),
    ],
)
def test_identity_name_section_and_place(identity: str, name: str, section: str, path: str) -> None:
    rule = by_identity(identity)
    assert (rule.name, rule.section) == (name, section)
    assert str(rule.place) == f"{path} (character {rule.place.offset})"


def test_two_texts_of_one_rule_are_joined() -> None:
    text = by_identity("exchange.required-instances").text
    assert text.startswith("The server MUST, in each virtual host, pre-declare an exchange instance")
    assert text.endswith("that serves as a default exchange for Publish methods.")


def test_comment_in_a_rule_is_not_its_text() -> None:
    assert "not testable" not in by_identity("connection.start-ok.client-properties.required-fields").text


def test_todo_is_no_scenario() -> None:
    assert by_identity("exchange.declare.type.typed").scenario is None
    assert by_identity("queue.declare.durable.persistence").scenario


def test_elements_in_comments_do_not_count() -> None:
    source = "<a><!-- <rule/> --><rule name='x'>in</rule><rules/><rule/></a>"
    found = list(elements(source, "rule"))
    assert [source[each.inner : each.end] for each in found] == ["in", ""]


@pytest.mark.parametrize(
    ("inside", "complaint"),
    [
        ("<class name='c'><rule><doc>x</doc></rule></class>", "a <rule> lacks the attribute 'name'"),
        ("<class name='c'><rule name='r'/></class>", "a <rule> without text"),
        ("<rule name='r'><doc>x</doc></rule>", "a <rule> has no business here"),
        (
            "<class name='c'>" + "<rule name='r'><doc>x</doc></rule>" * 2 + "</class>",
            "two rules are called p/c.r",
        ),
    ],
)
def test_broken_rule_is_refused(tmp_path: Path, inside: str, complaint: str) -> None:
    path = tmp_path / "broken.xml"
    path.write_text(f"<amqp>{inside}</amqp>", encoding="utf-8")
    with pytest.raises(DocumentError, match=rf"broken\.xml:1: {complaint}"):
        provisions(path, "p")
