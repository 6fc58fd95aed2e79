"""What a run is about: protocols that are spoken, and documents that apply."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from conformance.engine.scope import Scope, scope, unasked
from harness.play.speaker import Banner
from harness.targets.embedded import EmbeddedTarget
from spec.applicability import optional
from spec.catalogue import catalogue
from spec.versions import is_past

WHY = "embedded does not promise it: not by its description, nor by telling "
LATEST = tuple(each for each in catalogue().rules if not (each.versions and is_past(each.versions)))
"""What is said of the latest version of a product."""
OWN = {each.id for each in catalogue().rules if each.document == "rabbitmq"}


def found(target: EmbeddedTarget, **more: Any) -> Scope:
    with target:
        return scope(target, catalogue().rules, 30.0, **more)


def test_what_only_some_products_promise_is_not_about_the_others() -> None:
    at = found(EmbeddedTarget())
    assert at.unspoken == {"rabbitmq": WHY + ", ".join(optional()["rabbitmq"].capabilities)}
    assert {each.id for each in catalogue().rules} - {each.id for each in at.rules(catalogue().rules)} == OWN
    assert at.covers("0-9-1/prose")
    assert not Scope.of(at.plain()).covers("rabbitmq")


def test_nor_about_one_that_cannot_be_asked() -> None:
    rules = catalogue().rules
    assert not unasked(EmbeddedTarget(), rules, frozenset()).covers("rabbitmq")
    assert unasked(EmbeddedTarget(), rules, {"rabbitmq"}).rules(rules) == LATEST


def test_it_is_where_it_was_asked_for() -> None:
    assert found(EmbeddedTarget(), asked={"rabbitmq"}).rules(catalogue().rules) == LATEST


def test_it_is_where_the_description_claims_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmbeddedTarget, "documents", frozenset({"rabbitmq"}))
    assert found(EmbeddedTarget()).covers("rabbitmq")


def test_what_adds_to_a_protocol_goes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmbeddedTarget, "protocols", frozenset({"1-0"}))
    at = found(EmbeddedTarget(), asked={"rabbitmq"})
    assert {each.document for each in at.rules(catalogue().rules)} == {"1-0", "1-0/grammar"}


SAID = {"rabbitmq/t.since": ">=4.0", "rabbitmq/t.until": "<4.3", "rabbitmq/t.once": ">=3.8,<3.10"}
ALWAYS = "rabbitmq/t.always"


def of_versions(monkeypatch: pytest.MonkeyPatch, product: str, version: str) -> Scope:
    """Find the scope of a run on `version` of `product`, with rules that are said of some versions alone."""
    like = next(each for each in catalogue().rules if each.document == "rabbitmq")
    rules = tuple(replace(like, id=name, versions=said) for name, said in {**SAID, ALWAYS: ""}.items())
    monkeypatch.setattr(
        "conformance.engine.scope.catalogue", lambda: replace(catalogue(), rules=(*catalogue().rules, *rules))
    )
    monkeypatch.setattr("conformance.engine.scope._named", lambda *_: Banner(product, version, {}, 0.0))
    with EmbeddedTarget() as target:
        at = scope(target, rules, 30.0, {"rabbitmq"})
    told = Scope.of(json.loads(json.dumps(at.plain())))
    assert told.rules(rules) == at.rules(rules)
    assert {each.id for each in at.rules(catalogue().rules)} >= {
        each.id for each in catalogue().rules if not each.versions
    }
    assert at.covers("rabbitmq")
    return at


def left(at: Scope) -> set[str]:
    assert ALWAYS not in at.others
    return {each.removeprefix("rabbitmq/t.") for each in at.others if each.startswith("rabbitmq/t.")}


@pytest.mark.parametrize(
    ("version", "without"),
    [
        ("3.9.1", {"since"}),
        ("3.10.8", {"since", "once"}),
        ("4.2.0-rc.1", {"once"}),
        ("4.3.0", {"until", "once"}),
    ],
)
def test_a_rule_is_about_the_versions_it_is_said_of(
    monkeypatch: pytest.MonkeyPatch, version: str, without: set[str]
) -> None:
    for product in ("RabbitMQ", "rabbitmq"):
        assert left(of_versions(monkeypatch, product, version)) == without


@pytest.mark.parametrize(("product", "version"), [("LavinMQ", "2.0.0"), ("LavinMQ", "3.9"), ("RabbitMQ", "")])
def test_others_are_held_to_what_is_said_of_the_latest(
    monkeypatch: pytest.MonkeyPatch, product: str, version: str
) -> None:
    at = of_versions(monkeypatch, product, version)
    assert left(at) == {"until", "once"}
    assert at.unspoken == {"rabbitmq (in part)": "2 rules are said of earlier versions of RabbitMQ"}


def promising(monkeypatch: pytest.MonkeyPatch, *told: str) -> Scope:
    """Find the scope of a run on a product that tells these capabilities and no others."""
    properties = {"capabilities": dict.fromkeys(told, True)}
    monkeypatch.setattr(
        "conformance.engine.scope._named", lambda *_: Banner("GarageMQ", "0.1", properties, 0.0)
    )
    return found(EmbeddedTarget())


def test_what_a_product_promises_of_it_is_judged_without_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    at = promising(monkeypatch, "basic.nack", "publisher_confirms", "time_travel")
    rules = [rule for rule in catalogue().rules if rule.document == "rabbitmq"]
    own = {rule.id for rule in rules if rule.capability in ("basic.nack", "publisher_confirms")}
    assert all(not rule.versions for rule in rules if rule.id in own)
    assert {rule.id for rule in at.rules(rules)} == own
    assert {rule.id.split(".")[0] for rule in at.rules(rules)} >= {"rabbitmq/basic", "rabbitmq/confirm"}
    why = f"{len(rules) - len(own)} rules are not about what it promises: basic.nack, publisher_confirms"
    assert at.unspoken == {"rabbitmq (in part)": why}
    assert Scope.of(json.loads(json.dumps(at.plain()))).rules(rules) == at.rules(rules)


def test_nothing_is_promised_by_names_that_promise_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not promising(monkeypatch, "", "time_travel").covers("rabbitmq")


def test_what_is_said_of_other_versions_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    at = of_versions(monkeypatch, "RabbitMQ", "3.10.8")
    assert at.unspoken == {"rabbitmq (in part)": "2 rules are said of other versions than 3.10.8"}
    at = of_versions(monkeypatch, "RabbitMQ", "3.9.1")
    assert at.unspoken == {"rabbitmq (in part)": "1 rule is said of other versions than 3.9.1"}
