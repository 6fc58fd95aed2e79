"""Two builds, or two runs of one, side by side: what each rule's verdict became.

A regression is a rule against which more is to be said than before: its severity
(`conformance.evidence.verdicts.Verdict.severity`) rose. Which change a pair of verdicts is stands in `GRID`,
and what a change means, and whether it is a regression, stands with `Kind`; both are data.

A rule that gave different verdicts on one side is flaky there. What alternation alone explains is no
regression: such a change is reported apart, as long as the severities seen on both sides overlap. Where the
best that was seen now is worse than the worst that was seen before, alternation explains nothing, and the
change is classified as for any other rule, marked as flaky.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from conformance.evidence.kinds import EvidenceError
from conformance.evidence.printable import printable
from conformance.evidence.results import however_ended
from conformance.evidence.verdicts import Verdict
from reports.model.findings import Column, Finding


class Kind(StrEnum):
    """What became of a rule, in the order in which it is shown: first what needs somebody's attention.

    Each has its `meaning`, whether it is a `regression`, and rich's `style` for a terminal.
    """

    NEWLY_FAILING = "newly failing", "a MUST is broken that was not", True, "bold red"
    NEWLY_OPEN = "newly open", "no longer judged: error, inconclusive or not-run", True, "bold magenta"
    NEWLY_MISSED = "newly missed", "warn: a SHOULD missed, or an outcome not preferred", True, "bold yellow"
    NEWLY_FLAKY = "newly flaky", "the verdict alternates and did not before", False, "yellow"
    STILL_FLAKY = "still flaky", "the verdict alternates on both", False, "yellow"
    NO_LONGER_FLAKY = "no longer flaky", "the verdict alternated and does no longer", False, "cyan"
    CHANGED_FINDING = (
        "changed finding",
        "as severe as before, with another verdict or signature",
        False,
        "cyan",
    )
    CHANGED_READING = "changed reading", "as good as before, by another reading", False, "cyan"
    LESS_SEVERE = "less severe", "less stands against it, but it does not pass", False, "green"
    NEWLY_PASSING = "newly passing", "pass, or info, where something stood against it", False, "bold green"
    ONLY_OLD = "only in old", "the new one says nothing of it", False, "dim"
    ONLY_NEW = "only in new", "the old one says nothing of it", False, "dim"

    meaning: str
    regression: bool
    style: str

    def __new__(cls, value: str, meaning: str, regression: bool, style: str) -> Self:
        made = str.__new__(cls, value)
        made._value_, made.meaning, made.regression, made.style = value, meaning, regression, style
        return made


_COLUMNS = (
    Verdict.ERROR, Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.NOT_RUN, Verdict.WARN,
    Verdict.INFO, Verdict.PASS, Verdict.INAPPLICABLE, Verdict.UNTESTABLE,
)  # fmt: skip
_CODES = {
    "F": Kind.NEWLY_FAILING,
    "O": Kind.NEWLY_OPEN,
    "M": Kind.NEWLY_MISSED,
    "P": Kind.NEWLY_PASSING,
    "l": Kind.LESS_SEVERE,
    "f": Kind.CHANGED_FINDING,
    "r": Kind.CHANGED_READING,
}
# A row for each old verdict, a column for each new one, both in the order of _COLUMNS. On the diagonal
# stands what it is when something else than the verdict changed. Of two that block, which one it is says
# how the finding changed, not how severe it is: not-run to fail is no regression.
_DRAWN = """
    error         f f f f  l  P P  l l
    fail          f f f f  l  P P  l l
    inconclusive  f f f f  l  P P  l l
    not-run       f f f f  l  P P  l l
    warn          O F O O  f  P P  l l
    info          O F O O  M  r r  f f
    pass          O F O O  M  r r  f f
    inapplicable  O F O O  M  f f  f f
    untestable    O F O O  M  f f  f f
