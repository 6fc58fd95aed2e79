"""Measurements beside other libraries, in any protocol."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.dialect import of

REPEAT = 5
NUMBER = 4000
"""Calls that are timed together."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A measurement beside a peer's, in microseconds for one call."""

    what: str
    ours: float
    peer: str
    theirs: float


def figures(document: str) -> Iterator[Figure]:
    """Measure our codec of a document's protocol beside another library's."""
    yield from of(document, "trials.benchmark").figures()


def beside(what: str, ours: Callable[[], object], peer: str, theirs: Callable[[], object]) -> Figure:
    """Measure our work and a peer's, one right after the other."""
    return Figure(what, _microseconds(ours), peer, _microseconds(theirs))


def _microseconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(REPEAT):
        began = time.perf_counter()
        for _ in range(NUMBER):
            work()
        best = min(best, time.perf_counter() - began)
    return best / NUMBER * 1e6
