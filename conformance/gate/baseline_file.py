"""A baseline as a file: read strictly, and refused with a sentence that names the entry and what is wrong.

A baseline is a TOML file of `[[accepted]]` tables. Each is about one finding of one rule, or of each of the
`rules` that miss for one reason. A `[[cause]]` is about all that follows from a fault of the dictionary.
`[[flaky]]` tables name rules whose verdict alternates; no rule may be both
for the same version. `[[read]]` tables name products and versions that somebody has read, with nothing to
accept of them.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from datetime import date, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from conformance.causes.dictionary import dictionary
from conformance.evidence.verdicts import Verdict
from conformance.gate.baseline import Accepted, Baseline, Caused, Flaky, Read, number_of
from spec.rules import Role
from spec.versions import versions


class BaselineError(Exception):
    """A baseline cannot be used; the message names the file, the entry and what is wrong."""


Entry = TypeVar("Entry", bound=Read)
TABLES = {"accepted", "flaky", "read", "cause"}
OURS = ("entry", "cause")
"""What reading a file gives to an entry; no table may have it."""
PERSONAL = ("sentence", "reason")
"""What only a person can say: `baseline update` leaves it empty, and a gate refuses it so."""


def load(path: Path, unfinished: bool = False) -> Baseline:
    """Read a baseline, `unfinished` with what nobody has filled in yet. Raises BaselineError."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as failure:
        raise BaselineError(f"{path}: cannot be read ({failure.strerror})") from None
    except RecursionError:
        raise BaselineError(f"{path}: not valid TOML: nested too deeply") from None
    except ValueError as failure:  # TOML's own errors, duplicate keys among them, and not UTF-8
        raise BaselineError(f"{path}: not valid TOML: {failure}") from None
    if data.keys() - TABLES or not all(isinstance(each, list) for each in data.values()):
        raise BaselineError(
            f"{path}: only [[accepted]], [[cause]], [[flaky]] and [[read]] tables belong into a baseline"
        )
    accepted = _entries(Accepted, data.get("accepted", []), f"{path}: entry", unfinished)
    flaky = _entries(Flaky, data.get("flaky", []), f"{path}: flaky entry", unfinished)
    read = _entries(Read, data.get("read", []), f"{path}: read entry", unfinished)
    causes = _entries(Caused, data.get("cause", []), f"{path}: cause", unfinished)
    for each in causes:
        _refuse_unknown(each, f"{path}: cause {each.entry}")
    explained = [each for each in accepted if each.reason]
    _refuse_same(str(path), explained, "reason", lambda each: each.reason.casefold().split())
    refuse_twice(str(path), accepted, flaky)
    return Baseline(path, accepted, flaky, read, causes)


def refuse_twice(where: str, accepted: Iterable[Accepted], flaky: Iterable[Flaky]) -> None:
    """Raise BaselineError for a finding accepted twice, or flaky as well; `where` names the files."""
    accepted = tuple(accepted)

    def finding(each: Accepted) -> object:
        return each.rule, each.verdict, each.signature, each.product.casefold(), each.versions, each.role

    _refuse_same(where, accepted, "finding", finding)
    _refuse_both(where, accepted, flaky)


def _refuse_unknown(cause: Caused, where: str) -> None:
    if not cause.findings(dictionary()):
        known = [
            each.says for each in dictionary() if (each.document, each.rule) == (cause.document, cause.breaks)
        ]
        near = get_close_matches(cause.says, known, 1)
        hint = f": is {near[0]!r} meant?" if near else " (diagnose --format json names them)"
        raise BaselineError(f"{where}: no fault {cause.says!r} is in the dictionary{hint}")


def _entries(cls: type[Entry], tables: Iterable[object], where: str, unfinished: bool) -> tuple[Entry, ...]:
    return tuple(
        cls(**_values(cls, each, f"{where} {number}", unfinished), entry=number)
        for number, table in enumerate(tables, 1)
        for each in _singly(table, f"{where} {number}")
    )


def _singly(table: object, where: str) -> list[dict[str, Any]]:
    if not isinstance(table, dict):
        raise BaselineError(f"{where}: not a table")
    if "rules" not in table:
        return [table]
    rules, shared = table["rules"], {name: value for name, value in table.items() if name != "rules"}
    own = {"rule"} if isinstance(rules, list) else {"rule", "signature"}
    if twice := sorted(own & shared.keys()):
        raise BaselineError(f"{where}: {' and '.join(twice)} beside rules, which has that for each")
    if isinstance(rules, dict) and rules:
        return [shared | {"rule": rule, "signature": signature} for rule, signature in rules.items()]
    if not isinstance(rules, list) or not rules or not all(isinstance(each, str) for each in rules):
        raise BaselineError(
            f"{where}: rules must be a list of rules, or a table of rules and their signatures"
        )
    if again := next((rule for rule in rules if rules.count(rule) > 1), None):
        raise BaselineError(f"{where}: rules has {again} twice")
    return [shared | {"rule": rule} for rule in rules]


def _values(cls: type[Read], table: Mapping[str, Any], where: str, unfinished: bool) -> dict[str, Any]:
    where = f"{where} ({table.get('rule', table.get('says', 'no rule'))})"
    names = {each.name: each.default is MISSING for each in fields(cls) if each.name not in OURS}
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
    if not any(each.blocks for each in found):
        raise BaselineError(f"{where} must be two or more, and one of them a blocking one, or that alone")
    return found


def _range(value: object, where: str) -> SpecifierSet:
    try:
        return versions(_text(value, where))
    except ValueError:
        raise BaselineError(f'{where} {value!r} is not a range like ">=3.10,<3.11"') from None


def _role(value: object, where: str) -> Role:
    if not isinstance(value, str) or value not in list(Role):
        raise BaselineError(f"{where} {value!r} is none of {', '.join(Role)}")
    return Role(value)


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
    "role": _role,
    "expires": _day,
}


def _refuse_same(where: str, accepted: Iterable[Accepted], what: str, key: Any) -> None:
    seen: dict[str, int] = {}
    for each in accepted:
        first = seen.setdefault(repr(key(each)), each.entry)
        if first != each.entry:
            raise BaselineError(
                f"{where}: entries {first} and {each.entry} have the same {what} ({each.rule})"
            )


def _refuse_both(where: str, accepted: Iterable[Accepted], flaky: Iterable[Flaky]) -> None:
    for one in flaky:
        others: list[tuple[str, Accepted | Flaky]] = [("entry", each) for each in accepted]
        others += [("flaky entry", each) for each in flaky if each.entry < one.entry]
        for what, other in others:
            same = one.rule == other.rule and one.product.casefold() == other.product.casefold()
            if same and one.role == other.role and _overlap(one.versions, other.versions):
                raise BaselineError(
                    f"{where}: {what} {other.entry} and flaky entry {one.entry} are about the same rule and "
                    f"versions ({one.rule})"
                )


def _overlap(one: SpecifierSet, other: SpecifierSet) -> bool:
    """Say whether some version is in both: if any is, then one at, or just above, a bound of either."""
    bounds = {"0", *(number_of(each.version) for each in (*one, *other))} - {""}
    near = [Version(text) for bound in bounds for text in (bound, f"{bound}.0.0.1")]
    return any(
        one.contains(each, prereleases=True) and other.contains(each, prereleases=True) for each in near
    )