"""
GRID: Mapping[tuple[Verdict, Verdict], Kind] = {
    (Verdict(old), new): _CODES[code]
    for old, *codes in map(str.split, _DRAWN.strip().splitlines())
    for new, code in zip(_COLUMNS, codes, strict=True)
}
"""What a change from one verdict to another is, of rules that are flaky on neither side."""


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one rule: the findings on both sides, None where there is none.

    `flaky` marks a rule that is flaky on either side.
    """

    rule: str
    kind: Kind
    old: Finding | None
    new: Finding | None
    flaky: bool

    @property
    def regression(self) -> bool:
        return self.kind.regression

    @property
    def level(self) -> str:
        finding = self.new or self.old
        return finding.judged_at if finding else ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that differs between two columns.

    `changes` come in the order of `Kind`, then by rule; `same` counts the rules with nothing to say of;
    `cautions` are sentences on what makes the two sides less comparable.
    """

    old: Column
    new: Column
    changes: tuple[Change, ...]
    same: int
    cautions: tuple[str, ...]

    def of(self, kind: Kind) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.kind is kind)

    @property
    def regressions(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.regression)

    @property
    def exit_status(self) -> int:
        """1 on a regression, else 0."""
        return int(bool(self.regressions))

    @property
    def sentence(self) -> str:
        count = len(self.regressions)
        answer = f"{count} regression{'s' if count > 1 else ''}" if count else "no regression"
        return f"{answer}; rules changed: {len(self.changes)}, unchanged: {self.same}"


def compare(old: Column, new: Column) -> Comparison:
    """Say what became of each rule from `old` to `new`, two builds or two runs of one.

    Raises EvidenceError for a server and a client: they owe different things.
    """
    if old.build.role is not new.build.role:
        sides = " and ".join(f"{each.build.name}, judged as {each.build.role}," for each in (old, new))
        raise EvidenceError(f"{printable(sides)} cannot be compared")
    ranks = {kind: rank for rank, kind in enumerate(Kind)}
    rules = sorted({*old.findings, *new.findings})
    changes = [
        change for rule in rules if (change := _change(rule, old.findings.get(rule), new.findings.get(rule)))
    ]
    changes.sort(key=lambda change: (ranks[change.kind], change.rule))
    return Comparison(old, new, tuple(changes), len(rules) - len(changes), tuple(_cautions(old, new)))


def _change(rule: str, old: Finding | None, new: Finding | None) -> Change | None:
    flaky = any(side is not None and side.flaky for side in (old, new))
    if old is None or new is None:
        return Change(rule, Kind.ONLY_NEW if old is None else Kind.ONLY_OLD, old, new, flaky)
    if flaky and _alternation_explains(old, new):
        return Change(rule, _FLAKY[old.flaky, new.flaky], old, new, flaky)
    told = [(each.verdict, however_ended(each.signature), each.reading) for each in (old, new)]
    if told[0] == told[1]:
        return None
    kind = GRID[old.verdict, new.verdict]
    if kind is Kind.CHANGED_FINDING and told[0][:2] == told[1][:2]:
        kind = Kind.CHANGED_READING
    return Change(rule, kind, old, new, flaky)


_FLAKY = {
    (False, True): Kind.NEWLY_FLAKY,
    (True, True): Kind.STILL_FLAKY,
    (True, False): Kind.NO_LONGER_FLAKY,
}


def _alternation_explains(old: Finding, new: Finding) -> bool:
    before, after = (sorted(each.severity for each in {*side.seen, side.verdict}) for side in (old, new))
    return before[0] <= after[-1] and after[0] <= before[-1]


_COMPARABLE = (
    ("judged by different suites", lambda column: column.suite),
    ("judged at different levels", lambda column: column.level),
    ("judged by different profiles", lambda column: column.profile),
    (
        "judged by different documents",
        lambda column: ", ".join(
            f"{each.get('prefix', '')} {each.get('sha256', '')[:12]}" for each in column.documents
        ),
    ),
)
"""What should be the same on both sides, and the words for it when it is not."""


def _cautions(old: Column, new: Column) -> list[str]:
    told = [
        f"{words}: {fact(old) or 'none'} and {fact(new) or 'none'}"
        for words, fact in _COMPARABLE
        if fact(old) != fact(new)
    ]
    for side, column in (("old", old), ("new", new)):
        if column.partial == column.runs:
            told.append(f"the {side} one rests on runs that were cut short")
    return told
