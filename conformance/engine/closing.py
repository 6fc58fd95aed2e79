"""The end of a run: what was not reached, the gate, the reports, the seal."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import entry_points
from pathlib import Path

from conformance.engine.conclusion import hampering
from conformance.engine.ending import Cause, Ending
from conformance.engine.leftovers import remove_leftovers
from conformance.engine.passive import conclude_breached, sighted
from conformance.engine.plan import Plan
from conformance.engine.worker import Worker
from conformance.evidence.capture import CAPTURE, Captures, write_capture
from conformance.evidence.folder import seal
from conformance.evidence.kinds import Interrupted, Judged, Line
from conformance.evidence.results import RuleResult, rule_results, spared
from conformance.evidence.stream import merge, order
from conformance.gate.applying import applied, load_all
from conformance.gate.gate import Exit, Gate, gate, scores
from conformance.render.rendering import named, render_beside, render_files
from conformance.render.report import Report, ended_event, report_of
from harness.play.expect import Stop
from harness.play.speaker import Banner
from harness.targets.target import Target
from harness.wire.journal import Breached, Noted
from harness.wire.transport import Unreachable
from spec.catalogue import catalogue
from spec.rules import Level

BESIDE = "amqp_conformance.beside"
"""Under this name packages say what writes something more into the folder of a large run that is whole."""
LARGE = 5_000
"""Events from which a run is large."""
CLEAR_UP = 5.0
"""Seconds for removing what a run that was cut short left behind."""


@dataclass(frozen=True, slots=True)
class Closed:
    """A run that is over: what it was about, why it ended, and the report of what it has kept."""

    plan: Plan
    ending: Ending
    report: Report

    @property
    def gate(self) -> Gate:
        return self.report.gate


def close(main: Worker, lines: list[Line]) -> Closed:
    """Judge as not-run what was not reached, hold all against the gate, seal the folder."""
    plan, writer, ending = main.plan, main.writer, main.ending
    _judge_the_rest(main, lines)
    _count_breaches(main, lines)
    if ending.cut and not ending.lost:
        if Interrupted(ending.cut) not in [line.event for line in lines]:
            writer.write(Interrupted(ending.cut))
        ending = _cleared_up(main, lines)
    results = rule_results(lines)
    decided = _gate(plan, ending, results)
    if Cause.INTERRUPTED in ending.causes:
        decided = replace(decided, exit_status=Exit.INTERRUPTED, met=False)
    for told in filter(None, (spared(results), *decided.notes)):
        writer.write(Noted(datetime.now(UTC).timestamp() - plan.started, "", told))
    reached = scores(
        results, plan.rules, plan.role, {rule.id for rule in plan.selected}, ending.lost, ending.cut
    )
    writer.write(ended_event(results, decided, reached))
    writer.close()
    lines.sort(key=order)
    merge(plan.folder, not ending.complete, lines)
    report = report_of(lines, catalogue().rules, str(plan.folder), plan.started, named, decided)
    try:
        rendered = _render(report, plan.folder)  # at once: to stop a target takes what it takes
    finally:
        main.target.stop()
    _keep(plan, main.target, lines, ending.complete)
    rendered()
    seal(plan.folder)
    return Closed(plan, ending, report)


def _judge_the_rest(main: Worker, lines: Iterable[Line]) -> None:
    judged = {line.event.test for line in lines if isinstance(line.event, Judged)}
    why = main.ending.lost or main.ending.cut or "it broke"
    for case in main.cases():
        if case.id not in judged:
            main.writer.write(case.not_run(f"the run ended before: {why}"))


def _count_breaches(main: Worker, lines: Sequence[Line]) -> None:
    judged = {result.rule: result.verdict for result in rule_results(lines)}
    breaches = [
        line for line in lines if isinstance(line.event, Breached)
    ]  # what watches saw is told already
    for each in conclude_breached(main.plan.selected, main.plan.role, sighted(breaches), judged):
        main.writer.write(each)


def _cleared_up(main: Worker, lines: Sequence[Line]) -> Ending:
    try:
        remove_leftovers(main.target, tuple(lines), main.writer, CLEAR_UP)
    except (Unreachable, Stop) as failure:
        return main.ending.but(f"and what it left could not be removed ({failure})")
    return main.ending


def _gate(plan: Plan, ending: Ending, results: Sequence[RuleResult]) -> Gate:
    options, banner = plan.options, plan.scope.banner or Banner("", "", {}, 0.0)
    held = applied(
        results,
        load_all(map(Path, options.baseline)) if plan.scope.banner else (),
        banner.product,
        banner.version,
        plan.role,
        datetime.now(UTC).date(),
        [rule.id for rule in plan.rules],
        options.fail_on,
    )
    decided = gate(
        results,
        plan.rules,
        Level(options.level),
        plan.role,
        selected={rule.id for rule in plan.selected},
        baseline=held.report,
        lost=ending.lost,
        cut=ending.cut,
        unread=held.unread,
        fail_on=options.fail_on,
    )
    told = hampering(plan.scope.hampered, results)
    return replace(decided, notes=held.notes, sentence="; ".join(filter(None, (decided.sentence, told))))


def _render(report: Report, folder: Path) -> Callable[[], None]:
    """Write the reports, those of a large run beside what else is kept; gives what waits for them."""
    if len(report.lines) >= LARGE:
        return render_beside(report, folder)
    render_files(report, folder)
    return lambda: None


def _keep(plan: Plan, target: Target, lines: Sequence[Line], whole: bool) -> None:
    held = Captures(plan.options.capture)
    if held is not Captures.NONE:
        write_capture(held.of(lines), plan.folder / CAPTURE, plan.started, plan.role)
    for name, text in target.logs().items():
        (plan.folder / name).write_bytes(text)
    if whole and len(lines) >= LARGE:
        for each in entry_points(group=BESIDE):
            each.load()(plan.folder, lines)
