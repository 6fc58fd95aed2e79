"""Which few known faults explain best what a run has found.

A fault that is there turns red what it turned red of our own peer, mostly in the same words, and leaves
hardly any of that green. A rule that many faults turn red says little about which it was. So each fault has
odds, in natural logarithms; the best takes what it explains, then the next of what is left. Where all that
is red is as a whole what one fault turns red, it is that one, whatever the words. Else only what is red in
known words counts at first, then less and less has to be alike. What no fault explains is put together where
it is red in one way, or stands alone. Nothing of this touches a verdict.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from math import exp, log

from conformance.causes.dictionary import Entry, Sign
from conformance.evidence.results import however_ended
from conformance.evidence.verdicts import Verdict
from spec.applicability import judged_with, protocol
from spec.catalogue import catalogue

RED = frozenset({Verdict.FAIL, Verdict.WARN})
"""What a broker has to answer for."""


class Near(IntEnum):
    """How near what came has to be to what is known, for a fault to explain that a rule is red."""

    SAME = 0
    CAME = 1
    """What came is the same, what was due is not."""
    KIND = 2
    """What came is of the same kind, such as a close with another code."""
    RED = 3
    """The rule is red."""


LIKELY = {Near.SAME: 0.6, Near.CAME: 0.1, Near.KIND: 0.1, Near.RED: 0.06}
"""So much of what a fault turns red of our own peer is as red, and as near, of a broker that has it."""
STAYS_GREEN = 0.3
"""And so much is green all the same."""
HALF = 0.5
"""From this share of what a fault and a run turn red together the run may be that fault as a whole."""
FAMILY = 3
"""Rules of which a fault has to be known by the same words."""
ANSWERS = "answers"
"""What is done to rows of the tables: in place of an error of their own comes one that says nothing."""
WAYS = 3
"""In so many ways the rules of a cause are red that explains them in other words: those of one are alike."""
SURE = 0.7
"""A cause of few rules that breaks none of its own is told from this certainty on: else it is chance."""
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
    """Rules that no known fault explains, and that are red in one way: this `came` where that was `due`.

    `due` is empty where that was not the same.
    """

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


def alike(rules: Sequence[str], found: Mapping[str, Sign]) -> tuple[Alike, ...]:
    """Put together what is red in one way, where so many rules of a protocol are that it is no chance.

    One way is that the same came where the same was due; and of the others, that an error came with one code.
    """
    shapes = {rule: shape(found[rule].signature) for rule in rules}
    same = _many((rule, told) for rule, told in shapes.items() if told[1] and told[0] != told[1])
    left = [rule for rule in rules if not any(rule in each.rules for each in same)]
    codes = _many((rule, (shapes[rule][0], "")) for rule in left if _CODE.search(shapes[rule][0]))
    return tuple(sorted((*same, *codes), key=lambda each: -len(each.rules)))


_CODE = re.compile(r" \d{3} \(| amqp:")


def _many(shapes: Iterable[tuple[str, tuple[str, str]]]) -> list[Alike]:
    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for rule, (came_, due) in shapes:
        groups[protocol(catalogue()[rule].document), came_, due].append(rule)
    return [Alike(came_, due, tuple(each)) for (_, came_, due), each in groups.items() if len(each) >= FAMILY]


def came(signature: str) -> str:
    """Give what came, of what came instead of something."""
    return however_ended(signature.partition(" instead of ")[0])


def kind(signature: str) -> str:
    """Give of what kind that is what came: a method without its code, or the first word."""
    return came(signature).partition(" ")[0]


def near(known: str, seen: str) -> Near:
    """Say how near two signatures of a rule are."""
    if known == seen:
        return Near.SAME
    if came(known) == came(seen):
        return Near.CAME
    return Near.KIND if kind(known) == kind(seen) else Near.RED


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


def wrong_answers(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Give the faults of rows that answer alike as one, of all rules in which that answer comes.

    A broker mostly gives it in some places, not in all.
    """
    alike: dict[tuple[str, str], dict[str, Sign]] = defaultdict(dict)
    for entry in entries:
        answers, answer = entry.says.rpartition(" / ")[2].split(" ", 1)[0], entry.says.rpartition(" ")[2]
        if not entry.rule and answers == ANSWERS:
            signs = {rule: sign for rule, sign in entry.signs.items() if answer in came(sign.signature)}
            alike[entry.document, answer].update(signs)
    for (document, answer), signs in alike.items():
        yield Entry(document, "", f"{ANSWERS} {answer}", signs)


