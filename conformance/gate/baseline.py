"""Accepted verdicts: what is known of one product, argued for, and checked to be still so.

An entry excuses exactly one finding of one rule; it never hides the verdict. An entry whose rule now passes,
whose date is past, or that fits nothing is itself a finding, so that the list cannot rot. Rules whose verdict
alternates are reported apart.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from conformance.causes.dictionary import Entry, dictionary
from conformance.evidence.kinds import Judged
from conformance.evidence.results import RuleResult
from conformance.evidence.verdicts import Verdict
from spec.rules import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Versions of a product that somebody has read: what is not accepted of them is unexpected."""

    product: str
    versions: SpecifierSet
    role: Role = Role.SERVER
    entry: int = 0

    def concerns(self, product: str, version: str, role: Role) -> bool:
        """Say whether it is about `version` of `product` in a role; one without a number fits no range."""
        number = number_of(version)
        if not number or (product.casefold(), role) != (self.product.casefold(), self.role):
            return False
        return self.versions.contains(Version(number), prereleases=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted(Read):
    """One accepted verdict.

    `signature` is the finding's, `sentence` the sentence of the document that decides, `reading` how it
    was read, `frame` an excerpt of the deciding frame. It holds for the `versions` (">=3.10,<3.11") of
    `product` where that is judged in the `role`, through the day `expires`. `entry` counts the tables of the
    file; one for several rules gives it to each. What follows from an accepted cause has that `cause`.
    """

    rule: str
    verdict: Verdict
    signature: str
    sentence: str
    reading: str
    frame: str
    reason: str
    ticket: str | None = None
    expires: date | None = None
    cause: str = ""

    def fits(self, test: Judged) -> bool:
        """Say whether `test` is the finding this entry is about."""
        return (self.rule, self.verdict, self.signature) == (test.rule, test.verdict, test.signature)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaky(Read):
    """A rule whose verdict alternates between these `verdicts`, at least one of which blocks.

    With one alone it is the finding that alternates.
    """

    rule: str
    verdicts: tuple[Verdict, ...]
    sentence: str
    reason: str

    def covers(self, result: RuleResult) -> bool:
        """Say whether `result` is about this rule and every test of it came to one of the verdicts."""
        return self.rule == result.rule and all(test.verdict in self.verdicts for test in result.tests)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caused(Read):
    """An accepted cause: a fault of the dictionary, by what it `says` and the rule it `breaks`, if any.

    It accepts what follows from that fault, each finding as the dictionary has it, and nothing else.
    """

    document: str
    says: str
    breaks: str = ""
    sentence: str
    reading: str
    reason: str
    ticket: str | None = None
    expires: date | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What the dictionary calls it by."""
        return self.document, self.breaks, self.says

    def findings(self, faults: Iterable[Entry]) -> tuple[Accepted, ...]:
        """Give what follows from it: an entry for each rule that it turns red."""
        signs = next((each.signs for each in faults if each.key == self.key), {})
        shared = {name: getattr(self, name) for name in _SHARED}
        return tuple(
            Accepted(
                rule=rule,
                verdict=sign.verdict,
                signature=sign.signature,
                frame="",
                cause=self.says,
                **shared,
            )
            for rule, sign in signs.items()
        )


_SHARED = (
    "product", "versions", "role", "entry", "sentence", "reading", "reason", "ticket", "expires"
)  # fmt: skip


def number_of(version: str) -> str:
    """Give the number a version begins with, empty without one; what a package adds is not ordered."""
    # A peer may call anything its version, thousands of digits too: that is no number.
    number = re.match(r"\d{1,99}(\.\d{1,99})*(?!\d)", version)
    return number[0] if number else ""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The accepted verdicts of one file, the rules whose verdict alternates, and what was read beside."""

    path: Path
    accepted: tuple[Accepted, ...]
    flaky: tuple[Flaky, ...] = ()
    read: tuple[Read, ...] = ()
    causes: tuple[Caused, ...] = ()

    @property
    def keys(self) -> tuple[Read, ...]:
        """All that says which products and versions it is about."""
        return (*self.accepted, *self.flaky, *self.read, *self.causes)

    @property
    def excuses(self) -> tuple[Accepted, ...]:
        """What is accepted by itself, and what follows from accepted causes."""
        faults = dictionary() if self.causes else ()
        follows = (each for cause in self.causes for each in cause.findings(faults))
        return (*self.accepted, *follows)


@dataclass(frozen=True, slots=True)
class Unexpected:
    """A finding the baseline does not cover: the rule, what was found, one sentence about it."""

    rule: str
    verdict: Verdict
    sentence: str


@dataclass(frozen=True, slots=True)
class BaselineReport:
    """How results stand to a baseline.

    `excused` maps each excused rule to the entries that cover all its blocking findings. `failures` are
    blocking verdicts no entry covers, `passes` accepted verdicts that no longer come, `stale` the
    expired entries, `unmatched` entries that fit nothing. `elsewhere` counts the entries about another
    product or version, `not_reached` those whose rule was not judged. `flaky` are the entries whose rule came
    to one of the verdicts it may alternate between.
    """

    excused: Mapping[str, tuple[Accepted, ...]]
    failures: tuple[Unexpected, ...]
    passes: tuple[Unexpected, ...]
    stale: tuple[Accepted, ...]
    unmatched: tuple[Unexpected, ...]
    elsewhere: int
    not_reached: int
    flaky: Mapping[str, Flaky] = field(default_factory=dict)


def apply(
    results: Iterable[RuleResult],
    baseline: Baseline,
    product: str,
    version: str,
    role: Role,
    today: date,
    catalogue: Collection[str],
    fail_on: str = Verdict.FAIL,
) -> BaselineReport:
    """Hold `results` against `baseline` for a build on the day `today`; `catalogue` is all rules.

    What a gate does not fail on, as `fail_on` says, needs no excuse.
    """
    results = list(results)
    excuses = baseline.excuses
    concerned = [each for each in excuses if each.concerns(product, version, role)]
    over = [each for each in concerned if each.expires is not None and each.expires < today]
    valid = [each for each in concerned if each not in over]
    judged = {result.rule: result for result in results}
    excused = {result.rule: cover for result in results if (cover := _cover(result, valid, fail_on))}
    reached = [(each, judged[each.rule]) for each in valid if each.rule in judged]
    fitting = {each for each, result in reached if any(map(each.fits, result.tests))}
    unused = [(each, result) for each, result in reached if each not in fitting and not each.cause]
    alternating = [each for each in baseline.flaky if each.concerns(product, version, role)]
    flaky = {
        each.rule: each for each in alternating if each.rule in judged and each.covers(judged[each.rule])
    }
    strangers = [each for each in valid if each.rule not in catalogue and not each.cause]
    lost = [(each.rule, each.verdict) for each in strangers]
    lost += [(each.rule, each.verdicts[0]) for each in alternating if each.rule not in catalogue]
    shown = {each.entry for each in fitting if each.cause}
    idle = {each.entry: each for each, _ in reached if each.cause and each.entry not in shown}
    return BaselineReport(
        excused=excused,
        failures=tuple(
            Unexpected(each.rule, each.verdict, _uncovered(each, valid, fail_on))
            for each in results
            if each.verdict.fails(fail_on) and each.rule not in excused and each.rule not in flaky
        ),
        passes=tuple(
            Unexpected(each.rule, result.verdict, f"accepted as {each.verdict}, but is {result.verdict} now")
            for each, result in unused
            if not result.verdict.blocks
        ),
        stale=tuple(_one_of_each(over)),
        unmatched=(
            *(Unexpected(rule, verdict, "no document has this rule") for rule, verdict in lost),
            *(
                Unexpected(each.rule, each.verdict, f"accepted for another finding: {each.signature}")
                for each, result in unused
                if result.verdict is Verdict.FAIL
            ),
            *(
                Unexpected(
                    each.rule, each.verdict, f"accepted as a cause that nothing shows now: {each.cause}"
                )
                for each in idle.values()
            ),
        ),
        elsewhere=len(_one_of_each(baseline.excuses)) - len(_one_of_each(concerned)),
        not_reached=len(_one_of_each(valid))
        - len(_one_of_each(each for each, _ in reached))
        - len(strangers),
        flaky=flaky,
    )


def _one_of_each(entries: Iterable[Accepted]) -> list[Accepted]:
    """Give the entries, and of what follows from one cause the first alone: it is one entry."""
    kept: dict[object, Accepted] = {}
    for each in entries:
        kept.setdefault(("cause", each.entry) if each.cause else each, each)
    return list(kept.values())


def _entries(entries: Iterable[Accepted]) -> int:
    return len(_one_of_each(entries))


def _cover(result: RuleResult, entries: Iterable[Accepted], fail_on: str) -> tuple[Accepted, ...]:
    """Give the entries that excuse all by which `result` fails a gate; no entry can name an error."""
    open_tests = [test for test in result.tests if test.verdict.fails(fail_on)]
    fitting = tuple(each for each in entries if any(map(each.fits, open_tests)))
    return fitting if all(any(each.fits(test) for each in fitting) for test in open_tests) else ()


def _uncovered(result: RuleResult, entries: Collection[Accepted], fail_on: str) -> str:
    left = [t for t in result.tests if t.verdict.fails(fail_on) and not any(each.fits(t) for each in entries)]
    return "; ".join(dict.fromkeys(test.signature or test.detail or str(test.verdict) for test in left))
