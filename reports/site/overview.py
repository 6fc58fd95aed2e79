"""What the first page shows: each build's standing, what stands against it, what changed, how it went."""

from collections.abc import Iterator
from dataclasses import dataclass

from conformance.evidence.verdicts import Verdict
from conformance.render.html.bars import Bars, Stretch, bars, stretches
from reports.compare.comparison import Change, Comparison, Kind, compare
from reports.compare.matrix import Matrix, RuleRow
from reports.model.findings import Column, Finding
from reports.site.data import SiteData
from reports.site.findings import Lineage
from reports.site.targets import worst_first

FEW = 6
"""Rules that a card names of those against certification, and of those that changed."""
MANY = 10
"""Builds of one lineage whose trend a card shows, the newest of them."""


@dataclass(frozen=True, slots=True)
class Past:
    """One build of a trend: how its rules divide, and how many stand against certification."""

    column: Column
    stretches: tuple[Stretch, ...]
    against: int


@dataclass(frozen=True, slots=True)
class Card:
    """The newest build of a lineage, what became of it `since` the one before, and its `trend`."""

    column: Column
    bars: tuple[Bars, ...]
    against: tuple[tuple[RuleRow, Finding], ...]
    flaky: int
    since: Comparison | None
    trend: tuple[Past, ...]

    @property
    def named(self) -> tuple[tuple[RuleRow, Finding], ...]:
        return self.against[:FEW]

    @property
    def kinds(self) -> list[tuple[Kind, int]]:
        """How many rules changed in which way, what needs attention first."""
        since = self.since
        return [(kind, len(found)) for kind in Kind if since and (found := since.of(kind))]

    @property
    def regressions(self) -> tuple[Change, ...]:
        return self.since.regressions[:FEW] if self.since else ()


def cards(table: Matrix, site: SiteData) -> Iterator[Card]:
    """Make a card of each lineage of builds, in the order of the columns."""
    lineage = Lineage(site.columns)
    for newest in lineage.newest:
        builds = lineage.of(newest)
        before = builds[1] if len(builds) > 1 else None
        place = next(number for number, each in enumerate(table.columns) if each is newest)
        judged = [(row, finding) for row in table.rows if (finding := row.findings[place]) is not None]
        yield Card(
            newest,
            tuple(bars(site.catalogue.rules, _verdicts(newest))),
            tuple(each for each in worst_first(judged) if each[1].verdict.blocks),
            sum(finding.flaky for _, finding in judged),
            compare(before, newest) if before else None,
            tuple(map(_past, builds[:MANY])) if before else (),
        )


def _past(column: Column) -> Past:
    found = list(_verdicts(column).values())
    return Past(column, tuple(stretches(found)), sum(each.blocks for each in found))


def _verdicts(column: Column) -> dict[str, Verdict]:
    return {rule: finding.verdict for rule, finding in column.findings.items()}
