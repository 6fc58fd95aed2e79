"""What a rule's checks use of a clean peer: which deviations could touch them at all.

Computed, not declared: table rows taken, units that went each way, ends. A deviation that matches nothing of
it cannot change what the checks see; where one does all the same, a check is too wide.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from harness.amqp1_0.broken.deviations import Fault, Interposer
from harness.amqp1_0.client.link import performative_of
from harness.amqp1_0.peer import DEFAULT, TABLES, Policy, Tables
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import FrameReader, Unit
from harness.peers.footprint import AnyRow, Difference, could_happen, differing, meets
from harness.wire.journal import Direction, Ended, Event, Octets


@dataclass(frozen=True, slots=True)
class Footprint:
    """What was taken of the peer, units on the wire by direction, and whether it ended a stream.

    Taken are rows, and of strategies and policy the fields that were read.
    """

    taken: frozenset[str]
    sent: tuple[Unit, ...]
    received: tuple[Unit, ...]
    ended: bool


def footprint(taken: Iterable[str], events: Iterable[Event]) -> Footprint:
    """The footprint of an exchange with a peer of which this was taken."""
    units: dict[Direction, list[Unit]] = {Direction.SENT: [], Direction.RECEIVED: []}
    ended = False
    for event in events:
        if isinstance(event, Ended):
            ended |= event.by == "target"
        elif isinstance(event, Octets):
            reader = FrameReader(limit=1 << 33)
            units[event.direction] += [unit for _, unit in reader.feed(event.octets)]
    return Footprint(frozenset(taken), tuple(units[Direction.SENT]), tuple(units[Direction.RECEIVED]), ended)


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
        return _difference(change).shows(clean.taken, lambda row: _happens(row, clean))
    if isinstance(change, Policy):
        return not differing(change, DEFAULT).isdisjoint(clean.taken)
    if isinstance(change, Interposer):
        at_end = bool(change.last_words) or change.ends is not None
        return any(meets(rule, clean.sent, clean.received) for rule in change.rules) or (
            at_end and clean.ended
        )
    return True


def _happens(row: AnyRow, clean: Footprint) -> bool:
    return could_happen(row, Composite, map(performative_of, clean.sent))
