"""The page of a run: one file, clients and brokers by case, and clients by clients for each broker."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

from markupsafe import Markup

from conformance.interop.folder import of_cell
from conformance.interop.known import Against, Known
from conformance.interop.matrix import Cell, Matrix, counted
from conformance.interop.outcomes import MEANINGS, SYMBOLS, Leg, Outcome, Stage, worst
from conformance.interop.tell.terminal import line
from conformance.render.html.environment import alone, environment, style

HERE = "conformance.interop.tell"


@dataclass(frozen=True, slots=True)
class Shown:
    """A cell of a table: what it came to, its legs, and which of these are known to fail."""

    outcome: Outcome
    legs: tuple[Leg, ...]
    known: bool

    @property
    def notable(self) -> tuple[Leg, ...]:
        """Give the legs that are told one by one: all but those on which nothing happened."""
        quiet = (Outcome.SAME, Outcome.UNTRIED)
        return tuple(
            leg
            for leg in self.legs
            if leg.fails or (leg.outcome not in quiet and leg.leg is not Stage.PLAYED)
        )

    @property
    def quiet(self) -> int:
        """Count the others."""
        return len(self.legs) - len(self.notable)


@dataclass(frozen=True, slots=True)
class Between:
    """A sender and a receiver at a broker: how their cases divide, and which are not the same."""

    counts: Mapping[Outcome, int]
    cases: Mapping[Outcome, Sequence[str]]
    contradicted: Sequence[Leg]
    played: int
    known: bool

    @property
    def outcome(self) -> Outcome:
        return worst(self.counts)


@dataclass(frozen=True)
class View:
    """What the page asks of a matrix."""

    matrix: Matrix
    against: Against

    @cached_property
    def reasons(self) -> Mapping[int, Known]:
        return {id(leg): each for leg, each in self.against.known}

    def cell(self, client: str, broker: str, case: str) -> Shown:
        return self._shown(self.matrix.cell(client, broker, case))

    def broker_cell(self, broker: str, case: str) -> Shown:
        legs = self.matrix.of_broker(broker, case)
        return self._shown(Cell(None, None, legs, ()))

    def _shown(self, cell: Cell) -> Shown:
        failing = [leg for leg in cell.legs if leg.fails]
        return Shown(
            cell.outcome, cell.legs, bool(failing) and all(id(leg) in self.reasons for leg in failing)
        )

    def reason(self, leg: Leg) -> str:
        return self.reasons[id(leg)].reason if id(leg) in self.reasons else ""

    def of_cell(self, client: str, broker: str) -> Mapping[Outcome, int]:
        return of_cell(self.matrix, client, broker)

    def between(self, sender: str, receiver: str, broker: str) -> Between:
        pairs = [(case, self.matrix.pair(sender, receiver, broker, case)) for case in self.matrix.cases]
        pairs = [(case, pair) for case, pair in pairs if pair.legs]
        cases: dict[Outcome, list[str]] = {}
        for case, pair in pairs:
            if pair.outcome is not Outcome.SAME:
                cases.setdefault(pair.outcome, []).append(case)
        played = [pair.played for _, pair in pairs if pair.played is not None]
        contradicted = [leg for leg in played if leg.fails]
        failing = [*contradicted, *(leg for _, pair in pairs for leg in pair.legs if leg.fails)]
        known = all(id(leg) in self.reasons for leg in failing)
        return Between(counted(pair.outcome for _, pair in pairs), cases, contradicted, len(played), known)

    @cached_property
    def why(self) -> Sequence[Why]:
        """Give what fails by its reason; what is new comes first, and of what is known what fails most."""
        new: dict[str, list[Leg]] = {}
        for leg in self.against.new:
            new.setdefault(line(leg), []).append(leg)
        known: dict[str, list[Leg]] = {}
        for leg, entry in self.against.known:
            known.setdefault(entry.reason, []).append(leg)
        return [
            *(Why.of(legs, "") for legs in new.values()),
            *(Why.of(legs, reason) for reason, legs in sorted(known.items(), key=lambda each: -len(each[1]))),
        ]


@dataclass(frozen=True, slots=True)
class Why:
    """What fails for one reason: whose legs, at which brokers, in which cases; no reason where it is new."""

    reason: str
    who: Sequence[str]
    where: Sequence[str]
    cases: Sequence[str]
    outcomes: Sequence[Outcome]
    example: Leg
    count: int

    @classmethod
    def of(cls, legs: Sequence[Leg], reason: str) -> Why:
        """Sum up legs that fail alike."""
        who, where, cases = (
            list(dict.fromkeys(each))
            for each in (
                sorted(leg.client or "the broker" for leg in legs),
                (leg.broker for leg in legs),
                (leg.case for leg in legs),
            )
        )
        return cls(
            reason, who, where, cases, list(dict.fromkeys(leg.outcome for leg in legs)), legs[0], len(legs)
        )


def page(
    matrix: Matrix, against: Against, broke: Mapping[str, str], about: Mapping[str, str] | None = None
) -> str:
    """Give the page; `about` says by case what of the document it is about."""
    css = style() + resources.files(HERE).joinpath("assets", "interop.css").read_text(encoding="utf-8")
    return alone(
        environment(HERE),
        "interop.html.j2",
        css=Markup(css),
        digest=base64.b64encode(hashlib.sha256(css.encode()).digest()).decode(),
        view=View(matrix, against),
        matrix=matrix,
        against=against,
        broke=broke,
        about=about or {},
        symbols=SYMBOLS,
        meanings=MEANINGS,
        grouped=groups(matrix.cases),
    )


def groups(cases: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Group cases by the first word of their names, in their order."""
    found: dict[str, list[str]] = {}
    for case in cases:
        found.setdefault(case.partition(".")[0], []).append(case)
    return found
