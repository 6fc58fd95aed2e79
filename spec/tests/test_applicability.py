"""Documents about what only some products promise: how they apply, and what they add to a protocol."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from spec.applicability import optional, protocol, said_of, unpromised, vocabulary
from spec.catalogue import DOCUMENTS, catalogue, index
from spec.readers.amqp0_9_1 import DOCUMENT, extended, grammar
from spec.readers.xml import DocumentError
from spec.selection import meant_alone

RABBITMQ = optional()["rabbitmq"]
ALL = dict.fromkeys(RABBITMQ.capabilities, True)


def altered(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_document_is_about_the_protocol_that_it_adds_to() -> None:
    assert {each.prefix: protocol(each.prefix) for each in catalogue().documents} == {
        "0-9-1": "0-9-1",
        "0-9-1/prose": "0-9-1",
        "0-9-1/grammar": "0-9-1",
        "1-0": "1-0",
        "1-0/grammar": "1-0",
        "fast": "fast",
        "rabbitmq": "0-9-1",
    }
    assert list(optional()) == ["rabbitmq"]


def test_it_applies_to_who_tells_all_of_it() -> None:
    assert unpromised("mine", "rabbitmq", (), {"capabilities": ALL}) == ""
    for missing in RABBITMQ.capabilities:
        for told in (
            {**ALL, missing: False},
            {key: True for key in ALL if key != missing},
            {**ALL, missing: 1},
        ):
            why = unpromised("mine", "rabbitmq", (), {"capabilities": told})
            assert why == f"mine does not promise it: not by its description, nor by telling {missing}"
    for nothing in ({}, {"capabilities": "basic.nack"}, {"capabilities": None}):
        assert unpromised("mine", "rabbitmq", (), nothing)


def test_it_applies_to_what_is_asked_for_or_claimed() -> None:
    assert unpromised("mine", "rabbitmq", ("rabbitmq",), {}) == ""
    assert unpromised("mine", "rabbitmq", ("1-0",), {})


@pytest.mark.parametrize(
    ("selectors", "asked"),
    [
        ((), set()),
        (("must",), set()),
        (("must", "document:rabbitmq"), {"rabbitmq"}),
        (("basic.nack",), {"rabbitmq"}),
        (("rabbitmq/*",), {"rabbitmq"}),
        (("*/basic.*",), set()),
        (("rabbitmq/*", "must", "!rabbitmq/basic.nack.*", "1-0/2.*"), {"rabbitmq", "1-0"}),
    ],
)
def test_a_document_is_asked_for_by_who_means_no_other(selectors: tuple[str, ...], asked: set[str]) -> None:
    assert meant_alone(catalogue().rules, selectors) == asked


def test_the_vocabulary_comes_from_all_documents_of_a_protocol() -> None:
    own, whole = grammar(), vocabulary("0-9-1")
    added = whole.methods.keys() - own.methods.keys()
    assert {each.partition(".")[0] for each in added} == {"basic", "exchange", "connection", "confirm"}
    assert [each.name for each in whole.classes] == [*(each.name for each in own.classes), "confirm"]
    assert whole.methods["basic.nack"].fields[0].asserts == own.methods["basic.ack"].fields[0].asserts


def test_a_method_is_defined_once() -> None:
    more = DOCUMENTS / "rabbitmq" / "methods.xml"
    with pytest.raises(DocumentError, match=r"methods\.xml: [a-z.-]+ is a method of another document"):
        extended(DOCUMENT, (more, more))


def test_a_reserved_field_gets_a_meaning() -> None:
    own, whole = (each.methods["exchange.declare"].fields for each in (grammar(), vocabulary("0-9-1")))
    meant = {new.name: old.name for old, new in zip(own, whole, strict=True) if old != new}
    assert meant == {"auto-delete": "reserved-2", "internal": "reserved-3"}


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("<field name='more' domain='bit' instead-of='durable'/>", "has no reserved bit durable"),
        ("<field name='more' domain='table' instead-of='reserved-2'/>", "has no reserved table reserved-2"),
        ("<field name='more' domain='bit' instead-of='reserved-9'/>", "has no reserved bit reserved-9"),
    ],
)
def test_no_other_field_gets_one(tmp_path: Path, field: str, says: str) -> None:
    path = tmp_path / "more.xml"
    path.write_text(
        "<amqp major='0' minor='9' revision='1' port='5672'><class name='exchange' handler='channel' "
        f"index='40'><method name='declare' index='10'>{field}</method></class></amqp>",
        encoding="utf-8",
    )
    with pytest.raises(DocumentError, match=says):
        extended(DOCUMENT, (path,))


def test_a_document_may_add_a_class(tmp_path: Path) -> None:
    path = tmp_path / "more.xml"
    method = "<method name='do' index='10'><chassis name='server' implement='MUST'/></method>"
    path.write_text(
        "<amqp major='0' minor='9' revision='1' port='5672'>"
        f"<class name='more' handler='channel' index='85'>{method}</class></amqp>",
        encoding="utf-8",
    )
    assert extended(DOCUMENT, (path,)).methods["more.do"].class_index == 85


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('protocol = "0-9-1"\n', "", "[rabbitmq] lacks the key 'protocol'."),
        ('protocol = "0-9-1"', 'protocol = "0-9"', "[rabbitmq] adds to '0-9', which is no document."),
        ("capabilities = [", "capability = [", "[rabbitmq] lacks the key 'capabilities'."),
        ("capabilities = [", "capabilities = [1, ", "[rabbitmq] has no list of names under 'capabilities'."),
    ],
)
def test_what_is_wrong_with_an_entry_is_said(folder: Path, old: str, new: str, says: str) -> None:
    altered(folder, "index.toml", old, new)
    with pytest.raises(DocumentError) as raised:
        index(folder)
    assert str(raised.value) == f"{folder / 'index.toml'}: {says}"


def test_every_rule_says_what_it_rests_upon() -> None:
    rules = [each for each in catalogue().rules if each.document == "rabbitmq"]
    assert len(rules) == 358
    assert all(each.source and each.is_in_our_words for each in rules)
    assert not any(each.source for each in catalogue().rules if each.document not in optional())


def test_the_versions_are_told_with_their_product() -> None:
    rule = next(each for each in catalogue().rules if each.document == "rabbitmq")
    assert said_of(replace(rule, versions=">=4.0")) == "RabbitMQ >=4.0"
    assert said_of(replace(rule, versions="")) == ""


def test_descriptions_may_claim_just_these() -> None:
    schema = json.loads((DOCUMENTS.parents[1] / "ci" / "targets" / "schema.json").read_text(encoding="utf-8"))
    assert schema["properties"]["documents"]["items"]["enum"] == list(optional())
