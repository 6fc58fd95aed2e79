import pytest

from spec.catalogue import catalogue
from spec.selection import SelectorError, select

RULES = tuple(rule for rule in catalogue().rules if rule.document == "0-9-1")
"""Those of one document: a class or method may have rules in several."""


@pytest.mark.parametrize(
    ("selector", "count"),
    [
        ("0-9-1/queue.*", 36),
        ("queue.*", 36),
        ("class:queue", 36),
        ("queue", 36),
        ("queue.declare", 12),
        ("section:queue.bind", 10),
        ("section:queue.*", 36),
        ("declare", 20),
        ("method:declare", 20),
        ("method:queue.declare", 12),
        ("document:0-9-1", 115),
        ("0-9-1", 115),
        ("domain.*", 4),
        ("0-9-1/basic.01", 1),
        ("rule:basic.01", 1),
    ],
)
def test_selector_means_so_many_rules(selector: str, count: int) -> None:
    assert len(select(RULES, [selector])) == count


@pytest.mark.parametrize("selector", ["must", "level:must"])
def test_level_means_exactly_that_level(selector: str) -> None:
    assert select(RULES, [selector]) == tuple(rule for rule in RULES if rule.level == "must")


def test_a_method_means_its_rules_in_every_document() -> None:
    chosen = {rule.document for rule in select(catalogue().rules, ["queue.declare"])}
    assert chosen >= {"0-9-1", "0-9-1/grammar"}
    assert {rule.document for rule in select(catalogue().rules, ["0-9-1"])} == {"0-9-1"}


def test_no_selector_means_all() -> None:
    assert select(RULES, []) == RULES


def test_selectors_of_one_kind_add_up_in_document_order() -> None:
    chosen = select(RULES, ["0-9-1/queue.bind.*", "0-9-1/domain.*"])
    assert [rule.section for rule in chosen] == ["domain.delivery-tag"] * 2 + ["domain.redelivered"] * 2 + [
        "queue.bind"
    ] * 10


@pytest.mark.parametrize("selectors", [("class:queue", "level:should"), ("queue", "should")])
def test_selectors_of_different_kinds_narrow_each_other(selectors: tuple[str, ...]) -> None:
    chosen = select(RULES, selectors)
    assert chosen == tuple(
        rule for rule in RULES if rule.named("class") == "queue" and rule.level == "should"
    )


def test_kinds_narrow_what_adds_up_within_them() -> None:
    chosen = select(RULES, ["class:queue", "level:must", "class:exchange", "level:may"])
    assert chosen == tuple(
        rule
        for rule in RULES
        if rule.named("class") in ("queue", "exchange") and rule.level in ("must", "may")
    )


def test_what_is_excluded_is_left_out() -> None:
    whole, without = (
        select(RULES, ["class:queue"]),
        select(RULES, ["class:queue", "!level:must", "!queue.bind"]),
    )
    assert without == tuple(rule for rule in whole if rule.level != "must" and rule.section != "queue.bind")
    assert select(RULES, ["!level:must"]) == tuple(rule for rule in RULES if rule.level != "must")


def test_retired_identity_stands_for_its_successor() -> None:
    chosen = select(RULES, ["0-9-1/basic.one"], {"0-9-1/basic.one": "0-9-1/basic.01"})
    assert [rule.id for rule in chosen] == ["0-9-1/basic.01"]


@pytest.mark.parametrize(
    ("selector", "complaint"),
    [
        ("queue.declar", "No rule matches the selector 'queue.declar'; near are queue.declare"),
        ("level:shuold", "No rule matches the selector 'level:shuold'; near are should."),
        ("zzz", "No rule matches the selector 'zzz'."),
        ("!zzz", "No rule matches the selector 'zzz'."),
        ("colour:red", "'colour' in the selector 'colour:red' is none of rule, document, section, level"),
        ("", "No rule matches the selector ''"),
        (
            "class:tx",
            "No rule is meant by 0-9-1/basic.01 class:tx together: those of the kinds rule, class narrow",
        ),
        ("!0-9-1/basic.*", "No rule is meant by 0-9-1/basic.01 !0-9-1/basic.* together."),
    ],
)
def test_selector_that_means_nothing_is_refused(selector: str, complaint: str) -> None:
    with pytest.raises(SelectorError) as caught:
        select(RULES, ["0-9-1/basic.01", selector])
    assert str(caught.value).startswith(complaint)
