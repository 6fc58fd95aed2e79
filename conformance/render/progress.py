"""Progress of a run, instead of pytest's own report."""

from typing import Any

import pytest

from conformance.engine.plugin import CONTROLLER
from conformance.evidence.printable import printable
from conformance.render.board import Board


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
        if controller and controller.ending.lost:
            self.warn(controller.ending.lost)

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

    def warn(self, sentence: str) -> None:
        """Be told at once why nothing can be judged."""

    def move(self, verdict: str, rule: str) -> None:
        """Be told that one more case was judged."""

    def end(self) -> None:
        """Be told that the run is over."""


class OnBoard(Follower):
    """Shows how far the one target is that this process judges."""

    def __init__(self, shown: Board, name: str) -> None:
        self._board, self._name = shown, name

    def begin(self, total: int) -> None:
        self._board.begin(self._name, total)

    def warn(self, sentence: str) -> None:
        self._board.say(printable(sentence))

    def move(self, verdict: str, rule: str) -> None:
        self._board.move(self._name, verdict, rule)
