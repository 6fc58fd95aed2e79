"""A process that ingests, for the tests of several at once and of one that is killed.

MASTER: says that its Spark has started, then takes orders, a line of JSON each, and answers each with the
outcomes as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from deltalake.table import TableMerger

from reports.commands.commands import render_site
from reports.ingest import intake
from reports.ingest.ingest import ingest
from reports.warehouse.spark import BRIEF, session
from reports.warehouse.warehouse import Warehouse

PORTION = 3
"""So many runs of these small ones at a time, so that there is more than one commit."""
STARTED = "started\n"


class Writer:
    """This module as a process of its own, with its own Spark."""

    def __init__(self, master: str, **environment: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "reports.tests.writer", master],
            env=os.environ | {"JAVA_TOOL_OPTIONS": BRIEF} | environment,
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started = False

    @property
    def killed(self) -> bool:
        return self._process.poll() == -signal.SIGKILL

    def begin(self, warehouse: Path, runs: Iterable[Path], *, site: bool = False, killed: int = 0) -> None:
        """Let it ingest, once its Spark has started, and write the `site` beside the warehouse.

        `killed` is the commit (from 1) before which it kills itself.
        """
        if not self._started:
            assert self._line() == STARTED
            self._started = True
        order = {"path": str(warehouse), "runs": [*map(str, runs)], "site": site, "killed": killed}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def finished(self) -> list[str]:
        """Read the outcomes; none when it was killed."""
        line = self._line()
        if not line:
            self._process.wait()
            return []
        told: list[str] = json.loads(line)
        return told

    def end(self) -> None:
        """Let it end, and demand that it said nothing else."""
        out, err = self._process.communicate()
        assert (self._process.returncode if not self.killed else 0, out, err) == (0, "", ""), err

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


def site_of(warehouse: Path) -> Path:
    return warehouse.with_name(f"{warehouse.name}-site")


def _kill_at(commit: int) -> None:
    """Kill this process before it makes runs visible, when all their details are written."""
    left = commit
    execute = TableMerger.execute

    def killing(merger: TableMerger) -> dict[str, Any]:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(merger)

    TableMerger.execute = killing  # type: ignore[assignment, method-assign]


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _main(master: str) -> None:
    intake.PORTION_RUNS = PORTION
    with session(master) as spark:
        _say(STARTED)
        for line in sys.stdin:
            order: Mapping[str, Any] = json.loads(line)
            if order["killed"]:
                _kill_at(order["killed"])
            warehouse = Warehouse(order["path"])
            done = ingest(lambda: spark, [Path(run) for run in order["runs"]], warehouse)
            if order["site"]:
                render_site(spark, warehouse.snapshot(), site_of(Path(order["path"])))
            _say(json.dumps([each.outcome for each in done.taken]) + "\n")


if __name__ == "__main__":
    _main(*sys.argv[1:])
