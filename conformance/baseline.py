"""Accepted verdicts: what is known of one product, argued for, and checked to be still so.

A baseline is a TOML file of `[[accepted]]` tables. An entry excuses exactly one finding of one rule; it
never hides the verdict. An entry whose rule now passes, whose date is past, or that fits nothing is
itself a finding, so that the list cannot rot. `[[flaky]]` tables name rules whose verdict alternates; they
are reported apart, and no rule may be both for the same version.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from datetime import date, datetime
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from conformance.kinds import Judged
from conformance.results import RuleResult
from conformance.verdicts import Verdict


class BaselineError(Exception):
    """A baseline cannot be used; the message names the file, the entry and what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """One accepted verdict.

    `signature` is the finding's, `sentence` the sentence of the document that decides, `reading` how it
    was read, `frame` an excerpt of the deciding frame. It holds for the `versions` (">=3.10,<3.11") of
    `product`, through the day `expires`.
    """

    rule: str
    verdict: Verdict
    signature: str
    sentence: str
    reading: str
    frame: str
    reason: str
    product: str
    versions: SpecifierSet
    ticket: str | None = None
    expires: date | None = None

    def fits(self, test: Judged) -> bool:
        """Whether `test` is the finding this entry is about."""
        return (self.rule, self.verdict, self.signature) == (test.rule, test.verdict, test.signature)

    def concerns(self, product: str, version: str) -> bool:
        """Whether this entry is about `version` of `product`; a version without a number fits no range."""
        return _concerns(self, product, version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaky:
    """A rule whose verdict alternates between these `verdicts`, at least one of which blocks."""

    rule: str
    verdicts: tuple[Verdict, ...]
    sentence: str
    reason: str
    product: str
    versions: SpecifierSet

    def covers(self, result: RuleResult) -> bool:
        """Whether `result` is about this rule and every test of it came to one of the verdicts."""
        return self.rule == result.rule and all(test.verdict in self.verdicts for test in result.tests)

    def concerns(self, product: str, version: str) -> bool:
        """Whether this entry is about `version` of `product`."""
        return _concerns(self, product, version)


def number_of(version: str) -> str:
    """The number a version begins with; what a package or a build adds is not ordered. Empty without one."""
    # A peer may call anything its version, thousands of digits too: that is no number.
    number = re.match(r"\d{1,99}(\.\d{1,99})*(?!\d)", version)
    return number[0] if number else ""


def _concerns(entry: Accepted | Flaky, product: str, version: str) -> bool:
    number = number_of(version)
    if not number or product.casefold() != entry.product.casefold():
        return False
    return entry.versions.contains(Version(number), prereleases=True)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The accepted verdicts of one file, and the rules whose verdict alternates."""

    path: Path
    accepted: tuple[Accepted, ...]
    flaky: tuple[Flaky, ...] = ()


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


PERSONAL = ("sentence", "reason")
"""What only a person can say: `baseline update` leaves it empty, and a gate refuses it so."""


def load(path: Path, unfinished: bool = False) -> Baseline:
    """Read the baseline at `path`; `unfinished` accepts entries that a person has not filled in yet.

    Raises BaselineError with one sentence for whatever is wrong, naming file and entry.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as failure:
        raise BaselineError(f"{path}: cannot be read ({failure.strerror})") from None
    except RecursionError:
        raise BaselineError(f"{path}: not valid TOML: nested too deeply") from None
    except ValueError as failure:  # TOML's own errors, duplicate keys among them, and not UTF-8
        raise BaselineError(f"{path}: not valid TOML: {failure}") from None
    if data.keys() - {"accepted", "flaky"} or not all(isinstance(each, list) for each in data.values()):
        raise BaselineError(f"{path}: only [[accepted]] and [[flaky]] tables belong into a baseline")
    accepted = tuple(
        Accepted(**_entry(Accepted, table, f"{path}: entry {number}", unfinished))
        for number, table in enumerate(data.get("accepted", []), 1)
    )
    flaky = tuple(
        Flaky(**_entry(Flaky, table, f"{path}: flaky entry {number}", unfinished))
        for number, table in enumerate(data.get("flaky", []), 1)
    )
    explained = [each for each in accepted if each.reason]
    _refuse_same(path, explained, "reason", lambda each: each.reason.casefold().split())
    _refuse_same(
        path,
        accepted,
        "finding",
        lambda each: (each.rule, each.verdict, each.signature, each.product.casefold(), each.versions),
    )
    _refuse_both(path, accepted, flaky)
    return Baseline(path, accepted, flaky)


def apply(
    results: Iterable[RuleResult],
    baseline: Baseline,
    product: str,
    version: str,
    today: date,
    catalogue: Collection[str],
) -> BaselineReport:
    """Hold `results` against `baseline` for `version` of `product` on the day `today`.

    `catalogue` are the identities of all rules there are, selected or not. An `error` is never excused.
    """
    results = list(results)
    concerned = [each for each in baseline.accepted if each.concerns(product, version)]
    stale = tuple(each for each in concerned if each.expires is not None and each.expires < today)
    valid = [each for each in concerned if each not in stale]
    judged = {result.rule: result for result in results}
    excused = {result.rule: cover for result in results if (cover := _cover(result, valid))}
    reached = [(each, judged[each.rule]) for each in valid if each.rule in judged]
    unused = [(each, result) for each, result in reached if not any(map(each.fits, result.tests))]
    alternating = [each for each in baseline.flaky if each.concerns(product, version)]
    flaky = {
        each.rule: each for each in alternating if each.rule in judged and each.covers(judged[each.rule])
    }
    strangers = [each for each in valid if each.rule not in catalogue]
    lost = [(each.rule, each.verdict) for each in strangers]
    lost += [(each.rule, each.verdicts[0]) for each in alternating if each.rule not in catalogue]
    return BaselineReport(
        excused=excused,
        failures=tuple(
            Unexpected(each.rule, each.verdict, _uncovered(each, valid))
            for each in results
            if each.verdict.blocks and each.rule not in excused and each.rule not in flaky
        ),
        passes=tuple(
            Unexpected(each.rule, result.verdict, f"accepted as {each.verdict}, but is {result.verdict} now")
            for each, result in unused
            if not result.verdict.blocks
        ),
        stale=stale,
        unmatched=tuple(Unexpected(rule, verdict, "no document has this rule") for rule, verdict in lost)
        + tuple(
            Unexpected(each.rule, each.verdict, f"accepted for another finding: {each.signature}")
            for each, result in unused
            if result.verdict is Verdict.FAIL
        ),
        elsewhere=len(baseline.accepted) - len(concerned),
        not_reached=len(valid) - len(reached) - len(strangers),
        flaky=flaky,
    )


def _cover(result: RuleResult, entries: Iterable[Accepted]) -> tuple[Accepted, ...]:
    """The entries that excuse every blocking test of `result`; none when one is left.

    An error always is: no entry can name it.
    """
    open_tests = [test for test in result.tests if test.verdict.blocks]
    fitting = tuple(each for each in entries if any(map(each.fits, open_tests)))
    return fitting if all(any(each.fits(test) for each in fitting) for test in open_tests) else ()


def _uncovered(result: RuleResult, entries: Collection[Accepted]) -> str:
    left = [t for t in result.tests if t.verdict.blocks and not any(each.fits(t) for each in entries)]
    return "; ".join(dict.fromkeys(test.signature or test.detail or str(test.verdict) for test in left))


def _entry(cls: type[Any], table: object, where: str, unfinished: bool) -> dict[str, Any]:
    """The values of an entry of this class, read from its table."""
    if not isinstance(table, dict):
        raise BaselineError(f"{where}: not a table")
    where = f"{where} ({table.get('rule', 'no rule')})"
    names = {each.name: each.default is MISSING for each in fields(cls)}
    if unknown := sorted(table.keys() - names.keys()):
        raise BaselineError(f"{where}: unknown key {', '.join(unknown)}")
    if missing := [name for name, required in names.items() if required and name not in table]:
        raise BaselineError(f"{where}: {', '.join(missing)} missing")
    empty = [name for name, value in table.items() if isinstance(value, str) and not value.strip()]
    if unfinished:
        empty = [name for name in empty if name not in PERSONAL]
    if empty:
        verb = "is" if len(empty) == 1 else "are"
        raise BaselineError(f"{where}: {' and '.join(empty)} {verb} empty: somebody has to fill that in")
    return {name: _READ.get(name, _text)(value, f"{where}: {name}") for name, value in table.items()}


_ACCEPTABLE = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.NOT_RUN, Verdict.WARN)
_ALTERNATING = (*_ACCEPTABLE, Verdict.PASS, Verdict.INFO, Verdict.INAPPLICABLE)


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise BaselineError(f"{where} must be a text")
    return value


