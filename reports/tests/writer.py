"""A process that ingests, for the tests of several at once and of one that is killed.

MASTER WAREHOUSE KILLED RUN…: KILLED is the commit (from 1) in the middle of which it kills itself, or 0.
Says that Spark has started, waits for a line, prints the outcomes as JSON, and writes the site beside the
warehouse.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from reports.commands.commands import render_site
from reports.ingest import intake
from reports.ingest.ingest import ingest
from reports.ingest.tests.cluster import ENVIRONMENT
from reports.warehouse.spark import session
from reports.warehouse.warehouse import Warehouse

PORTION = 3
"""So many runs of these small ones at a time, so that there is more than one commit."""
STARTED = "started\n"
TIMEOUT = 400


def start(master: str, warehouse: Path, runs: Iterable[Path], killed: int = 0) -> subprocess.Popen[str]:
    """This module as a process of its own."""
    arguments = [master, str(warehouse), str(killed), *map(str, runs)]
    return subprocess.Popen(
        [sys.executable, "-m", "reports.tests.writer", *arguments],
        env=os.environ | ENVIRONMENT,
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def go(process: subprocess.Popen[str]) -> None:
    """Let it begin, once its Spark has started."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == STARTED
    process.stdin.write("\n")
    process.stdin.flush()


def finished(process: subprocess.Popen[str]) -> list[str]:
    """Read the outcomes it printed, and demand that it printed nothing else."""
    out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, err) == (0, ""), err
    told: list[str] = json.loads(out)
    return told


def site_of(warehouse: Path) -> Path:
    return warehouse.with_name(f"{warehouse.name}-site")


def _kill_at(commit: int) -> None:
    """Kill this process between the writing of a manifest and the giving of its name."""
    left = commit
    link = os.link

    def killing(*arguments: Any) -> None:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        link(*arguments)

    os.link = killing  # type: ignore[assignment]


def _main(master: str, path: str, killed: str, *runs: str) -> None:
    intake.PORTION_RUNS = PORTION
    if int(killed):
        _kill_at(int(killed))
    with session(master) as spark:
        sys.stdout.write(STARTED)
        sys.stdout.flush()
        sys.stdin.readline()
        done = ingest(spark, [Path(run) for run in runs], Warehouse(path))
        json.dump([each.outcome for each in done.taken], sys.stdout)
        render_site(spark, Warehouse(path).snapshot(), site_of(Path(path)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
