"""Accepted verdicts: what is known of one product, argued for, and checked to be still so.

A baseline is a TOML file of `[[accepted]]` tables. An entry excuses exactly one finding of one rule; it
never hides the verdict. An entry whose rule now passes, whose date is past, or that fits nothing is
itself a finding, so that the list cannot rot.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
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
        number = re.match(r"\d+(\.\d+)*", version)  # what a package or a build adds is not ordered
        if number is None or product.casefold() != self.product.casefold():
            return False
        return self.versions.contains(Version(number[0]), prereleases=True)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The accepted verdicts of one file."""

    path: Path
    accepted: tuple[Accepted, ...]


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
    product or version, `not_reached` those whose rule was not judged.
    """

    excused: Mapping[str, tuple[Accepted, ...]]
    failures: tuple[Unexpected, ...]
    passes: tuple[Unexpected, ...]
    stale: tuple[Accepted, ...]
    unmatched: tuple[Unexpected, ...]
    elsewhere: int
    not_reached: int


def load(path: Path) -> Baseline:
    """Read the baseline at `path`. Raises BaselineError with one sentence for whatever is wrong."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as failure:
        raise BaselineError(f"{path}: cannot be read ({failure.strerror})") from None
    except ValueError as failure:  # TOML's own errors, duplicate keys among them, and not UTF-8
        raise BaselineError(f"{path}: not valid TOML: {failure}") from None
    tables = data.get("accepted", [])
    if data.keys() - {"accepted"} or not isinstance(tables, list):
        raise BaselineError(f"{path}: only [[accepted]] tables belong into a baseline")
    accepted = tuple(_entry(table, f"{path}: entry {number}") for number, table in enumerate(tables, 1))
    _refuse_same(path, accepted, "reason", lambda each: each.reason.casefold().split())
    _refuse_same(
        path,
        accepted,
        "finding",
        lambda each: (each.rule, each.verdict, each.signature, each.product.casefold(), each.versions),
    )
    return Baseline(path, accepted)


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
    strangers = [each for each in valid if each.rule not in catalogue]
    return BaselineReport(
        excused=excused,
        failures=tuple(
            Unexpected(each.rule, each.verdict, _uncovered(each, valid))
            for each in results
            if each.verdict.blocks and each.rule not in excused
        ),
        passes=tuple(
            Unexpected(each.rule, result.verdict, f"accepted as {each.verdict}, but is {result.verdict} now")
            for each, result in unused
            if not result.verdict.blocks
        ),
        stale=stale,
        unmatched=tuple(
            Unexpected(each.rule, each.verdict, "no document has this rule") for each in strangers
        )
        + tuple(
            Unexpected(each.rule, each.verdict, f"accepted for another finding: {each.signature}")
            for each, result in unused
            if result.verdict is Verdict.FAIL
        ),
        elsewhere=len(baseline.accepted) - len(concerned),
        not_reached=len(valid) - len(reached) - len(strangers),
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


_NAMES = {each.name: each.default is MISSING for each in fields(Accepted)}


def _entry(table: object, where: str) -> Accepted:
    if not isinstance(table, dict):
        raise BaselineError(f"{where}: not a table")
    where = f"{where} ({table.get('rule', 'no rule')})"
    if unknown := sorted(table.keys() - _NAMES.keys()):
        raise BaselineError(f"{where}: unknown key {', '.join(unknown)}")
    if missing := [name for name, required in _NAMES.items() if required and name not in table]:
        raise BaselineError(f"{where}: {', '.join(missing)} missing")
    values: dict[str, Any] = {name: value for name, value in table.items() if name != "expires"}
    for name, value in values.items():
        if not isinstance(value, str) or not value.strip():
            raise BaselineError(f"{where}: {name} must be a text, and not an empty one")
    values |= {"verdict": _verdict(values["verdict"], where), "versions": _range(values["versions"], where)}
    return Accepted(**values, expires=_day(table["expires"], where) if "expires" in table else None)


_ACCEPTABLE = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.NOT_RUN, Verdict.WARN)


def _verdict(text: str, where: str) -> Verdict:
    if text not in _ACCEPTABLE:
        raise BaselineError(
            f"{where}: the verdict {text!r} cannot be accepted, only {', '.join(_ACCEPTABLE)}"
        )
    return Verdict(text)


def _range(text: str, where: str) -> SpecifierSet:
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        raise BaselineError(f'{where}: versions {text!r} is not a range like ">=3.10,<3.11"') from None


def _day(value: object, where: str) -> date:
    try:
        day = date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        day = None
    if not isinstance(day, date) or isinstance(day, datetime):
        raise BaselineError(f"{where}: expires {value!r} is not a date like 2026-12-31")
    return day


def _refuse_same(path: Path, accepted: Iterable[Accepted], what: str, key: Any) -> None:
    seen: dict[str, int] = {}
    for number, each in enumerate(accepted, 1):
        first = seen.setdefault(repr(key(each)), number)
        if first != number:
            raise BaselineError(f"{path}: entries {first} and {number} have the same {what} ({each.rule})")
