"""The findings of one rule for its page: equal ones together, with the one exchange that shows them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from conformance.evidence.explanation import Explanation
from conformance.evidence.printable import printable
from conformance.evidence.verdicts import TABLE, Verdict
from conformance.render.html.single import ABOVE
from reports.compare.exchanges import Captured, Wanted, capture, explained, lines_of, wanted
from reports.compare.matrix import RuleRow
from reports.model.findings import Column, Finding
from reports.model.rows import TableRow
from reports.site.names import rule_name
from reports.site.press import Press
from spec.rules import Role

_RANK = {row.verdict: rank for rank, row in enumerate(TABLE)}
_same = attrgetter("verdict", "signature", "detail", "reading", "expected", "actual", "cause")
"""What findings share to be alike: the rest names what was made for one run only."""
_ABOVE = ABOVE | {"place", "on failure", "one fault"}
"""Facts that the page tells once for all findings."""


@dataclass(frozen=True, slots=True)
class BuildLine:
    """One build's line on the page of a rule; `before` is the verdict of the build before it, if another."""

    column: Column
    finding: Finding | None
    before: Verdict | None


@dataclass(frozen=True, slots=True)
class Alike:
    """Builds on which a rule came to the same; `shown` is the one whose exchange stands for all."""

    shown: Finding
    of: Column
    members: tuple[tuple[Column, Finding], ...]

    @property
    def key(self) -> Wanted | None:
        """Where the rows of its exchange stand."""
        return wanted(self.shown)


@dataclass(frozen=True, slots=True)
class Told:
    """Findings alike, laid out; `file` is the capture's, relative to the site."""

    alike: Alike
    explanation: Explanation | None
    facts: tuple[tuple[str, str], ...]
    file: str
    captured: Captured | None


def lines(row: RuleRow, columns: Sequence[Column]) -> Iterator[BuildLine]:
    """Make a line per build, each beside what came before it in its lineage."""
    previous: dict[object, Verdict] = {}
    for column, finding in zip(columns, row.findings, strict=True):
        lineage = column.build.lineage
        before = previous.get(lineage)
        if finding is None:
            yield BuildLine(column, None, None)
            continue
        previous[lineage] = finding.verdict
        yield BuildLine(column, finding, before if before is not finding.verdict else None)


def alike(row: RuleRow, columns: Sequence[Column]) -> list[Alike]:
    """Group the findings of a rule, equal ones in one role together, worst first."""
    found: dict[object, list[tuple[Column, Finding]]] = {}
    for column, each in zip(columns, row.findings, strict=True):
        if each is not None:
            found.setdefault((column.build.role, _same(each)), []).append((column, each))
    groups = []
    for members in found.values():
        of, shown = next((each for each in members if wanted(each[1])), members[0])
        groups.append(Alike(shown, of, tuple(members)))
    return sorted(groups, key=lambda each: _RANK[each.shown.verdict])


def told(
    row: RuleRow, groups: Iterable[Alike], rows: Mapping[Wanted, Sequence[TableRow]], press: Press
) -> list[Told]:
    """Lay out the findings of a rule, and write the capture of each exchange."""
    nowhere: Wanted = ("", "", "")
    numbered = enumerate(groups, 1)
    return [_told(row, each, rows.get(each.key or nowhere, ()), press, number) for number, each in numbered]


def _told(row: RuleRow, group: Alike, rows: Sequence[TableRow], press: Press, number: int) -> Told:
    if row.rule is None:
        return Told(group, None, (), "", None)
    exchange = lines_of(rows)
    explanation = explained(group.shown, row.rule, exchange)
    same = ("reading", printable(row.rule.reading))  # the page tells it once for all findings
    facts = tuple(fact for fact in explanation.facts if fact[0] not in _ABOVE and fact != same)
    name, captured = f"captures/{rule_name(row.identity)}-{number}.pcapng", None
    if exchange:
        path = press.room(name)
        captured = capture(group.shown, exchange, path, _began(group), group.of.build.role)
        if captured:
            press.written.append(path)
    return Told(group, explanation, facts, name if captured else "", captured)


def _began(group: Alike) -> float:
    """Say when the run of the shown finding began, in seconds since the epoch; 0 when nobody knows."""
    started = group.shown.started
    return datetime.fromisoformat(started).timestamp() if started else 0.0


def lineages(columns: Sequence[Column]) -> Mapping[tuple[str, str, Role], list[Column]]:
    """Group the builds by lineage, each group in its order."""
    found: dict[tuple[str, str, Role], list[Column]] = {}
    for column in columns:
        found.setdefault(column.build.lineage, []).append(column)
    return found


def neighbours(columns: Sequence[Column]) -> Iterator[tuple[Column | None, Column]]:
    """Pair each build of a lineage with the one before it, None for the first."""
    yield from zip((None, *columns), columns, strict=False)
