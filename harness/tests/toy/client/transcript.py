"""All that went over a connection of the toy protocol, live or captured."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.tests.toy.wire.frames import FrameReader
from harness.wire import transcript
from harness.wire.transcript import Piece, Sort, sort


class Transcript(transcript.Transcript):
    """All that went over a connection."""

    def sorted(self) -> tuple[list[Sort], list[Any]]:
        """By direction and class."""
        return [sort(each.direction, type(each.unit)) for each in self], list(self)


def transcript_of(pieces: Iterable[Piece]) -> Transcript:
    """Give the transcript of a connection, by whatever means it was recorded."""
    passages, _ = transcript.cut(pieces, FrameReader, lambda *_: False)
    return Transcript(passages)
