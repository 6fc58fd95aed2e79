"""One who judges: cases on a target that is there already, with a stream of evidence of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from conformance.engine.cases import Case
from conformance.engine.ending import Cause, Ending
from conformance.engine.judge import Judge, TargetDied
from conformance.engine.plan import Plan
from conformance.evidence.keeping import EventWriter
from conformance.evidence.kinds import Interrupted, Judged
from conformance.evidence.room import Room
from harness.play.context import Patience
from harness.play.expect import OverBudget
from harness.targets.named import attach, target
from harness.targets.target import Target, TargetError
from harness.wire.transport import Unreachable
from scenarios.registry import Scenario

MAIN = "main"
"""What the controller is called as a worker, which judges while no other does."""


@dataclass
class Worker:
    """Judges cases of a `plan`, one at a time, in the `room` of its process; `ending` says why no more."""

    plan: Plan
    target: Target
    writer: EventWriter
    name: str = MAIN
    room: Room = field(default_factory=Room)
    ending: Ending = field(default_factory=Ending)

    @classmethod
    def attach(cls, told: Mapping[str, Any], name: str, room: Room) -> Worker:
        """Join the run a controller has `told` of, with another target if that bears one judge."""
        plan, there = Plan.of(told["plan"]), told["target"]
        ending = Ending({Cause.LOST: told["lost"]} if told["lost"] else {})
        goal = (
            attach(there, plan.options.security)
            if there
            else target(plan.options.target, plan.options.security)
        )
        return cls(plan, goal, plan.writer(name), name, room, ending)

    @cached_property
    def judge(self) -> Judge:
        plan, main = self.plan, self.name == MAIN
        if self._owned:
            self._start()
        return Judge(
            self.target,
            self.writer,
            f"amqp-conformance-{plan.run}" + ("" if main else f"-{self.name}"),
            plan.options.profile,
            Patience.calibrated(plan.scope.round_trip, alone=main),
            harmless=self.target.shared and not plan.options.disruptive,
            alone=main or self._owned,
            worker=self.name,
            deadline=plan.deadline,
            room=self.room,
            barriers=plan.scope.barriers,
        )

    @property
    def _owned(self) -> bool:
        return self.target.single and self.name != MAIN

    def _start(self) -> None:
        try:
            self.target.start()
        except TargetError as failure:
            raise TargetDied(str(failure)) from failure

    def cases(self) -> list[Case]:
        """Give all cases of the run, in the order they are judged."""
        return self.plan.cases(self.target)

    def verdict(self, case: Case) -> Judged:
        try:
            judged = self._judged(case)
        except (TargetDied, Unreachable) as failure:
            self._break_off(Cause.LOST, str(failure))
            judged = case.not_run(f"the run ended in it: {failure}")
        except OverBudget as failure:
            self._break_off(Cause.BUDGET, str(failure))
            judged = case.not_run(f"the run ended in it: {self.ending.cut}")
        self.writer.write(judged)
        return judged

    def _judged(self, case: Case) -> Judged:
        if case.check is None:
            return case.unchecked()
        if why := self._why_not(case):
            return case.not_run(why)
        assert isinstance(case.check, Scenario)  # passive rules are the controller's
        return self.judge.judge(case.rule, case.check, case.apart)

    def _why_not(self, case: Case) -> str:
        if self.ending.lost:
            return f"the target is gone: {self.ending.lost}"
        if not self.plan.deadline.left:
            self._break_off(Cause.BUDGET, self.plan.deadline.says)
        if self.ending.cut:
            return f"the run ended before: {self.ending.cut}"
        return self.plan.scope.why_not(case.rule)

    def _break_off(self, cause: Cause, why: str) -> None:
        if not (self.ending.lost if cause is Cause.LOST else self.ending.cut):
            self.writer.write(Interrupted(why))
        self.end(cause, why)

    def end(self, cause: Cause, why: str) -> None:
        """Judge nothing more. Nothing is written, so that a signal's handler may call it."""
        self.ending = self.ending.also(cause, why)

    def leave(self) -> None:
        """Let go of the target, and close the stream; the log of one of its own stays in the run's folder."""
        self.target.stop()
        if self._owned:
            for name, text in self.target.logs().items():
                (self.plan.folder / f"{self.name}-{name}").write_bytes(text)
        self.writer.close()
