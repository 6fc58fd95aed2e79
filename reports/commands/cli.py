"""The commands that need more than one run: `ingest`, `site`, `compare`, `audit`, and `certify`.

They hang on the same command line as those of `conformance.commands.cli`. Spark is started by those that read
or write a warehouse, once, and only there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from conformance.commands.cli import RUN, RunFolder, Sentence, also_called, end, with_clients
from conformance.commands.cli import main as main
from conformance.commands.cli import run as run_command
from conformance.engine.options import Options
from conformance.gate.gate import Exit
from conformance.several.sides import ENDINGS, Sides
from reports.audit.claims import ClaimsError
from reports.compare.matrix import DetectionError
from reports.site.publishing import SiteError
from reports.warehouse.asked import Asked
from reports.warehouse.place import WarehouseError
from reports.warehouse.spark import Cluster, NoSpark

FOLDER = click.Path(path_type=Path)
DAY = click.DateTime(["%Y-%m-%d"])
FORMS = click.Choice(["table", "json", "markdown", "html"])
Command = Callable[..., None]
assert isinstance(main, Sentence)
main.expected = (*main.expected, NoSpark, WarehouseError, ClaimsError, DetectionError, SiteError)


def warehouse_option(required: bool) -> Callable[[Command], Command]:
    return click.option(
        "--warehouse", required=required, metavar="PATH", help="its Delta tables: a folder, or s3://…"
    )


def _settings(_: object, __: object, given: tuple[str, ...]) -> dict[str, str]:
    wrong = [each for each in given if not each.partition("=")[0] or "=" not in each]
    if wrong:
        raise click.BadParameter(f"{wrong[0]!r} is not KEY=VALUE")
    return {name: value for name, _, value in (each.partition("=") for each in given)}


def asked_options(command: Command) -> Command:
    """Let a command be told which runs of a warehouse it is about; it gets the options as what is `asked`."""

    @click.option("--product", "products", multiple=True, metavar="NAME", help="of a warehouse: this product")
    @click.option("--target", "targets", multiple=True, metavar="NAME", help="of a warehouse: this target")
    @click.option(
        "--since",
        type=DAY,
        metavar="DATE",
        help="of a warehouse: runs of this day and later",
    )
    @click.option(
        "--builds",
        type=click.IntRange(min=1),
        default=30,
        show_default=True,
        metavar="N",
        help="of a warehouse: the newest N builds of these",
    )
    @click.option(
        "--per-target",
        type=click.IntRange(min=1),
        metavar="N",
        help="of a warehouse: of each target its newest N builds alone",
    )
    @wraps(command)
    def told(*arguments: Any, since: datetime | None, **others: Any) -> None:
        given = {name: others.pop(name) for name in ("products", "targets", "builds", "per_target")}
        asked = Asked(since=f"{since:%Y-%m-%d}" if since else "", **given)
        command(*arguments, asked=asked, **others)

    return told


def cluster_options(command: Command) -> Command:
    """Let a command be told where Spark runs; it gets both options as its `cluster`."""

    @click.option(
        "--master", metavar="URL", help="the Spark cluster to run on (default: this machine, all cores)"
    )
    @click.option(
        "--conf",
        multiple=True,
        metavar="KEY=VALUE",
        callback=_settings,
        help="a setting of Spark's, before ours",
    )
    @wraps(command)
    def told(*arguments: Any, master: str | None, conf: dict[str, str], **others: Any) -> None:
        command(*arguments, cluster=Cluster(master, conf), **others)

    return told


class RunOrUri(RunFolder):
    """The folder of a run, or the URI of a store with such folders."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Give the folder's path, and a URI as it is. Raises EvidenceError where there is no latest run."""
        return value if "://" in str(value) else super().convert(value, param, ctx)


@main.command()
@click.argument("runs", nargs=-1, required=True, type=RunOrUri())
@warehouse_option(required=True)
@click.option(
    "--frames-for",
    type=click.IntRange(min=0),
    metavar="DAYS",
    help="remove what went over the wire in months that ended longer ago; verdicts stay",
)
@cluster_options
def ingest(runs: tuple[Path | str, ...], warehouse: str, frames_for: int | None, cluster: Cluster) -> None:
    """Put the evidence of RUNS into the tables of a warehouse.

    A run that is there already is left alone, one that was cut short is marked, a broken one is put aside
    with its reason while the rest goes in; then the exit status is 1. A URI (s3://bucket/runs) stands for the
    run folder there, or for those directly below it: Spark's executors read them.

    Example: amqp-conformance ingest runs/* --warehouse warehouse
    """
    from reports.commands.commands import ingest_runs

    sys.exit(ingest_runs(runs, warehouse, frames_for, cluster, Console()))


@main.command()
@click.option("--output", required=True, type=FOLDER, metavar="FILE", help="where the dictionary goes")
@click.option("--missing", is_flag=True, help="judge only faults that FILE does not know yet")
@cluster_options
def dictionary(output: Path, missing: bool, cluster: Cluster) -> None:
    """Judge all rules on a peer with each known fault, and write which of them each turns red.

    This is what `diagnose` looks up; the package brings its own. It takes some ten minutes on two cores.

    Example: amqp-conformance dictionary --output dictionary.json.xz --master local[8]
    """
    from reports.commands.commands import write_dictionary

    sys.exit(write_dictionary(output, missing, cluster, Console()))


