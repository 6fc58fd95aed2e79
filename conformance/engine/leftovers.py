"""Remove from a target what a run declared there and did not come to remove."""

from collections.abc import Iterable

from conformance.evidence.kinds import Line
from harness.dialect import dialect
from harness.play.context import Context, Deadline
from harness.targets.target import Target
from harness.wire.journal import Declared, Journal, Opened


def declared(lines: Iterable[Line]) -> dict[str, list[tuple[str, str]]]:
    """Give by document the kind and name of all that a run may have declared: names are kept before."""
    protocols: dict[tuple[str | None, str], str] = {}
    found: dict[str, list[tuple[str, str]]] = {}
    default = ""
    for line in lines:
        match line.event:
            case Opened(connection=connection, protocol=protocol):
                protocols[line.test, connection] = default = protocol
            case Declared(connection=connection, kind=kind, name=name):
                protocol = protocols.get((line.test, connection), default)
                found.setdefault(protocol, []).append((kind, name))
    return found


def remove_leftovers(
    target: Target, lines: Iterable[Line], journal: Journal, within: float = 300.0
) -> list[str]:
    """Delete what a run left in `within` seconds, or say why not. Raises Unreachable, OverBudget."""
    deadline = Deadline.after(within, f"removing took more than {within:g} s")
    left: list[str] = []
    for document, entities in declared(lines).items():
        left += dialect(document).speaker.remove(
            target, Context(journal, "clean", deadline=deadline), entities
        )
    return left
