"""Watches: rules that look at all that went over a connection, each as a fold over what it asks for.

A watch is called once for each passage it looks at, with a state of its own for each connection. It answers
True where the passage was an occasion of its rule and the rule held, a sentence where the rule was broken,
and None where there is nothing to say. Nothing is kept for an occasion on which a rule held but its count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain, repeat
from typing import Any, Literal, cast

from harness.wire.journal import Direction
from harness.wire.transcript import Gap, Sort, Transcript

Found = Literal[True] | str | None
"""What a passage means to a watch: an occasion on which its rule held, what was wrong with it, or nothing."""


@dataclass(frozen=True, slots=True)
class Enough:
    """The last finding of a watch on a connection: it looks at nothing more."""

    found: Found = None


Pattern = tuple[frozenset[object], ...]
"""Passages whose sort has all of one of these."""
Step = Callable[..., Found | Enough | Iterable[Found]]
Judge = Callable[[list[Any]], Iterable[Found]]


def came(*what: object, on: object = None) -> Pattern:
    """Match what the server sent that is one of `what`, only on the kind of channel `on` if given."""
    return _either(Direction.RECEIVED, what, on)


def went(*what: object, on: object = None) -> Pattern:
    """Match what we sent that is one of `what`, only on the kind of channel `on` if given."""
    return _either(Direction.SENT, what, on)


def _either(way: Direction, what: Iterable[object], on: object) -> Pattern:
    where = set() if on is None else {on}
    return tuple(frozenset({way, each} | where) for each in what)


class Gaps(Enum):
    """What a watch makes of a gap in a direction that it looks at."""

    BEARS = "every passage is judged by itself"
    STOPS = "what it knows is unknown up to the end of the connection: it looks at nothing more"
    TOLD = "its state is told of what is missing, and knows what is unknown then"


@dataclass(slots=True)
class Tally:
    """What a watch saw on one connection: how often its rule held, and each time that it was broken."""

    held: int = 0
    broken: list[str] = field(default_factory=list)

    @property
    def occasions(self) -> int:
        """How often there was something to judge."""
        return self.held + len(self.broken)

    def add(self, found: Found | Iterable[Found]) -> None:
        """Count a finding, or several."""
        if found is True:
            self.held += 1
        elif isinstance(found, str):
            self.broken.append(found)
        elif found is not None:
            for each in found:
                self.add(each)


class State:
    """What a watch remembers of one connection."""

    def end(self) -> Iterable[Found]:
        """Give the findings that are decided only when the connection is over."""
        return ()

    def missed(self, way: Direction) -> None:
        """Take note that something that went this way was not captured; called for watches that are TOLD."""
        raise NotImplementedError(f"{type(self).__name__} does not know what a gap means")


class Unsure(State):
    """What is unsure once something that we sent was not captured."""

    unsure = False

    def missed(self, way: Direction) -> None:
        """Note that what we have said is unknown."""
        self.unsure |= way is Direction.SENT


class Repeats(Unsure):
    """Values that we have sent, and wrong ones that came: those that repeat ours, as far as known, are not.

    An empty value repeats nothing.
    """

    def __init__(self) -> None:
        self.ours: list[object] = []
        self.wrong: list[tuple[object, str]] = []

    def end(self) -> Iterator[Found]:
        """Give what is wrong and repeats nothing."""
        for value, told in self.wrong:
            if not value or not (self.unsure or value in self.ours):
                yield told


class Whole(State):
    """All passages that a watch looks at, in order, for one that judges them when the connection is over."""

    def __init__(self, judge: Judge) -> None:
        self.seen: list[Any] = []
        self._judge = judge

    def end(self) -> Iterable[Found]:
        """Give what it finds in them."""
        return self._judge(self.seen)


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """How a watch looks at a connection.

    `step` is called with every passage it `looks_at`, after its state if there is a `start`; one that looks
    at the `whole` is called once with all of them, when the connection is over. Each passage that it `counts`
    is an occasion on which the rule held. It looks at nothing on a connection without a passage that it
    `needs`, and neither looks nor counts on one that `where` does not accept, nor behind the first passage
    that matches `until`, or what is missing and may have been one.
    """

    step: Step
    looks_at: Pattern
    gap: Gaps
    start: Callable[[], State] | None = None
    counts: Pattern = ()
    needs: Pattern = ()
    until: Pattern = ()
    where: Callable[[Any], bool] | None = None
    whole: bool = False

    def begin(self) -> State | None:
        """Give its state on a new connection, None if it has none."""
        return Whole(cast(Judge, self.step)) if self.whole else self.start and self.start()

    def cares(self, way: Direction) -> bool:
        return any(way in each for each in (*self.looks_at, *self.counts))


@dataclass(frozen=True, slots=True)
class _Interest:
    looks: tuple[int, ...]
    counts: tuple[int, ...]
    needs: frozenset[int]
    ends: tuple[int, ...]


SPAN = 1000
"""Passages that all watches look at before any looks at the next: what is read stays near."""


class _Course:
    """A watch on its way over a connection: the places of the passages it looks at, and how far it is."""

    __slots__ = ("_begun", "_fold", "_given", "_places", "_state", "_step", "_tally")

    def __init__(self, fold: Fold, places: Sequence[int], tally: Tally) -> None:
        self._fold, self._places, self._tally = fold, places, tally
        self._begun = 0
        self._state = state = fold.begin()
        self._step = state.seen.append if isinstance(state, Whole) else fold.step
        self._given = () if state is None or isinstance(state, Whole) else (repeat(state),)

    def go(self, passages: Sequence[Any], end: int) -> bool:
        """Look at what stands before the place `end`; False when it has enough."""
        tally, held, until = self._tally, 0, bisect_left(self._places, end, self._begun)
        ahead = map(passages.__getitem__, self._places[self._begun : until])
        self._begun = until
        for said in map(self._step, *self._given, ahead):
            if said is True:
                held += 1
            elif isinstance(said, Enough):
                tally.held += held
                tally.add(said.found)
                return False
            elif said is not None:
                tally.add(said)
        tally.held += held
        return True

    def bears(self, way: Direction) -> bool:
        """Take note that something that went this way is missing; False when that ends what it looks at."""
        if self._state is None or self._fold.gap is Gaps.BEARS or not self._fold.cares(way):
            return True
        if self._fold.gap is Gaps.TOLD:
            self._state.missed(way)
        return self._fold.gap is Gaps.TOLD

    def end(self) -> None:
        """Count what is decided only when the connection is over."""
        if self._state is not None:
            self._tally.add(self._state.end())


class Watching:
    """Watches, each with the identity of its rule, that look at one finished connection after the other."""

    def __init__(self, watches: Iterable[tuple[str, Fold]] = ()) -> None:
        self._watches = tuple(watches)
        self._needy = frozenset(number for number, (_, fold) in enumerate(self._watches) if fold.needs)
        self._interests: dict[Sort, _Interest] = {}

    @property
    def rules(self) -> list[str]:
        return [rule for rule, _ in self._watches]

    def look(self, transcript: Transcript) -> list[tuple[str, Tally]]:
        """Give the tally of each watch that had an occasion, with the identity of its rule."""
        if not self._watches:
            return []
        sorts, passages = transcript.sorted()
        places: dict[Sort, list[int]] = {sort: [] for sort in {*sorts}}
        for place, sort in enumerate(sorts):
            places[sort].append(place)
        of = {sort: self._interest(sort) for sort in places}
        looks: dict[int, list[Sort]] = {each: [] for one in of.values() for each in one.looks + one.counts}
        for sort, interest in of.items():
            for number in interest.looks:
                looks[number].append(sort)
        found = {each: Tally() for each in looks if self._applies(each, transcript)}
        ends = dict.fromkeys(found, len(passages))
        for sort, interest in of.items():
            ends |= {each: min(ends[each], places[sort][0]) for each in interest.ends if each in ends}
        for sort, interest in of.items():
            for number in found.keys() & interest.counts:
                found[number].held += bisect_left(places[sort], ends[number])
        idle = self._needy.difference(*(each.needs for each in of.values()))
        joined: dict[tuple[Sort, ...], list[int]] = {}
        courses = []
        for each in found:
            if each in idle:
                continue
            if (some := tuple(looks[each])) not in joined:
                joined[some] = _in_order(places[one] for one in some)
            seen, end = joined[some], ends[each]
            seen = seen if end == len(passages) else seen[: bisect_left(seen, end)]
            courses.append(_Course(self._watches[each][1], seen, found[each]))
        gaps = {place + 1 for sort, there in places.items() if Gap in sort.tags for place in there}
        for end in sorted({*range(SPAN, len(passages), SPAN), len(passages), *gaps}):
            courses = [each for each in courses if each.go(passages, end)]
            if end in gaps:
                way = passages[end - 1].direction
                courses = [each for each in courses if each.bears(way)]
        for course in courses:
            course.end()
        return [(self._watches[each][0], found[each]) for each in sorted(found) if found[each].occasions]

    def _applies(self, number: int, transcript: Transcript) -> bool:
        where = self._watches[number][1].where
        return where is None or where(transcript)

    def _interest(self, sort: Sort) -> _Interest:
        if sort not in self._interests:

            def asked(pattern: Pattern) -> bool:
                return any(each <= sort.tags for each in pattern)

            every = [(number, fold) for number, (_, fold) in enumerate(self._watches)]
            self._interests[sort] = _Interest(
                tuple(number for number, fold in every if asked(fold.looks_at)),
                tuple(number for number, fold in every if asked(fold.counts)),
                frozenset(number for number, fold in every if asked(fold.needs)),
                tuple(number for number, fold in every if asked(fold.until) or _may_be(fold.until, sort)),
            )
        return self._interests[sort]


def _may_be(pattern: Pattern, sort: Sort) -> bool:
    """Say whether what is missing could match a pattern."""
    return Gap in sort.tags and any(each & sort.tags & set(Direction) for each in pattern)


def _in_order(places: Iterable[list[int]]) -> list[int]:
    """Join places of passages of several sorts."""
    several = [*places]
    return several[0] if len(several) == 1 else sorted(chain.from_iterable(several))
