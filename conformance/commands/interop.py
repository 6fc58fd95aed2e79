"""`amqp-conformance interop`: what clients and brokers make of each other's messages."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import secrets
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

from conformance.commands.clicked import targets_option
from conformance.gate.gate import Exit

if TYPE_CHECKING:
    from conformance.interop.known import Against
    from conformance.interop.play.running import Run

PROTOCOLS = ("0-9-1", "1-0")


@dataclass(frozen=True, slots=True)
class Choice:
    """What was asked for."""

    clients: tuple[str, ...]
    targets: tuple[str, ...]
    protocol: str
    globs: tuple[str, ...]
    output: str | None
    known: Path | None
    dry: bool


@click.command()
@click.option(
    "--client", "clients", multiple=True, required=True, metavar="NAME", help="a client library, or all"
)
@click.option(
    "--target",
    "targets",
    multiple=True,
    default=("embedded",),
    show_default=True,
    metavar="TARGET",
    help="a broker",
)
@click.option("--protocol", type=click.Choice(PROTOCOLS), default=PROTOCOLS[0], show_default=True)
@click.option("--case", "globs", multiple=True, metavar="GLOB", help="only cases with such a name")
@click.option("--output", type=click.Path(), metavar="DIR", help="the folder (default: a new one in runs/)")
@click.option(
    "--known",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="known failures (default: the suite's own)",
)
@click.option("--list", "dry", is_flag=True, help="say what would be played, and touch nothing")
@targets_option
def interop(
    clients: tuple[str, ...],
    targets: tuple[str, ...],
    protocol: str,
    globs: tuple[str, ...],
    output: str | None,
    known: Path | None,
    dry: bool,
) -> None:
    """Measure what becomes of values between clients and brokers, leg by leg.

    Each client sends every case and gets what any of them sent, through every broker; the octets say who
    changed a value. Each pair of clients follows from that; some are played to prove it. The folder holds
    each leg, a summary and a page.

    Exit status: 0 nothing fails but what is known; 1 something new does; 2 wrong usage; 3 a broker could not
    be played.

    Example: amqp-conformance interop --client pika --client amqplib --target process:rabbitmq
    """
    choice = Choice(clients, targets, protocol, globs, output, known, dry)
    sys.exit(int(play_interop(choice, Console())))


def play_interop(choice: Choice, console: Console) -> Exit:
    """Play what was chosen, write the folder, print the table. Raises TargetError."""
    from conformance.commands.run import place_for_runs
    from conformance.interop.cases import cases
    from conformance.interop.known import against, read_known
    from conformance.interop.play.brokers import checked
    from conformance.interop.play.protocol import wire
    from conformance.interop.play.running import Plan, play
    from conformance.interop.play.shims import chosen, libraries
    from conformance.interop.tell.terminal import listing
    from conformance.render.board import board

    found = cases(choice.protocol, choice.globs)
    clients = chosen(choice.clients, choice.protocol)
    goals = [checked(each, choice.protocol) for each in dict.fromkeys(choice.targets)]
    known = read_known(choice.known or Path(str(importlib.resources.files("ci") / "interop" / "known.toml")))
    if not found or not clients:
        console.print(Text("nothing that was chosen is there"))
        return Exit.NOTHING
    if choice.dry:
        listing(found, list(clients), [goal.name for goal in goals], console)
        return Exit.MET
    place = place_for_runs(choice.output)
    began, logs = datetime.now(UTC), place / "logs"
    logs.mkdir(parents=True)
    with board([goal.name for goal in goals], doing="legs measured") as shown:
        run = play(Plan(wire(choice.protocol), clients, goals, found, logs, known), shown)
    for file in logs.iterdir():
        if not file.stat().st_size:
            file.unlink()
    found_known = against(run.legs, known, whole=libraries(choice.protocol) <= set(clients))
    return concluded(choice.protocol, run, found_known, place, console, began)


def concluded(
    protocol: str, run: Run, found: Against, place: Path, console: Console, began: datetime | None = None
) -> Exit:
    """Write what a run has come to, print it, and give the exit status; `began` is when, None just now."""
    from conformance.interop.cases import cases
    from conformance.interop.folder import PAGE, summary, write
    from conformance.interop.matrix import Matrix
    from conformance.interop.tell.page import page
    from conformance.interop.tell.terminal import tell

    matrix = Matrix(run.legs)
    about = {
        "run": f"interop-{secrets.token_hex(8)}",
        "started": (began or datetime.now(UTC)).isoformat(),
        "suite": importlib.metadata.version("amqp-conformance"),
        "protocol": protocol,
        "seconds": run.seconds,
    }
    about_cases = {each.name: each.about for each in cases(protocol)}
    write(place, run.legs, summary(matrix, found, run.broke, about))
    (place / PAGE).write_text(page(matrix, found, run.broke, about_cases), encoding="utf-8")
    tell(matrix, found, run.broke, console)
    console.print(Text(f"page: {place / PAGE}"), soft_wrap=True)
    if run.broke:
        return Exit.UNREACHABLE
    return Exit.NOT_MET if found.new else Exit.MET
