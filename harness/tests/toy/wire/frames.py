"""The wire of a toy protocol: a header, and one type of frame, which is a length and so many octets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.wire.annotation import Annotator, Span, short
from harness.wire.reader import Reader
from harness.wire.units import Garbage, Header

HEADER = b"AMQP\x09\x00\x00\x01"
HEADERS = (HEADER,)
"""What a connection can begin with."""
LONGEST = 63


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame: some words."""

    words: bytes
    type: int = 0
    channel: int = 0

    def encode(self) -> bytes:
        """The frame's octets."""
        return bytes((len(self.words),)) + self.words


Unit = Frame | Header | Garbage


class FrameReader(Reader[Unit]):
    """Cuts a stream into headers and frames."""

    def _lacks_octets(self) -> bool:
        return False

    def _cut(self, octets: bytes) -> list[tuple[bytes, Unit]]:
        units: list[tuple[bytes, Unit]] = []
        while octets:
            header = octets[:1] == HEADER[:1]
            if octets[0] > LONGEST and not header:
                self.broken = True
                return [*units, (octets, Garbage(octets, "no length"))]
            size = len(HEADER) if header else 1 + octets[0]
            if len(octets) < size:
                break
            raw, octets = octets[:size], octets[size:]
            units.append((raw, Header(raw) if header else Frame(raw[1:])))
        self.pending += octets
        return units


def _spans(frame: Frame) -> Iterator[Span]:
    yield Span(0, 1, "size", len(frame.words))
    yield Span(1, len(frame.words), "words", short(frame.words.decode("utf-8", "backslashreplace")))


ANNOTATOR = Annotator(
    reader=FrameReader,
    blanked=bytes,
    tells=lambda frame: f"words {short(frame.words.decode('utf-8', 'backslashreplace'))}",
    spans=_spans,
    header=lambda header: "toy" if header.octets == HEADER else "of something else",
    id_name="toy",
    body="words",
)
