"""Plays one scenario and says what it came to. Knows no protocol: the dialect gives the fixture."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from conformance.engine.conclusion import Findings, conclude, verdict_of
from conformance.evidence.keeping import Evidence
from conformance.evidence.kinds import Judged, TargetRestarted
from conformance.evidence.results import SPARED
from conformance.evidence.room import Room
from conformance.evidence.verdicts import Verdict
from harness.dialect import dialect
from harness.play.context import Context, Deadline, Patience
from harness.play.expect import (
    SILENCE,
    Barrier,
    Blocked,
    ControlFailed,
    Late,
    OverBudget,
    Stop,
    Unmet,
)
from harness.targets.target import Target, TargetError
from harness.wire.journal import Kept
from harness.wire.transport import Unreachable
from scenarios.registry import Scenario, watching
from spec.applicability import judged_with, protocol
from spec.rules import Rule


class TargetDied(Exception):
    """The target no longer serves; the run cannot go on."""


@dataclass
class _Play:
    rule: Rule
    scenario: Scenario
    findings: Findings
    context: Context
    session: AbstractContextManager[Any]
    fixture: Any
    stop: BaseException | None = None
    steps: Iterator[Any] | None = None
    stuck: str = ""
    seconds: float = 0.0
    before: BaseException | None = None
    """What ended the first try, where this is a later one."""


@dataclass
class Judge:
    """Judges tests on one target.

    `prefix` makes names unique to run and worker; `harmless` keeps disruptive scenarios from running;
    `alone` says that no other process is judging the target at the same time, `lively` that the target
    must still serve after every scenario. Nothing goes on beyond the `deadline`, which is the run's, and
    no more events are kept than there is `room` for; `keeps` says how much of what goes over the wire.
    With `only`, identities of rules, no other passive rule looks at the connections. `barriers` are where
    the probe got no further, by protocol. `apart` are rules whose scenarios may leave a part of the target
    stuck, which a new client may miss: where one of them does not come to its end, it is started anew.
    """

    target: Target
    writer: Evidence
    prefix: str
    profile: str = "document"
    patience: Patience = field(default_factory=Patience)
    harmless: bool = False
    alone: bool = True
    lively: bool = True
    worker: str = "main"
    deadline: Deadline = field(default_factory=Deadline)
    room: Room = field(default_factory=Room)
    only: frozenset[str] = frozenset()
    keeps: Kept = Kept.EXPLAINED
    barriers: Mapping[str, Barrier] = field(default_factory=dict)
    apart: Set[str] = frozenset()
    _count: int = 0

    def missing(self, scenario: Scenario) -> str:
        """Say why a scenario cannot be played on this target; empty when it can."""
        lacks = scenario.needs - self.target.facilities
        if scenario.exclusive and "restart" not in self.target.facilities:
            lacks |= {"restart"}
        why = [f"the target has no facility {', '.join(sorted(lacks))}"] if lacks else []
        if scenario.disruptive and self.harmless:
            why.append(SPARED)
        return "; ".join(why)

    def judge(self, rule: Rule, scenario: Scenario) -> Judged:
        """Play a scenario, once more where the first try says nothing about the target (see `_undecided`).

        Raises TargetDied or OverBudget.
        """
        if why := self.missing(scenario):
            return Judged(
                test=scenario.test,
                rule=rule.id,
                verdict=Verdict.NOT_RUN,
                signature=why,  # the same for every run on such a target, so a baseline may name it
                detail=why,
                level=rule.level,
            )
        play = self._run(rule, scenario, self.patience)
        first = play.stop
        if self._undecided(first):
            play = self._run(rule, scenario, self.patience.beside_others, first)
        if isinstance(play.stop, Late):  # what keeps us busy may be over by now
            play = self._run(rule, scenario, self.patience.beside_others, first)
        return self._conclude(play)

    def _undecided(self, stop: BaseException | None) -> bool:
        """Whether a reset may have eaten a frame, we were late, or others kept the target busy."""
        match stop:
            case Unmet():
                return stop.lost or (not self.alone and (stop.ended or stop.actual == SILENCE))
            case Late() | ControlFailed(lost=True):
                return True
            case Stop():
                return (not self.alone or self.target.single) and verdict_of(stop) is Verdict.ERROR
        return False

    def _run(
        self, rule: Rule, scenario: Scenario, patience: Patience, before: BaseException | None = None
    ) -> _Play:
        with self.writer.test(scenario.test, rule.id, anew=before is not None):
            play = self._begin(rule, scenario, patience)
            play.before = before
            try:
                self._step(play, lambda: scenario.play(play.fixture))
            finally:
                self._leave(play)
            self._look_after(play)
        return play

    def exclusive(self, pairs: list[tuple[Rule, Scenario]]) -> list[Judged]:
        """Advance all to a restart, restart once, resume all. Raises TargetDied or OverBudget."""
        plays: list[_Play] = []
        for rule, scenario in pairs:
            with self.writer.test(scenario.test, rule.id):
                play = self._begin(rule, scenario, self.patience)
                self._step(play, lambda p=play, s=scenario: self._advance(p, s))  # type: ignore[misc]
                self._hang_up(play)
                plays.append(play)
        if any(play.steps for play in plays):
            self._restart()
        for play in plays:
            with self.writer.test(play.scenario.test, play.rule.id):
                if play.steps and play.stop is None:
                    play.context.renew(self._deadline())
                    self._step(play, lambda p=play: self._resume(p))  # type: ignore[misc]
                self._leave(play)
                self._look_after(play)
        return [self._conclude(play) for play in plays]

    def _advance(self, play: _Play, scenario: Scenario) -> None:
        play.steps = iter(scenario.play(play.fixture))
        next(play.steps)

    def _resume(self, play: _Play) -> None:
        assert play.steps is not None
        if next(play.steps, None) is not None:
            raise RuntimeError("a scenario is interrupted by one restart only; what follows was not played")

    def _begin(self, rule: Rule, scenario: Scenario, patience: Patience) -> _Play:
        findings = Findings(self.writer)
        self._count += 1
        context = Context(
            journal=findings,
            prefix=f"{self.prefix}-{self._count}",
            label=f"{self.worker}.{self._count}",
            patience=patience,
            profile=self.profile,
            watching=watching(judged_with(rule.document), self.only, self.target.role),
            keeps=self.keeps,
            tidy=not self.target.ephemeral,
            facilities=self.target.facilities,
            facility=lambda name: dict(self.target.used_by(rule.document)(name)),
            deadline=self._deadline(),
            latest=self.deadline,
            barrier=self.barriers.get(protocol(rule.document)),
        )
        session = dialect(rule.document).towards(self.target.role).session(self.target, context)
        return _Play(rule, scenario, findings, context, session, session.__enter__())

    def _step(self, play: _Play, step: Callable[[], Any]) -> None:
        began = time.monotonic()
        try:
            step()
        except (Unreachable, TargetDied):
            raise
        except Exception as failure:
            play.stop, rule = failure, play.context.blocking(failure)
            if rule not in ("", play.rule.id):
                play.stop = Blocked(rule, str(failure))
        play.seconds += time.monotonic() - began

    def _deadline(self) -> Deadline:
        budget = self.patience.budget
        own = Deadline.after(budget, f"the scenario took more than its budget of {budget:g} s")
        return min(own, self.deadline, key=lambda each: each.at)

    def _leave(self, play: _Play) -> None:
        self._clear_up(play, lambda: play.session.__exit__(None, None, None))

    def _hang_up(self, play: _Play) -> None:
        self._clear_up(play, lambda: play.fixture.hang_up())

    def _clear_up(self, play: _Play, leave: Callable[[], Any]) -> None:
        # It has time of its own: a scenario that was stopped must still leave nothing behind.
        within = min(self.patience.leave, max(self.deadline.left, self.patience.answer))
        play.context.renew(Deadline.after(within, f"clearing up took more than {within:.3g} s"))
        try:
            leave()
        except Stop as failure:
            # What the scenario has found stands; a clean-up that failed only spoils a clean result.
            play.stop = play.stop or failure

    def _look_after(self, play: _Play) -> None:
        """Check that the run can go on after a scenario; when its time is up, only what was found counts."""
        if not self.deadline.left:
            if isinstance(play.stop, OverBudget):
                raise OverBudget(self.deadline.says)
            return
        self._still_serves(play)
        if play.stop and not play.stuck and play.rule.id in self.apart and self._can_restart:
            self._restart()
        self.room.left -= play.findings.events
        if self.room.left < 0:
            raise TargetDied(
                f"after {play.scenario.test} {self.target.name} had said more than a run keeps: "
                "it talks without end"
            )

    def _still_serves(self, play: _Play) -> None:
        if not self.lively:
            return
        barrier = self.barriers.get(protocol(play.rule.document))
        spoken = dialect(play.rule.document).towards(self.target.role)
        serves = partial(spoken.serves, self.target, barrier=barrier)
        if (failure := self._refused(serves)) is None:
            return
        play.stuck = str(failure)
        if not self._can_restart:
            raise TargetDied(f"after {play.scenario.test} {failure}") from failure
        self._restart(f"after {play.scenario.test} {failure}")
        if (still := self._refused(serves)) is not None:
            raise TargetDied(f"after {play.scenario.test} and a restart {still}") from still

    def _refused(self, serves: Callable[[], None]) -> Unreachable | None:
        """Ask whether a new client is served; beside others once more, since all of them keep it busy."""
        failure = None
        for _ in range(1 if self.alone else 2):
            try:
                serves()
            except Unreachable as met:
                failure = met
            else:
                return None
        return failure

    @property
    def _can_restart(self) -> bool:
        return self.alone and "restart" in self.target.facilities

    def _restart(self, why: str = "") -> None:
        try:
            self.target.use("restart")
        except TargetError as failure:
            raise TargetDied(f"the target did not come back after its restart: {failure}") from failure
        self.writer.write(TargetRestarted(why))

    def _conclude(self, play: _Play) -> Judged:
        judged = conclude(play.rule, play.scenario.test, play.findings, play.stop, self.profile)
        judged = replace(judged, duration=play.seconds)
        if play.before is not None:
            judged = replace(judged, detail=f"{judged.detail}; at first {play.before}".removeprefix("; "))
        if play.stuck:
            told = f"{judged.detail}; afterwards {play.stuck}, and it was restarted".removeprefix("; ")
            judged = replace(judged, detail=told)
            if judged.verdict in (Verdict.PASS, Verdict.INFO):
                judged = replace(judged, verdict=Verdict.WARN, signature="no longer serves afterwards")
        return judged
