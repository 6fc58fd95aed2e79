"""Writes the reports of a run from its evidence: one table of them, for a run's end and for `render`."""

import signal
import sys
import threading
from collections.abc import Callable, Iterable
from datetime import datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from conformance.evidence.folder import read_run, relist
from conformance.evidence.kinds import EvidenceError
from conformance.evidence.stream import State, verified
from conformance.render import terminal
from conformance.render.allure import FOLDER, write_allure
from conformance.render.badge import badge
from conformance.render.html.single import page
from conformance.render.junit import junit
from conformance.render.report import Render, Report, report_of
from conformance.render.summary import github, gitlab
from conformance.render.tap import tap
from harness.dialect import dialect
from spec.catalogue import catalogue

TEXTS: dict[str, tuple[str, Render]] = {
    "html": ("report.html", page),
    "junit": ("junit.xml", junit),
    "github": ("summary.github.md", github),
    "gitlab": ("summary.gitlab.md", gitlab),
    "tap": ("report.tap", tap),
    "badge": ("badge.svg", badge),
}
"""The reports that are one text: the file in the run's folder, and what writes it."""


def named(protocol: str, octets: bytes) -> Iterable[tuple[int, int, str, Any]]:
    return [(each.offset, each.length, each.name, each.value) for each in dialect(protocol).annotate(octets)]


def render_files(report: Report, folder: Path) -> list[Path]:
    """Write every report that is a file into `folder`, people's page first; gives the files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, render in TEXTS.values():
        (folder / name).write_text(render(report), encoding="utf-8")
    return [*(folder / name for name, _ in TEXTS.values()), *write_allure(report, folder / FOLDER)]


def render_beside(report: Report, folder: Path) -> Callable[[], None]:
    """Write a report as `render_files` does, in a process of its own; gives what waits for it.

    Where that process cannot be, or fails, the files are written here: so what is wrong is raised here.
    """
    if threading.active_count() > 1:  # one of them might hold what the other process would wait for
        render_files(report, folder)
        return lambda: None
    beside = get_context("fork").Process(target=_render_aside, args=(report, folder), daemon=True)
    try:
        beside.start()
    except OSError:  # no room for another process
        render_files(report, folder)
        return lambda: None

    def wait() -> None:
        beside.join()
        if beside.exitcode:
            render_files(report, folder)

    return wait


def _render_aside(report: Report, folder: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process hears it, and decides
    try:
        render_files(report, folder)
    except Exception:
        sys.exit(1)  # the first process writes it again, and tells what is wrong


def render_run(run: Path, form: str | None, output: Path | None, console: Console) -> None:
    """Render a run: one `form` on standard output, or all into `output`. Raises EvidenceError."""
    report = load(run)
    if form == "terminal":
        terminal.tell(report, console)
    elif form in TEXTS:
        click.echo(TEXTS[form][1](report), nl=False)
    else:
        folder = output or run
        written = write_allure(report, folder / FOLDER) if form else render_files(report, folder)
        if folder == run:
            relist(run, written)
        tops = sorted({folder / path.relative_to(folder).parts[0] for path in written})
        click.echo("\n".join(map(str, tops)))


def load(run: Path) -> Report:
    """Give the run in folder `run`, ready to be rendered. Raises EvidenceError as `render_run` does."""
    checked, lines = verified(run)
    if checked.state is State.TAMPERED or not lines:
        raise EvidenceError(f"{run} is not rendered. {checked.sentence}")
    try:
        began = datetime.fromisoformat(read_run(run).started).timestamp()
    except ValueError as failure:
        raise EvidenceError(f"{run}: the run does not say when it started ({failure})") from None
    return report_of(lines, catalogue().rules, str(run), began, named)
