"""What was found of clients and brokers over all runs: what a site shows. Knows no Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from conformance.interop.outcomes import Outcome
from reports.interop.comparison import Comparison

Row = Mapping[str, Any]
"""A row of what `reports.interop.jobs` gives."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Runs one after the other in which a cell came to the same: how many, and the first and last of them."""

    outcome: Outcome
    known: bool
    runs: int
    first: Row
    last: Row


@dataclass(frozen=True, slots=True)
class Interop:
    """All that the warehouse holds of clients and brokers.

    `runs` are rows of the table, oldest first; `standing` and `history` what the jobs of these names give.
    """

    runs: Sequence[Row]
    standing: Sequence[Row]
    history: Sequence[Row]
    comparisons: Sequence[Comparison]

    @property
    def changed(self) -> list[Row]:
        """Give the cells that did not come to the same in every run."""
        return [row for row in self.history if row["changes"]]

    def standings(self) -> Iterator[tuple[Row, Sequence[Row]]]:
        """Give, for each client and broker in its version, what its cells came to, the best first."""
        for _, rows in groupby(self.standing, key=lambda row: tuple(row[name] for name in _BETWEEN)):
            counted = list(rows)
            yield counted[0], counted

    def by_client(self) -> Mapping[str, Mapping[tuple[str, str], Sequence[Row]]]:
        """Give the history by client (of none: brokers by themselves), then by protocol and broker."""
        found: dict[str, dict[tuple[str, str], list[Row]]] = {}
        for row in self.history:
            at = row["protocol"], row["broker"]
            found.setdefault(row["client"], {}).setdefault(at, []).append(row)
        return found


_BETWEEN = ("protocol", "client", "client_version", "broker", "broker_version")


def stretches(row: Row) -> list[Stretch]:
    """Cut the course of a cell where it came to something else."""
    found = []
    for (outcome, known), points in groupby(row["points"], key=lambda each: (each["outcome"], each["known"])):
        alike = list(points)
        found.append(Stretch(Outcome(outcome), known, len(alike), alike[0], alike[-1]))
    return found
