"""`amqp-conformance run`: the pytest suite with our own progress and report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from conformance.baseline import BaselineError, load
from conformance.cases import cases
from conformance.gate import Gate
from conformance.plugin import RUN
from conformance.progress import Quiet
from conformance.rendering import named
from conformance.run import Run
from conformance.terminal import report
from harness.target import TargetError
from harness.targets import target
from harness.tls import Security
from scenarios.registry import checks
from spec.catalogue import catalogue
from spec.selection import select

SUITE = Path(__file__).parent / "suite"


class _Kept:
    """Keeps the run that a pytest session makes."""

    run: Run | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Take the run out of the session."""
        self.run = config.stash.get(RUN, None)


def run_suite(selectors: tuple[str, ...], console: Console, **chosen: Any) -> int:
    """Judge a target and print the report; returns the exit status. Raises as `play_suite` does."""
    _, gate = told_suite(selectors, console, **chosen)
    return int(gate.exit_status)


def told_suite(selectors: tuple[str, ...], console: Console, **chosen: Any) -> tuple[Run, Gate]:
    """Judge a target and print the report. Raises as `play_suite` does."""
    run, gate = play_suite(selectors, console, **chosen)
    report(
        run.results, catalogue().rules, run.lines, gate, console,
        annotate=named,
        run=str(run.folder),
    )  # fmt: skip
    console.print(f"\nrun: {run.folder}", highlight=False)
    return run, gate


def play_suite(selectors: tuple[str, ...], console: Console, **chosen: Any) -> tuple[Run, Gate]:
    """Judge a target without a report; the finished run and what it comes to.

    Raises SelectorError, TargetError or BaselineError before anything is started.
    """
    goal = target(chosen["target"], _security(chosen))
    chosen_rules = select(catalogue().rules, selectors, catalogue().aliases)
    if chosen["baseline"]:
        try:
            load(chosen["baseline"])
        except BaselineError as failure:
            raise TargetError(str(failure)) from None
    parallel = chosen.pop("parallel")
    if parallel is None:
        parallel = goal.workers
    kept, total = _Kept(), len(cases(chosen_rules, checks()))
    pytest.main([str(SUITE), *_arguments(selectors, parallel, chosen)], plugins=[Quiet(console, total), kept])
    run = kept.run
    if run is None or run.gate is None:
        raise TargetError("the run broke before it could be judged")
    return run, run.gate


def _security(chosen: dict[str, Any]) -> Security:
    return Security(
        chosen["tls_ca"], chosen["tls_cert"], chosen["tls_key"], chosen["tls_insecure"], chosen["mechanism"]
    )


def _arguments(selectors: tuple[str, ...], parallel: int, chosen: dict[str, Any]) -> list[str]:
    # The suite is run as an application: no settings of the directory the user stands in, no cache.
    arguments = ["-q", "-s", "-c", "/dev/null", f"--rootdir={SUITE}", "-p", "no:cacheprovider"]
    arguments += ["--import-mode=importlib", "-p", "no:hypothesispytest", "-p", "no:allure_pytest"]
    for selector in selectors:
        arguments += ["--rules", selector]
    for name, value in chosen.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(option)
        elif value not in (None, False, ""):
            arguments.append(f"{option}={value}")
    if parallel:
        arguments += ["-n", str(parallel), "--maxschedchunk=1"]
    else:
        arguments += ["-p", "no:xdist"]
    return arguments
