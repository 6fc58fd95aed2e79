"""A frame-level 0-9-1 client: one connection, nothing automatic that a scenario did not ask for.

It cuts what arrives into observations per channel, keeps the transcript, and answers a Close that was
expected. Everything else (the steps of the handshake, heartbeats, acknowledgements) is sent on request,
altered or left out as wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from harness import link
from harness.amqp0_9_1 import leniency
from harness.amqp0_9_1.annotate import blank_credentials, says
from harness.amqp0_9_1.compiled import Method, Properties
from harness.amqp0_9_1.frames import (
    BODY,
    HEADER,
    HEARTBEAT,
    METHOD,
    ContentHeader,
    Frame,
    FrameReader,
    Garbage,
    Header,
    RawFrame,
    begins_a_unit,
    content_frames,
    method_frame,
)
from harness.amqp0_9_1.frames import Unit as Unit
from harness.amqp0_9_1.outcomes import HeaderReceived, Observation, Received, answered, signature
from harness.amqp0_9_1.tables import DecodeError
from harness.amqp0_9_1.vocabulary import Channel, Connection
from harness.context import Context
from harness.expect import Outcome
from harness.journal import Direction
from harness.leniency import Leniency
from harness.link import EVERYWHERE
from harness.transport import Transport

CONNECTION = Connection.Open.spec.class_index

Passage = link.Passage[Unit]
"""One unit on the wire, as passive rules see it."""


class Transcript(tuple[Passage, ...]):
    """All that went over a finished connection; its methods are read once for all passive rules."""

    @cached_property
    def methods(self) -> Mapping[Direction, Sequence[tuple[float, Method]]]:
        """The methods that can be read, by direction, with their time in seconds."""
        return {way: tuple(_methods(iter(self), way)) for way in Direction}


@dataclass(slots=True)
class _Content:
    """A content-bearing method whose content is still arriving."""

    method: Method
    header: ContentHeader | None = None
    body: bytearray = field(default_factory=bytearray)


class Link(link.Link[Unit, Received | HeaderReceived]):
    """One connection to the target, seen frame by frame; a method comes with its whole content.

    `frame_max` is what was agreed upon, in octets; 0 for no limit.
    """

    def __init__(self, transport: Transport, context: Context, name: str, protocol: str) -> None:
        reader = FrameReader(limit=16 << 20, strange=leniency.STRANGE)
        super().__init__(transport, context, name, protocol, reader)
        self.frame_max = 0
        self.door = leniency.Door()
        self._contents: dict[int, _Content] = {}

    # -- sending ---------------------------------------------------------------------------------------

    def send_octets(self, octets: bytes) -> None:
        """Send octets as they are; a peer that is gone shows at the next expectation."""
        self._keep(Direction.SENT, octets)
        for _, unit in FrameReader(limit=len(octets)).feed(octets):
            self._went(unit)
        self._push(octets)

    def send_frames(self, frames: Sequence[Frame | RawFrame]) -> None:
        """Send frames in one piece."""
        pieces = [frame.encode() for frame in frames]
        for octets, frame in zip(pieces, frames, strict=True):
            self._keep(Direction.SENT, octets)
            self._went(frame if isinstance(frame, Frame) else Garbage(octets, "a frame that lies"))
        self._push(b"".join(pieces))

    def send(
        self, channel: int, method: Method, properties: Properties | None = None, body: bytes = b""
    ) -> None:
        """Send a method, with its content if it carries one."""
        if properties is None:
            self.send_frames([method_frame(channel, method)])
        else:
            self.send_frames(list(content_frames(channel, method, properties, body, self.frame_max)))

    def acknowledge_close(self, seen: Observation) -> None:
        """Answer a Close with its Close-Ok."""
        match seen:
            case Received(channel=number, method=Channel.Close()):
                self.send(number, Channel.CloseOk())
            case Received(method=Connection.Close()):
                self.send(0, Connection.CloseOk())
                self.over = True

    def _went(self, unit: Unit) -> None:
        super()._went(unit)
        self.door.went(unit)

    # -- receiving -------------------------------------------------------------------------------------

    def coming(self, channel: int, patience: float) -> Method | None:
        """The method that comes next on `channel`, left where it is; its content may still be on the way.

        None when nothing comes within `patience` seconds, or what comes is no method.
        """
        began = self.now()
        while True:
            if inbox := self._inboxes[channel]:
                seen = inbox[0]
                return seen.method if isinstance(seen, Received) else None
            if channel in self._contents:
                return self._contents[channel].method
            nothing_else = not self._inboxes[EVERYWHERE] and self.ended is None
            if not nothing_else or not self._awaits(channel, began, patience):
                return None

    def _only_lives(self, unit: Unit) -> bool:
        return isinstance(unit, Frame) and unit.type == HEARTBEAT

    def _unfinished(self, channel: int) -> bool:
        return channel in self._contents or super()._unfinished(channel)

    def _dispatch(self, unit: Unit) -> None:
        match unit:
            case Header():
                self._inboxes[EVERYWHERE].append(HeaderReceived(unit))
            case Garbage():
                if not self._passes_over(unit):
                    self._unreadable("octets that are no frame")
            case Frame(type=kind) if kind != HEARTBEAT:
                try:
                    self._dispatch_frame(unit)
                except DecodeError:
                    self._contents.pop(unit.channel, None)
                    if not self._read_leniently(unit):
                        self._unreadable("a frame that cannot be decoded", unit.channel)

    def _dispatch_frame(self, frame: Frame) -> None:
        content = self._contents.get(frame.channel)
        if frame.type == METHOD:
            if self._contents.pop(frame.channel, None):
                self._unreadable("a content cut off by a method", frame.channel)
            method = frame.method()
            if method.spec.content:
                self._contents[frame.channel] = _Content(method)
            else:
                self._take_method(frame.channel, method)
        elif content is None or (frame.type == BODY) != (content.header is not None):
            self._unreadable("a content frame out of place", frame.channel)
        else:
            self._extend(frame, content)

    def _take_method(self, channel: int, method: Method) -> None:
        """Put a method into its inbox: what concerns the connection into that of channel 0, a step once."""
        if method.spec.class_index == CONNECTION:
            if channel:
                self._breach(leniency.ON_A_CHANNEL, f"{method.full_name} on channel {channel}")
                channel = 0
            wrong = list(self.door.came(method))
            for each, what in wrong:
                self._breach(each, what)
            if any(each is leniency.TWICE for each, _ in wrong):
                return
        self._inboxes[channel].append(Received(channel, method, frame=self._kept))

    def _extend(self, frame: Frame, content: _Content) -> None:
        if frame.type == HEADER:
            content.header = self._content_header(frame.payload, content.method.spec.class_index)
        else:
            content.body += frame.payload
        assert content.header is not None
        missing = content.header.body_size - len(content.body)
        if missing <= 0:
            del self._contents[frame.channel]
            if missing < 0:
                self._unreadable("a content longer than its header says", frame.channel)
            else:
                body = bytes(content.body)
                came = Received(frame.channel, content.method, content.header.properties, body, self._kept)
                self._inboxes[frame.channel].append(came)

    # -- what is read all the same ---------------------------------------------------------------------

    def _breach(self, fault: Leniency, what: str) -> None:
        self.context.breach(fault, what, self.name, self.now())

    def _passes_over(self, garbage: Garbage) -> bool:
        """Keep what is wrong with octets that are no frame; whether we go on behind them."""
        begun = any(isinstance(each, Frame) for each in self.received())
        if not self.door.ours or not (begun or garbage.delimited):
            return False  # octets of another protocol
        passed = garbage.delimited and not self._reader.broken
        ended = leniency.WRONG_END if garbage.delimited else leniency.NO_FRAME
        self._breach(leniency.UNDEFINED_TYPE if passed else ended, garbage.why)
        return passed

    def _read_leniently(self, frame: Frame) -> bool:
        """Take a frame that cannot be decoded, or pass it over; False where it has no meaning."""
        if frame.type != METHOD or not self.door.ours:
            return False
        if (found := leniency.read_step(frame.payload)) is not None:
            method, wrong = found
            for each in wrong:
                self._breach(*each)
            self._take_method(frame.channel, method)
            return True
        if not self.door.passes_over(frame):
            return False
        if not leniency.is_extension(frame):
            self._breach(leniency.UNKNOWN_METHOD, f"a method that begins {frame.payload[:4].hex()}")
        return True

    def _content_header(self, payload: bytes, class_index: int) -> ContentHeader:
        """A content header, of the class of its method where it names another. Raises DecodeError."""
        told = payload[:2]
        if len(told) == 2 and int.from_bytes(told) != class_index:
            self._breach(leniency.ANOTHER_CLASS, f"class {int.from_bytes(told)} in a content header")
            payload = class_index.to_bytes(2) + payload[2:]
        return ContentHeader.decode(payload)

    # -- what the observations are called --------------------------------------------------------------

    def _blanked(self, octets: bytes) -> bytes:
        return blank_credentials(octets)

    def _described(self, octets: bytes) -> str:
        return says(octets)

    def _answered(self, kind: type[Any]) -> Outcome:
        return answered(kind)

    def signature(self, seen: Observation) -> str:
        """As `outcomes.signature`."""
        return signature(seen)

    def _place(self, seen: Observation) -> int:
        return seen.frame if isinstance(seen, Received) else self._kept

    def received(self) -> Iterator[Unit]:
        """All that the peer has said."""
        return (each.unit for each in self.transcript if each.direction is Direction.RECEIVED)

    def _finished_transcript(self) -> Transcript:
        rest = b"" if self._reader.broken else self._reader.rest()
        if rest and not begins_a_unit(rest):
            # What would have been passed over, had it come whole.
            garbage = Garbage(rest, "a frame of an undefined type, cut short")
            self.transcript.append(Passage(self.now(), Direction.RECEIVED, garbage))
        return Transcript(self.transcript)


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