@dataclass
class _Run:
    """What a run has found, what of it is red and `left` to be explained, and the causes until now."""

    found: Mapping[str, Sign]
    left: set[str] = field(init=False)
    green: frozenset[str] = field(init=False)
    causes: list[Cause] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = {rule for rule, sign in self.found.items() if sign.verdict in RED}
        self.green = frozenset(rule for rule, sign in self.found.items() if sign.verdict is Verdict.PASS)

    def take(self, cause: Cause) -> None:
        """Put rules under a cause; one that is there already is as certain as it was."""
        self.left -= set(cause.rules)
        for place, each in enumerate(self.causes):
            if each.fault is cause.fault:
                self.causes[place] = replace(each, rules=each.rules + cause.rules)
                return
        self.causes.append(cause)

    def shapes(self, rules: Iterable[str]) -> set[tuple[str, str]]:
        """Give in which ways rules are red."""
        return {shape(self.found[rule].signature) for rule in rules}

    def broad(self) -> list[Entry]:
        """Give the faults of causes that break no rule alone, and have as many as a family."""
        return [each.fault for each in self.causes if not each.fault.rule and len(each.rules) >= FAMILY]


_Scored = tuple[float, Entry]
"""A fault with its odds."""


class Diagnostics:
    """Knows how often each rule turns red, and in which words; `entries` are the faults that may be named."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        single = [each for each in entries if any(sign.verdict in RED for sign in each.signs.values())]
        partial = list(wrong_answers(single))
        self._entries = [*single, *families(single), *partial]
        self._partial = frozenset(map(id, partial))
        self._showing: dict[str, list[int]] = defaultdict(list)
        self._rules: Counter[str] = Counter()
        self._words: Counter[tuple[str, str]] = Counter()
        self._of_document = Counter(each.document for each in self._entries)
        self._reds = [
            frozenset(rule for rule, sign in each.signs.items() if sign.verdict in RED)
            for each in self._entries
        ]
        for number, entry in enumerate(self._entries):
            for rule in self._reds[number]:
                self._showing[rule].append(number)
                self._rules[rule] += 1
                self._words[rule, entry.signs[rule].signature] += 1

    def diagnose(self, found: Mapping[str, Sign]) -> Diagnosis:
        """Explain the red ones of the rules `found`."""
        run = _Run(found)
        while cause := self._whole(run):
            run.take(cause)
        self._explain(run, Near.CAME)
        self._explain(run, Near.RED, run.broad())  # what a fault does in many methods it does in others, too
        self._explain(run, Near.KIND)
        self._explain(run, Near.RED, ways=WAYS)
        together = alike(self._ordered(run.left), found)
        run.left -= {rule for each in together for rule in each.rules}
        self._explain(run, Near.RED)
        return Diagnosis(tuple(run.causes), tuple(self._ordered(run.left)), together)

    def _ordered(self, rules: Iterable[str]) -> list[str]:
        """Put first what the fewest faults turn red."""
        return sorted(rules, key=lambda rule: (self._rules[rule], rule))

    def _whole(self, run: _Run) -> Cause | None:
        """Find the fault that all that is left of a run may be; being one of many is not held against it."""
        of = Counter(judged_with(catalogue()[rule].document) for rule in run.left)
        shared = Counter(number for rule in run.left for number in self._showing[rule])
        among = [
            entry
            for number, both in shared.items()
            if (entry := self._entries[number]) and id(entry) not in self._partial
            if both >= max(FAMILY, HALF * (of[entry.document] + len(self._reds[number]) - both))
        ]
        scored = self._scored(run, Near.RED, among)
        if not scored or scored[0][0] <= -log(self._of_document[scored[0][1].document]):
            return None
        return _cause(scored[0], scored, self._weights(scored[0][1], run, Near.RED))

    def _explain(self, run: _Run, within: Near, among: Sequence[Entry] | None = None, ways: int = 1) -> None:
        """Find causes of what is left, one after the other, as long as there are likely ones."""
        while run.left:
            scored = self._scored(run, within, among)
            likely = (self._likely(each, scored, run, within) for each in scored if each[0] > 0)
            cause = next((each for each in likely if not _is_chance(each, run, within)), None)
            if cause is None or len(run.shapes(cause.rules)) < ways:
                return
            run.take(cause)

    def _scored(self, run: _Run, within: Near, among: Sequence[Entry] | None) -> list[_Scored]:
        there = {id(each.fault) for each in run.causes}
        if among is None:
            numbers = {number for rule in run.left for number in self._showing[rule]}
            among = [self._entries[number] for number in numbers]
            among = [each for each in among if within is not Near.RED or id(each) not in there]
        # Whoever has a fault breaks the rule that it was made to break.
        among = [each for each in among if not each.rule or each.rule in run.left or id(each) in there]
        scored = [(self._odds(each, run, within, id(each) in there), each) for each in among]
        return sorted(scored, key=lambda pair: (-pair[0], pair[1].key))

    def _odds(self, entry: Entry, run: _Run, within: Near, is_there: bool) -> float:
        """Weigh a fault; one that explains others already has answered for what is green."""
        partial = id(entry) in self._partial
        odds = 0.0 if is_there else -log(self._of_document[entry.document])
        if partial and not is_there:
            odds -= log(FAMILY)  # where one row explains as much, it is that row
        odds += sum(self._weights(entry, run, within).values())
        if not (is_there or partial):
            odds += log(STAYS_GREEN) * sum(
                sign.verdict in RED and rule in run.green for rule, sign in entry.signs.items()
            )
        return odds

    def _weights(self, entry: Entry, run: _Run, within: Near) -> dict[str, float]:
        """Weigh each rule that is left of what a fault turns red."""
        within = min(within, Near.CAME) if id(entry) in self._partial else within  # known by its answer
        return {
            rule: self._says(rule, sign, run.found[rule], within)
            for rule, sign in entry.signs.items()
            if rule in run.left and sign.verdict in RED
        }

    def _says(self, rule: str, known: Sign, seen: Sign, within: Near) -> float:
        """Weigh a red rule: how much likelier it is with a fault that turns it red than with any."""
        how = near(known.signature, seen.signature)
        if how > within:
            return 0.0
        total = self._of_document[judged_with(catalogue()[rule].document)] + 1
        if how is Near.SAME:
            return log(LIKELY[how] / ((self._words[rule, seen.signature] + 0.5) / total))
        return max(0.0, log(LIKELY[how] / ((self._rules[rule] + 0.5) / total)))

    def _likely(self, of: _Scored, scored: Sequence[_Scored], run: _Run, within: Near) -> Cause:
        weights = self._weights(of[1], run, within)
        return _cause(of, scored, {rule: weight for rule, weight in weights.items() if weight > 0})


def _cause(of: _Scored, scored: Sequence[_Scored], weights: Mapping[str, float]) -> Cause:
    """Put rules under a fault, those that say most first, and tell it from the others that were scored."""
    odds, entry = of
    reds = sorted(weights, key=lambda rule: (rule != entry.rule, -weights[rule], rule))
    close = [each for each in scored if any(rule in each[1].signs for rule in reds)]
    share = 1 / sum(exp(min(max(other - odds, -50.0), 50.0)) for other, _ in close)
    rivals = tuple(each for _, each in close if each is not entry)[:RIVALS]
    return Cause(entry, tuple(reds), share, odds, rivals)


def _is_chance(cause: Cause, run: _Run, within: Near) -> bool:
    """Say whether a new cause that breaks no rule of its own explains too little to be told."""
    new = all(each.fault is not cause.fault for each in run.causes)
    few = new and not cause.fault.rule and len(cause.rules) < FAMILY
    return few and (within > Near.CAME or cause.certainty < SURE)
