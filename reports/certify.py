"""`amqp-conformance certify`: judge a target, then write the site of that run into its folder.

The verdicts never depend on the site: where it cannot be written, one sentence says how to get it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from conformance.running import told_suite
from reports.manifest import WarehouseError
from reports.session import NoSpark, java_home, java_place
from reports.site.publishing import SiteError
from reports.store import StoreError

SITE = "site"
JAVA = "17"


def certify_target(selectors: tuple[str, ...], console: Console, **chosen: Any) -> int:
    """Judge, report, write the site; the exit status is that of the gate alone.

    Raises what `conformance.running.play_suite` raises, before anything is started.
    """
    run, gate = told_suite(selectors, console, **chosen)
    site = run.folder / SITE
    try:
        _fetch_java(console)
        _write(run.folder, site, console)
        console.print(Text(f"site: {site / 'index.html'}"))
    except (NoSpark, SiteError, StoreError, WarehouseError) as failure:
        again = (
            f"amqp-conformance ingest {run.folder} --warehouse warehouse, then report --warehouse warehouse"
        )
        console.print(Text(f"no site: {failure}; then {again} --output site", style="yellow"))
    return int(gate.exit_status)


def _write(folder: Path, site: Path, console: Console) -> None:
    from reports.commands import ingested, render_site, starting
    from reports.warehouse import Warehouse

    with starting(None, console) as spark, tempfile.TemporaryDirectory() as scratch:
        warehouse = f"{scratch}/warehouse"
        (taken,) = ingested(spark, [folder], warehouse, console).taken
        if taken.reason:
            raise SiteError(taken.reason)  # else it would be a site of nothing
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
