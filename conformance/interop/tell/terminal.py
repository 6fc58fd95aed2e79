"""What a run of clients and brokers is told as on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.evidence.printable import printable
from conformance.interop.cases import Case
from conformance.interop.folder import of_cell
from conformance.interop.known import Against
from conformance.interop.matrix import Matrix
from conformance.interop.outcomes import SYMBOLS, Leg, Outcome

SHOWN = 40
"""New failures at most that are told one by one; the folder has all."""


def tell(matrix: Matrix, found: Against, broke: Mapping[str, str], console: Console) -> None:
    """Print the table of clients and brokers, what fails newly, and what no longer does."""
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for broker in matrix.brokers:
        table.add_column(
            Text(printable(f"{broker} {matrix.version_of(broker=broker)}".strip())), overflow="fold"
        )
    for client in matrix.clients:
        cells = [of_cell(matrix, client, broker) for broker in matrix.brokers]
        name = f"{client} {matrix.version_of(client=client)}".strip()
        table.add_row(Text(printable(name)), *map(_counts, cells))
    console.print(table)
    console.print(Text("  ".join(f"{symbol} {outcome}" for outcome, symbol in SYMBOLS.items()), style="dim"))
    for name, why in broke.items():
        console.print(Text(printable(f"{name} could not be played: {why}"), style="red"), soft_wrap=True)
    _failures(found, console)


def _counts(counts: Mapping[Outcome, int]) -> Text:
    told = Text()
    for outcome, count in counts.items():
        style = "red" if outcome.fails else "green" if outcome is Outcome.SAME else "yellow"
        told.append(f"{' ' if told else ''}{count}{SYMBOLS[outcome]}", style=style)
    return told


def _failures(found: Against, console: Console) -> None:
    console.print()
    alike: dict[str, list[Leg]] = {}
    for leg in found.new:
        alike.setdefault(line(leg), []).append(leg)
    for told, legs in list(alike.items())[:SHOWN]:
        where = ", ".join(dict.fromkeys(leg.case for leg in legs))
        console.print(Text(printable(f"{told} ({len(legs)}: {where})")[:400]), soft_wrap=True)
    if len(alike) > SHOWN:
        console.print(Text(f"… and {len(alike) - SHOWN} more kinds, in the folder"))
    for each in found.gone:
        console.print(Text(printable(f"no longer fails: {each}"), style="yellow"), soft_wrap=True)
    told = f"{len(found.new)} new failures, {len(found.known)} known, {len(found.gone)} no longer there"
    console.print(Text(told, style="red" if found.new else "green"))


def line(leg: Leg) -> str:
    """Say in one line who failed how; failures that are alike have the same."""
    who = f"{leg.other} to {leg.client}" if leg.other else leg.client or "the broker"
    words = "" if leg.outcome is Outcome.CONTRADICTED else leg.kind
    words = words or ("" if leg.outcome is Outcome.CHANGED else leg.detail[:80])
    return f"{leg.outcome}: {who} at {leg.broker}, {leg.leg} {words}".rstrip()


def listing(cases: Sequence[Case], clients: Sequence[str], targets: Sequence[str], console: Console) -> None:
    """Say what would be played, and touch nothing."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for case in cases:
        table.add_row(Text(case.name), Text(case.about, style="dim"))
    console.print(table)
    console.print(Text(f"{len(cases)} cases, clients {', '.join(clients)}, brokers {', '.join(targets)}"))
