"""All that went over a connection, the same whether a live link, a peer of ours or a file made it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from harness.wire.journal import Direction
from harness.wire.reader import Reader
from harness.wire.units import Garbage

Unit_co = TypeVar("Unit_co", covariant=True)


# Not frozen: that would double the time to make one. Nobody changes them but who sorts them.
@dataclass(slots=True)
class Passage(Generic[Unit_co]):
    """One unit that went over the wire, `at` in seconds; `said` is what it says once sorted."""

    at: float
    direction: Direction
    unit: Unit_co
    number: int = 0
    said: Any = None


@dataclass(frozen=True, slots=True)
class Gap:
    """A unit that stands for what one side sent and nobody captured: so many octets, 0 if nobody knows.

    It `hides` what was said, unless all that is missing is a part of the content of one message.
    """

    octets: int = 0
    hides: bool = True


class Sort:
    """What a passage is, by all that watches may ask for; one object of each kind, compared by identity."""

    __slots__ = ("tags",)

    def __init__(self, *tags: object) -> None:
        self.tags = frozenset(tags)


sort: Callable[..., Sort] = cache(Sort)
"""The one sort with these tags, which are always given in the same order."""


class Transcript(ABC, tuple[Any, ...]):
    """The passages of a finished connection, in the order in which they went over the wire."""

    @abstractmethod
    def sorted(self) -> tuple[list[Sort], list[Any]]:
        """Return the sorts of all passages, and the passages; several that belong together may become one."""


Piece = tuple[float, Direction, bytes | Gap]
"""Octets that went one way at once, or what is missing there; the time is in seconds."""


Carries = Callable[[bytes, int], bool]
"""Whether what begins so is, with so many octets more, one unit of which only what it carries is missing."""


class _Lane(Generic[Unit_co]):
    """One direction of a stream; after a gap, or after garbage, reading starts again where units begin."""

    def __init__(self, reader: Callable[[], Reader[Unit_co]], carries: Carries) -> None:
        self._make, self._carries = reader, carries
        self._reader = reader()
        self._lost = False

    def cut(self, octets: bytes | Gap) -> Iterator[Unit_co | Gap]:
        if isinstance(octets, Gap):
            begun = self._reader.rest()
            hides = self._lost or not self._carries(begun, octets.octets)
            self._reader, self._lost = self._make(), hides
            yield Gap(len(begun) + octets.octets if octets.octets else 0, hides)
            return
        units = [unit for _, unit in self._reader.feed(octets)]
        if self._lost and not self._begins_well(units):
            # It may begin within a unit: nothing is concluded from what can hardly be read.
            self._reader = self._make()
            yield Gap(len(octets))
            return
        self._lost = False
        yield from units
        if self._reader.broken:
            self._reader, self._lost = self._make(), True

    def _begins_well(self, units: Sequence[object]) -> bool:
        whole = len(units) > 1 or not self._reader.pending
        return bool(units) and whole and not any(isinstance(each, Garbage) for each in units)

    def rest(self) -> bytes:
        return self._reader.rest()


def cut(
    pieces: Iterable[Piece], reader: Callable[[], Reader[Any]], carries: Carries
) -> tuple[list[Passage[Any]], bytes]:
    """Cut passages out of `pieces`, beginning anew after a gap; gives what the server left unfinished."""
    lanes = {way: _Lane(reader, carries) for way in Direction}
    passages = [
        Passage(at, way, unit, number)
        for number, (at, way, octets) in enumerate(pieces, 1)
        for unit in lanes[way].cut(octets)
    ]
    return passages, lanes[Direction.RECEIVED].rest()
