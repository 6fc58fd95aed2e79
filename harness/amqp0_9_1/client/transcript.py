"""All that went over a finished connection, as passive rules read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from harness.amqp0_9_1.client import leniency
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import METHOD, Frame, Unit
from harness.play import link
from harness.wire.journal import Direction
from harness.wire.units import DecodeError

Passage = link.Passage[Unit]
"""One unit on the wire, as passive rules see it."""


class Transcript(tuple[Passage, ...]):
    """All that went over a finished connection; its methods are read once for all passive rules."""

    @cached_property
    def methods(self) -> Mapping[Direction, Sequence[tuple[float, Method]]]:
        """The methods that can be read, by direction, with their time in seconds."""
        return {way: tuple(_methods(iter(self), way)) for way in Direction}


def readable(unit: Unit) -> Method | None:
    """The method in a unit on the wire; None where there is none that can be read."""
    if not isinstance(unit, Frame) or unit.type != METHOD:
        return None
    try:
        return unit.method()
    except DecodeError:
        return None


def understood(unit: Unit) -> Method | None:
    """As `readable`, but of a step of the server's as much as can be read."""
    if (method := readable(unit)) is not None or not isinstance(unit, Frame) or unit.type != METHOD:
        return method
    found = leniency.read_step(unit.payload)
    return None if found is None else found[0]


def methods_received(transcript: Iterable[Passage]) -> Iterator[tuple[float, Method]]:
    """The methods a peer sent on a connection, with their time in seconds; the unreadable is left out."""
    return _methods(transcript, Direction.RECEIVED)


def methods_sent(transcript: Iterable[Passage]) -> Iterator[tuple[float, Method]]:
    """The methods we sent on a connection, with their time in seconds; the unreadable is left out."""
    return _methods(transcript, Direction.SENT)


def _methods(transcript: Iterable[Passage], way: Direction) -> Iterator[tuple[float, Method]]:
    if isinstance(transcript, Transcript):
        yield from transcript.methods[way]
        return
    for passage in transcript:
        if passage.direction is way and (method := understood(passage.unit)) is not None:
            yield passage.at, method
