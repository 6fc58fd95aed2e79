"""What causes a run's findings, in words: the same on the screen of a run, by `diagnose`, and on the site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from conformance.causes.diagnosis import RED, SURE, Alike, Cause, Diagnosis, Diagnostics
from conformance.causes.dictionary import Entry, Sign, dictionary

NAMED = 3
"""Families of rules that are named where many have one cause."""
OTHERS = 2
"""Faults that are told beside one that is not certain."""
LOST = {"dropped": "were not done", "has no effect": "had no effect"}
"""How what was done to a row of the tables is told."""


@dataclass(frozen=True, slots=True)
class Group:
    """Red rules with one cause: a sentence about it, and the rules, the closest to it first."""

    says: str
    rules: tuple[str, ...]


@cache
def diagnostics() -> Diagnostics:
    """Give what diagnoses by the dictionary that comes with the package. Raises DictionaryError."""
    return Diagnostics(dictionary())


def diagnosed(found: Mapping[str, Sign]) -> Diagnosis:
    """Explain the red ones of the rules `found`; nothing is asked of the dictionary where none is."""
    if not any(sign.verdict in RED for sign in found.values()):
        return Diagnosis((), ())
    return diagnostics().diagnose(found)


def in_order(told: Diagnosis) -> list[Cause | Alike | str]:
    """Give all of it as one would look at it; a rule that stands alone is its identity.

    The first of each document leads, for nothing of it follows from another protocol's faults. Then come
    causes and what is alike, those with most rules first, and what stands alone.
    """
    groups: list[Cause | Alike] = [*told.causes, *told.alike]
    groups.sort(key=lambda each: -len(each.rules))
    every = [*groups, *told.alone]
    first: dict[str, Cause | Alike | str] = {}
    for each in every:
        rule = each if isinstance(each, str) else each.rules[0]
        first.setdefault(rule.partition("/")[0], each)
    leading = list(first.values())
    return [*leading, *(each for each in every if each not in leading)]


def grouped(told: Diagnosis) -> list[Group]:
    """Give causes and what is alike in the order in which they are told."""
    return [group(each) for each in in_order(told) if not isinstance(each, str)]


def group(of: Cause | Alike | str) -> Group:
    """Put one of them in words."""
    match of:
        case Cause():
            return Group(_cause(of), of.rules)
        case Alike():
            return Group(_alike(of), of.rules)
        case alone:
            return Group("This stands alone", (alone,))


def count(number: int, what: str) -> str:
    """Say how many of something there are."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def _cause(cause: Cause) -> str:
    what = _does(cause.fault)
    if not cause.fault.rule and not _row(cause.fault):
        what += f" ({', '.join(_families(cause.rules))})"
    told = f"{what}: {count(len(cause.rules), 'rule')}, certain to {cause.certainty:.0%}"
    return ", or ".join([told, *_others(cause)])


def _others(cause: Cause) -> list[str]:
    """Say what else it may be, the likeliest first, where that is not certain."""
    if cause.certainty >= SURE:
        return []
    others: dict[str, str] = {}
    for each in cause.rivals:
        others.setdefault(each.says, _does(each))
    others.pop(cause.fault.says, None)
    return [words[0].lower() + words[1:] for words in list(others.values())[:OTHERS]]


def _does(fault: Entry) -> str:
    if row := _row(fault):
        lost = fault.says.rpartition(" / ")[2]
        return f"It is as if “{row}” {LOST.get(lost, lost)}"
    return f"It {fault.says}" + (f" (as what breaks {fault.rule})" if fault.rule else "")


def _row(fault: Entry) -> str:
    """Name the row of the tables that a fault is about, if it is about one."""
    return "" if fault.rule else fault.says.rpartition(" / ")[0]


def _families(rules: Sequence[str]) -> list[str]:
    """Name what the rules of a cause are about: most of all the ends of their names."""
    ends = Counter(rule.rpartition(".")[2] for rule in rules)
    return [end for end, _ in ends.most_common(NAMED)]


def _alike(of: Alike) -> str:
    rules = count(len(of.rules), "rule")
    due = of.due or "what is due"
    return f"There comes {of.came} in place of {due}: {rules}, of no fault that is known"
