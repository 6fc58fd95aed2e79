"""Does a check fail when it should? Every rule is judged on peers that break it, and must notice.

A deviation is killed when its own rule's check gives the expected verdict: not by a crash, not by a
time-out. Which other rules it may touch is computed from what their checks use of a clean peer: where its
own misses it they are asked who notices. Of the rest a sample is judged, and must not change.
"""

from __future__ import annotations

import gc
import itertools
import math
import multiprocessing
import random
import secrets
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, partial
from operator import attrgetter
from typing import Any

from conformance.engine.cases import Case, cases
from conformance.engine.conclusion import MISSED
from conformance.engine.judge import Judge, TargetDied
from conformance.engine.passive import conclude_breached, conclude_passive, give_occasion, sighted
from conformance.evidence.keeping import Memory
from conformance.evidence.kinds import Judged, Line
from conformance.evidence.verdicts import Verdict, fold, is_worse
from conformance.proof.replay import Replay
from harness.dialect import dialect
from harness.peers.deviation import Deviation
from harness.peers.peer import PeerServer
from harness.targets.embedded import EmbeddedTarget
from harness.targets.named import stand_in
from harness.targets.target import Target
from harness.wire.journal import Kept
from harness.wire.transport import Unreachable
from scenarios.registry import Scenario, Watch, checks
from spec.applicability import judged_with
from spec.catalogue import catalogue
from spec.rules import Level, Role, Rule

CONTROL = 0.002
"""Share of the rules a deviation cannot touch that are judged all the same, one at least: of all deviations
that are thousands of judgements."""


class Fate(StrEnum):
    """What became of a deviation."""

    KILLED = "killed"
    """Its own rule's check gave the expected verdict."""
    ELSEWHERE = "by another only"
    """Its own rule's check noticed nothing or gave another verdict, but another rule's did."""
    ERROR = "by error"
    """It only broke the check's set-up, or the peer."""
    SURVIVED = "survived"
    """Nobody noticed."""


@dataclass(frozen=True, slots=True)
class Detected:
    """A deviation, what its rule came to `clean` and with it (`seen`), and who else changed.

    `elsewhere` are the other rules that noticed what its own missed; `too_wide` those that turned worse and
    could not. What else turns red of what was noticed is in the dictionary (conformance.causes).
    """

    rule: Rule
    deviation: Deviation
    fate: Fate
    clean: Judged
    seen: Judged
    elsewhere: tuple[str, ...] = ()
    too_wide: tuple[str, ...] = ()


Build = Callable[[object, str], Target]
"""Makes a fresh target with a deviation's change (None: a clean one), for the rules of a document."""


def judge_rule(
    rule: Rule, goal: Target, evidence: Memory | None = None, keeps: Kept = Kept.EXPLAINED
) -> Judged:
    """Judge a rule on a target that is started for it; the judgement that decides.

    What nobody reads is not made: `keeps` says how much `evidence` has of what goes over the wire, of which
    nothing is kept without it; where that is not explained no other watch looks at it, either.
    """
    with goal:
        return judge_standing(rule, goal, evidence, keeps)


def judge_standing(
    rule: Rule, goal: Target, evidence: Memory | None = None, keeps: Kept = Kept.EXPLAINED
) -> Judged:
    """Judge a rule, as `judge_rule` does, on a target that was started before and goes on behind it."""
    if evidence is None:
        evidence, keeps = Memory(), Kept.NOTHING
    only = frozenset(() if keeps is Kept.EXPLAINED else (rule.id,))
    # Names of its own each time: several judgements may share a real broker.
    prefix = f"detect-{secrets.token_hex(4)}"
    judge = Judge(goal, evidence, prefix, lively=False, only=only, keeps=keeps)
    judged = [_judge(case, judge, evidence) for case in cases([rule], checks(), goal.role)]
    come_to = {rule.id: fold(each.verdict for each in judged)}
    judged += conclude_breached([rule], goal.role, sighted(evidence.lines), come_to)
    worst = fold(each.verdict for each in judged)
    return next(each for each in judged if each.verdict is worst)


