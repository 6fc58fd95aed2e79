"""Two versions of a client or of a broker, side by side: what became of each cell. Knows no Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from itertools import pairwise
from typing import Any, Self

from conformance.evidence.kinds import EvidenceError
from conformance.evidence.printable import printable
from conformance.interop.outcomes import SYMBOLS, Outcome
from reports.model.findings import Build

_TAG = re.compile(r":[^:/]+$")


class Kind(StrEnum):
    """What became of a cell, in the order in which it is shown: first what needs somebody's attention."""

    REGRESSED = "regressed", "a value is lost or changed that came through", "bold red"
    FLAKY = "flaky", "runs of one version differ as the two versions do", "yellow"
    OTHERWISE = "otherwise", "it came out otherwise, neither lost nor won", "cyan"
    MENDED = "mended", "a value comes through that was lost or changed", "bold green"
    NEW = "new", "the old one was not tried in it", "dim"
    GONE = "gone", "the new one was not tried in it", "dim"
    SAME = "same", "it came out as before", ""

    meaning: str
    style: str

    def __new__(cls, value: str, meaning: str, style: str) -> Self:
        made = str.__new__(cls, value)
        made._value_, made.meaning, made.style = value, meaning, style
        return made


CHANGES = tuple(kind for kind in Kind if kind is not Kind.SAME)


@dataclass(frozen=True, slots=True, order=True)
class Side:
    """A client or a broker in a version."""

    who: str
    name: str
    version: str

    @property
    def called(self) -> str:
        return f"{self.name} {self.version}".strip()

    @property
    def family(self) -> tuple[str, str]:
        """What its versions have in common: of a target in a container the image, without its tag."""
        return self.who, _TAG.sub("", self.name) if self.name.startswith("docker:") else self.name

    @property
    def age(self) -> tuple[object, ...]:
        """The version as versions count: a later one is greater."""
        return Build(self.name, self.version, self.name).age, self.version


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two sides that are held against one another."""

    old: Side
    new: Side


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell of one side came to; `legs` are those on which it did, `seen` the outcomes of all runs."""

    outcome: Outcome
    known: bool
    legs: tuple[str, ...]
    detail: str
    other_version: str
    run: str
    started: str
    seen: tuple[str, ...]

    @classmethod
    def of(cls, row: Mapping[str, Any] | None) -> Cell | None:
        """Make it of a row; None of none."""
        if row is None:
            return None
        told = {each.name: row[each.name] for each in fields(cls)}
        lists = {name: tuple(told[name]) for name in ("legs", "seen")}
        return cls(**told | lists | {"outcome": Outcome(told["outcome"])})

    @property
    def told(self) -> str:
        """Say in short what it came to, where, and whether that is known."""
        where = f" ({', '.join(self.legs)})" if self.outcome is not Outcome.SAME else ""
        return f"{SYMBOLS[self.outcome]} {self.outcome}{where}{', known' if self.known else ''}"


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a cell; `other` is the broker of a client, or the client of a broker (empty: none)."""

    kind: Kind
    protocol: str
    other: str
    case: str
    old: Cell | None
    new: Cell | None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Change:
        """Make it of a row."""
        kind = next(each for each in Kind if each == row["kind"])
        old, new = Cell.of(row["old"]), Cell.of(row["new"])
        return cls(kind, row["protocol"], row["other"], row["case"], old, new)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that came out otherwise between two sides, in the order of Kind; `same` counts the rest."""

    pairing: Pairing
    changes: tuple[Change, ...]
    same: int

    def of(self, kind: Kind) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.kind is kind)

    @property
    def regressed(self) -> bool:
        return bool(self.of(Kind.REGRESSED))

    @property
    def sentence(self) -> str:
        counts = ", ".join(f"{len(found)} {kind}" for kind in CHANGES if (found := self.of(kind)))
        return f"{counts or 'nothing came out otherwise'}; unchanged: {self.same}"

    @property
    def cautions(self) -> tuple[str, ...]:
        """Say which of the others had another version at either side."""
        versions = {
            (each.other, each.old.other_version, each.new.other_version)
            for each in self.changes
            if each.old and each.new and each.old.other_version != each.new.other_version
        }
        return tuple(
            f"{other} was {old or 'unnamed'} with the old one, {new or 'unnamed'} with the new one"
            for other, old, new in sorted(versions)
        )


def comparisons(pairings: Sequence[Pairing], rows: Iterable[Mapping[str, Any]]) -> list[Comparison]:
    """Make the comparisons of the rows of `reports.interop.jobs.summed`; of no row nothing is to be said."""
    by_pairing = {row["pairing"]: row for row in rows}
    nothing: Mapping[str, Any] = {"same": 0, "changes": ()}
    return [_comparison(each, by_pairing.get(at, nothing)) for at, each in enumerate(pairings)]


def _comparison(pairing: Pairing, row: Mapping[str, Any]) -> Comparison:
    ranks = {kind: rank for rank, kind in enumerate(Kind)}
    changes = sorted(map(Change.of, row["changes"]), key=lambda each: ranks[each.kind])
    return Comparison(pairing, tuple(changes), row["same"])


def following(sides: Iterable[Side]) -> list[Pairing]:
    """Pair each version of a client or broker with the one before it."""
    families: dict[tuple[str, str], list[Side]] = {}
    for side in sides:
        families.setdefault(side.family, []).append(side)
    return [
        Pairing(old, new)
        for each in families.values()
        for old, new in pairwise(sorted(each, key=lambda side: side.age))
    ]


def named(sides: Iterable[Side], old: str, new: str) -> Pairing:
    """Find the two sides that are called so. Raises EvidenceError for a name of nobody, or of unlike ones."""
    known = list(sides)
    found = [[each for each in known if each.called == name] for name in (old, new)]
    for name, those in zip((old, new), found, strict=True):
        if not those:
            there = ", ".join(dict.fromkeys(each.called for each in known)) or "none"
            told = f"'{name}' is no client and no broker of the warehouse; there are {there}"
            raise EvidenceError(printable(told))
    for one in found[0]:
        for other in found[1]:
            if one.who == other.who:
                return Pairing(one, other)
    raise EvidenceError(printable(f"'{old}' and '{new}' are a client and a broker, and cannot be compared"))
