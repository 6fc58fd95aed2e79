"""The rules derived from the grammar: complete, stable, and read from the file instead of a list."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spec.catalogue import DOCUMENTS, catalogue
from spec.grammar.amqp0_9_1.families import families
from spec.grammar.amqp0_9_1.members import MEMBERS, Subject, table_types
from spec.grammar.amqp0_9_1.rules import PREFIX, derived, family
from spec.grammar.derived import Derived
from spec.ledger import faults, load
from spec.readers.amqp0_9_1 import DOCUMENT, grammar
from spec.rules import Level, Party, Rule, Testability
from spec.tests.faults import identity_faults

SPEC = grammar()
FAMILIES = families().by_key.values()
FOUND = derived()
RULES = {each.rule.id: each.rule for each in FOUND}


def rule(name: str) -> Rule:
    return RULES[f"{PREFIX}/{name}"]


def of(key: str) -> list[Derived[Subject]]:
    return [each for each in FOUND if each.family == key]


def altered(folder: Path, old: str, new: str) -> dict[str, Rule]:
    """Read the rules of a document in which one thing is otherwise."""
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path = folder / "altered.xml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return {each.rule.id: each.rule for each in derived(path)}


def test_identities_are_unique_and_plain() -> None:
    assert len(RULES) == len(FOUND) == 457
    assert len({name.lower() for name in RULES}) == len(RULES)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-./") for name in RULES)


def test_every_family_has_members_and_every_member_its_words() -> None:
    assert {each.key for each in FAMILIES} == set(MEMBERS) == {each.family for each in FOUND}
    assert not any("{" in f"{each.text}{each.scenario}{each.name}" for each in RULES.values())


def test_the_catalogue_has_them_in_the_order_of_the_document() -> None:
    listed = [each for each in catalogue().rules if each.document == PREFIX]
    # What one fault breaks together with other rules is known to the catalogue alone.
    assert [replace(each, faults=()) for each in listed] == [each.rule for each in FOUND]
    offsets = [each.place.offset for each in listed if each.place.offset]
    assert offsets == sorted(offsets)


def test_place_is_where_the_element_begins() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for name, begins in (
        ("queue.declare.answers", '<method name="declare"'),
        ("queue.declare.queue.assert-length", '<field name="queue" domain="queue-name"'),
        ("constant.not-found.level", '<constant name="not-found"'),
        ("basic.content-type.round-trip", '<field name="content-type"'),
        ("tx.unknown-method", '<class name="tx"'),
    ):
        assert text.startswith(begins, rule(name).place.offset), name


def test_every_method_of_the_server_is_answered_or_implemented() -> None:
    served = {name for name, method in SPEC.methods.items() if "server" in method.chassis}
    assert {
        each.about.method.full_name for each in of("answers") + of("implemented") if each.about.method
    } == served
    assert rule("basic.get.answers").text.endswith("answers it with basic.get-ok or basic.get-empty.")


def test_level_is_the_weaker_of_class_and_method() -> None:
    assert rule("queue.declare.answers").level is Level.MUST
    assert rule("tx.select.answers").level is Level.SHOULD
    assert rule("basic.recover-async.implemented").level is Level.MAY
    assert rule("basic.deliver.client-implements").level is Level.MAY
    assert rule("tx.select-ok.wrong-way").level is Level.SHOULD


def test_duties_of_the_client_need_a_client() -> None:
    for each in of("client"):
        assert (each.rule.binds, each.rule.judged) == (Party.CLIENT, Party.CLIENT)
        assert each.rule.testability is Testability.CLIENT
    assert rule("basic.deliver.client-implements").reason


def test_what_cannot_be_judged_says_why() -> None:
    beyond = [each.rule for each in FOUND if each.rule.testability is Testability.UNTESTABLE]
    assert all(each.reason for each in beyond)
    assert len(beyond) == 1 + 1 + 4
    judged = {each.rule.id for key in MEMBERS for each in family(key)}
    assert judged.isdisjoint(each.id for each in beyond)


def test_who_binds_the_client_and_judges_the_server_is_argued() -> None:
    assert [each.id for each in RULES.values() if each.binds != each.judged and not each.reason] == []


def test_every_exception_is_about_something_there_is() -> None:
    for family_ in FAMILIES:
        assert set(family_.members) <= {each.about.full_name for each in of(family_.key)}


def test_table_types_have_tags_of_their_own() -> None:
    assert len({each.tag for each in table_types()}) == len({each.name for each in table_types()}) == 18


def test_related_are_the_rules_about_the_same_field_or_error() -> None:
    known = {each.id for each in catalogue().rules}
    assert "0-9-1/queue.declare.queue.syntax" in rule("queue.declare.queue.assert-regexp").related
    assert "0-9-1/queue.declare.exclusive.exclusive" in rule("constant.resource-locked.level").related
    assert {name for each in RULES.values() for name in each.related} <= known


def test_related_are_the_rules_of_the_prose_about_the_same() -> None:
    for family_ in FAMILIES:
        for each in of(family_.key):
            assert set(each.rule.related) >= set(family_.see)
    assert sum(bool(each.related) for each in RULES.values()) > len(RULES) / 2


def test_removing_a_rule_fails() -> None:
    """For most of them no sentence stands: they are missed by their published identity."""
    assert identity_faults(catalogue()) == ()
    for identity in (next(iter(RULES)), f"{PREFIX}/queue.declare.answers", list(RULES)[-1]):
        rules = tuple(each for each in catalogue().rules if each.id != identity)
        (fault,) = identity_faults(replace(catalogue(), rules=rules))
        assert fault.startswith(f"{identity} was published")


def test_the_sentences_that_rules_of_the_grammar_answer_name_them() -> None:
    ledger = load(DOCUMENTS / "amqp0-9-1.ledger.json")
    less = [each for each in catalogue().rules if each.id != f"{PREFIX}/queue.declare.no-wait"]
    assert [each for each in faults(ledger, less) if "refers to 0-9-1/grammar/queue.declare.no-wait" in each]


@pytest.mark.parametrize(
    ("old", "new", "gone", "come"),
    [
        ('<response name="purge-ok"/>', "", "queue.purge.answers", "queue.purge.implemented"),
        (
            '<constant name="no-consumers" value="313" class="soft-error">',
            '<constant name="nobody" value="313" class="soft-error">',
            "constant.no-consumers.level",
            "constant.nobody.level",
        ),
        (
            '<field name="content-type" domain="shortstr"',
            '<field name="media-type" domain="shortstr"',
            "basic.content-type.round-trip",
            "basic.media-type.round-trip",
        ),
    ],
)
def test_rules_follow_the_document(tmp_path: Path, old: str, new: str, gone: str, come: str) -> None:
    found = altered(tmp_path, old, new)
    assert f"{PREFIX}/{gone}" in RULES
    assert f"{PREFIX}/{gone}" not in found
    assert f"{PREFIX}/{come}" in found


@pytest.mark.parametrize(
    ("name", "methods"),
    [
        ("basic.get.answers", ("basic.get", "basic.get-ok", "basic.get-empty")),
        ("connection.secure-ok.implemented", ("connection.secure-ok", "connection.secure")),
        ("queue.declare-ok.queue.carries", ("queue.declare-ok",)),
        ("queue.bind.no-wait", ("queue.bind",)),
        ("queue.bind.truncated", ()),
        ("queue.bind-ok.wrong-way", ()),
        ("basic.priority.round-trip", ()),
    ],
)
def test_a_rule_tells_of_which_methods_it_says_that_they_are_implemented(
    name: str, methods: tuple[str, ...]
) -> None:
    assert rule(name).implements == methods
