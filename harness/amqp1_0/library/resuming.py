"""What our own client knows of links that are detached, and what it makes of two unsettled maps (2.6.13)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeAlias

from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.performatives import Accepted, Attach, Modified, Rejected, Released
from harness.amqp1_0.wire.types import Map

ASIDE = 64
"""Octets of a frame that are left for what is not counted: its header, the form of the map."""
OUTCOMES = (Accepted, Rejected, Released, Modified)
"""States that are the last of a delivery; that `Received` is none, Part 3 says."""
Key: TypeAlias = tuple[str, bool]
"""What a link is known by between two containers: its name, and our role."""


class Kept(Protocol):
    """A delivery that we have not settled, and what we have said became of it."""

    tag: bytes
    state: Composite | None


def fitting(deliveries: Iterable[Kept], said: Attach, largest: int) -> tuple[Map, bool]:
    """Give the unsettled map as far as it fits into a frame with this attach, and whether it is whole."""
    room = largest - ASIDE - len(said.encode())
    pairs = list[tuple[bytes, Composite | None]]()
    for each in deliveries:
        room -= len(encode(each.tag)) + len(encode(each.state))
        if room < 0:
            return Map(pairs), False
        pairs.append((each.tag, each.state))
    return Map(pairs), True


class Resumption:
    """A link being resumed: what both sides have unsettled, by its tag, and what only we have (2.6.13)."""

    def __init__(self, whole: bool, theirs: Attach) -> None:
        self.map: Mapping[bytes, object] = theirs.unsettled or {}
        self._whole = whole
        self._theirs_whole = not theirs.incomplete_unsettled

    @property
    def reduces(self) -> bool:
        """Whether nothing new may be sent, because one of the maps is not whole (2.7.3)."""
        return not (self._whole and self._theirs_whole)

    def is_ours_alone(self, tag: bytes) -> bool:
        """Say whether a delivery of ours is settled on the other side: its map is whole, and has it not."""
        return self._theirs_whole and tag not in self.map

    def outcome(self, tag: bytes) -> Composite | None:
        """Give what the other side has said became of it, where that is its last word."""
        said = self.map.get(tag)
        return said if isinstance(said, OUTCOMES) else None
