"""Mechanical mutants of the reference peer's tables: every row dropped, misled, and answering wrongly."""

from __future__ import annotations

from collections.abc import Iterator

from harness.amqp1_0.broken.deviations import Fault, changes, drops
from harness.amqp1_0.peer import TABLES
from harness.amqp1_0.peer.refusals import refuse
from harness.amqp1_0.wire.performatives import AmqpError
from harness.peers.deviation import Mutant, wrong_state


def mutants() -> Iterator[Mutant[Fault]]:
    """All mutants, row by row."""
    wrong_answer = refuse(AmqpError.INTERNAL_ERROR)
    for row in TABLES:
        yield Mutant(row.name, "dropped", drops(row.name))
        if row.effects:
            yield Mutant(row.name, "has no effect", changes(row.name, effects=()))
        if row.answer is not None:
            yield Mutant(row.name, "answers internal-error", changes(row.name, answer=wrong_answer))
        wrong = wrong_state(row)
        yield Mutant(row.name, f"goes to {wrong.name}", changes(row.name, next=wrong))
