"""Rows and tables: the behaviour of a reference peer as immutable data, whatever protocol it speaks.

What may live in a row: a name, a state, an event, and references to small named functions. The first
row for a state and an event whose condition holds is taken; where no row is, nothing happens. Faults and
mutants are new tables made from these: a row dropped, inserted or changed, a strategy swapped.
"""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Generic, Self, TypeAlias, TypeVar

Place = TypeVar("Place")
E = TypeVar("E")
T = TypeVar("T")
R = TypeVar("R")
S = TypeVar("S")


class State(Enum):
    """Base of all state columns; hashed by identity, because every frame looks one up."""

    __hash__ = object.__hash__


def always(_: object) -> bool:
    """Accept every turn: the condition of a row that is taken whenever no earlier one was."""
    return True


def answering(reply: R) -> Callable[[object], R]:
    """Make an answer that is always the same."""
    return lambda _: reply


# Without slots: a frozen class with slots cannot be made through its generic alias.
@dataclass(frozen=True)
class Row(Generic[Place, E, T, R]):
    """In `state`, when `event` happens and `condition` holds: `effects` in order, `answer`, then `next`.

    A state is one of a connection and the like, or the class of a thing that has none. Conditions, effects
    and answers are called with a turn of type T, which is made for `event` in `state`; an answer returns what
    is said, of type R. `next` None keeps the state, or what a refusal made of it. `name` is stable: faults
    refer to it.
    """

    name: str
    state: Place | tuple[Place, ...]
    event: type[E] | tuple[type[E], ...]
    condition: Callable[[T], bool] = always
    effects: tuple[Callable[[T], None], ...] = ()
    answer: Callable[[T], R] | None = None
    next: Place | None = None

    def __call__(
        self,
        does: str,
        condition: Callable[[T], bool] = always,
        effects: tuple[Callable[[T], None], ...] = (),
        answer: Callable[[T], R] | None = None,
        next: Place | None = None,
    ) -> Self:
        """Make a row for the same state and event; its name is this one's and what it `does`."""
        name = f"{self.name}: {does}"
        return replace(self, name=name, condition=condition, effects=effects, answer=answer, next=next)

    def covers(self, state: object, event: type) -> bool:
        states = self.state if isinstance(self.state, tuple) else (self.state,)
        return state in states and issubclass(event, self.event)


AnyRow: TypeAlias = Row[Any, Any, Any, Any]
"""A row among others: that a turn fits it follows from state and event, by which it is found."""


@dataclass(frozen=True)
class Tables(Generic[S]):
    """All rows in the order they are tried, and the strategies they refer to, of type S."""

    rows: tuple[AnyRow, ...]
    strategies: S
    # Rows by state and event, filled as they are asked for: the same answer every time.
    _found: dict[tuple[object, type], tuple[AnyRow, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for row in self.rows:
            if row.name in seen:
                raise ValueError(f"two rows have the name {row.name!r}")
            seen.add(row.name)

    def __iter__(self) -> Iterator[AnyRow]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> AnyRow:
        """Return the row of that name. Raises KeyError."""
        return self.rows[self._place(name)]

    def candidates(self, state: object, event: type) -> tuple[AnyRow, ...]:
        found = self._found.get((state, event))
        if found is None:
            found = tuple(row for row in self.rows if row.covers(state, event))
            self._found[state, event] = found
        return found

    def without(self, name: str) -> Self:
        """Drop one row. Raises KeyError."""
        place = self._place(name)
        return replace(self, rows=self.rows[:place] + self.rows[place + 1 :])

    def replacing(self, name: str, **changes: Any) -> Self:
        """Change some columns of one row. Raises KeyError."""
        place = self._place(name)
        changed = replace(self.rows[place], **changes)
        return replace(self, rows=(*self.rows[:place], changed, *self.rows[place + 1 :]))

    def inserting(self, before: str, row: AnyRow) -> Self:
        """Put `row` in front of the row named `before`. Raises KeyError."""
        place = self._place(before)
        return replace(self, rows=(*self.rows[:place], row, *self.rows[place:]))

    def swapping(self, **strategies: Any) -> Self:
        """Take other strategies, by their names in S, which is a dataclass."""
        swapped: Any = replace(self.strategies, **strategies)  # type: ignore[type-var]
        return self.referring_to(swapped)

    def referring_to(self, strategies: S) -> Self:
        """Take other strategies for the same rows, which are found as before."""
        made = copy(self)
        object.__setattr__(made, "strategies", strategies)
        return made

    def _place(self, name: str) -> int:
        for place, row in enumerate(self.rows):
            if row.name == name:
                return place
        raise KeyError(f"no row has the name {name!r}")


AnyTables: TypeAlias = Tables[Any]
