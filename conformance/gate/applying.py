"""Which of several baselines are about a build, and what that means for its gate.

Entries are keyed by product and version range. A file that says nothing of this product and version is not
applied. Where a product is known but nobody has read this version of it, its findings are reported and do
not gate. A product that no file knows, and a version without a number, gate as if there were no file.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TypeVar

from packaging.specifiers import SpecifierSet

from conformance.evidence.results import RuleResult
from conformance.evidence.verdicts import Verdict
from conformance.gate.baseline import Accepted, Baseline, BaselineReport, Caused, Flaky, apply, number_of
from conformance.gate.baseline_file import BaselineError, load, refuse_twice
from conformance.gate.shipped import NotShippedError, shipped
from spec.rules import Role


@dataclass(frozen=True, slots=True)
class Applied:
    """What baselines say of a run: a `report`, `notes` on others, why it is `unread` and does not gate."""

    report: BaselineReport | None = None
    notes: tuple[str, ...] = ()
    unread: str = ""


def load_all(files: Iterable[Path]) -> tuple[Baseline, ...]:
    """Read the baselines, also by the `@NAME` of one that comes with the suite.

    Raises BaselineError, also for a finding that two of them accept.
    """
    found = tuple(map(_load, files))
    _together(found)
    return found


def _load(file: Path) -> Baseline:
    try:
        ours = shipped("baselines", file)
    except NotShippedError as failure:
        raise BaselineError(str(failure)) from None
    return replace(load(ours), path=file) if ours else load(file)


def applied(
    results: Iterable[RuleResult],
    baselines: Sequence[Baseline],
    product: str,
    version: str,
    role: Role,
    today: date,
    catalogue: Collection[str],
    fail_on: str = Verdict.FAIL,
) -> Applied:
    """Hold `results` against the `baselines` about this build or all; `catalogue` is all rules."""
    if not baselines:
        return Applied()
    chosen = [each for each in baselines if not each.keys or _is_about(each, product, version, role)]
    build = f"{product} {version}".strip() or "a target that does not name itself"
    notes = tuple(_not_applied(each, build) for each in baselines if each not in chosen)
    if chosen:
        whole = _together(chosen)
        return Applied(apply(results, whole, product, version, role, today, catalogue, fail_on), notes)
    if number_of(version) and any(_knows(each, product, role) for each in baselines):
        unread = f"nobody has read {build} yet: no baseline is about it, so its findings do not gate"
        return Applied(None, notes, unread)
    return Applied(None, notes)


def _is_about(baseline: Baseline, product: str, version: str, role: Role) -> bool:
    return any(each.concerns(product, version, role) for each in baseline.keys)


def _knows(baseline: Baseline, product: str, role: Role) -> bool:
    return any((each.product.casefold(), each.role) == (product.casefold(), role) for each in baseline.keys)


def _not_applied(baseline: Baseline, build: str) -> str:
    about = dict.fromkeys(
        f"{each.product} {_range(each.versions)}" + (" as client" if each.role is Role.CLIENT else "")
        for each in baseline.keys
    )
    return f"{baseline.path} is not applied to {build}: it is about {' and '.join(about)}"


def _range(versions: SpecifierSet) -> str:
    return ",".join(sorted(map(str, versions), reverse=True))


def _together(baselines: Sequence[Baseline]) -> Baseline:
    if len(baselines) == 1:
        return baselines[0]
    accepted = _counted(each.accepted for each in baselines)
    flaky = _counted(each.flaky for each in baselines)
    names = " with ".join(str(each.path) for each in baselines)
    try:
        refuse_twice(names, accepted, flaky)
    except BaselineError as failure:
        raise BaselineError(f"{failure}; the entries are counted over all files") from None
    return Baseline(Path(names), accepted, flaky, causes=_counted(each.causes for each in baselines))


Entry = TypeVar("Entry", Accepted, Flaky, Caused)


def _counted(files: Iterable[tuple[Entry, ...]]) -> tuple[Entry, ...]:
    found: list[Entry] = []
    for entries in files:
        before = found[-1].entry if found else 0
        found += [replace(each, entry=before + each.entry) for each in entries]
    return tuple(found)
