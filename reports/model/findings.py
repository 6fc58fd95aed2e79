"""What a rule came to on a build, and the words for how two such findings differ.

Pure data: the warehouse makes it from many runs, a run folder from one, and matrix, comparison, audit and
site are made from it alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from conformance.evidence.kinds import Judged, readers
from conformance.evidence.verdicts import Verdict
from conformance.gate.gate import Score, Standing
from spec.rules import Role


@dataclass(frozen=True, slots=True, order=True)
class Build:
    """What is judged in a `role`: `product` in a `version`, reached as `target`. A column of the matrix.

    A `label` tells it from other builds of its version; whoever judges every commit has one for each.
    """

    product: str
    version: str
    target: str
    role: Role = Role.SERVER
    label: str = ""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Build:
        """Make it of a row that has its fields as columns."""
        return cls(**{name: read(row[name]) for name, read in _PARTS.items()})

    @property
    def name(self) -> str:
        """Product and version as they call themselves, or else the target; a client is marked as one."""
        own = " ".join(filter(None, (self.product, self.version))) or self.target
        return f"{own} [{self.label}]{mark(self.role)}" if self.label else own + mark(self.role)

    @property
    def edition(self) -> str:
        """The version with the label that it may have."""
        return " ".join(filter(None, (self.version, f"[{self.label}]" if self.label else "")))

    @property
    def kin(self) -> tuple[str, Role]:
        """What it has in common with the builds before and after it, wherever each was reached."""
        return self.product or self.target, self.role

    @property
    def age(self) -> tuple[tuple[int, int, str], ...]:
        """The version as versions count: a later one is greater."""
        parts = []
        for part in self.version.replace("-", ".").replace("+", ".").split("."):
            digits = part.isascii() and part.isdigit() and len(part) < 10
            parts.append((1, int(part), "") if digits else (0, 0, part))
        return tuple(parts)


_PARTS = readers(Build)


def mark(role: Role) -> str:
    """Give what stands behind the name of what is judged in a `role`: nothing for a server."""
    return "" if role is Role.SERVER else f" ({role})"


BUILD = tuple(each.name for each in fields(Build))
"""The columns of `runs` by which builds are told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Judged):
    """What one rule came to on one build: the verdict of the test that decided, and what is known beside it.

    It is that of the newest run which came to its end, or else of the newest at all; `seen` are the
    verdicts of all runs of this build in the table's order, `runs` their number. `tests` counts the rule's
    tests: 0 where the run broke off before, and `duration` is that of all. `exchange` is the rule under which
    the deciding `connection` stands in the table of frames, `grade` that of the expectation which decided
    (harness.wire.journal.Grade): it tells a tolerated outcome from a miss, both being `warn`. `started` is
    when its run did.
    """

    tests: int = 1
    run: str = ""
    folder: str = ""
    started: str = ""
    decided_at: float | None = None
    waited: float | None = None
    exchange: str | None = None
    grade: str = ""
    seen: tuple[Verdict, ...] = ()
    runs: int = 1

    @classmethod
    def of(cls, row: Mapping[str, Any], **beside: Any) -> Finding:
        """Make it of a row of the table of verdicts with what stands `beside` it; alone, it is of one run."""
        told = {"seen": [row["verdict"]], **row, **beside}
        told["level"] = told["level"] or None
        known = {name: read for name, read in _READERS.items() if told.get(name) is not None}
        return cls(**{name: read(told[name]) for name, read in known.items()})

    @property
    def judged_at(self) -> str:
        """The level at which it was judged; empty where nobody came to it."""
        return str(self.level) if self.tests else ""

    @property
    def flaky(self) -> bool:
        """True where the same build got different verdicts."""
        return len(self.seen) > 1


_READERS = readers(Finding)


@dataclass(frozen=True, slots=True)
class Column:
    """All that was found on one build.

    Standing, sentence, level and scores are those of its newest whole run that came to its end (`run`,
    `folder`), or else of the newest at all. `runs` counts its runs, `partial` those cut short.
    """

    build: Build
    run: str
    folder: str
    started: str
    suite: str
    level: str
    profile: str
    standing: Standing
    sentence: str
    scores: tuple[Score, ...]
    documents: tuple[Mapping[str, str], ...]
    runs: int
    partial: int
    findings: Mapping[str, Finding] = field(default_factory=dict)

    def count(self, verdict: Verdict) -> int:
        return sum(finding.verdict is verdict for finding in self.findings.values())


def roles_of(columns: Collection[Column]) -> list[Role]:
    """List the roles in which the builds were judged; where there are none, that of servers."""
    return [role for role in Role if any(each.build.role is role for each in columns)] or [Role.SERVER]


def columns_in_order(columns: Iterable[Column]) -> list[Column]:
    """Sort servers before clients, by product, then by version as versions count, then by target.

    A build stands behind its predecessor; those of one version are in the order in which they were judged.
    """
    return sorted(columns, key=lambda column: (*_place(column.build), column.started, column.build.label))


def _place(build: Build) -> tuple[int, str, tuple[tuple[int, int, str], ...], str, str]:
    role = list(Role).index(build.role)
    return role, build.product.casefold(), build.age, build.version, build.target


def before(column: Column, columns: Iterable[Column]) -> Column | None:
    """Give the build that came before `column`: the newest older one of the product in its role.

    One on the same target goes before all others; a product is judged as a process today and as an image
    tomorrow. Builds of one version have no order among them, but for those on one target, of which the one
    that was judged before is the older.
    """
    build = column.build
    kin = [each for each in columns if each.build.kin == build.kin and each is not column]
    here = [each for each in kin if each.build.target == build.target]
    older = [each for each in here if _age(each) < _age(column)]
    older = older or [
        each for each in kin if build.version and each.build.version and each.build.age < build.age
    ]
    return max(older, key=lambda each: (*_age(each), each.build.target), default=None)


def _age(column: Column) -> tuple[tuple[tuple[int, int, str], ...], str, str]:
    return column.build.age, column.build.version, column.started