def judge_rules(
    rules: Iterable[Rule], build: Callable[[str], Target], beside: list[Line] | None = None
) -> Iterator[tuple[str, Judged]]:
    """Judge rules that have a check, each on a target of its own, which `build` makes for a document.

    Gives by rule the judgement that decides, as `judge_rule` does. Those that watch the same scenarios are
    judged together, on one target, on which these are played once. `beside` gets all evidence but for what
    went over the wire.
    """
    together: dict[tuple[str, ...], list[Rule]] = {}
    for rule in rules:
        goal = build(rule.document)
        found = checks().of(rule.id, goal.role)
        occasions = [each.during if isinstance(each, Watch) else "" for each in found]
        if all(occasions):
            together.setdefault(tuple(sorted(occasions)), []).append(rule)
        else:
            evidence = Memory()
            yield rule.id, judge_rule(rule, goal, evidence, Kept.NOTHING)
            if beside is not None:
                beside += evidence.lines
    for some in together.values():
        evidence = Memory()
        yield from _judge_watched(some, build(some[0].document), evidence).items()
        if beside is not None:
            beside += evidence.lines


def _judge_watched(rules: Sequence[Rule], goal: Target, evidence: Memory) -> Mapping[str, Judged]:
    played = dict[str, Judged]()
    prefix, only = f"detect-{secrets.token_hex(4)}", frozenset(rule.id for rule in rules)
    with goal:
        judge = Judge(goal, evidence, prefix, lively=False, only=only, keeps=Kept.NOTHING)
        all_ = {
            rule.id: [_judge(case, judge, evidence, played) for case in cases([rule], checks(), goal.role)]
            for rule in rules
        }
    return {
        identity: next(each for each in judged if each.verdict is fold(one.verdict for one in judged))
        for identity, judged in all_.items()
    }


def _judge(
    case: Case, judge: Judge, evidence: Memory, played: MutableMapping[str, Judged] | None = None
) -> Judged:
    try:
        match case.check:
            case None:
                return case.unchecked()
            case Watch() as watch:
                give_occasion(watch, judge, {} if played is None else played)
                return conclude_passive(case.rule, watch, sighted(evidence.lines).get(case.rule.id, ()))
            case Scenario(exclusive=True) as scenario:
                if why := judge.missing(scenario):
                    return case.not_run(why)
                return judge.exclusive([(case.rule, scenario)])[0]
            case scenario:
                return judge.judge(case.rule, scenario)
    except (TargetDied, Unreachable) as failure:
        return Judged(test=case.id, rule=case.rule.id, verdict=Verdict.ERROR, detail=str(failure))
    except Exception as failure:
        # A peer with a fault may break altogether, where no scenario's step is to blame.
        cause = "".join(traceback.format_exception(failure))
        return Judged(test=case.id, rule=case.rule.id, verdict=Verdict.ERROR, detail="broke", cause=cause)


def in_memory(change: object, _: str = "") -> EmbeddedTarget:
    """Give a fresh reference peer in memory; it speaks all protocols."""
    return EmbeddedTarget(change)