def _verdict(value: object, where: str) -> Verdict:
    if not isinstance(value, str) or value not in _ACCEPTABLE:
        raise BaselineError(f"{where} {value!r} cannot be accepted, only {', '.join(_ACCEPTABLE)}")
    return Verdict(value)


def _verdicts(value: object, where: str) -> tuple[Verdict, ...]:
    if not isinstance(value, list) or any(each not in _ALTERNATING for each in value):
        raise BaselineError(f"{where} must be a list of {', '.join(_ALTERNATING)}")
    found = tuple(dict.fromkeys(map(Verdict, value)))
    if len(found) < 2 or not any(each.blocks for each in found):
        raise BaselineError(f"{where} must be two or more, and one of them a blocking one")
    return found


def _range(value: object, where: str) -> SpecifierSet:
    try:
        versions = SpecifierSet(_text(value, where))
        for each in versions:
            each.contains("0")  # only now are its numbers read
        return versions
    except (InvalidSpecifier, ValueError):
        raise BaselineError(f'{where} {value!r} is not a range like ">=3.10,<3.11"') from None


def _day(value: object, where: str) -> date:
    try:
        day = date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        day = None
    if not isinstance(day, date) or isinstance(day, datetime):
        raise BaselineError(f"{where} {value!r} is not a date like 2026-12-31")
    return day


