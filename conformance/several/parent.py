"""`run --target A --target B`: several targets judged at once, each in a process and a folder of its own.

The parent starts nothing but its children, and reads their folders when they have ended: what it says of a
target is what the evidence says. A child lives no longer than its parent (see `one_of_several`).
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

from rich.console import Console
from rich.text import Text

from conformance.commands.clicked import tell_selected
from conformance.commands.run import checked, place_for_runs
from conformance.engine.options import Options
from conformance.evidence.kinds import EvidenceError
from conformance.evidence.printable import printable
from conformance.gate.gate import Exit
from conformance.render.board import Board, board
from conformance.render.rendering import load
from conformance.several.one_of_several import ROOT, start_words
from conformance.several.side_by_side import side_by_side
from conformance.several.sides import ENDINGS, Side, Sides
from harness.targets.named import target
from harness.targets.target import Target, TargetError


def run_several(options: Options, targets: Sequence[str], console: Console) -> Sides:
    """Judge `targets` at once and print how they compare.

    The other options are those of `run`, and count for each. Raises SelectorError or TargetError before
    anything is started: for one that cannot be, one that is named twice, an output folder that is not empty.
    """
    jobs = _jobs(options, targets)
    place = place_for_runs(options.output)
    tell_selected(options.selectors)
    with board([job.name for job in jobs]) as shown:
        sides = _played(jobs, place, shown)
    found = Sides(place, tuple(sides))
    side_by_side(found.sides, console)
    for ending in ENDINGS:
        ending(found, console)
    console.print(Text(f"\nruns: {printable(str(place))}"), soft_wrap=True)
    return found


@dataclass(slots=True)
class _Job:
    """A target, what its child is told, and what the child has said of its end."""

    name: str
    folder: str
    options: Options
    ended: dict[str, Any] = field(default_factory=dict)


def _jobs(options: Options, targets: Sequence[str]) -> list[_Job]:
    encrypted = [target(each).tls for each in targets]
    jobs: list[_Job] = []
    for named, by_tls in zip(targets, encrypted, strict=True):
        own = replace(options, target=named)
        if any(encrypted) and not by_tls:  # what is said of TLS is for the others
            own = own.without_tls()
        goal = checked(own)
        if any(job.name == goal.name for job in jobs):
            raise TargetError(f"{goal.name} is named twice; --repeat N judges one target several times")
        jobs.append(_Job(goal.name, _folder_name(goal, [job.folder for job in jobs]), own))
    return jobs


def _folder_name(goal: Target, taken: Sequence[str]) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", unquote(goal.name)).strip("-.")[:100] or "target"
    names = [plain, *(f"{plain}-{number}" for number in range(2, len(taken) + 2))]
    return next(name for name in names if name not in taken)


def _played(jobs: Sequence[_Job], place: Path, shown: Board) -> list[Side]:
    with ExitStack() as stack:
        logs = [stack.enter_context(tempfile.TemporaryFile()) for _ in jobs]
        children = [stack.enter_context(_child(job, place, log)) for job, log in zip(jobs, logs, strict=True)]
        listeners = [
            threading.Thread(target=_listen, args=(job, child, shown), daemon=True)
            for job, child in zip(jobs, children, strict=True)
        ]
        for listener in listeners:
            listener.start()
        try:
            _await(children)
        except KeyboardInterrupt:
            shown.say("interrupted: waiting for what the runs leave behind")
            for child in children:
                _hang_up(child)
            _await(children)
        for listener in listeners:
            listener.join()
        return [_side(job, place, log) for job, log in zip(jobs, logs, strict=True)]


@contextmanager
def _child(job: _Job, place: Path, log: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    child = subprocess.Popen(
        start_words(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        env=os.environ | {"PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C is for the parent, which tells all of them
    )
    try:
        told = asdict(replace(job.options, output=str(place / job.folder)))
        assert child.stdin is not None
        with suppress(BrokenPipeError):  # what ended it before it could listen is in its log
            os.write(child.stdin.fileno(), json.dumps(told).encode("ascii") + b"\n")
        yield child
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)  # its workers too; what it has started is guarded
        _hang_up(child)
        child.wait()


def _hang_up(child: subprocess.Popen[bytes]) -> None:
    assert child.stdin is not None
    child.stdin.close()


def _await(children: Sequence[subprocess.Popen[bytes]]) -> None:
    for child in children:
        child.wait()


def _listen(job: _Job, child: subprocess.Popen[bytes], shown: Board) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        told = json.loads(line)
        if "total" in told:
            shown.begin(job.name, told["total"])
        elif "rule" in told:
            shown.move(job.name, told["verdict"], told["rule"])
        else:
            job.ended = told
    shown.end(job.name, job.ended.get("sentence") or job.ended.get("broke") or "it broke")


def _side(job: _Job, place: Path, log: IO[bytes]) -> Side:
    folder = place / job.folder
    status = Exit(job.ended.get("status", Exit.UNREACHABLE))
    why = job.ended.get("broke", "")
    if not job.ended:
        log.seek(0)
        lines = log.read().decode("utf-8", "replace").strip().splitlines()
        why = f"its run broke: {lines[-1] if lines else 'it said nothing'}"
    try:
        return Side(job.name, folder, status, load(folder), why)
    except EvidenceError as failure:
        return Side(job.name, folder, Exit.UNREACHABLE, None, why or str(failure))
