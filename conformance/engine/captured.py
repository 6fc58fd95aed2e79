"""A capture judged: every connection in it looked at by the watches, as those of a run are."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from conformance.engine.passive import Sighted, conclude_passive
from conformance.evidence.captured import Connection, read_capture
from conformance.evidence.kinds import Judged
from harness.dialect import of
from harness.wire.journal import Direction
from harness.wire.transcript import Gap, Transcript
from scenarios.registry import checks, watching
from spec.catalogue import catalogue
from spec.rules import Role


def judge_capture(path: Path, role: Role = Role.SERVER) -> Sequence[Judged]:
    """Judge those in a `role` by each passive rule of the protocols in a capture. Raises CaptureError."""
    seen: dict[str, list[Sighted]] = defaultdict(list)
    hidden: dict[str, set[Direction]] = {}
    for connection in read_capture(path):
        if not connection.protocol:
            continue
        transcript = transcript_of(connection if role is Role.SERVER else _as_heard(connection))
        hidden.setdefault(connection.protocol, set()).update(
            each.direction for each in transcript if isinstance(each.unit, Gap) and each.unit.hides
        )
        for rule, tally in watching(connection.protocol, "", role).look(transcript):
            broken = tuple(tally.broken)
            seen[rule].append(Sighted(connection.test, connection.name, tally.occasions, broken))
    return [
        conclude_passive(
            catalogue()[rule], watch, seen.get(rule, ()), not any(map(watch.fold.cares, hidden[document]))
        )
        for document in sorted(hidden)
        for rule in dict.fromkeys(watching(document, "", role).rules)
        for watch in checks().passive(rule, role)
    ]


def transcript_of(connection: Connection) -> Transcript:
    """Give the transcript of a connection that was captured, of a protocol that is known."""
    return of(connection.protocol, "client.transcript").transcript_of(connection.pieces)  # type: ignore[no-any-return]


def _as_heard(connection: Connection) -> Connection:
    """Give a connection as the server has it: what the client sent is received."""
    other = {Direction.SENT: Direction.RECEIVED, Direction.RECEIVED: Direction.SENT}
    return replace(connection, pieces=[(at, other[way], octets) for at, way, octets in connection.pieces])
