"""Measurements beside other libraries, in any protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.dialect import of


@dataclass(frozen=True, slots=True)
class Figure:
    """A measurement beside a peer's, in microseconds for one call."""

    what: str
    ours: float
    peer: str
    theirs: float


def figures(document: str) -> Iterator[Figure]:
    """Our codec of a document's protocol beside another one, measured now."""
    yield from of(document, "trials.benchmark").figures()
