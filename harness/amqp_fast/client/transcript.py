"""All that went over a connection of AMQP/Fast, sorted for the watches."""

from collections.abc import Iterable
from typing import TypeAlias

from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import Frame, FrameReader, Unit
from harness.wire import transcript
from harness.wire.transcript import Piece, Sort, sort
from harness.wire.units import DecodeError

Passage: TypeAlias = transcript.Passage[Unit]
"""One unit on the wire; `said` is its command once sorted."""

LIMIT = 16 << 20
"""Octets that a frame or a fragment may announce: more is no size, but something else."""
UNREAD = "a frame whose command cannot be decoded"


class Transcript(transcript.Transcript):
    """All that went over a connection; its commands are read once for all watches."""

    def sorted(self) -> tuple[list[Sort], list[Passage]]:
        return [sort_of(each) for each in self], list(self)


def sort_of(passage: Passage) -> Sort:
    """Sort a passage, whose command is read meanwhile."""
    unit = passage.unit
    if not isinstance(unit, Frame):
        return sort(passage.direction, type(unit))
    passage.said = said = command_of(unit)
    return sort(passage.direction, Frame, UNREAD if said is None else type(said))


def command_of(unit: object) -> Command | None:
    """Give the command in a unit; None where it is no frame, or cannot be decoded."""
    if not isinstance(unit, Frame):
        return None
    try:
        return unit.command()
    except DecodeError:
        return None


def transcript_of(pieces: Iterable[Piece]) -> Transcript:
    """Give the transcript of a connection, by whatever means it was recorded."""
    passages, _ = transcript.cut(pieces, lambda: FrameReader(limit=LIMIT, initiated=None), lambda *_: False)
    return Transcript(passages)
