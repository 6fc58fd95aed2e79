"""What a rule's checks use of a clean peer: which deviations could touch them at all.

Computed, not declared: table rows taken, methods that went each way, headers, ends. A deviation that
matches nothing of it cannot change what the checks see; where one does all the same, a check is too wide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.amqp0_9_1.compiled import Method
from harness.amqp0_9_1.deviations import Fault, Interposer, Rule
from harness.amqp0_9_1.frames import METHOD, PROTOCOL_HEADER, Frame, FrameReader, Header
from harness.amqp0_9_1.peer import TABLES
from harness.amqp0_9_1.peer.rows import Row, Tables
from harness.amqp0_9_1.tables import DecodeError
from harness.journal import Direction, Ended, Event, Octets


@dataclass(frozen=True, slots=True)
class Footprint:
    """Rows the peer took, methods by direction, and whether a wrong header was sent or a socket closed."""

    rows: frozenset[str]
    sent: tuple[Method, ...]
    received: tuple[Method, ...]
    header: bool
    ended: bool


def footprint(rows: Iterable[str], events: Iterable[Event]) -> Footprint:
    """The footprint of an exchange with a peer that took these rows."""
    methods: dict[Direction, list[Method]] = {Direction.SENT: [], Direction.RECEIVED: []}
    header = ended = False
    for event in events:
        if isinstance(event, Ended):
            ended |= event.by == "target"
        if not isinstance(event, Octets):
            continue
        if event.direction is Direction.SENT and event.octets[:1] != b"\x01":
            header |= event.octets != PROTOCOL_HEADER and event.octets[:1] not in (b"\x02", b"\x03", b"\x08")
        for _, unit in FrameReader(limit=len(event.octets)).feed(event.octets):
            header |= isinstance(unit, Header) and event.direction is Direction.RECEIVED
            if isinstance(unit, Frame) and unit.type == METHOD:
                try:
                    methods[event.direction].append(unit.method())
                except DecodeError:
                    continue
    return Footprint(
        frozenset(rows), tuple(methods[Direction.SENT]), tuple(methods[Direction.RECEIVED]), header, ended
    )


def touches(change: object, clean: Footprint) -> bool:
    """Whether a deviation's change could show in an exchange with this footprint."""
    if isinstance(change, Fault):
        faulty = change.change(TABLES)
        if faulty.strategies != TABLES.strategies:
            return True
        return _touches_rows(faulty, clean)
    if isinstance(change, Interposer):
        by_header = change.header_from_server is not None or change.header_to_server is not None
        return (
            any(_meets(rule, clean) for rule in change.rules)
            or (by_header and clean.header)
            or (bool(change.last_words) and clean.ended)
        )
    return True


def _touches_rows(faulty: Tables, clean: Footprint) -> bool:
    left = {row.name: row for row in faulty}
    if len(left) > len(TABLES.rows):
        return True
    changed = [row for row in TABLES if left.get(row.name) != row]
    if any(row.name in clean.rows for row in changed):
        return True
    # With another condition a row may be taken where it was not: whenever its event happens.
    widened = [row for row in changed if row.name in left and left[row.name].condition != row.condition]
    return any(_happens(row, clean) for row in widened)


def _happens(row: Row, clean: Footprint) -> bool:
    methods = tuple(each for each in _events(row) if issubclass(each, Method))
    return len(methods) < len(_events(row)) or any(isinstance(sent, methods) for sent in clean.sent)


def _events(row: Row) -> tuple[type, ...]:
    return row.event if isinstance(row.event, tuple) else (row.event,)


def _meets(rule: Rule, clean: Footprint) -> bool:
    methods = clean.received if rule.from_server else clean.sent
    return any(
        (rule.method is None or isinstance(method, rule.method)) and rule.condition(method)
        for method in methods
    )
