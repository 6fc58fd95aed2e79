"""How often a diagnosis is right: `python -m conformance.trials.diagnosis [COUNT]`.

Each deviation is diagnosed from what it turns red, by a dictionary that lacks it and all others that break
the same rule; then pairs of them at once. Right is a cause that turns red at least half of what both
together do, or whose closest rule is the one that is broken; or the broken rule standing alone, or with
those alike. What counts is the order in which all of it is told. Without COUNT all deviations are tried.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence

from rich.console import Console

from conformance.causes.diagnosis import RED, Alike, Cause, Diagnosis, Diagnostics
from conformance.causes.dictionary import Entry, Sign, dictionary
from conformance.causes.telling import in_order
from conformance.evidence.verdicts import Verdict, is_worse
from spec.applicability import judged_with
from spec.catalogue import catalogue

PAIRS = 200
HALF = 0.5
"""What two faults turn red both, of what they turn red together, from which they count as one."""


def reds(entry: Entry) -> frozenset[str]:
    """Give the rules that a fault turns red."""
    return frozenset(rule for rule, sign in entry.signs.items() if sign.verdict in RED)


def run_of(faults: Sequence[Entry]) -> dict[str, Sign]:
    """Give what a run comes to on our peer with these faults: all else of their documents passes."""
    documents = {each.document for each in faults}
    found = {
        rule.id: Sign(Verdict.PASS) for rule in catalogue().rules if judged_with(rule.document) in documents
    }
    for each in faults:
        for rule, sign in each.signs.items():
            if is_worse(sign.verdict, found[rule].verdict):
                found[rule] = sign
    return found


def is_right(told: Diagnosis, fault: Entry, among: int) -> bool:
    """Say whether what is told first, so many of it, names what a fault is."""
    return any(_is(each, fault) for each in in_order(told)[:among])


def _is(told: Cause | Alike | str, fault: Entry) -> bool:
    match told:
        case Cause():
            return _same(told, fault)
        case Alike():
            return fault.rule in told.rules
        case alone:
            return alone == fault.rule


def _same(cause: Cause, fault: Entry) -> bool:
    one, other = reds(cause.fault), reds(fault)
    return cause.closest == fault.rule or len(one & other) >= HALF * len(one | other)


def without(faults: Sequence[Entry]) -> Diagnostics:
    """Make a dictionary without these faults and those that break the same rules."""
    broken = {each.rule for each in faults}
    return Diagnostics(each for each in dictionary() if each.rule not in broken)


def figures(count: int | None = None) -> dict[str, tuple[int, int, int]]:
    """Give for single faults, for pairs, for each of a pair, and for those of them that the other does not
    hide: how many were tried, right at first, among three of each. Of a pair both have to be told.
    """
    chance = random.Random(0)
    known = [each for each in dictionary() if each.rule and reds(each)]
    tried = known if count is None else chance.sample(known, min(count, len(known)))
    of_rule: dict[str, list[Entry]] = defaultdict(list)
    for each in tried:
        of_rule[each.rule].append(each)
    told = []
    for same in of_rule.values():
        diagnostics = without(same)
        told += [([each], diagnostics.diagnose(run_of([each]))) for each in same]
    pairs = [chance.sample(known, 2) for _ in range(PAIRS if count is None else min(PAIRS, count))]
    runs = [run_of(pair) for pair in pairs]
    both = [(pair, without(pair).diagnose(run)) for pair, run in zip(pairs, runs, strict=True)]
    each_of = [([fault], diagnosis) for pair, diagnosis in both for fault in pair]
    hidden = [is_hidden(fault, run) for pair, run in zip(pairs, runs, strict=True) for fault in pair]
    seen = [each for each, by_the_other in zip(each_of, hidden, strict=True) if not by_the_other]
    return {
        "single faults": _counted(told, 1),
        "pairs of faults": _counted(both, 2),
        "faults in these pairs": _counted(each_of, 2),
        "of these, not hidden by the other": _counted(seen, 2),
    }


def is_hidden(fault: Entry, run: Mapping[str, Sign]) -> bool:
    """Say whether another fault of a run breaks the set-up of the rule of this one: nobody sees it red."""
    return fault.rule in reds(fault) and run[fault.rule].verdict not in RED


def _counted(told: Sequence[tuple[Sequence[Entry], Diagnosis]], faults: int) -> tuple[int, int, int]:
    first, three = (
        sum(all(is_right(each, fault, among) for fault in some) for some, each in told)
        for among in (faults, 3 * faults)
    )
    return len(told), first, three


def main(arguments: Sequence[str]) -> int:
    """Print the figures."""
    console = Console(highlight=False)
    for what, (tried, first, three) in figures(int(arguments[0]) if arguments else None).items():
        console.print(f"{tried} {what}: {first / tried:.1%} right at first, {three / tried:.1%} among three")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
