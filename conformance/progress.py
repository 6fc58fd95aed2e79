"""Progress of a run on the terminal, instead of pytest's own report."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from conformance.printable import printable


class Quiet:
    """Replaces pytest's terminal reporter by a bar that shows what was judged last.

    `total` is the number of cases. On a console that is no terminal it prints nothing while it runs.
    """

    def __init__(self, console: Console, total: int) -> None:
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
        self._task = self._bar.add_task("", total=total, last="")

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Take the terminal reporter out."""
        reporter = config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            config.pluginmanager.unregister(reporter)
        self._bar.start()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Move on by one case."""
        told = dict(report.user_properties)
        if report.when == "call" and "rule" in told:
            self._bar.update(self._task, advance=1, last=printable(f"{told['verdict']:12} {told['rule']}"))

    def pytest_unconfigure(self) -> None:
        """Clear the bar away."""
        self._bar.stop()
