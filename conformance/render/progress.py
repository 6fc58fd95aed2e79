"""Progress of a run, instead of pytest's own report."""

from typing import Any

import pytest
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from conformance.engine.plugin import CONTROLLER
from conformance.evidence.printable import printable


class Follower:
    """Replaces pytest's terminal reporter, and is told how far the run is."""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Take the terminal reporter out; the target has been started by now."""
        reporter = config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            config.pluginmanager.unregister(reporter)
        controller = config.stash.get(CONTROLLER, None)
        self.begin(len(controller.cases()) if controller else 0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Move on by one case."""
        told = dict(report.user_properties)
        if report.when == "call" and "rule" in told:
            self.move(told["verdict"], told["rule"])

    def pytest_unconfigure(self) -> None:
        """End: nothing more comes."""
        self.end()

    def begin(self, total: int) -> None:
        """Be told that the target is there, and that `total` cases are to be judged."""

    def move(self, verdict: str, rule: str) -> None:
        """Be told that one more case was judged."""

    def end(self) -> None:
        """Be told that the run is over."""


class Quiet(Follower):
    """A bar that shows what was judged last; on a console that is no terminal it prints nothing."""

    def __init__(self, console: Console) -> None:
        self._bar = Progress(
            TextColumn("judging"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[last]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", last="")

    def begin(self, total: int) -> None:
        self._bar.update(self._task, total=total)
        self._bar.start()

    def move(self, verdict: str, rule: str) -> None:
        self._bar.update(self._task, advance=1, last=printable(f"{verdict:12} {rule}"))

    def end(self) -> None:
        self._bar.stop()
