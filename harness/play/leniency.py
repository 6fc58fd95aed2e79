"""Faults of a peer that are read all the same, and where a connection's opening goes no further, as data.

Each protocol has its own, by name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.play.expect import Barrier
from harness.wire.journal import Breached


@dataclass(frozen=True, slots=True)
class Leniency:
    """A fault that an exchange survives: the `rule` it breaks (an identity), and what it is `read_as`."""

    rule: str
    read_as: str


@dataclass(frozen=True, slots=True)
class Step:
    """A step of ours that opens a connection: the `rule` that says that it is answered, and what answers it.

    The rule is empty where none of ours says so. `answers` are beginnings of the signatures of its answers.
    The answers of the steps `due_with_it` are due at the same time, though those steps stand before it.
    """

    rule: str
    answers: tuple[str, ...]
    due_with_it: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps by the control that fails without an answer; `behind` begin signatures in its place."""

    each: Mapping[str, Step]
    behind: tuple[str, ...] = ()

    def barrier(self, step: str, actual: str, breaches: Sequence[Breached]) -> Barrier:
        """Make the barrier at `step`, met by `actual`; the first of the breaches, if any, is its cause."""
        order = list(self.each)
        left = [*order[order.index(step) :], *self.each[step].due_with_it]
        due = dict.fromkeys(answer for name in left for answer in self.each[name].answers)
        rule, told = self.each[step].rule, f"{step} was answered by {actual}"
        if breaches:
            rule, told = breaches[0].rule, f"{told} ({breaches[0].what})"
        return Barrier(tuple(left), rule, told, actual, tuple(due), self.behind)
