"""Which files of a table are read for some runs, and which of the runs each may hold. Knows no Spark."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

NAMED = 200
"""So many runs are named to who reads files, to leave pages out; of more, looking through all is quicker."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some `files`, as Delta Lake lists them, and the `runs` asked about that may stand there.

    Without runs they are too many to name, or nobody can tell.
    """

    files: tuple[Mapping[str, Any], ...]
    runs: tuple[str, ...] = ()


def parts(files: Iterable[Mapping[str, Any]], runs: Mapping[str, str]) -> Iterator[Part]:
    """Leave out the files that hold none of the `runs`, which stand by their loads, and group the others.

    A file is known by the least and the largest load in it.
    """
    loads = sorted(runs)
    unnamed: list[Mapping[str, Any]] = []
    group: list[Mapping[str, Any]] = []
    held: set[int] = set()
    for file in sorted(files, key=lambda each: each.get("min.load") or ""):
        least, largest = file.get("min.load"), file.get("max.load")
        if least is None or largest is None:
            unnamed.append(file)
            continue
        may_be = range(bisect_left(loads, least), bisect_right(loads, largest))
        if len(may_be) > NAMED:
            unnamed.append(file)
        elif may_be:
            if group and len(held.union(may_be)) > NAMED:
                yield _part(group, held, loads, runs)
                group, held = [], set()
            group.append(file)
            held.update(may_be)
    if group:
        yield _part(group, held, loads, runs)
    if unnamed:
        yield Part(tuple(unnamed))


def _part(group: list[Mapping[str, Any]], held: set[int], loads: list[str], runs: Mapping[str, str]) -> Part:
    return Part(tuple(group), tuple(sorted({runs[loads[at]] for at in held})))
