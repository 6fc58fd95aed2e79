"""One function for a family of rules: a check for each, with deviations made for what it is about."""

from __future__ import annotations

from typing import Any

import pytest

from harness.amqp0_9_1.wire.vocabulary import CODEC
from scenarios import registry
from scenarios.amqp0_9_1.grammar.calls import HANDSHAKE, PREPARED
from scenarios.amqp0_9_1.grammar.content import VALUES
from scenarios.amqp0_9_1.grammar.fields import OCCASIONS
from scenarios.amqp0_9_1.grammar.methods import DONE, SHOWN
from scenarios.registry import Checks, Scenario, Watch, broken_by, checks, scenarios_for, watches_for
from spec.grammar.amqp0_9_1.members import MEMBERS, table_types
from spec.grammar.amqp0_9_1.rules import derived, family
from spec.readers.amqp0_9_1 import grammar
from spec.rules import Role

SUBJECTS = (("0-9-1/a", "first"), ("0-9-1/b", "second"))


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Checks:
    empty = Checks({}, {}, {})
    monkeypatch.setattr(registry, "_CHECKS", empty)
    return empty


def test_a_family_is_registered_rule_by_rule(known: Checks) -> None:
    @scenarios_for(SUBJECTS, slow=True)
    def plays(fixture: str, subject: str) -> str:
        """What it does."""
        return f"{fixture} {subject}"

    found = [each for rule in ("0-9-1/a", "0-9-1/b") for each in known.scenarios[rule]]
    assert [(each.test, each.play("plays"), each.slow) for each in found] == [
        ("0-9-1/a[plays]", "plays first", True),
        ("0-9-1/b[plays]", "plays second", True),
    ]
    assert {each.does for each in found} == {"What it does."}
    assert not any(each.exclusive for each in found)
    assert plays("itself", "too") == "itself too"


def test_a_deviation_may_depend_on_the_subject_or_not_exist(known: Checks) -> None:
    change = object()

    @scenarios_for(SUBJECTS)
    @broken_by("is always wrong", change)
    @broken_by("is wrong in its own way", lambda subject: f"other than {subject}")
    @broken_by("is wrong about the first", lambda subject: subject if subject == "first" else None)
    def plays(fixture: Any, subject: str) -> None:
        """What it does."""

    made = {rule: [each.change for each in found] for rule, found in known.deviations.items()}
    assert made == {
        "0-9-1/a": [change, "other than first", "first"],
        "0-9-1/b": [change, "other than second"],
    }


def test_a_family_of_passive_rules_has_its_occasions(known: Checks) -> None:
    @watches_for(SUBJECTS, looks_at=(), during=lambda subject: f"0-9-1/{subject}")
    def looks(passages: list[int], subject: str) -> list[str]:
        """What it looks at."""
        return [f"{subject} {each}" for each in passages]

    found = [each for rule in known.watches.values() for each in rule]
    assert [(each.test, each.during, each.fold.step([1])) for each in found] == [
        ("0-9-1/a[looks]", "0-9-1/first", ["first 1"]),
        ("0-9-1/b[looks]", "0-9-1/second", ["second 1"]),
    ]


def test_every_derived_rule_that_can_be_judged_has_one_check_or_several_occasions_of_a_field() -> None:
    judged = [each for key in MEMBERS for each in family(key) if not each.rule.beyond(Role.SERVER)]
    counts = [(each, len(checks().of(each.rule.id, Role.SERVER))) for each in judged]
    assert [each.rule.id for each, count in counts if not count] == []
    assert {each.family for each, count in counts if count > 1} == {"carries", "current"}
    beyond = {each.rule.id for each in derived()} - {each.rule.id for each in judged}
    assert [rule for rule in beyond if checks().of(rule, Role.SERVER)] == []


def test_rules_of_a_family_share_their_function() -> None:
    names = {
        key: {each.name for derived_ in family(key) for each in checks().of(derived_.rule.id, Role.SERVER)}
        for key in ("answers", "no-wait", "property", "table", "truncated", "keeps")
    }
    assert {key: len(found) for key, found in names.items()} == dict.fromkeys(names, 1)


def test_the_tables_name_what_there_is() -> None:
    served = {name for name, method in grammar().methods.items() if "server" in method.chassis}
    assert {*PREPARED, *HANDSHAKE} == served - {"channel.open", "channel.flow-ok"}
    assert {*SHOWN, *DONE, *OCCASIONS} <= set(CODEC.methods)
    assert set(VALUES) == {each.tag for each in table_types()}


def test_an_active_rule_is_no_watch_and_a_passive_one_no_scenario() -> None:
    for key, kind in (("keeps", Watch), ("answers", Scenario)):
        found = [each for one in family(key) for each in checks().of(one.rule.id)]
        assert found
        assert all(isinstance(each, kind) for each in found)
