"""What a rule's checks use of a clean peer: which deviations, or other choices of a peer, could show at all.

Computed, not declared: table rows taken, what went each way, ends. A deviation that matches nothing of it
cannot change what the checks see; where one does all the same, a check is too wide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from harness.peers.rows import AnyRow, AnyTables
from harness.wire.journal import Direction, Ended, Event, Octets

Units = Callable[[Iterable[Octets]], Iterator[tuple[Direction, object]]]
"""Finds what a change may look at in what went over the wire: frames, what is in them, what is no frame."""
Choices = TypeVar("Choices")


class _Observed:
    """Stands for a peer's choices and keeps the names of those that are read."""

    def __init__(self, choices: object, taken: set[str]) -> None:
        self._choices, self._taken = choices, taken

    def __getattr__(self, name: str) -> Any:
        self._taken.add(name)
        return getattr(self._choices, name)


def observed(choices: Choices, taken: set[str]) -> Choices:
    """Wrap choices (a policy, strategies) so that the name of each field that is read goes into `taken`."""
    return cast(Choices, _Observed(choices, taken))


def differing(one: Any, other: Any) -> frozenset[str]:
    """Name the fields in which two values of one dataclass differ."""
    names = (each.name for each in fields(one))
    return frozenset(name for name in names if getattr(one, name) != getattr(other, name))


@runtime_checkable
class Traced(Protocol):
    """A peer that keeps the names of what was taken of its tables and its policy."""

    taken: set[str] | None


@dataclass(frozen=True, slots=True)
class Footprint:
    """Names `taken` of the peer, what was `sent` and `received`, and whether it `ended` a stream."""

    taken: frozenset[str]
    sent: tuple[object, ...]
    received: tuple[object, ...]
    ended: bool
    # What went a way, by kind, filled as it is asked for: the same answer for every deviation.
    _found: dict[tuple[bool, type], tuple[Any, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def of(self, from_server: bool, kind: type) -> tuple[Any, ...]:
        """Give what came from the server, or went to it, that is of a kind."""
        found = self._found.get((from_server, kind))
        if found is None:
            way = self.received if from_server else self.sent
            found = self._found[from_server, kind] = tuple(each for each in way if isinstance(each, kind))
        return found


def used(taken: Iterable[str], events: Iterable[Event], units: Units) -> Footprint:
    """Make the footprint of an exchange in which this was `taken` of a peer."""
    kept = list(events)
    went: dict[Direction, list[object]] = {Direction.SENT: [], Direction.RECEIVED: []}
    for direction, unit in units(each for each in kept if isinstance(each, Octets)):
        went[direction].append(unit)
    sent, received = (tuple(went[way]) for way in (Direction.SENT, Direction.RECEIVED))
    ended = any(isinstance(each, Ended) and each.by == "target" for each in kept)
    return Footprint(frozenset(taken), sent, received, ended)


@dataclass(frozen=True, slots=True)
class Difference:
    """How faulty tables differ from the right ones.

    `names` are those of rows lost or changed and of swapped strategies; `widened` are the rows whose
    condition is another; `more` says whether rows were put in.
    """

    names: frozenset[str]
    widened: tuple[AnyRow, ...]
    more: bool

    @classmethod
    def between(cls, faulty: AnyTables, right: AnyTables) -> Difference:
        left = {row.name: row for row in faulty}
        changed = [row for row in right if left.get(row.name) != row]
        return cls(
            frozenset(row.name for row in changed) | differing(faulty.strategies, right.strategies),
            tuple(row for row in changed if row.name in left and left[row.name].condition != row.condition),
            len(left) > len(right.rows),
        )

    def shows(self, clean: Footprint, events: type) -> bool:
        """Say whether the tables could behave otherwise in an exchange with this footprint.

        With another condition a row may be taken where it was not, if its event happened at all; events of
        the class `events` are what a peer is sent, all others may happen at any time.
        """
        met = not self.names.isdisjoint(clean.taken)
        return self.more or met or any(_could_happen(row, events, clean) for row in self.widened)


def _could_happen(row: AnyRow, heard: type, clean: Footprint) -> bool:
    events = row.event if isinstance(row.event, tuple) else (row.event,)
    return any(not issubclass(each, heard) or clean.of(False, each) for each in events)
