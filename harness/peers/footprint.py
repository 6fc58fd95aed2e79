"""What a fault in a peer's tables, or another choice of its, could show in, whatever the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, fields
from typing import Any, TypeVar, cast

from harness.peers.interposer import Rule
from harness.peers.rows import Row, Tables

AnyTables = Tables[Any, Any, Any]
AnyRow = Row[Any, Any]
Choices = TypeVar("Choices")


class _Observed:
    """Stands for a peer's choices and keeps the names of those that are looked at."""

    def __init__(self, choices: object, taken: set[str]) -> None:
        self._choices, self._taken = choices, taken

    def __getattr__(self, name: str) -> Any:
        self._taken.add(name)
        return getattr(self._choices, name)


def observed(choices: Choices, taken: set[str]) -> Choices:
    """Choices (a policy, strategies) that put the name of each field into `taken` when it is read.

    Where a field was not read, the exchange would have been the same with any other value of it.
    """
    return cast(Choices, _Observed(choices, taken))


def differing(one: Any, other: Any) -> frozenset[str]:
    """The fields in which two values of one dataclass differ."""
    names = (each.name for each in fields(one))
    return frozenset(name for name in names if getattr(one, name) != getattr(other, name))


@dataclass(frozen=True, slots=True)
class Difference:
    """How faulty tables differ from the right ones.

    `names` are those of rows lost or changed and of swapped strategies, `widened` the rows whose condition
    is another, `more` says whether rows were put in.
    """

    names: frozenset[str]
    widened: tuple[AnyRow, ...]
    more: bool

    @classmethod
    def between(cls, faulty: AnyTables, right: AnyTables) -> Difference:
        """The difference of faulty tables from the right ones."""
        left = {row.name: row for row in faulty}
        changed = [row for row in right if left.get(row.name) != row]
        return cls(
            frozenset(row.name for row in changed) | differing(faulty.strategies, right.strategies),
            tuple(row for row in changed if row.name in left and left[row.name].condition != row.condition),
            len(left) > len(right.rows),
        )

    def shows(self, taken: Set[str], happens: Callable[[AnyRow], bool]) -> bool:
        """Whether the tables could behave otherwise where this was `taken` (and read) of the right ones.

        `happens` says whether a row's event happened at all: with another condition a row may be taken where
        it was not.
        """
        return self.more or not self.names.isdisjoint(taken) or any(happens(row) for row in self.widened)


def could_happen(row: AnyRow, heard: type, sent: Iterable[Any]) -> bool:
    """Whether the event of a row may have happened where this was sent to the peer.

    Events of the class `heard` are what is sent; all others may happen any time.
    """
    events = row.event if isinstance(row.event, tuple) else (row.event,)
    kinds = tuple(each for each in events if issubclass(each, heard))
    return len(kinds) < len(events) or any(isinstance(each, kinds) for each in sent)


def meets(rule: Rule, sent: Iterable[Any], received: Iterable[Any]) -> bool:
    """Whether an interposer's rule fits anything of what went to the server, or came from it."""
    return any(
        (rule.method is None or isinstance(each, rule.method)) and rule.condition(each)
        for each in (received if rule.from_server else sent)
    )
