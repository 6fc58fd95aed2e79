"""What a run is about: protocols that are spoken, and documents that apply."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.engine.scope import Scope, scope, unasked
from harness.targets.embedded import EmbeddedTarget
from spec.applicability import optional
from spec.catalogue import catalogue

WHY = "embedded does not promise it: not by its description, nor by telling "
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
    assert unasked(EmbeddedTarget(), rules, {"rabbitmq"}).rules(rules) == rules


def test_it_is_where_it_was_asked_for() -> None:
    assert found(EmbeddedTarget(), asked={"rabbitmq"}).rules(catalogue().rules) == catalogue().rules


def test_it_is_where_the_description_claims_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmbeddedTarget, "documents", frozenset({"rabbitmq"}))
    assert found(EmbeddedTarget()).covers("rabbitmq")


def test_what_adds_to_a_protocol_goes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmbeddedTarget, "protocols", frozenset({"1-0"}))
    at = found(EmbeddedTarget(), asked={"rabbitmq"})
    assert {each.document for each in at.rules(catalogue().rules)} == {"1-0", "1-0/grammar"}
