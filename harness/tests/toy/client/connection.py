"""The client of the toy protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.play import link
from harness.play.expect import SILENCE, ControlFailed, Outcome
from harness.play.fixture import Fixture
from harness.play.leniency import Step, Steps
from harness.play.link import EVERYWHERE, Closed, Silence, Unreadable
from harness.play.speaker import Opening
from harness.targets.target import Target
from harness.tests.toy.client.transcript import Transcript
from harness.tests.toy.wire.frames import ANNOTATOR, HEADER, Frame, FrameReader, Unit
from harness.wire.journal import Direction
from harness.wire.units import Garbage, Header

Seen = Unit | Closed | Silence | Unreadable


class Link(link.Link[Unit, Unit]):
    """One connection, seen unit by unit."""

    annotator = ANNOTATOR

    def say(self, unit: Frame | Header) -> None:
        """Send a unit."""
        octets = unit.octets if isinstance(unit, Header) else unit.encode()
        self._keep(Direction.SENT, octets, unit)
        self._went(unit)
        self._push(octets)

    def _dispatch(self, unit: Unit) -> None:
        self._inboxes[EVERYWHERE].append(Unreadable(unit.why) if isinstance(unit, Garbage) else unit)

    def _answered(self, kind: type[Any]) -> Outcome:
        return Outcome(kind.__name__, lambda seen: isinstance(seen, kind))

    def signature(self, seen: Seen) -> str:
        """What a unit says."""
        match seen:
            case Frame(words):
                return words.decode()
            case Header():
                return "protocol header"
            case Silence():
                return SILENCE
        return type(seen).__name__

    def _only_lives(self, unit: Unit) -> bool:
        return False

    def _place(self, seen: Seen) -> int:
        return self._kept

    def _finished_transcript(self) -> Transcript:
        return Transcript(self.transcript)


class Connection:
    """A connection that is greeted, and says words."""

    def __init__(self, made: Link) -> None:
        self.link = made

    def greet(self) -> None:
        """Exchange headers. Raises ControlFailed."""
        self.link.say(Header(HEADER))
        seen = self.link.next(EVERYWHERE, self.link.context.patience.answer)
        if seen != Header(HEADER):
            raise ControlFailed("the header", self.link.signature(seen))

    def says(self, words: bytes, *outcomes: Outcome) -> Seen:
        """Say these words, and hold what comes against the legal outcomes. Raises Unmet."""
        self.link.say(Frame(words))
        return self.link.expect(EVERYWHERE, *outcomes)

    def close(self) -> None:
        """Close the socket."""
        self.link.finish()

    drop = close


class Toy(Fixture[Connection]):
    """What is under test."""

    def connection(self) -> Connection:
        """A connection that is greeted."""
        self._opened += 1
        made = Link(self._connect(), self.context, self._connection_name(), self._protocol, FrameReader())
        self._connections.append(Connection(made))
        self.newest.greet()
        return self.newest


def _trips(toy: Toy, _: Target) -> Iterator[float]:
    began = toy.connection().link.now()
    yield toy.newest.link.now() - began


def _told(_: Toy) -> Mapping[str, Any]:
    return {"product": "a toy", "version": "1"}


def _speaks(_: ControlFailed, toy: Toy) -> bool:
    return any(each.direction is Direction.RECEIVED for each in toy.newest.link.transcript)


OPENING = Opening(
    trips=_trips,
    told=_told,
    steps=Steps({"the header": Step("toy/greets", ("protocol header",))}),
    speaks=_speaks,
    is_free_to_go=lambda _, toy: toy.newest.link.ended is not None,
    is_foreign=lambda failure: failure.actual == "protocol header",
    refuses_us=lambda _: False,
)


def words(*legal: bytes) -> Outcome:
    """Some of these words come."""
    return Outcome(f"{legal}", lambda seen: isinstance(seen, Frame) and seen.words in legal)
