"""The one who owns a run: starts and probes the target, says what is judged, plays what must come last."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from conformance.engine.cases import Case
from conformance.engine.closing import Closed, close
from conformance.engine.ending import Cause, Ending
from conformance.engine.options import Options
from conformance.engine.passive import (
    PLAYED,
    Sighted,
    conclude_passive,
    give_occasion,
    occasions,
    sighted,
)
from conformance.engine.plan import Plan
from conformance.engine.scope import met, scope, unasked
from conformance.engine.surroundings import environment, plain
from conformance.engine.worker import MAIN, Worker
from conformance.evidence.folder import RUNS, RunInfo, write_run
from conformance.evidence.kinds import Interrupted, Judged, Line, RunStarted
from conformance.evidence.stream import order, read
from harness.play.speaker import Banner
from harness.targets.named import target
from harness.targets.target import Target, TargetError
from harness.wire.transport import Unreachable
from scenarios.registry import Scenario, Watch, checks
from spec.catalogue import catalogue
from spec.rules import Level

PROBE = 30.0
"""Seconds the target has to open a first connection."""
STARTING = "interrupted while the target was starting"
"""What a run comes to that ends by Ctrl-C before it can judge anything."""


@dataclass
class Controller(Worker):
    """Owns target and folder of a run, judges what no other does, and hears of all `lines`."""

    lines: list[Line] = field(default_factory=list)
    closed: Closed | None = None
    _heard: bool = False
    _exclusive: dict[str, Judged] = field(default_factory=dict)
    _seen: Mapping[str, Sequence[Sighted]] | None = None
    _given: dict[str, Judged] = field(default_factory=dict)
    """What was played to give passive rules an occasion, by test."""

    # -- beginning -------------------------------------------------------------------------------------

    @classmethod
    def begin(cls, options: Options) -> Controller:
        """Make the run folder, start the target and probe it.

        Raises TargetError for a target that cannot exist here. One that cannot be reached is a run too: its
        ending says why, every case is not-run, and the folder shows it.
        """
        goal = target(options.target, options.security)
        if not goal.unmet:
            checks()  # before the time of the run begins
        now = datetime.now(UTC)
        run = secrets.token_hex(6)
        folder = Path(options.output or RUNS / f"{now:%Y%m%d-%H%M%S}-{run}")
        if folder.exists() and any(folder.iterdir()):
            raise TargetError(f"{folder} is not empty; a run needs a folder of its own")
        folder.mkdir(parents=True, exist_ok=True)
        plan = Plan(options, folder, run, now.timestamp(), goal.role)
        lines: list[Line] = []
        writer = plan.writer(MAIN, lines)
        plan, ending = _started(goal, plan)
        controller = cls(plan, goal, writer, ending=ending, lines=lines)
        controller._describe(now)
        return controller

    def _describe(self, now: datetime) -> None:
        plan, goal = self.plan, self.target
        banner = plan.scope.banner or Banner("", "", {}, 0.0)
        told: dict[str, Any] = {
            "run": plan.run,
            "suite": version("amqp-conformance"),
            "target": goal.name,
            "role": plan.role,
            "product": banner.product,
            "version": banner.version,
            "banner": plain(banner.properties),
            "documents": tuple(
                asdict(document) for document in catalogue().documents if plan.scope.covers(document.prefix)
            ),
            "unspoken": dict(plan.scope.unspoken),
            "environment": environment()
            | {"target": plain(goal.describe()), "security": plain(goal.security.describe(goal.tls))},
        } | plan.options.kept(goal.name)
        write_run(plan.folder, RunInfo(**told, capture=plan.options.capture, started=now.isoformat()))
        ids = tuple(rule.id for rule in plan.selected)
        told["level"] = Level(plan.options.level)
        self.writer.write(
            RunStarted(
                **told, selected=ids, others=tuple(sorted(plan.scope.others)), catalogue=len(plan.rules)
            )
        )
        for each in plan.scope.breaches:
            self.writer.write(replace(each, connection=""))  # nothing of the probe is kept
        if lost := self.ending.lost:
            self.writer.write(Interrupted(lost))

    def for_worker(self) -> dict[str, Any]:
        """Give all a worker needs to attach, as plain values."""
        attachment = None if self.target.single else self.target.attachment()
        return {"plan": self.plan.plain(), "target": attachment, "lost": self.ending.lost}

    # -- judging ---------------------------------------------------------------------------------------

    def _judged(self, case: Case) -> Judged:
        match case.check:
            case Watch() as watch:
                return self._passive_verdict(case, watch)
            case Scenario(exclusive=True) as scenario if not (
                self._why_not(case) or self.judge.missing(scenario)
            ):
                return self._exclusive_verdict(case)
        return super()._judged(case)

    def _passive_verdict(self, case: Case, watch: Watch) -> Judged:
        if not occasions(self._sighted(case)):
            if why := self._why_not(case):
                return case.not_run(why)
            played = {**self._given, **self._played()}
            before = len(played)
            blocked = give_occasion(watch, self.judge, played)
            if len(played) > before:
                self._given = played
                self._seen = None  # every passive rule has looked on
            if blocked and not occasions(self._sighted(case)):
                return case.not_run(blocked.detail, signature=blocked.signature)
        return conclude_passive(case.rule, watch, self._sighted(case))

    def _played(self) -> Mapping[str, Judged]:
        """Give by test the scenarios of this run that came to their end."""
        judged = (line.event for line in self.lines if isinstance(line.event, Judged))
        return {each.test: each for each in judged if each.verdict in PLAYED}

    def _sighted(self, case: Case) -> Sequence[Sighted]:
        """Give what a passive rule has seen until now; they are folded when all else has been played."""
        if self._seen is None:
            self._seen = sighted(self.lines)
        return self._seen.get(case.rule.id, ())

    def _exclusive_verdict(self, case: Case) -> Judged:
        # The first exclusive case that is asked for advances all of them: the target restarts once.
        if not self._exclusive:
            pairs = [(each.rule, each.check) for each in self.cases() if isinstance(each.check, Scenario)]
            playable = [(r, each) for r, each in pairs if each.exclusive and not self.judge.missing(each)]
            self._exclusive = {judged.test: judged for judged in self.judge.exclusive(playable)}
        return self._exclusive[case.id]

    # -- ending ----------------------------------------------------------------------------------------

    def hear(self) -> None:
        """Take over from the other workers, which have ended, what they kept, and why they ended early."""
        told = () if self._heard else read(self.plan.folder, but=MAIN)
        self._heard = True
        self.lines[:] = sorted((*self.lines, *told), key=order)
        for line in told:
            if isinstance(line.event, Interrupted):
                spent = line.event.reason == self.plan.deadline.says
                self.end(Cause.BUDGET if spent else Cause.LOST, line.event.reason)

    def finish(self) -> Closed:
        """Hold what was judged against the gate, and seal the folder."""
        self.hear()
        if self.ending.cut:  # an interrupt may fall between a line in the file and the one in memory
            self.lines.clear()
            self.lines.extend(read(self.plan.folder))
        self.closed = close(self, self.lines)
        return self.closed


def judge_here(options: Options) -> Closed:
    """Judge all cases in this process and without pytest. Raises what `Controller.begin` raises."""
    controller = Controller.begin(options)
    for case in controller.cases():
        controller.verdict(case)
    return controller.finish()


def _met(goal: Target, plan: Plan) -> None:
    """Make sure that a port may speak AMQP; the checks are loaded in the time it has for its first octets."""
    with ThreadPoolExecutor(max_workers=1) as aside:  # an interrupt does not reach it, and breaks no import
        loading = aside.submit(checks)
        patience = min(plan.options.first_answer, plan.deadline.left)
        met(goal, plan.asked, patience, busy=lambda: not loading.done())
    loading.result()


def _started(goal: Target, plan: Plan) -> tuple[Plan, Ending]:
    """Start the target and probe it: the plan with what was found, or why nothing can be judged on it."""
    try:
        goal.start()
        if goal.unmet:
            _met(goal, plan)
        found = scope(goal, plan.asked, min(PROBE, plan.deadline.left), plan.documents)
        return replace(plan, scope=found), Ending()
    except KeyboardInterrupt:
        ending = Ending({Cause.LOST: STARTING, Cause.INTERRUPTED: STARTING})
    except (TargetError, Unreachable) as failure:
        ending = Ending({Cause.LOST: str(failure)})
    return replace(plan, scope=unasked(goal, plan.asked, plan.documents)), ending
