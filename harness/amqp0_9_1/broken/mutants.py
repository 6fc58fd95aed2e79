"""Mechanical mutants of the reference peer's tables: every row dropped, misled, and answering wrongly."""

from __future__ import annotations

from collections.abc import Iterator

from harness.amqp0_9_1.broken.deviations import Fault, changes, drops
from harness.amqp0_9_1.peer import TABLES
from harness.amqp0_9_1.peer.events import Thing
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.rows import Row
from harness.amqp0_9_1.wire.vocabulary import INTERNAL_ERROR
from harness.peers.deviation import Mutant, wrong_state


def mutants() -> Iterator[Mutant[Fault]]:
    """All mutants, row by row."""
    for row in TABLES:
        yield Mutant(row.name, "dropped", drops(row.name))
        if row.effects:
            yield Mutant(row.name, "has no effect", changes(row.name, effects=()))
        if row.answer is not None:
            yield Mutant(row.name, "answers 541", changes(row.name, answer=refuse(INTERNAL_ERROR)))
        if not _is_about_things(row):
            wrong = wrong_state(row)
            yield Mutant(row.name, f"goes to {wrong.name}", changes(row.name, next=wrong))


def _is_about_things(row: Row) -> bool:
    """Whether a row is of the table of things, which have no state."""
    return isinstance(row.state[0] if isinstance(row.state, tuple) else row.state, Thing)
