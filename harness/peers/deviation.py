"""Deviations: faulty peers, each bound to the rule it breaks. They prove that checks can fail."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from spec.rules import Role

Change = TypeVar("Change", covariant=True)


@dataclass(frozen=True, slots=True)
class Deviation:
    """What a faulty peer in a `role` does wrong (`says`), by a `change`: an interposer, or in the tables."""

    rule: str
    says: str
    change: Any
    role: Role = Role.SERVER


@dataclass(frozen=True, slots=True)
class Mutant(Generic[Change]):
    """A row of the reference peer's tables, and the `change` that does `what` to it."""

    row: str
    what: str
    change: Change

    @property
    def name(self) -> str:
        """Stable identity: the row's name and what was done to it."""
        return f"{self.row} / {self.what}"
