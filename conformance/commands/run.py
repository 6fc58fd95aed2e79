"""`amqp-conformance run`: the pytest suite with our own progress and report."""

import os
import secrets
from dataclasses import replace
from datetime import UTC, datetime
from math import ceil
from pathlib import Path

import pytest
from rich.console import Console

from conformance.causes.diagnosis import RED
from conformance.causes.dictionary import Sign
from conformance.causes.telling import diagnosed, grouped
from conformance.commands.clicked import tell_selected
from conformance.engine.closing import Closed
from conformance.engine.controller import Controller
from conformance.engine.ending import Cause
from conformance.engine.options import Options
from conformance.engine.plugin import CONTROLLER
from conformance.engine.scope import apart_of
from conformance.evidence.folder import RUNS
from conformance.gate.applying import load_all
from conformance.gate.baseline_file import BaselineError
from conformance.render.board import board
from conformance.render.brief import brief
from conformance.render.progress import Follower, OnBoard
from conformance.render.report import Report
from conformance.render.terminal import tell
from harness.targets.named import target
from harness.targets.target import Target, TargetError
from spec.catalogue import catalogue
from spec.rules import Role
from spec.selection import select

MANY = 10
"""Findings of which it helps to know what causes them."""
CAUSES = 3
"""Causes that are told; `diagnose` tells more."""
SUITE = Path(__file__).parents[1] / "suite"


class _Kept:
    """Keeps the controller of the run that a pytest session makes."""

    controller: Controller | None = None

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Take it out of the session, however that has ended."""
        self.controller = config.stash.get(CONTROLLER, None)


def run_suite(options: Options, console: Console) -> int:
    """Judge a target and print the report; returns the exit status. Raises as `play_suite` does."""
    return int(told_suite(options, console).gate.exit_status)


def told_suite(options: Options, console: Console) -> Closed:
    """Judge a target and print the report. Raises as `play_suite` does."""
    checked(options)
    tell_selected(options.selectors)
    run = play_suite(options)
    if options.verbose:
        tell(run.report, console)
    else:
        brief(run.report, console, causes_of(run.report))
    return run


def causes_of(report: Report) -> list[str]:
    """Say what most findings of a run follow from; nothing where they are few, or of a client."""
    found = {each.rule: Sign(each.verdict, each.signature) for each in report.results}
    if report.started.role is not Role.SERVER or sum(each.verdict in RED for each in found.values()) < MANY:
        return []
    groups = [each for each in grouped(diagnosed(found)) if len(each.rules) > 1]
    told = [each.says for each in groups[:CAUSES]]
    left = len(groups) - len(told)
    return [*told, f"and {left} more: amqp-conformance diagnose {report.name}"] if left > 0 else told


def play_suite(options: Options, follower: Follower | None = None) -> Closed:
    """Judge a target without a report.

    `follower` is told how far it is; without one that is shown on standard error. Raises SelectorError or
    TargetError before anything is started.
    """
    goal = checked(options)
    rules = select(catalogue().rules, options.selectors, catalogue().aliases)
    parallel = goal.at_once(len(rules)) if options.parallel is None else options.parallel
    words = [str(SUITE), *_arguments(options, parallel)]
    kept = _Kept()
    if follower:
        pytest.main(words, plugins=[follower, kept])
    else:
        with board([goal.name]) as shown:
            pytest.main(words, plugins=[OnBoard(shown, goal.name), kept])
    if kept.controller is None:
        raise TargetError("the run broke before it could be judged")
    if kept.controller.closed is None:  # pytest was interrupted between the target's start and its own
        kept.controller.end(Cause.INTERRUPTED, "interrupted before anything was judged")
    return kept.controller.closed or kept.controller.finish()


def checked(options: Options) -> Target:
    """Give the target that was chosen, neither started nor reached.

    Raises SelectorError or TargetError for whatever of the choice cannot be.
    """
    goal = target(options.target, options.security)
    apart_of(goal)
    select(catalogue().rules, options.selectors, catalogue().aliases)
    try:
        load_all(map(Path, options.baseline))
    except BaselineError as failure:
        raise TargetError(str(failure)) from None
    return goal


def place_for_runs(output: str | None) -> Path:
    """Give the folder for several runs: a new one under runs/, or `output`.

    Raises TargetError when that is not empty.
    """
    place = Path(output or RUNS / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}")
    if place.exists() and any(place.iterdir()):
        raise TargetError(f"{place} is not empty; runs need a folder of their own")
    return place


def _arguments(options: Options, parallel: int) -> list[str]:
    # The suite is run as an application: no settings of the directory the user stands in, no cache.
    arguments = ["-q", "-s", "-c", "/dev/null", f"--rootdir={SUITE}", "-p", "no:cacheprovider"]
    # Without the cut pytest lists every directory above the suite, in each process.
    arguments += [f"--confcutdir={SUITE}", "--import-mode=importlib", "--assert=plain"]
    # The last collects garbage several times over, just to warn of what Python itself prints.
    for plugin in ("hypothesispytest", "allure_pytest", "unraisableexception"):
        arguments += ["-p", f"no:{plugin}"]
    if not parallel:
        return [*arguments, *options.words(), "-p", "no:xdist"]
    # Processes compute, threads wait.
    processes = min(parallel, os.cpu_count() or 1)
    shared = replace(options, at_once=ceil(parallel / processes))
    return [*arguments, *shared.words(), "-n", str(processes)]
