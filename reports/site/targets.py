"""What the page of one build shows: its standing and why, its history, its findings, the worst first."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.causes.dictionary import Sign
from conformance.causes.telling import diagnosed, grouped
from conformance.evidence.verdicts import TABLE
from conformance.render.html.bars import stretches
from reports.compare.comparison import Comparison, compare
from reports.compare.matrix import Matrix, RuleRow
from reports.model.findings import Column, Finding
from reports.site.data import SiteData
from reports.site.findings import Lineage
from spec.rules import Role

CAUSES = 15
"""Causes that are told: as many as one looks at."""
_RANK = {row.verdict: rank for rank, row in enumerate(TABLE)}


@dataclass(frozen=True, slots=True)
class Past:
    """One build of a history, beside the one before it."""

    column: Column
    comparison: Comparison | None


def target(column: Column, table: Matrix, site: SiteData) -> Mapping[str, Any]:
    """Give the values for the page of `column`."""
    place = next(number for number, each in enumerate(table.columns) if each is column)
    found = [(row, row.findings[place]) for row in table.rows]
    judged = [(row, finding) for row, finding in found if finding is not None]
    history = list(_history(column, site))
    ranked = worst_first(judged)
    return {
        "column": column,
        "causes": list(_causes(column, judged)),
        "against": [each for each in ranked if each[1].verdict.severity == 2],
        "missed": [each for each in ranked if each[1].verdict.severity == 1],
        "flaky": [each for each in judged if each[1].flaky],
        "everything": _grouped(table, place),
        "absent": len(found) - len(judged),
        "stretches": list(stretches(finding.verdict for _, finding in judged)),
        "history": history,
        "since": next(past.comparison for past in history if past.column is column),
    }


def _causes(
    column: Column, judged: Iterable[tuple[RuleRow, Finding]]
) -> Iterator[tuple[str, list[tuple[RuleRow, Finding]]]]:
    """Put findings under what causes them, most of them first; the dictionary knows servers alone."""
    if column.build.role is not Role.SERVER:
        return
    of_rule = {row.identity: (row, finding) for row, finding in judged if row.rule is not None}
    told = diagnosed({rule: Sign(each.verdict, each.signature) for rule, (_, each) in of_rule.items()})
    for group in [each for each in grouped(told) if len(each.rules) > 1][:CAUSES]:
        yield group.says, [of_rule[rule] for rule in group.rules]


def worst_first(judged: Iterable[tuple[RuleRow, Finding]]) -> list[tuple[RuleRow, Finding]]:
    """Sort findings by verdict, and of those alike the stronger rules first."""
    return sorted(judged, key=lambda each: (_RANK[each[1].verdict], _weight(each[0])))


def _weight(row: RuleRow) -> int:
    """Give the place of a rule in a sort that puts the stronger first."""
    levels = ("must", "should", "may")
    return levels.index(str(row.rule.level)) if row.rule else len(levels)


def _grouped(table: Matrix, place: int) -> list[tuple[str, list[tuple[RuleRow, Finding]]]]:
    """Put all findings under the headings of the matrix, those without any left out."""
    headed: list[tuple[str, list[tuple[RuleRow, Finding]]]] = []
    for chapter in table.chapters:
        for group in chapter.groups:
            rows = [row for section in group.sections for row in section.rows]
            told = [(row, finding) for row in rows if (finding := row.findings[place]) is not None]
            if told:
                headed.append((group.heading or "in no document of this suite", told))
    return headed


def _history(column: Column, site: SiteData) -> Iterator[Past]:
    """List the builds of the same product in the same role one before the other, the newest first."""
    builds = Lineage(site.columns).around(column)
    for newer, older in zip(builds, [*builds[1:], None], strict=True):
        yield Past(newer, compare(older, newer) if older else None)
