"""Rows and tables: the behaviour of the peer as immutable data.

What may live in a row: a name, a state, an event, and references to small named functions. The first
row for a state and an event whose condition holds is taken; where no row is, nothing happens (but the
last rows of connection and channel refuse every method that is left). Faults and mutants are new tables
made from these: a row dropped, inserted or changed, a strategy swapped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from harness.amqp0_9_1.compiled import Method
from harness.amqp0_9_1.peer.events import Event, State
from harness.amqp0_9_1.peer.strategies import Strategies
from harness.amqp0_9_1.peer.turn import Reply, Turn

Condition = Callable[[Turn], bool]
Effect = Callable[[Turn], None]
Answer = Callable[[Turn], Reply]
EventClass = type[Method] | type[Event]


def always(_: Turn) -> bool:
    """The condition of a row that is taken whenever no earlier one was."""
    return True


@dataclass(frozen=True, slots=True)
class Row:
    """In `state`, when `event` happens and `condition` holds: `effects` in order, `answer`, then `next`.

    `next` None keeps the state, or what a refusal made of it. `name` is stable: faults refer to it.
    """

    name: str
    state: State | tuple[State, ...]
    event: EventClass | tuple[EventClass, ...]
    condition: Condition = always
    effects: tuple[Effect, ...] = ()
    answer: Answer | None = None
    next: State | None = None

    def covers(self, state: State, event: type) -> bool:
        """Whether the row is for this state and this event."""
        states = self.state if isinstance(self.state, tuple) else (self.state,)
        return state in states and issubclass(event, self.event)


@dataclass(frozen=True)
class Tables:
    """All rows in the order they are tried, and the strategies they refer to."""

    rows: tuple[Row, ...]
    strategies: Strategies = field(default_factory=Strategies)
    # Rows by state and event, filled as they are asked for: the same answer every time.
    _found: dict[tuple[State, type], tuple[Row, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for row in self.rows:
            if row.name in seen:
                raise ValueError(f"two rows have the name {row.name!r}")
            seen.add(row.name)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> Row:
        """The row of that name. Raises KeyError."""
        return self.rows[self._place(name)]

    def candidates(self, state: State, event: type) -> tuple[Row, ...]:
        """The rows for `state` and `event`, in order."""
        found = self._found.get((state, event))
        if found is None:
            found = tuple(row for row in self.rows if row.covers(state, event))
            self._found[state, event] = found
        return found

    def without(self, name: str) -> Tables:
        """The tables with one row dropped. Raises KeyError."""
        place = self._place(name)
        return replace(self, rows=self.rows[:place] + self.rows[place + 1 :])

    def replacing(self, name: str, **changes: Any) -> Tables:
        """The tables with some columns of one row changed. Raises KeyError."""
        place = self._place(name)
        changed = replace(self.rows[place], **changes)
        return replace(self, rows=(*self.rows[:place], changed, *self.rows[place + 1 :]))

    def inserting(self, before: str, row: Row) -> Tables:
        """The tables with `row` put in front of the row named `before`. Raises KeyError."""
        place = self._place(before)
        return replace(self, rows=(*self.rows[:place], row, *self.rows[place:]))

    def swapping(self, **strategies: Any) -> Tables:
        """The tables with other strategies, by their names in `Strategies`."""
        return replace(self, strategies=replace(self.strategies, **strategies))

    def routing(self, **types: Any) -> Tables:
        """The tables with other routing for some exchange types (`direct=...`)."""
        changed: Mapping[str, Any] = {**self.strategies.routing, **types}
        return self.swapping(routing=changed)

    def _place(self, name: str) -> int:
        for place, row in enumerate(self.rows):
            if row.name == name:
                return place
        raise KeyError(f"no row has the name {name!r}")
