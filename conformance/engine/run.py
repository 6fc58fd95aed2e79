"""One run: target started and probed, cases judged, evidence sealed. Used by the pytest plugin only.

The controller owns the target and the run folder; each xdist worker attaches to both and writes its own
stream of events.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from conformance.engine.cases import Case, cases
from conformance.engine.door import hampering
from conformance.engine.judge import Judge, TargetDied, spared
from conformance.engine.leftovers import remove_leftovers
from conformance.engine.options import Options
from conformance.engine.passive import (
    KINDS,
    Sighted,
    conclude_breached,
    conclude_passive,
    give_occasion,
    occasions,
    sighted,
)
from conformance.engine.scope import Scope, apart_of, scope
from conformance.engine.surroundings import environment, plain
from conformance.evidence.capture import write_capture
from conformance.evidence.room import Room
from conformance.evidence.stream import (
    EventWriter,
    Interrupted,
    Judged,
    Line,
    RuleResult,
    RunInfo,
    RunStarted,
    merge,
    read,
    rule_results,
    seal,
    wall_clock,
    write_run,
)
from conformance.gate.applying import applied, load_all
from conformance.gate.gate import Exit, Gate, gate, scores
from conformance.render.rendering import named, render_files
from conformance.render.report import ended_event, report_of
from harness.play.context import Deadline, Patience
from harness.play.expect import OverBudget, Stop
from harness.play.speaker import Banner
from harness.targets.named import attach, target
from harness.targets.target import Target, TargetError
from harness.wire.journal import Noted
from harness.wire.transport import Unreachable
from scenarios.registry import Scenario, Watch, checks
from spec.catalogue import catalogue
from spec.rules import Level, Rule
from spec.selection import select

PROBE = 30.0
"""Seconds the target has to open a first connection."""
STARTING = "interrupted while the target was starting"
"""What a run comes to that ends by Ctrl-C before it can judge anything."""
CLEAR_UP = 5.0
"""Seconds for removing what a run that was cut short left behind."""


@dataclass
class Run:
    """A run as one judge sees it; `controller` owns target and folder, `room` is that of its process.

    `lost` says why the target is gone, `cut` why the run ends before its end.
    """

    options: Options
    folder: Path
    id: str
    target: Target
    writer: EventWriter
    controller: bool
    started: float
    worker: str = "main"
    scope: Scope = field(default_factory=Scope)
    lost: str | None = None
    cut: str | None = None
    results: tuple[RuleResult, ...] = ()
    lines: tuple[Line, ...] = ()
    gate: Gate | None = None
    room: Room = field(default_factory=Room)
    _judge: Judge | None = None
    _exclusive: dict[str, Judged] = field(default_factory=dict)

    # -- beginning -------------------------------------------------------------------------------------

    @classmethod
    def begin(cls, options: Options) -> Run:
        """Make the run folder, start the target and probe it.

        Raises TargetError for a target that cannot exist here. One that cannot be reached is a run too:
        `lost` says why, every case is not-run, and the folder shows it.
        """
        goal = target(options.target, options.security)
        now = datetime.now(UTC)
        run_id = secrets.token_hex(6)
        folder = Path(options.output or f"runs/{now:%Y%m%d-%H%M%S}-{run_id}")
        if folder.exists() and any(folder.iterdir()):
            raise TargetError(f"{folder} is not empty; a run needs a folder of its own")
        folder.mkdir(parents=True, exist_ok=True)
        writer = EventWriter(folder, "main", wall_clock(now.timestamp()))
        run = cls(options, folder, run_id, goal, writer, True, now.timestamp())
        run._start_target()
        run._describe(now)
        return run

    def _start_target(self) -> None:
        try:
            self.target.start()
            self.scope = scope(self.target, self._asked, min(PROBE, self.deadline.left))
        except (TargetError, Unreachable, KeyboardInterrupt) as failure:
            self.lost = str(failure) or STARTING

    @cached_property
    def deadline(self) -> Deadline:
        """When the budget of the run is spent, the same in all processes."""
        left = self.started + self.options.budget - time.time()
        return Deadline.after(left, f"the run's budget of {self.options.budget:g} s is spent")

    @cached_property
    def _asked(self) -> tuple[Rule, ...]:
        return select(catalogue().rules, self.options.selectors, catalogue().aliases)

    @property
    def selected(self) -> tuple[Rule, ...]:
        """The rules that were asked for, of the protocols that the target speaks."""
        return self.scope.rules(self._asked)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules of the protocols that the target speaks: what a certification is about."""
        return self.scope.rules(catalogue().rules)

    def _describe(self, now: datetime) -> None:
        banner = self.scope.banner or Banner("", "", {}, 0.0)
        told: dict[str, Any] = {
            "run": self.id,
            "suite": version("amqp-conformance"),
            "target": self.target.name,
            "product": banner.product,
            "version": banner.version,
            "banner": plain(banner.properties),
            "documents": tuple(
                asdict(document) for document in catalogue().documents if self.scope.covers(document.prefix)
            ),
            "unspoken": dict(self.scope.unspoken),
            "environment": environment()
            | {
                "target": plain(self.target.describe()),
                "security": plain(self.target.security.describe(self.target.tls)),
            },
        } | self.options.kept(self.target.name)
        write_run(self.folder, RunInfo(**told, started=now.isoformat()))
        ids = tuple(rule.id for rule in self.selected)
        told["level"] = Level(self.options.level)
        self.writer.write(RunStarted(**told, selected=ids, catalogue=len(self.rules)))
        for each in self.scope.breaches:
            self.writer.write(replace(each, connection=""))  # nothing of the probe is kept
        if self.lost:
            self.writer.write(Interrupted(self.lost))

    def for_worker(self) -> dict[str, Any]:
        """All a worker needs to attach, as plain values."""
        return {
            "options": asdict(self.options),
            "folder": str(self.folder),
            "id": self.id,
            "target": self.target.attachment(),
            "started": self.started,
            "lost": self.lost or "",
            "scope": self.scope.plain(),
        }

    @classmethod
    def attach(cls, given: Mapping[str, Any], worker: str, room: Room) -> Run:
        """The run as a worker sees it."""
        options = Options.of(given["options"])
        folder = Path(given["folder"])
        writer = EventWriter(folder, worker, wall_clock(given["started"]))
        goal = attach(given["target"], options.security)
        run = cls(options, folder, f"{given['id']}-{worker}", goal, writer, False, given["started"], worker)
        run.lost, run.room = given["lost"] or None, room
        run.scope = Scope.of(given["scope"])
        return run

    # -- judging ---------------------------------------------------------------------------------------

    def cases(self) -> list[Case]:
        """The cases of the selected rules, in the order they run."""
        return cases(self.selected, checks(), self.options.shuffle, apart_of(self.target))

    @property
    def judge(self) -> Judge:
        """The judge of this process."""
        if self._judge is None:
            self._judge = Judge(
                self.target,
                self.writer,
                f"amqp-conformance-{self.id}",
                self.options.profile,
                Patience.calibrated(self.scope.round_trip, alone=self.controller),
                harmless=self.target.shared and not self.options.disruptive,
                alone=self.controller,
                worker=self.worker,
                deadline=self.deadline,
                room=self.room,
                barriers=self.scope.barriers,
            )
        return self._judge

    def verdict(self, case: Case) -> Judged:
        """Judge one case and keep the verdict."""
        try:
            judged = self._verdict(case)
        except (TargetDied, Unreachable) as failure:
            self.lost = str(failure)
            self.writer.write(Interrupted(self.lost))
            judged = case.not_run(f"the run ended in it: {self.lost}")
        except OverBudget as failure:
            self._cut(str(failure))
            judged = case.not_run(f"the run ended in it: {self.cut}")
        self.writer.write(judged)
        return judged

    def _verdict(self, case: Case) -> Judged:
        if case.check is None:
            return case.unchecked()
        if isinstance(case.check, Watch):
            return self._passive_verdict(case, case.check)
        if why := self._over or self.scope.why_not(case.rule):
            return case.not_run(why)
        if case.check.exclusive:
            return self._exclusive_verdict(case)
        return self.judge.judge(case.rule, case.check)

    def _passive_verdict(self, case: Case, watch: Watch) -> Judged:
        if not occasions(self._seen.get(case.rule.id, ())):
            if why := self._over or self.scope.why_not(case.rule):
                return case.not_run(why)
            blocked = give_occasion(watch, self.judge)
            del self._seen  # every passive rule has looked on
            if blocked and not occasions(self._seen.get(case.rule.id, ())):
                return case.not_run(blocked.detail, signature=blocked.signature)
        return conclude_passive(case.rule, watch, self._seen.get(case.rule.id, ()))

    @cached_property
    def _seen(self) -> Mapping[str, Sequence[Sighted]]:
        """What the passive rules have seen until now; they are folded when all else has been played."""
        return sighted(line for kind in KINDS for line in read(self.folder, kind))

    @property
    def _over(self) -> str:
        """Why nothing more is judged; empty while something is."""
        if self.lost:
            return f"the target is gone: {self.lost}"
        if not self.deadline.left:
            self._cut(self.deadline.says)
        return f"the run ended before: {self.cut}" if self.cut else ""

    def _cut(self, why: str) -> None:
        if not self.cut:
            self.cut = why
            self.writer.write(Interrupted(why))

    def hear(self) -> None:
        """Take over from the workers why they ended early."""
        for line in read(self.folder, "interrupted"):
            if isinstance(line.event, Interrupted) and line.worker != self.worker:
                if line.event.reason == self.deadline.says:
                    self.cut = self.cut or line.event.reason
                else:
                    self.lost = self.lost or line.event.reason

    def _exclusive_verdict(self, case: Case) -> Judged:
        # The first exclusive case that is asked for advances all of them: the target restarts once.
        if not self._exclusive:
            pairs = [
                (each.rule, each.check)
                for each in self.cases()
                if isinstance(each.check, Scenario) and each.check.exclusive
            ]
            playable = [pair for pair in pairs if not self.judge.missing(pair[1])]
            self._exclusive = {judged.test: judged for judged in self.judge.exclusive(playable)}
        assert isinstance(case.check, Scenario)
        why = self.judge.missing(case.check)
        return self._exclusive.get(case.id) or case.not_run(why, signature=why)

    # -- ending ----------------------------------------------------------------------------------------

    def leave(self) -> None:
        """End a worker's part."""
        self.target.stop()
        self.writer.close()

    def finish(self) -> Exit:
        """Judge what was not reached as not-run, seal the evidence, hold the results against the gate."""
        self.hear()
        judged = {line.event.test for line in read(self.folder, "judged") if isinstance(line.event, Judged)}
        for case in self.cases():
            if case.id not in judged:
                self.writer.write(
                    case.not_run(f"the run ended before: {self.lost or self.cut or 'it broke'}")
                )
        self._count_breaches()
        if self.cut and not self.lost:
            if Interrupted(self.cut) not in [line.event for line in read(self.folder, "interrupted")]:
                self.writer.write(Interrupted(self.cut))
            self._clear_up()
        results = rule_results(read(self.folder, "judged"))
        self.gate = self._gate(results)
        for told in filter(None, (spared(results), *self.gate.notes)):
            self.writer.write(Noted(datetime.now(UTC).timestamp() - self.started, "", told))
        reached = scores(results, self.rules, {rule.id for rule in self.selected}, self.lost, self.cut)
        self.writer.write(ended_event(results, self.gate, reached))
        self.writer.close()
        merge(self.folder, partial=bool(self.lost or self.cut))
        self.target.stop()
        self._render()
        return self.gate.exit_status

    def _count_breaches(self) -> None:
        """Judge by what was broken in passing the rules that have noticed nothing of it."""
        self.__dict__.pop("_seen", None)  # the passive rules have been folded
        judged = {result.rule: result.verdict for result in rule_results(read(self.folder, "judged"))}
        for each in conclude_breached(self.selected, self._seen, judged):
            self.writer.write(each)

    def _clear_up(self) -> None:
        try:
            remove_leftovers(self.target, read(self.folder), self.writer, CLEAR_UP)
        except (Unreachable, Stop) as failure:
            self.cut = f"{self.cut}, and what it left could not be removed ({failure})"

    def _gate(self, results: Sequence[RuleResult]) -> Gate:
        banner = self.scope.banner or Banner("", "", {}, 0.0)
        held = applied(
            results,
            load_all(map(Path, self.options.baseline)) if self.scope.banner else (),
            banner.product,
            banner.version,
            datetime.now(UTC).date(),
            [rule.id for rule in self.rules],
        )
        decided = gate(
            results,
            self.rules,
            Level(self.options.level),
            selected={rule.id for rule in self.selected},
            baseline=held.report,
            lost=self.lost,
            cut=self.cut,
            unread=held.unread,
        )
        told = hampering(self.scope.hampered, results)
        return replace(decided, notes=held.notes, sentence="; ".join(filter(None, (decided.sentence, told))))

    def _render(self) -> None:
        self.lines = read(self.folder)
        report = report_of(self.lines, catalogue().rules, str(self.folder), self.started, named)
        self.results = report.results
        render_files(report, self.folder)
        write_capture(self.lines, self.folder / "capture.pcapng", self.started)
        for name, text in self.target.logs().items():
            (self.folder / name).write_bytes(text)
        seal(self.folder)