class _Watched(EmbeddedTarget):
    """A clean peer, the `right` one of a document, of which is kept what is done to it."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.replay = Replay(self._time)
        self._document = judged_with(document)
        self.right = super().make(document)

    def make(self, document: str) -> PeerServer:
        return self.replay.before(self.right) if document == self._document else super().make(document)


@dataclass
class Bench:
    """Clean verdicts and footprints (servers' alone) of rules with a check; `build` makes peers to judge.

    Of the rules that a deviation cannot touch the share `control` is judged. What was not prepared is looked
    at when it is needed.
    """

    build: Build = in_memory
    role: Role = Role.SERVER
    control: float = CONTROL
    clean: dict[str, Judged] = field(default_factory=dict)
    footprints: dict[str, Any] = field(default_factory=dict)
    replays: dict[str, Replay] = field(default_factory=dict)
    rules: dict[str, Rule] = field(default_factory=dict)

    def prepare(self, rules: Iterable[Rule]) -> Iterator[Rule]:
        """Judge each of these `rules` that has a check on a clean peer."""
        for rule in rules:
            if checks().of(rule.id, self.role):
                self._look_at(rule)
                yield rule

    def _look_at(self, rule: Rule) -> None:
        if rule.id in self.clean:
            return
        self.rules[rule.id] = rule
        if self.role is Role.CLIENT:
            self.clean[rule.id] = judge_rule(rule, stand_in(self.role, document=rule.document))
            return
        goal, evidence = _Watched(rule.document), Memory()
        self.clean[rule.id] = judge_rule(rule, goal, evidence, Kept.OCTETS)
        self.footprints[rule.id] = dialect(rule.document).proof.footprint(goal.right, evidence.exchange)
        self.replays[rule.id] = goal.replay

    def tells_apart(self, rule: Rule, change: object = None, policy: object = None) -> bool:
        """Say whether a server with a change, or a policy, says anything else where a rule is judged.

        It is asked, with what was done to a clean one. Of what an interposer does to an exchange that passes
        through it the footprint says enough.
        """
        proof = dialect(rule.document).proof
        if isinstance(change, proof.interposer):
            return True
        return not self.replays[rule.id].is_the_same(lambda clock: proof.peer(change, policy, clock))

    def detect(self, deviation: Deviation, others: bool = True) -> Detected:
        """Judge a deviation's own rule with it, and with `others` some that it cannot touch.

        Where its own rule misses it, all that it may touch are judged as well.
        """
        rule = catalogue()[deviation.rule]
        self._look_at(rule)
        clean = self.clean[rule.id]
        seen = judge_rule(rule, self.build(deviation.change, rule.document))
        found = fate(rule, clean, seen)
        if not others or self.role is Role.CLIENT:
            return Detected(rule, deviation, found, clean, seen)
        # The same samples every time, others for each deviation.
        beside = [each for each in _checked(judged_with(rule.document), self.role) if each is not rule]
        random.Random(f"{deviation.rule} {deviation.says}").shuffle(beside)
        untouched = (each for each in beside if not self._touches(deviation, each))
        control = itertools.islice(untouched, math.ceil(len(beside) * self.control))
        too_wide = self._worse(control, deviation)
        may = (each for each in beside if self._touches(deviation, each))
        elsewhere = self._worse(may if found is Fate.SURVIVED else (), deviation)
        if elsewhere:
            found = Fate.ELSEWHERE
        return Detected(rule, deviation, found, clean, seen, elsewhere, too_wide)

    def detect_all(self, wanted: Sequence[Deviation], others: bool, processes: int) -> Iterator[Detected]:
        """Detect each deviation in order, in that many processes at once (1: in this one)."""
        if processes == 1 or "fork" not in multiprocessing.get_all_start_methods():
            yield from (self.detect(deviation, others) for deviation in wanted)
            return
        # Forked children have clean verdicts and deviations already; only what they found comes back.
        context = multiprocessing.get_context("fork")
        _INHERITED[:] = [self, wanted, others]
        gc.freeze()  # for the children: what is there lives as long as they do
        with context.Pool(processes) as pool:
            # One by one: the few that take long in real time stand together.
            found = pool.imap(_detect_number, range(len(wanted)))
            for deviation, (fate_, seen, elsewhere, too_wide) in zip(wanted, found, strict=True):
                rule = self.rules[deviation.rule]
                clean = self.clean[rule.id]
                yield Detected(rule, deviation, fate_, clean, seen, elsewhere, too_wide)

    def _touches(self, deviation: Deviation, rule: Rule) -> bool:
        self._look_at(rule)
        return dialect(rule.document).proof.touches(deviation.change, self.footprints[rule.id])

    def _worse(self, rules: Iterable[Rule], deviation: Deviation) -> tuple[str, ...]:
        asked = sorted(rules, key=attrgetter("id"))
        judged = judge_rules(asked, partial(self.build, deviation.change))
        return tuple(each for each, seen in judged if is_worse(seen.verdict, self.clean[each].verdict))


@cache
def _checked(document: str, role: Role) -> list[Rule]:
    """Give the rules that are judged with a document and have a check."""
    return [
        each
        for each in catalogue().rules
        if judged_with(each.document) == document and checks().of(each.id, role)
    ]


_INHERITED: list[Any] = []


def _detect_number(number: int) -> tuple[Fate, Judged, tuple[str, ...], tuple[str, ...]]:
    bench, wanted, others = _INHERITED
    found = bench.detect(wanted[number], others)
    return found.fate, found.seen, found.elsewhere, found.too_wide


def fate(rule: Rule, clean: Judged, seen: Judged) -> Fate:
    """Say what became of a deviation, from its rule's verdict without and with it."""
    if seen.verdict is Verdict.ERROR:
        return Fate.ERROR
    told = [(each.verdict, each.signature, each.detail) for each in (clean, seen)]
    if told[0] == told[1]:
        return Fate.SURVIVED
    if rule.level is Level.MAY or seen.verdict is MISSED[rule.level]:
        return Fate.KILLED
    return Fate.SURVIVED


def deviations(rules: Iterable[Rule], role: Role = Role.SERVER) -> list[Deviation]:
    """Give all deviations of these rules in a role, in order."""
    return [each for rule in rules for each in checks().deviating(role).get(rule.id, ())]


def missing_deviations(rules: Sequence[Rule], role: Role = Role.SERVER) -> list[str]:
    """Give the rules that have a check of those in a role, but nothing that proves it can fail."""
    known = checks()
    return [rule.id for rule in rules if known.of(rule.id, role) and not known.deviating(role).get(rule.id)]
