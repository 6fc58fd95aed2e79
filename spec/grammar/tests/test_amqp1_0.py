"""The rules derived from the definitions of Part 2: complete, and read from the file instead of a list."""

from __future__ import annotations

from pathlib import Path

import pytest

from spec.catalogue import catalogue
from spec.grammar.amqp1_0.families import families
from spec.grammar.amqp1_0.members import MEMBERS, members
from spec.grammar.amqp1_0.rules import PREFIX, derived
from spec.readers.amqp1_0 import TRANSPORT, grammar
from spec.readers.definitions import definitions
from spec.rules import Level, Rule

FOUND = derived()
RULES = {each.rule.id: each.rule for each in FOUND}
FAMILIES = families().by_key


def rule(name: str) -> Rule:
    return RULES[f"{PREFIX}/{name}"]


def of(key: str) -> set[str]:
    return {each.about.full_name for each in FOUND if each.family == key}


def altered(folder: Path, old: str, new: str) -> set[str]:
    """Give the identities of the rules where one thing in the definitions is otherwise."""
    text = TRANSPORT.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path = folder / "altered.xml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return {each.rule.id.removeprefix(f"{PREFIX}/") for each in derived(path)}


def test_identities_are_unique_and_plain() -> None:
    assert len(RULES) == len(FOUND) == 256
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-./") for name in RULES)


def test_every_family_has_members_and_every_rule_its_words() -> None:
    assert set(FAMILIES) == set(MEMBERS) == {each.family for each in FOUND}
    assert not any("{" in f"{each.text}{each.scenario}{each.name}{each.related}" for each in RULES.values())


def test_every_field_is_defined_once_and_looked_at() -> None:
    fields = [f"{each.composite.name}.{each.field.name}" for each in definitions() if each.field]
    assert len(fields) == len(set(fields)) == 68
    assert of("sent") == set(fields)
    assert of("typed") | {*FAMILIES["typed"].without} == set(fields)


def test_who_is_left_out_would_belong_to_the_family() -> None:
    for key, family in FAMILIES.items():
        all_of_it = {about.full_name for _, about in members(key, grammar(), definitions())}
        assert set(family.without) <= all_of_it
        assert of(key) == all_of_it - set(family.without)


def test_what_a_field_is_decides_about_its_rules() -> None:
    assert {name for name in of("mandatory") if name.startswith("begin")} == {
        "begin.next-outgoing-id",
        "begin.incoming-window",
        "begin.outgoing-window",
    }
    assert of("choice") == {"attach.snd-settle-mode", "attach.rcv-settle-mode", "transfer.rcv-settle-mode"}
    # One encoding only, or another type in it: nothing to choose.
    assert not {"open.channel-max", "attach.source", "detach.error"} & of("encoded")
    assert rule("flow.drain.default").text.endswith("means false: written out it changes nothing.")


def test_levels_are_those_of_what_no_keyword_says() -> None:
    assert {key: family.level for key, family in FAMILIES.items() if family.level is Level.MUST} == {
        "sent": Level.MUST,
        "default": Level.MUST,
    }
    assert all(each.reason for each in RULES.values())


def test_what_they_are_related_to_is_there() -> None:
    known = {each.id for each in catalogue().rules}
    assert {name for each in RULES.values() for name in each.related} <= known
    assert rule("begin.handle-max.sent").related == ("1-0/2.7.2.begin-well-formed",)
    assert rule("error.info.sent").related == ("1-0/2.8.14.error-well-formed",)


@pytest.mark.parametrize(
    ("old", "new", "gone", "come"),
    [
        ('name="first" type="delivery-number" mandatory="true"', 'name="first" type="delivery-number"',
         {"disposition.first.mandatory"}, set()),
        ('name="available" type="uint"', 'name="available" type="uint" default="0"',
         set(), {"flow.available.default"}),
        ('<field name="available" type="uint"/>', "",
         {"flow.available.sent", "flow.available.encoded", "flow.available.typed"}, set()),
    ],
)  # fmt: skip
def test_another_definition_makes_other_rules(
    tmp_path: Path, old: str, new: str, gone: set[str], come: set[str]
) -> None:
    ours = {name.removeprefix(f"{PREFIX}/") for name in RULES}
    found = altered(tmp_path, old, new)
    assert (ours - found, found - ours) == (gone, come)


def test_a_definition_says_what_is_written() -> None:
    told = {each.sentence for each in definitions()}
    assert "begin: list, amqp:begin:list, 0x00000011" in told
    assert "begin.handle-max: handle, default 4294967295" in told
    assert "attach.source: *, requires source" in told
    assert "open.container-id: string, mandatory" in told
    assert "open.outgoing-locales: ietf-language-tag[]" in told
    text = TRANSPORT.read_text(encoding="utf-8")
    for each in definitions():
        tag = "composite" if each.field is None else "field"
        assert text.startswith(f'<{tag} name="{each.path[-1][1]}"', each.offset)
        assert text.count("\n", 0, each.offset) + 1 == each.line
