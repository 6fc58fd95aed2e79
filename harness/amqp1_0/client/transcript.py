"""All that went over a connection of 1.0, sorted for the watches."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import AMQP, Frame, FrameReader, Unit
from harness.wire import transcript
from harness.wire.journal import Direction
from harness.wire.transcript import Piece, Sort, sort
from harness.wire.units import DecodeError

Passage: TypeAlias = transcript.Passage[Unit]
"""One unit on the wire."""
Framed: TypeAlias = transcript.Passage[Frame]
"""One that is known to be a frame."""

LIMIT = 16 << 20
"""Octets that a unit may announce: more is no size, but something else."""
ZERO, ABOVE = "channel 0", "a channel above 0"
EMPTY, UNREAD = "a frame without a body", "a body that is no performative"
ILL_FORMED = "a performative that is not as defined"
OF_AMQP = "an AMQP frame"


class Transcript(transcript.Transcript):
    """All that went over a connection; its performatives are read once for all watches."""

    def sorted(self) -> tuple[list[Sort], list[Passage]]:
        return [sort_of(each) for each in self], list(self)


def sort_of(passage: Passage) -> Sort:
    """Sort a passage, whose performative is read meanwhile."""
    unit = passage.unit
    if not isinstance(unit, Frame):
        return sort(passage.direction, type(unit))
    passage.said = said = performative_of(unit)
    what = EMPTY if not unit.body else UNREAD if said is None else type(said)
    layer = OF_AMQP if unit.type == AMQP else unit.type
    form = {ILL_FORMED} if said is not None and not said.is_as_defined() else set()
    return sort(passage.direction, Frame, layer, what, ABOVE if unit.channel else ZERO, *form)


def transcript_of(pieces: Iterable[Piece]) -> Transcript:
    """Give the transcript of a connection, by whatever means it was recorded."""
    passages, _ = transcript.cut(pieces, lambda: FrameReader(limit=LIMIT), lambda *_: False)
    return Transcript(passages)


def performative_of(unit: object) -> Composite | None:
    if not isinstance(unit, Frame):
        return None
    try:
        return unit.performative()
    except DecodeError:
        return None


def performatives(
    passages: Iterable[Passage], direction: Direction = Direction.RECEIVED
) -> Iterator[tuple[float, int, Composite]]:
    """Yield the performatives that went one way, each with its time in seconds and its channel."""
    for passage in passages:
        if passage.direction is direction and isinstance(passage.unit, Frame):
            performative = performative_of(passage.unit)
            if performative is not None:
                yield passage.at, passage.unit.channel, performative
