"""Mechanical mutants of the reference peer's tables: every row dropped, misled, and answering wrongly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.amqp0_9_1.deviations import Fault, changes, drops
from harness.amqp0_9_1.peer import TABLES
from harness.amqp0_9_1.peer.events import State, Thing
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.rows import Row
from harness.amqp0_9_1.vocabulary import INTERNAL_ERROR


@dataclass(frozen=True, slots=True)
class Mutant:
    """A row of the tables and what was done to it."""

    row: str
    what: str
    change: Fault

    @property
    def name(self) -> str:
        """Stable identity: the row's name and what was done to it."""
        return f"{self.row} / {self.what}"


def mutants() -> Iterator[Mutant]:
    """All mutants, row by row."""
    for row in TABLES:
        yield Mutant(row.name, "dropped", drops(row.name))
        if row.effects:
            yield Mutant(row.name, "has no effect", changes(row.name, effects=()))
        if row.answer is not None:
            yield Mutant(row.name, "answers 541", changes(row.name, answer=refuse(INTERNAL_ERROR)))
        if (wrong := _wrong_state(row)) is not None:
            yield Mutant(row.name, f"goes to {wrong.name}", changes(row.name, next=wrong))


def _wrong_state(row: Row) -> State | None:
    """Another state than the row leads to; None for rows about things, which have no state."""
    states = row.state if isinstance(row.state, tuple) else (row.state,)
    if isinstance(states[0], Thing):
        return None
    right = row.next if row.next is not None else states[0]
    return next(each for each in type(states[0]) if each is not right)
