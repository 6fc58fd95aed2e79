"""A rule that a grammar obliges to, with what it is about."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from spec.rules import Rule, Testability

About = TypeVar("About")


@dataclass(frozen=True, slots=True)
class Derived(Generic[About]):
    """A rule with the family it belongs to and what it is about."""

    rule: Rule
    family: str
    about: About


def judgeable(derived: Iterable[Derived[About]], key: str) -> tuple[Derived[About], ...]:
    """Give the rules of one family that can be judged, on a server or a client."""
    return tuple(
        each for each in derived if each.family == key and each.rule.testability is not Testability.UNTESTABLE
    )
