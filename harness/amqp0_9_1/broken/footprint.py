"""What a rule's checks use of a clean peer: which deviations could touch them at all.

Computed, not declared: table rows taken, methods that went each way, headers, ends. A deviation that
matches nothing of it cannot change what the checks see; where one does all the same, a check is too wide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from harness.amqp0_9_1.broken.deviations import Fault, FrameRule, Interposer
from harness.amqp0_9_1.peer import DEFAULT, TABLES, Policy, Tables
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.field_tables import DecodeError
from harness.amqp0_9_1.wire.frames import (
    FRAME_MIN_SIZE,
    METHOD,
    PROTOCOL_HEADER,
    Frame,
    FrameReader,
    Garbage,
    Header,
)
from harness.peers.footprint import Difference, could_happen, differing, meets
from harness.wire.journal import Direction, Ended, Event, Octets


@dataclass(frozen=True, slots=True)
class Footprint:
    """What was taken of the peer, methods by direction, whether a wrong header was sent or a socket closed.

    Taken are rows, and of strategies and policy the fields that were read. `frames` are the short ones of
    both directions, with whether the server sent them; `garbage` says whether octets were sent to it that are
    no frame.
    """

    taken: frozenset[str]
    sent: tuple[Method, ...]
    received: tuple[Method, ...]
    header: bool
    ended: bool
    frames: tuple[tuple[bool, Frame], ...] = ()
    garbage: bool = False


def footprint(taken: Iterable[str], events: Iterable[Event]) -> Footprint:
    """The footprint of an exchange with a peer of which this was taken."""
    methods: dict[Direction, list[Method]] = {Direction.SENT: [], Direction.RECEIVED: []}
    frames: list[tuple[bool, Frame]] = []
    large: set[tuple[bool, int, int]] = set()  # One of each size is enough to be found by it.
    header = ended = garbage = False
    for event in events:
        if isinstance(event, Ended):
            ended |= event.by == "target"
        if not isinstance(event, Octets):
            continue
        if event.direction is Direction.SENT and event.octets[:1] != b"\x01":
            header |= event.octets != PROTOCOL_HEADER and event.octets[:1] not in (b"\x02", b"\x03", b"\x08")
        for _, unit in FrameReader(limit=len(event.octets)).feed(event.octets):
            header |= isinstance(unit, Header) and event.direction is Direction.RECEIVED
            garbage |= isinstance(unit, Garbage) and event.direction is Direction.SENT
            if isinstance(unit, Frame):
                like = (event.direction is Direction.RECEIVED, unit.type, len(unit.payload))
                if len(unit.payload) <= FRAME_MIN_SIZE or like not in large:
                    frames.append((like[0], unit))
                large.add(like)
            if isinstance(unit, Frame) and unit.type == METHOD:
                try:
                    methods[event.direction].append(unit.method())
                except DecodeError:
                    continue
    sent, received = (tuple(methods[way]) for way in (Direction.SENT, Direction.RECEIVED))
    return Footprint(frozenset(taken), sent, received, header, ended, tuple(frames), garbage)


@lru_cache(maxsize=16)
def tables_with(fault: Fault) -> Tables:
    """The reference peer's tables with a fault in them."""
    return fault.change(TABLES)


@lru_cache(maxsize=16)
def _difference(fault: Fault) -> Difference:
    return Difference.between(tables_with(fault), TABLES)


def touches(change: object, clean: Footprint) -> bool:
    """Whether a deviation's change, or another policy, could show in an exchange with this footprint."""
    if isinstance(change, Fault):
        return _difference(change).shows(clean.taken, lambda row: could_happen(row, Method, clean.sent))
    if isinstance(change, Policy):
        return not differing(change, DEFAULT).isdisjoint(clean.taken)
    if isinstance(change, Interposer):
        by_header = change.header_from_server is not None or change.header_to_server is not None
        return (
            any(meets(rule, clean.sent, clean.received) for rule in change.rules)
            or any(_finds(rule, clean) for rule in change.frames)
            or (by_header and clean.header)
            or (bool(change.last_words) and clean.ended)
            or (change.mending is not None and clean.garbage)
        )
    return True


def _finds(rule: FrameRule, clean: Footprint) -> bool:
    return any(server is rule.from_server and rule.matches(frame) for server, frame in clean.frames)
