"""The exchange behind a finding: rows of the table of frames made into what the terminal shows.

Nothing in here knows a protocol: fields are named by `harness.dialect`, the layout is that of
`conformance.evidence.explanation`.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.evidence.capture import write_capture
from conformance.evidence.explanation import Explanation, explain
from conformance.evidence.kinds import CappedOctets, Line, TestStarted
from conformance.render.rendering import named
from harness.dialect import documents
from harness.wire.journal import Direction, Ended, Event, Expected, Grade, Octets, Opened
from reports.model.findings import Finding
from reports.model.rows import TableRow
from spec.rules import Role, Rule

Wanted = tuple[str, str, str]
"""Where a connection stands in the table of frames: rule, run, connection."""
Frames = Callable[[Collection[Wanted]], Mapping[Wanted, Sequence[TableRow]]]
"""Looks up the rows of connections, in any order; a connection it does not have may be left out."""

UNITS = 400
"""Units kept of a connection in its capture: the last ones up to a little after the deciding one."""
AFTER = 20
"""Units kept after the deciding one."""
OPENING = 10
"""Units kept from the beginning of a connection, where it is negotiated."""
CAPTURE = 1024 * 1024
"""Octets that the units in a capture may stand for; the evidence holds no more of a connection either."""


@dataclass(frozen=True, slots=True)
class Captured:
    """How much of a connection a capture holds: `kept` of `units` (octets and the end)."""

    units: int
    kept: int


def wanted(finding: Finding) -> Wanted | None:
    """Say where the deciding connection of `finding` stands; None when it has none."""
    if finding.connection is None or finding.exchange is None:
        return None
    return finding.exchange, finding.run, finding.connection


def lines_of(rows: Iterable[TableRow]) -> list[Line]:
    """Make the events, in order of time, that `rows` of one connection stand for."""
    ordered = sorted(rows, key=lambda row: (row["wall"], row["number"]))
    return [Line(row["wall"], row["worker"], row["number"], row["test"], _event(row)) for row in ordered]


def _event(row: TableRow) -> Event | CappedOctets:
    at, connection, says = row["at"], row["connection"], row["says"]
    if row["kind"] == "opened":
        return Opened(at, connection, says, row["protocol"] or "")
    if row["kind"] == "ended":
        by, _, how = says.partition(" ")
        return Ended(at, connection, by, how)
    octets, direction = bytes(row["octets"]), Direction(row["kind"])
    if row["sha256"] is None:
        return Octets(at, connection, direction, octets, says)
    return CappedOctets(at, connection, direction, octets, says, row["length"], row["sha256"])


def explained(finding: Finding, rule: Rule, lines: Sequence[Line]) -> Explanation:
    """Explain `finding` as the terminal would; `lines` are those of its connection."""
    spoken = {line.event.protocol for line in lines if isinstance(line.event, Opened)}
    annotate = named if spoken and spoken <= set(documents()) else None
    return explain(finding, rule, [*lines, *_decision(finding)], annotate, finding.folder or finding.run)


def _decision(finding: Finding) -> Iterable[Line]:
    """Give the expectation that decided, as far as the tables keep it: when, and after what wait."""
    if finding.connection is None or finding.frame is None or finding.decided_at is None:
        return
    decided = Expected(
        finding.decided_at,
        finding.connection,
        finding.expected,
        finding.actual,
        Grade(finding.grade or Grade.UNMET),
        finding.reading,
        finding.frame,
        finding.waited or 0.0,
    )
    yield Line(finding.decided_at, "", 0, finding.test, decided)


def capture(
    finding: Finding, lines: Sequence[Line], path: Path, started: float = 0.0, role: Role = Role.SERVER
) -> Captured | None:
    """Write the exchange of `finding` to `path` as pcapng; None when its octets are too many for one.

    Of a long connection its beginning and what led to the decision are kept. `started` is when the run
    began, in seconds since the epoch, `role` that of its target.
    """
    units = [line for line in lines if isinstance(line.event, Octets | Ended)]
    end = len(units) if finding.frame is None else min(len(units), finding.frame + AFTER)
    start = max(OPENING, end - UNITS)
    kept = units[:end] if start <= OPENING else units[:OPENING] + units[start:end]
    if sum(_length(line.event) for line in kept) > CAPTURE:
        return None
    opening = [line for line in lines if isinstance(line.event, Opened)]
    if not opening:
        return None
    first = opening[0]
    told = Line(
        first.wall, first.worker, 0, first.test, TestStarted(first.test or "", finding.exchange or "")
    )
    whole = sorted([*opening, *kept], key=lambda line: (line.wall, line.seq))
    write_capture([told, *whole], path, started, role)
    return Captured(len(units), len(kept))


def _length(event: object) -> int:
    if isinstance(event, CappedOctets):
        return event.length
    return len(event.octets) if isinstance(event, Octets) else 0
