"""Which few known faults explain best what a run has found.

A fault that is there turns red what it turned red of our own peer, mostly in the same words, and leaves
hardly any of that green. A rule that many faults turn red says little about which it was. So each fault has
odds, in natural logarithms; the best takes what it explains, then the next of what is left. What no fault
explains is put together where it is red in one way, or stands alone. Nothing of this touches a verdict.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

from conformance.causes.dictionary import Entry, Sign
from conformance.evidence.results import however_ended
from conformance.evidence.verdicts import Verdict
from spec.applicability import judged_with, protocol
from spec.catalogue import catalogue

RED = frozenset({Verdict.FAIL, Verdict.WARN})
"""What a broker has to answer for."""
SAME, ALIKE = 0.6, 0.1
"""Of what a fault turns red of our own peer, so much is as red of a broker that has it: in the same words,
and in others of which only what came is the same."""
STAYS_GREEN = 0.3
"""And so much is green all the same."""
FAMILY = 3
"""Rules of which a fault has to be known by the same words."""
RIVALS = 5
"""Faults of nearly the same odds that are told beside the best."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A likely cause, and the red rules under it, the closest to it first.

    `certainty` is its share of the odds of all faults that might explain the same; `rivals` are the others,
    the likeliest first. `odds` are against chance, as a natural logarithm.
    """

    fault: Entry
    rules: tuple[str, ...]
    certainty: float
    odds: float
    rivals: tuple[Entry, ...] = ()

    @property
    def closest(self) -> str:
        """The rule that says most of it."""
        return self.rules[0]


@dataclass(frozen=True, slots=True)
class Alike:
    """Rules that no known fault explains, and that are red in one way: this `came` where that was `due`."""

    came: str
    due: str
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that is red of a run, each rule under one cause, among those alike, or alone."""

    causes: tuple[Cause, ...]
    alone: tuple[str, ...]
    alike: tuple[Alike, ...] = ()


def shape(signature: str) -> tuple[str, str]:
    """Give what came and what was due, whatever the method: all that end in -ok are one."""
    came_, _, due = signature.partition(" instead of ")
    first = due.split(" or ")[0]
    return _nameless(however_ended(came_)), _nameless(first)


def _nameless(words: str) -> str:
    return re.sub(r"^[a-z]+\.[a-z-]+-ok\b.*", "an answer that all is well", words)


def alike(rules: Iterable[str], found: Mapping[str, Sign]) -> tuple[Alike, ...]:
    """Put together what is red in one way, where so many rules of a protocol are that it is no chance."""
    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for rule in rules:
        came_, due = shape(found[rule].signature)
        if due:
            groups[protocol(catalogue()[rule].document), came_, due].append(rule)
    many = {key: members for key, members in groups.items() if len(members) >= FAMILY}
    return tuple(
        Alike(key[1], key[2], tuple(many[key])) for key in sorted(many, key=lambda key: -len(many[key]))
    )


def came(signature: str) -> str:
    """Give what came, of what came instead of something."""
    return however_ended(signature.partition(" instead of ")[0])


def families(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Give the faults that are known of many rules by the same words as one that does all of them.

    What our peer does wrong in one method, a broker mostly does in all: each was proved alone.
    """
    alike: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.rule:
            alike[entry.document, entry.says].append(entry)
    for (document, says), members in alike.items():
        own = {each.rule: each.signs[each.rule] for each in members if each.rule in each.signs}
        if len(own) >= FAMILY:
            others = {rule: sign for each in members for rule, sign in each.signs.items()}
            yield Entry(document, "", says, others | own)


class Diagnostics:
    """Knows how often each rule turns red, and in which words; `entries` are the faults that may be named."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        single = [each for each in entries if any(sign.verdict in RED for sign in each.signs.values())]
        self._entries = [*single, *families(single)]
        self._showing: dict[str, list[int]] = defaultdict(list)
        self._rules: Counter[str] = Counter()
        self._words: Counter[tuple[str, str]] = Counter()
        self._of_document = Counter(each.document for each in self._entries)
        for number, entry in enumerate(self._entries):
            for rule, sign in entry.signs.items():
                if sign.verdict in RED:
                    self._showing[rule].append(number)
                    self._rules[rule] += 1
                    self._words[rule, sign.signature] += 1

    def diagnose(self, found: Mapping[str, Sign]) -> Diagnosis:
        """Explain the red ones of the rules `found`."""
        left = {rule for rule, sign in found.items() if sign.verdict in RED}
        green = {rule for rule, sign in found.items() if sign.verdict is Verdict.PASS}
        causes: list[Cause] = []
        while left:
            scored = self._scored(found, left, green)
            if not scored or scored[0][0] <= 0:
                break
            cause = self._cause(scored, found, left)
            left -= set(cause.rules)
            causes.append(cause)
        ordered = sorted(left, key=lambda rule: (self._rules[rule], rule))
        together = alike(ordered, found)
        in_one = {rule for each in together for rule in each.rules}
        return Diagnosis(tuple(causes), tuple(each for each in ordered if each not in in_one), together)

    def _scored(
        self, found: Mapping[str, Sign], left: Collection[str], green: Collection[str]
    ) -> list[tuple[float, Entry]]:
        numbers = {number for rule in left for number in self._showing[rule]}
        entries = [self._entries[number] for number in numbers]
        scored = [(self._odds(each, found, left, green), each) for each in entries]
        return sorted(scored, key=lambda pair: (-pair[0], pair[1].key))

    def _odds(
        self, entry: Entry, found: Mapping[str, Sign], left: Collection[str], green: Collection[str]
    ) -> float:
        odds = -log(self._of_document[entry.document])
        for rule, sign in entry.signs.items():
            if sign.verdict not in RED:
                continue
            if rule in left:
                odds += self._says(rule, sign, found[rule])
            elif rule in green:
                odds += log(STAYS_GREEN)
        return odds

    def _says(self, rule: str, known: Sign, seen: Sign) -> float:
        """Weigh a red rule: how much likelier it is with a fault that turns it red than with any."""
        total = self._of_document[judged_with(catalogue()[rule].document)] + 1
        if known.signature == seen.signature:
            return log(SAME / ((self._words[rule, seen.signature] + 0.5) / total))
        if came(known.signature) != came(seen.signature):
            return 0.0
        return max(0.0, log(ALIKE / ((self._rules[rule] + 0.5) / total)))

    def _cause(
        self, scored: Sequence[tuple[float, Entry]], found: Mapping[str, Sign], left: Collection[str]
    ) -> Cause:
        best, entry = scored[0]
        weights = {
            rule: weight
            for rule, sign in entry.signs.items()
            if rule in left and sign.verdict in RED and (weight := self._says(rule, sign, found[rule])) > 0
        }
        reds = list(weights)
        reds.sort(key=lambda rule: (rule != entry.rule, -weights[rule], rule))
        near = [(odds, each) for odds, each in scored if any(rule in each.signs for rule in reds)]
        share = 1 / sum(exp(max(odds - best, -50.0)) for odds, _ in near)
        rivals = tuple(each for _, each in near[1 : RIVALS + 1])
        return Cause(entry, tuple(reds), share, best, rivals)
