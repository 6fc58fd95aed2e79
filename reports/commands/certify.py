"""`amqp-conformance certify`: judge a target, or several at once, then write the site of what was found.

The verdicts never depend on the site: where it cannot be written, one sentence says how to get it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from conformance.commands.run import told_suite
from conformance.several.parent import run_several
from reports.site.publishing import SiteError
from reports.warehouse.manifest import WarehouseError
from reports.warehouse.spark import NoSpark, java_home, java_place
from reports.warehouse.store import StoreError

SITE = "site"
JAVA = "17"


def certify_target(selectors: tuple[str, ...], console: Console, **chosen: Any) -> int:
    """Judge, report, write the site; the exit status is that of the gate alone.

    Raises what `conformance.commands.run.play_suite` raises, before anything is started.
    """
    run, gate = told_suite(selectors, console, **chosen)
    _try_site([run.folder], run.folder / SITE, console)
    return int(gate.exit_status)


def certify_targets(
    selectors: tuple[str, ...], console: Console, targets: Sequence[str], **chosen: Any
) -> int:
    """Judge several targets at once, and write one site of all their runs; gives the status of the run.

    Raises what `conformance.several.parent.run_several` raises, before anything is started.
    """
    sides = run_several(selectors, console, targets, **chosen)
    if sides.folders:
        _try_site(sides.folders, sides.place / SITE, console)
    return int(sides.status)


def _try_site(folders: Sequence[Path], site: Path, console: Console) -> None:
    """Write the site, or say how to get it."""
    try:
        _fetch_java(console)
        _write(folders, site, console)
        console.print(Text(f"site: {site / 'index.html'}"))
    except (NoSpark, SiteError, StoreError, WarehouseError) as failure:
        runs = " ".join(map(str, folders))
        again = f"amqp-conformance ingest {runs} --warehouse warehouse, then report --warehouse warehouse"
        console.print(Text(f"no site: {failure}; then {again} --output site", style="yellow"))


def _write(folders: Sequence[Path], site: Path, console: Console) -> None:
    from reports.commands.commands import ingested, render_site, starting
    from reports.warehouse.warehouse import Warehouse

    with starting(None, console) as spark, tempfile.TemporaryDirectory() as scratch:
        warehouse = f"{scratch}/warehouse"
        for taken in ingested(spark, folders, warehouse, console).taken:
            if taken.reason:
                raise SiteError(taken.reason)  # else it would be a site without that run
        with console.status("writing the site …"):
            render_site(spark, Warehouse(warehouse).snapshot(), site)


def _fetch_java(console: Console) -> None:
    """Fetch a Java into the virtual environment where there is none. Raises NoSpark when that fails too."""
    if java_home() is not None:
        return
    try:
        import jdk
    except ModuleNotFoundError:
        return  # the session will say what is missing
    with console.status(f"fetching Java {JAVA} into the virtual environment …"):
        try:
            jdk.install(JAVA, jre=True, path=str(java_place()))
        except Exception as failure:  # whatever a download can come to: the verdicts stand
            why = f"there is no Java, and none could be fetched ({type(failure).__name__}: {failure})"
            raise NoSpark(f"{why}: install a JRE of version {JAVA} or later") from None
