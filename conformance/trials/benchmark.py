"""`make bench`: what a run costs, and our codec beside others', all measured in one go.

Prints a table; with an argument it also writes the figures as JSON to that file.
"""

import gc
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from conformance.evidence.keeping import Memory
from conformance.proof.detection import judge_rule
from harness.dialect import dialect, of
from harness.targets.embedded import EmbeddedTarget
from harness.targets.named import known_targets, target
from harness.trials.benchmark import Figure
from harness.trials.benchmark import figures as codec
from scenarios.registry import checks, watching
from spec.applicability import protocol
from spec.catalogue import catalogue
from spec.rules import Role


def seconds(work: Callable[[], object]) -> float:
    """Say how long `work` takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def command(*arguments: str) -> None:
    """Run the command line quietly; its status is a verdict, not a fault."""
    with tempfile.TemporaryDirectory() as scratch:
        more = ["--output", f"{scratch}/run"] if arguments[0] == "run" else []
        subprocess.run(
            [sys.executable, "-m", "conformance.commands.cli", *arguments, *more],
            stdout=subprocess.DEVNULL,
            check=False,
        )


def runs() -> Iterator[tuple[str, float]]:
    """Measure the wall time of whole runs, in seconds."""
    yield "run on embedded", seconds(lambda: command("run", "--level", "should"))
    yield "detect in memory", seconds(lambda: command("detect"))
    for known in known_targets():
        if known.name.startswith("process:") and known.starts_here:
            yield from broker_runs(known.name)


def broker_runs(name: str) -> Iterator[tuple[str, float]]:
    """Measure a run that starts the broker itself, and one on a broker that is there already."""
    whole = seconds(lambda: command("run", "--target", name, "--level", "should"))
    yield f"run on {name}, its start included", whole
    with target(name) as started:
        if started.endpoint().tls:
            return  # its authority is made at its start, and a URL alone does not carry it
        url = started.endpoint().url(with_password=True)
        arguments = ("run", "--target", url, "--level", "should", "--disruptive")
        yield f"run on {name}, already started, without a restart", seconds(lambda: command(*arguments))


def per_rule() -> Iterator[tuple[str, float]]:
    """Measure what judging a rule costs in memory over a bare handshake, in milliseconds."""
    rules = [rule for rule in catalogue().rules if checks().of(rule.id, Role.SERVER)]
    for rule in rules:
        judge_rule(rule, EmbeddedTarget(), Memory())
    judging = seconds(lambda: [judge_rule(rule, EmbeddedTarget(), Memory()) for rule in rules]) / len(rules)
    protocol = dialect(rules[0].document)
    handshake = seconds(lambda: [protocol.speaker.probe(EmbeddedTarget()) for _ in rules]) / len(rules)
    yield "bare handshake in memory", handshake * 1e3
    yield "judging one rule in memory", judging * 1e3
    yield "overhead per rule", (judging - handshake) * 1e3


PACKETS = 50_000


def per_packet() -> Iterator[tuple[str, float]]:
    """Measure what cutting a capture and looking with all watches costs, in µs of a core for a packet."""
    for document in dict.fromkeys(protocol(each.prefix) for each in catalogue().documents):
        pieces = [*of(document, "trials.benchmark").packets(PACKETS)]
        began = time.process_time()
        transcript = of(document, "client.transcript").transcript_of(pieces)
        yield f"{document}: cut into units", (time.process_time() - began) / PACKETS * 1e6
        watches = watching(document)
        gc.freeze()  # what is there already is no work of the watches
        for what in ("reading what is said included", "of what has been read"):
            began = time.process_time()
            watches.look(transcript)
            looking = (time.process_time() - began) / PACKETS * 1e6
            yield f"{document}: {len(watches.rules)} watches, {what}", looking
        gc.unfreeze()


def main(path: str | None = None) -> None:
    """Measure and print; write JSON to `path`."""
    console = Console()
    told: dict[str, Any] = {"machine": platform.machine(), "python": platform.python_version()}
    console.print("codec, µs for one call (ours, theirs, factor)", style="bold")
    protocols = dict.fromkeys(protocol(document.prefix) for document in catalogue().documents)
    beside: list[Figure] = [figure for each in protocols for figure in codec(each)]
    table = Table(box=None)
    for figure in beside:
        factor = figure.theirs / figure.ours
        table.add_row(
            figure.what, f"{figure.ours:.2f}", f"{figure.peer} {figure.theirs:.2f}", f"{factor:.1f}×"
        )
    console.print(table)
    told["codec"] = [
        {"what": each.what, "ours": each.ours, each.peer: each.theirs, "factor": each.theirs / each.ours}
        for each in beside
    ]
    for key, unit, figures in (
        ("captures", "µs a packet", per_packet()),
        ("judging", "ms", per_rule()),
        ("runs", "s", runs()),
    ):
        console.print(f"{key}, {unit}", style="bold")
        told[key] = {}
        for what, figure_ in figures:
            console.print(f"  {what}: {figure_:.2f} {unit}", highlight=False)
            told[key][what] = figure_
    if path:
        Path(path).write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:2])
