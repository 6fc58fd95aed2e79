"""`amqp-conformance certify`: judge a target, or several at once, then write the site of what was found.

Each run has written its own page when it ends. The verdicts never depend on the site: where it cannot be
written, one sentence says how to get it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.text import Text

from conformance.commands.run import told_suite
from conformance.engine.options import Options
from conformance.evidence.kinds import EvidenceError
from conformance.render.rendering import TEXTS
from conformance.several.parent import run_several
from reports.site.publishing import SiteError
from spec.catalogue import catalogue
from spec.selection import SelectorError, select

SITE = "site"


def certify_target(options: Options, console: Console) -> int:
    """Judge, report, write the site; gives the exit status of the gate, whatever becomes of the site.

    Raises what `conformance.commands.run.play_suite` raises, before anything is started.
    """
    _load_aside(options)
    run = told_suite(options, console)
    folder = run.plan.folder
    _say_pages([folder], console)
    _try_site([folder], folder / SITE, console)
    return int(run.gate.exit_status)


def certify_targets(options: Options, targets: Sequence[str], console: Console) -> int:
    """Judge several targets at once, and write one site of all their runs; gives the status of the run.

    Raises what `conformance.several.parent.run_several` raises, before anything is started.
    """
    sides = run_several(options, targets, console)
    if sides.folders:
        _say_pages(sides.folders, console)
        _try_site(sides.folders, sides.place / SITE, console)
    return int(sides.status)


def _say_pages(folders: Sequence[Path], console: Console) -> None:
    pages = " ".join(str(folder / TEXTS["html"][0]) for folder in folders)
    console.print(Text(f"page: {pages}"), soft_wrap=True)


def _try_site(folders: Sequence[Path], site: Path, console: Console) -> None:
    """Write the site, or say how to get it."""
    try:
        with console.status("writing the site …"):
            _write(folders, site)
        console.print(Text(f"site: {site / 'index.html'}"), soft_wrap=True)
    except (EvidenceError, ModuleNotFoundError, SiteError) as failure:
        runs = " ".join(map(str, folders))
        again = f"amqp-conformance ingest {runs} --warehouse warehouse, then site --warehouse warehouse"
        console.print(Text(f"no site: {failure}; then {again} --output site", style="yellow"), soft_wrap=True)


def _load_aside(options: Options) -> None:
    """Load what writes many pages while the run is judged; what of it is missing is told later."""
    with suppress(ModuleNotFoundError, SelectorError):
        from reports.site.rules import load_aside, others

        if others(len(select(catalogue().rules, options.selectors, catalogue().aliases))):
            load_aside()


def _write(folders: Sequence[Path], site: Path) -> None:
    from reports.site.folders import site_of
    from reports.site.rendering import render

    render(site, site_of(folders))
