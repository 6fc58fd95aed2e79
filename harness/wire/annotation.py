"""Octets explained in any protocol: one line for a list of frames, every field for a failure's page.

What a peer wrote is shown without control characters and cut to a bounded length; credentials are blanked.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from harness.wire.reader import Reader
from harness.wire.units import DecodeError, Garbage, Header

RECUR, SHORT = 4096, 512
"""Units that are remembered, and octets of those that may be: in a run three of four are as one before."""
LONGEST = 80
"""Characters of a value that are shown, and items of one that has many."""


class Span(NamedTuple):
    """A field and the octets it stands in; bits that share an octet share its span."""

    offset: int
    length: int
    name: str
    value: Any


class AnyFrame(Protocol):
    """A frame of any protocol."""

    @property
    def type(self) -> int: ...

    @property
    def channel(self) -> int: ...


Frame = TypeVar("Frame", bound=AnyFrame)


def no_frame(garbage: Garbage) -> Iterator[Span]:
    """Explain octets that are no frame by what is wrong with them."""
    yield Span(0, len(garbage.octets), "not a frame", garbage.why)


@dataclass(frozen=True, slots=True)
class Annotator(Generic[Frame]):
    """How the units of a protocol are explained.

    - `reader` makes a reader that cuts them, whatever their size; `blanked` replaces credentials in octets.
    - `tells` puts a frame into a line; `spans` yields its fields. Offsets of a DecodeError count from the
      start of what the frame carries, which is called `body`. `strange` yields the fields of octets that are
      no frame.
    - `header` puts a protocol header into words, where there is one; octet 4 of it is called `id_name`.
    """

    reader: Callable[[], Reader[Frame | Header | Garbage]]
    blanked: Callable[[bytes], bytes]
    tells: Callable[[Frame], str]
    spans: Callable[[Frame], Iterator[Span]]
    body: str
    header: Callable[[Header], str] = lambda _: ""
    id_name: str = ""
    strange: Callable[[Garbage], Iterator[Span]] = no_frame
    _told: dict[bytes, tuple[bytes, str]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def kept(
        self, octets: bytes, unit: Frame | Header | Garbage | None, explained: bool
    ) -> tuple[bytes, str]:
        """Give octets to keep, without credentials, and the line about them if they are to be explained.

        What recurs is told once, and kept in one place.
        """
        blanked = self.blanked(octets)
        if not explained:
            return blanked, ""
        if unit is None or blanked != octets or isinstance(unit, Header | Garbage) or len(octets) > SHORT:
            return blanked, self.says(blanked, unit if blanked == octets else None)
        if (told := self._told.get(octets)) is None:
            if len(self._told) >= RECUR:
                self._told.clear()
            told = self._told[octets] = octets, self.says(octets, unit)
        return told

    def says(self, octets: bytes, unit: Frame | Header | Garbage | None = None) -> str:
        """Put a unit, given if cut already, into a line: `queue.declare channel=1 queue=q durable`."""
        unit = unit or self._alone(self.blanked(octets))
        if isinstance(unit, Header):
            return f"protocol header AMQP {self.header(unit)}"
        if isinstance(unit, Garbage):
            return f"{len(unit.octets)} octets that are no frame: {unit.why}"
        try:
            return self.tells(unit)
        except DecodeError as failure:
            return (
                f"frame type={unit.type} channel={unit.channel}, not decodable: {failed(failure, self.body)}"
            )

    def annotate(self, octets: bytes) -> Iterator[Span]:
        """Yield every field of one unit with offset and length in octets, as far as it can be read.

        The spans follow each other and leave no octet out; only bits share one. Values are numbers, truth
        values or short text.
        """
        octets = self.blanked(octets)
        unit = self._alone(octets)
        if isinstance(unit, Header):
            yield Span(0, 4, "name", "AMQP")
            for place, name in enumerate((self.id_name, "major", "minor", "revision"), start=4):
                yield Span(place, 1, name, unit.octets[place])
        elif isinstance(unit, Garbage):
            yield from self.strange(unit)
        else:
            yield from self.spans(unit)

    def _alone(self, octets: bytes) -> Frame | Header | Garbage:
        """Cut the one unit that these octets are; Garbage if they are not just one."""
        reader = self.reader()
        units = list(reader.feed(octets))
        if len(units) == 1 and not reader.pending:
            return units[0][1]
        return Garbage(octets, "incomplete or more than one frame")


def readable(
    start: int, length: int, spans: Iterable[tuple[int, int, str, Any]], body: str
) -> Iterator[Span]:
    """Explain the `body` of a unit, `length` octets from `start`, as far as it can be read."""
    behind, end = start, start + length
    try:
        for offset, size, name, value in spans:
            yield Span(start + offset, size, name, value)
            behind = start + offset + size
    except DecodeError as failure:
        yield Span(behind, end - behind, "not decodable", failed(failure, body))


def failed(failure: DecodeError, body: str) -> str:
    """Say where a `body` cannot be read, and why."""
    return short(f"octet {failure.offset} of the {body}: {failure.what}", 2 * LONGEST)


def short(text: str, longest: int = LONGEST) -> str:
    """Escape control characters, and cut the text to `longest` characters."""
    begun = text[: longest + 1]
    shown = begun if begun.isprintable() else "".join(map(_visible, begun))
    return shown if len(shown) <= longest else f"{shown[: longest - 3]}..."


def _visible(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()