@main.command()
@warehouse_option(required=True)
@asked_options
@cluster_options
def summarise(warehouse: str, asked: Asked, cluster: Cluster) -> None:
    """Write builds, findings and flaky rules as tables for dashboards, into `summaries/` of the warehouse.

    Example: amqp-conformance summarise --warehouse warehouse --since 2026-11-01
    """
    from reports.commands.commands import write_summaries

    sys.exit(write_summaries(warehouse, asked, cluster, Console()))


@main.command()
@warehouse_option(required=True)
@click.option("--output", required=True, type=FOLDER, metavar="DIR", help="where the site goes")
@click.option("--detection", type=FOLDER, metavar="FILE", help="what `detect --output FILE` wrote")
@click.option(
    "--claims", type=FOLDER, metavar="FILE", help="what a vendor says (TOML), for a page of its audit"
)
@asked_options
@cluster_options
def site(
    warehouse: str,
    output: Path,
    detection: Path | None,
    claims: Path | None,
    asked: Asked,
    cluster: Cluster,
) -> None:
    """Write the static site: overview, matrix, a page per rule and per build, coverage, JSON and CSV.

    A site that is there is left as it is while nothing has changed: neither the warehouse, nor what is asked
    of it, nor the suite. Else files that say what they said keep the time of their writing.

    Example: amqp-conformance site --warehouse warehouse --output site
    """
    from reports.commands.commands import write_site

    sys.exit(write_site(warehouse, output, detection, claims, asked, cluster, Console()))


@main.command()
@click.argument("old")
@click.argument("new")
@click.option("--format", "form", type=FORMS, default="table", show_default=True)
@click.option("--interop", "between", is_flag=True, help="of a warehouse: two clients, or two brokers")
@warehouse_option(required=False)
@cluster_options
def compare(old: str, new: str, form: str, between: bool, warehouse: str | None, cluster: Cluster) -> None:
    """Compare two builds: what fails or passes anew, what is read differently. Exit 1 on a regression.

    OLD and NEW are run folders, or `latest`; with --warehouse they are builds ("RabbitMQ 3.10.8", or with
    the target behind it: "RabbitMQ 3.10.8 @ process:rabbitmq"), and a rule whose runs disagree is told as
    flaky. With --interop they are versions of a client or of a broker ("pika 1.3.2", "process:rabbitmq
    3.10.8"), and what became of values between clients and brokers is told.

    Example: amqp-conformance compare runs/before runs/after --format markdown
    """
    from reports.commands.commands import compare_builds, compare_sides

    if between and not warehouse:
        end("compare --interop needs a warehouse: ingest the runs, then name it by --warehouse", Exit.NOTHING)
    if between and warehouse:
        sys.exit(compare_sides(old, new, form, warehouse, cluster, Console()))
    if not warehouse:
        old, new = (str(RUN.convert(each, None, None)) for each in (old, new))
    sys.exit(compare_builds(old, new, form, warehouse, cluster, Console()))


@main.command()
@click.argument("runs", nargs=-1, type=RUN)
@click.option(
    "--claims",
    required=True,
    type=FOLDER,
    metavar="FILE",
    help="what the vendor says (TOML), or @NAME of claims that come with the suite",
)
@click.option("--format", "form", type=FORMS, default="table", show_default=True)
@click.option("--strict", is_flag=True, help="exit 1 when a claim is contradicted or overstated")
@warehouse_option(required=False)
@asked_options
@cluster_options
def audit(
    runs: tuple[Path, ...],
    claims: Path,
    form: str,
    strict: bool,
    warehouse: str | None,
    asked: Asked,
    cluster: Cluster,
) -> None:
    """Hold a vendor's implementation conformance statement against what was measured.

    Measured are the builds of RUNS, or of a warehouse those of the product that the claims are about.

    Example: amqp-conformance audit --claims @rabbitmq runs/20261120-101500-1a2b3c4d
    """
    if bool(runs) == bool(warehouse):
        end("audit needs run folders, or --warehouse, and not both", Exit.NOTHING)
    from reports.commands.commands import audit_claims

    sys.exit(audit_claims(runs, claims, form, strict, warehouse, asked, cluster, Console()))


def certify(
    selectors: tuple[str, ...],
    targets: tuple[str, ...],
    clients: tuple[str, ...],
    times: int | None,
    times_before: int | None,
    dry: bool,
    **chosen: Any,
) -> None:
    """Judge a target as `run` does, and write the site of that run into its folder.

    Of several targets one site is written, with all of them in one matrix.

    Example: amqp-conformance certify --target amqp://guest:guest@localhost:5672 --level must
    """
    if times or times_before or dry:
        end("certify judges once; --repeat and --list are options of run", Exit.NOTHING)
    from reports.commands.certify import certify_target, certify_targets

    targets = with_clients(targets, clients)
    options = Options(selectors=selectors, target=targets[0], **chosen)
    if len(targets) > 1:
        sys.exit(certify_targets(options, targets, Console()))
    sys.exit(certify_target(options, Console()))


def _matrix(sides: Sides, console: Console) -> None:
    """Write what `run` of several targets puts beside their folders."""
    from reports.compare.together import write_matrix

    if sides.folders:
        files = write_matrix(sides.folders, sides.place)
        console.print(Text(f"\nmatrix: {' '.join(map(str, files))}"), soft_wrap=True)


ENDINGS.append(_matrix)
main.add_command(also_called(site, "report"))
main.add_command(click.Command("certify", params=run_command.params, callback=certify, help=certify.__doc__))


if __name__ == "__main__":
    main()
