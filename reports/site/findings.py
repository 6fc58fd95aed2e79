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
from reports.model.findings import Column, Finding, before
from reports.model.rows import TableRow
from reports.site.names import rule_name
from reports.site.press import Press

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


class Lineage:
    """Which build came before which, for all that is told of builds one after another."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._before = {each.build: before(each, columns) for each in columns}
        self._columns = columns

    def of(self, column: Column) -> list[Column]:
        """Give `column` and the builds before it, the newest first."""
        chain = [column]
        while older := self._before[chain[-1].build]:
            chain.append(older)
        return chain

    @property
    def newest(self) -> list[Column]:
        """The builds that come before none, in the order of the columns."""
        older = {each.build for each in self._before.values() if each}
        return [each for each in self._columns if each.build not in older]

    def around(self, column: Column) -> list[Column]:
        """Give the lineage in which `column` stands, from the newest build of it on."""
        return next(chain for each in self.newest if column in (chain := self.of(each)))


def lines(row: RuleRow, columns: Sequence[Column], lineage: Lineage) -> Iterator[BuildLine]:
    """Make a line per build, each beside what came before it in its lineage."""
    found = {column.build: finding for column, finding in zip(columns, row.findings, strict=True)}
    for column, finding in zip(columns, row.findings, strict=True):
        known = (found[each.build] for each in lineage.of(column)[1:])
        before = next((each.verdict for each in known if each is not None), None) if finding else None
        same = finding is not None and before is finding.verdict
        yield BuildLine(column, finding, None if same else before)


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
