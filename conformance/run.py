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

from conformance import baseline as baselines
from conformance.capture import write_capture
from conformance.cases import Case, cases
from conformance.events import (
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
from conformance.gate import Exit, Gate, gate, scores
from conformance.judge import ROOM, Judge, TargetDied, spared
from conformance.leftovers import remove_leftovers
from conformance.passive import conclude_passive, give_occasion, occasions
from conformance.rendering import named, render_files
from conformance.report import ended_event, report_of
from conformance.surroundings import environment, plain
from harness.context import Deadline, Patience
from harness.dialect import Banner, dialect
from harness.expect import OverBudget, Stop
from harness.journal import Noted
from harness.target import Target, TargetError
from harness.targets import attach, target
from harness.tls import Security
from harness.transport import Unreachable
from scenarios.registry import Scenario, Watch, checks
from spec.catalogue import catalogue
from spec.rules import Level
from spec.selection import select

PROBE = 30.0
"""Seconds the target has to open a first connection."""
CLEAR_UP = 5.0
"""Seconds for removing what a run that was cut short left behind."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a run was asked to do; plain values, so that it can travel to a worker."""

    target: str = field(default="embedded", repr=False)  # a URL has a password in it
    selectors: tuple[str, ...] = ()
    level: str = "must"
    profile: str = "document"
    baseline: str | None = None
    output: str | None = None
    shuffle: int | None = None
    disruptive: bool = False
    budget: float = 600.0
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    tls_insecure: bool = False
    mechanism: str = "PLAIN"
    arguments: tuple[str, ...] = ()

    @property
    def security(self) -> Security:
        """How the target is to be reached."""
        return Security(self.tls_ca, self.tls_cert, self.tls_key, self.tls_insecure, self.mechanism)

    def reached(self, security: Security) -> Options:
        """The same, with the target reached in another way."""
        return replace(
            self,
            tls_ca=security.ca,
            tls_cert=security.certificate,
            tls_key=security.key,
            tls_insecure=security.insecure,
            mechanism=security.mechanism,
        )


@dataclass
class Run:
    """A run as one process sees it; `controller` owns target and folder, `share` counts who judge at once.

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
    banner: Banner | None = None
    lost: str | None = None
    cut: str | None = None
    results: tuple[RuleResult, ...] = ()
    lines: tuple[Line, ...] = ()
    gate: Gate | None = None
    share: int = 1
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
            self.banner = dialect(self._document).probe(self.target, min(PROBE, self.deadline.left))
        except (TargetError, Unreachable) as failure:
            self.lost = str(failure)

    @cached_property
    def deadline(self) -> Deadline:
        """When the budget of the run is spent, the same in all processes."""
        left = self.started + self.options.budget - time.time()
        return Deadline.after(left, f"the run's budget of {self.options.budget:g} s is spent")

    @property
    def _document(self) -> str:
        return next(iter(self.selected), catalogue().rules[0]).document

    @property
    def selected(self) -> tuple[Any, ...]:
        """The rules that were asked for."""
        return select(catalogue().rules, self.options.selectors, catalogue().aliases)

    def _describe(self, now: datetime) -> None:
        banner = self.banner or Banner("", "", {}, 0.0)
        told: dict[str, Any] = {
            "run": self.id,
            "suite": version("amqp-conformance"),
            "target": self.target.name,
            "product": banner.product,
            "version": banner.version,
            "banner": plain(banner.properties),
            "documents": tuple(asdict(document) for document in catalogue().documents),
            "environment": environment()
            | {
                "target": plain(self.target.describe()),
                "security": plain(self.target.security.describe(self.target.tls)),
            },
            "profile": self.options.profile,
            # The target's URL may carry a password; its name does not.
            "arguments": tuple(
                each.replace(self.options.target, self.target.name) for each in self.options.arguments
            ),
        }
        write_run(self.folder, RunInfo(**told, started=now.isoformat(), level=self.options.level))
        ids = tuple(rule.id for rule in self.selected)
        self.writer.write(
            RunStarted(
                **told, level=Level(self.options.level), selected=ids, catalogue=len(catalogue().rules)
            )
        )
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
            "round_trip": self.banner.round_trip if self.banner else 0.0,
        }

    @classmethod
    def attach(cls, given: Mapping[str, Any], worker: str, share: int = 1) -> Run:
        """The run as one of `share` workers sees it."""
        plain_options: dict[str, Any] = given["options"]
        lists = {name: tuple(each) for name, each in plain_options.items() if isinstance(each, list | tuple)}
        options = Options(**(plain_options | lists))
        folder = Path(given["folder"])
        writer = EventWriter(folder, worker, wall_clock(given["started"]))
        goal = attach(given["target"], options.security)
        run = cls(options, folder, f"{given['id']}-{worker}", goal, writer, False, given["started"], worker)
        run.lost, run.share = given["lost"] or None, share
        run.banner = Banner("", "", {}, given["round_trip"])
        return run

    # -- judging ---------------------------------------------------------------------------------------

    def cases(self) -> list[Case]:
        """The cases of the selected rules, in the order they run."""
        return cases(self.selected, checks(), self.options.shuffle)

    @property
    def judge(self) -> Judge:
        """The judge of this process."""
        if self._judge is None:
            trip = self.banner.round_trip if self.banner else 0.0
            self._judge = Judge(
                self.target,
                self.writer,
                f"amqp-conformance-{self.id}",
                self.options.profile,
                Patience.calibrated(trip),
                harmless=self.target.shared and not self.options.disruptive,
                alone=self.controller,
                worker=self.worker,
                deadline=self.deadline,
                room=ROOM // self.share,
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
        if why := self._over:
            return case.not_run(why)
        if case.check.exclusive:
            return self._exclusive_verdict(case)
        return self.judge.judge(case.rule, case.check)

    def _passive_verdict(self, case: Case, watch: Watch) -> Judged:
        if not occasions(case.rule.id, read(self.folder, "seen")):
            if why := self._over:
                return case.not_run(why)
            give_occasion(watch, self.judge)
        return conclude_passive(case.rule, watch, read(self.folder, "seen"))

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
        if self.cut and not self.lost:
            if Interrupted(self.cut) not in [line.event for line in read(self.folder, "interrupted")]:
                self.writer.write(Interrupted(self.cut))
            self._clear_up()
        results = rule_results(read(self.folder, "judged"))
        if left := spared(results):
            self.writer.write(Noted(datetime.now(UTC).timestamp() - self.started, "", left))
        self.gate = self._gate(results)
        reached = scores(results, catalogue().rules, {rule.id for rule in self.selected}, self.lost, self.cut)
        self.writer.write(ended_event(results, self.gate, reached))
        self.writer.close()
        merge(self.folder, partial=bool(self.lost or self.cut))
        self.target.stop()
        self._render()
        return self.gate.exit_status

    def _clear_up(self) -> None:
        try:
            remove_leftovers(self.target, read(self.folder), self.writer, CLEAR_UP)
        except (Unreachable, Stop) as failure:
            self.cut = f"{self.cut}, and what it left could not be removed ({failure})"

    def _gate(self, results: Sequence[RuleResult]) -> Gate:
        rules = catalogue().rules
        report = None
        if self.options.baseline and self.banner:
            report = baselines.apply(
                results,
                baselines.load(Path(self.options.baseline)),
                self.banner.product,
                self.banner.version,
                datetime.now(UTC).date(),
                [rule.id for rule in rules],
            )
        return gate(
            results,
            rules,
            Level(self.options.level),
            selected={rule.id for rule in self.selected},
            baseline=report,
            lost=self.lost,
            cut=self.cut,
        )

    def _render(self) -> None:
        self.lines = read(self.folder)
        self.results = tuple(rule_results(self.lines))
        render_files(
            report_of(self.lines, catalogue().rules, str(self.folder), self.started, named), self.folder
        )
        write_capture(self.lines, self.folder / "capture.pcapng", self.started)
        for name, text in self.target.logs().items():
            (self.folder / name).write_bytes(text)
        seal(self.folder)