_READ: Mapping[str, Callable[[object, str], Any]] = {
    "verdict": _verdict,
    "verdicts": _verdicts,
    "versions": _range,
    "expires": _day,
}


def _refuse_same(path: Path, accepted: Iterable[Accepted], what: str, key: Any) -> None:
    seen: dict[str, int] = {}
    for number, each in enumerate(accepted, 1):
        first = seen.setdefault(repr(key(each)), number)
        if first != number:
            raise BaselineError(f"{path}: entries {first} and {number} have the same {what} ({each.rule})")


def _refuse_both(path: Path, accepted: Iterable[Accepted], flaky: Iterable[Flaky]) -> None:
    for number, one in enumerate(flaky, 1):
        others = [("entry", place, each) for place, each in enumerate(accepted, 1)]
        others += [("flaky entry", place, each) for place, each in enumerate(flaky, 1) if place < number]  # type: ignore[misc]
        for what, place, other in others:
            same = (one.rule, one.product.casefold()) == (other.rule, other.product.casefold())
            if same and _overlap(one.versions, other.versions):
                raise BaselineError(
                    f"{path}: {what} {place} and flaky entry {number} are about the same rule and versions "
                    f"({one.rule})"
                )


def _overlap(one: SpecifierSet, other: SpecifierSet) -> bool:
    """Whether some version is in both: if any is, then one at, or just above, a bound of either."""
    bounds = {"0", *(number_of(each.version) for each in (*one, *other))} - {""}
    near = [Version(text) for bound in bounds for text in (bound, f"{bound}.0.0.1")]
    return any(
        one.contains(each, prereleases=True) and other.contains(each, prereleases=True) for each in near
    )
