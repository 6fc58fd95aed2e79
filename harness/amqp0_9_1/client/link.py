"""A frame-level 0-9-1 client: one connection, nothing automatic that a scenario did not ask for.

It cuts what arrives into observations per channel, keeps the transcript, and answers a Close that was
expected. Everything else (the steps of the handshake, heartbeats, acknowledgements) is sent on request,
altered or left out as wanted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.amqp0_9_1.client import leniency
from harness.amqp0_9_1.client.outcomes import (
    Closed,
    HeaderReceived,
    Observation,
    Received,
    Silence,
    answered,
    signature,
)
from harness.amqp0_9_1.client.places import Places
from harness.amqp0_9_1.client.transcript import LIMIT, Transcript, cut_short
from harness.amqp0_9_1.wire.annotate import ANNOTATOR
from harness.amqp0_9_1.wire.compiled import Method, Properties
from harness.amqp0_9_1.wire.frames import (
    BODY,
    HEADER,
    HEARTBEAT,
    METHOD,
    ContentHeader,
    Frame,
    FrameReader,
    RawFrame,
    begins_a_unit,
    content_frames,
    method_frame,
)
from harness.amqp0_9_1.wire.frames import Unit as Unit
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Connection
from harness.play import link
from harness.play.context import Context
from harness.play.expect import Outcome
from harness.play.leniency import Leniency
from harness.play.link import EVERYWHERE
from harness.wire.journal import RECEIVED, SENT
from harness.wire.transport import Transport
from harness.wire.units import DecodeError, Garbage, Header

CONNECTION = Connection.Open.spec.class_index
NOWHERE = EVERYWHERE - 1
"""The inbox that nobody opens."""


@dataclass(slots=True)
class _Content:
    """A content-bearing method for `channel` whose content is still arriving; `doubtful` as its place is."""

    channel: int
    method: Method
    doubtful: bool = False
    header: ContentHeader | None = None
    body: bytearray = field(default_factory=bytearray)


class Link(link.Link[Unit, Received | HeaderReceived]):
    """One connection to the target; a method comes with its content. `frame_max` in octets, 0 for none."""

    annotator = ANNOTATOR

    def __init__(self, transport: Transport, context: Context, name: str, protocol: str) -> None:
        reader = FrameReader(limit=LIMIT, strange=leniency.STRANGE)
        super().__init__(transport, context, name, protocol, reader)
        self.frame_max = 0
        self.door = leniency.Door()
        self._places = Places()
        self._doubtful: list[Received] = []
        self._contents: dict[int, _Content] = {}

    # -- sending ---------------------------------------------------------------------------------------

    def send_octets(self, octets: bytes) -> None:
        """Send octets as they are; a peer that is gone shows at the next expectation."""
        self._keep(SENT, octets)
        reader = FrameReader(limit=len(octets))
        for _, unit in reader.feed(octets):
            self._went(unit)
        if reader.pending:
            self._lose_track()
        self._push(octets)

    def send_frames(self, frames: Sequence[Frame | RawFrame]) -> None:
        pieces = [frame.encode() for frame in frames]
        for octets, frame in zip(pieces, frames, strict=True):
            unit: Unit = frame if isinstance(frame, Frame) else Garbage(octets, "a frame that lies")
            self._keep(SENT, octets, unit if isinstance(frame, Frame) else None)
            self._went(unit)
        self._push(b"".join(pieces))

    def send(
        self, channel: int, method: Method, properties: Properties | None = None, body: bytes = b""
    ) -> None:
        if properties is None:
            self.send_frames([method_frame(channel, method)])
        else:
            self.send_frames(list(content_frames(channel, method, properties, body, self.frame_max)))

    def acknowledge_close(self, seen: Observation) -> None:
        match seen:
            case Received(channel=number, method=Channel.Close()):
                self.send(number, Channel.CloseOk())
            case Received(method=Connection.Close()):
                self.send(0, Connection.CloseOk())
                self.over = True

    def _went(self, unit: Unit) -> None:
        super()._went(unit)
        self.door.went(unit)
        self._places.went(unit)
        if isinstance(unit, Garbage):
            self._lose_track()

    # -- receiving -------------------------------------------------------------------------------------

    def next(self, channel: int, patience: float) -> Observation:
        """Take the next on `channel` as the base does; after silence an answer for it that came elsewhere."""
        seen = super().next(channel, patience)
        if not self._doubtful or not isinstance(seen, Silence | Closed):
            return seen
        missing = isinstance(seen, Silence) and patience > 0
        for each in self._doubtful:
            if each.channel == channel or (missing and self._places.may_be_for(channel, each.method)):
                self._doubtful.remove(each)
                self._places.arrived(each.channel, channel, each.method)
                return each if each.channel == channel else self._moved(each, channel)
        return seen

    def coming(self, channel: int, patience: float) -> Method | None:
        """Give the method that comes next on `channel`, left there; None after `patience` seconds."""
        began = self.now()
        while True:
            if inbox := self._inboxes[channel]:
                seen = inbox[0]
                return seen.method if isinstance(seen, Received) else None
            if (content := self._content_for(channel)) is not None:
                return content.method
            nothing_else = not self._inboxes[EVERYWHERE] and self.ended is None
            if not nothing_else or not self._awaits(channel, began, patience):
                return None

    def _only_lives(self, unit: Unit) -> bool:
        return isinstance(unit, Frame) and unit.type == HEARTBEAT

    def _unfinished(self, channel: int) -> bool:
        return self._content_for(channel) is not None or super()._unfinished(channel)

    def _content_for(self, channel: int) -> _Content | None:
        return next((each for each in self._contents.values() if each.channel == channel), None)

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
        if frame.type == METHOD:
            if cut := self._contents.pop(frame.channel, None):
                self._unreadable("a content cut off by a method", cut.channel)
            self._take_method(frame.channel, frame.method())
            return
        content = self._contents.get(frame.channel) or self._misplaced(frame)
        if content is None or (frame.type == BODY) != (content.header is not None):
            self._unreadable("a content frame out of place", frame.channel)
        else:
            self._extend(frame, content)

    def _take_method(self, on: int, method: Method) -> None:
        """Put a method into the inbox where it belongs, if it has no content; a step of the opening once."""
        if method.spec.class_index == CONNECTION:
            self._take_step(on, method)
            return
        channel, doubtful = self._belongs(on, method)
        if method.spec.content:
            self._contents[on] = _Content(channel, method, doubtful)
        else:
            self._arrive(Received(channel, method, frame=self._kept), on, doubtful)

    def _take_step(self, on: int, method: Method) -> None:
        if on:
            self._breach(leniency.ON_A_CHANNEL, f"{method.full_name} on channel {on}")
        if isinstance(method, Connection.Close | Connection.CloseOk):
            self._places.give_up()
        wrong = list(self.door.came(method))
        for each, what in wrong:
            self._breach(each, what)
        if not any(each is leniency.TWICE for each, _ in wrong):
            self._inboxes[0].append(Received(0, method, frame=self._kept, came_on=on or None))

    def _arrive(self, came: Received, on: int, doubtful: bool = False) -> None:
        if on != came.channel:
            came = replace(came, came_on=on)
        (self._doubtful if doubtful else self._inboxes[came.channel]).append(came)
        for each in [
            each for each in self._doubtful if not self._places.is_missed(each.channel, each.method)
        ]:
            self._doubtful.remove(each)
            self._places.arrived(each.channel, each.channel, each.method)
            self._inboxes[each.channel].append(each)

    def _extend(self, frame: Frame, content: _Content) -> None:
        if frame.type == HEADER:
            content.header = self._content_header(frame.payload, content.method.spec.class_index)
        else:
            content.body += frame.payload
        assert content.header is not None
        missing = content.header.body_size - len(content.body)
        if missing <= 0:
            (on,) = (number for number, each in self._contents.items() if each is content)
            del self._contents[on]
            if missing < 0:
                self._unreadable("a content longer than its header says", content.channel)
            else:
                body = bytes(content.body)
                came = Received(content.channel, content.method, content.header.properties, body, self._kept)
                self._arrive(came, on, content.doubtful)

    # -- what is read all the same ---------------------------------------------------------------------

    def _breach(self, fault: Leniency, what: str) -> None:
        self.context.breach(fault, what, self.name, self.now())

    def _astray(self, fault: Leniency, what: str, taken: bool = True) -> None:
        self.context.astray = fault.rule
        self.context.unplaced |= not taken
        self._breach(fault, what)

    def _lose_track(self) -> None:
        """Conclude nothing from now on about what comes elsewhere than it is due."""
        self._places.give_up()
        self.context.unplaced |= bool(self.context.astray)

    def _belongs(self, on: int, method: Method) -> tuple[int, bool]:
        """Give the channel that a method belongs to, and whether that is in doubt."""
        if not self.door.ours:
            return on, False
        place = self._places.came(on, method)
        if place.channel is None:
            what = f"{method.full_name} on channel {on}, where nobody asked"
            self._astray(leniency.NO_CHANNEL, what, taken=False)
        elif place.channel != on:
            moved = isinstance(method, Basic.Deliver)
            fault = leniency.ANOTHER_CONSUMER if moved else leniency.ANOTHER_CHANNEL
            self._astray(fault, f"{method.full_name} on channel {on} that is due on {place.channel}")
        return NOWHERE if place.channel is None else place.channel, place.doubtful

    def _moved(self, came: Received, channel: int) -> Received:
        what = f"{came.method.full_name} on channel {came.channel} that is due on {channel}"
        self._astray(leniency.ANOTHER_CHANNEL, what, taken=False)
        return replace(came, channel=channel, came_on=came.channel)

    def _misplaced(self, frame: Frame) -> _Content | None:
        """Give the only content that such a frame can belong to, where there is none on its channel."""
        lacking = [
            each for each in self._contents.values() if (frame.type == BODY) == (each.header is not None)
        ]
        if len(lacking) != 1 or not self.door.ours:
            return None
        due = f"that is due on {lacking[0].channel}"
        self._breach(
            leniency.CONTENT_ELSEWHERE, f"a frame of type {frame.type} on channel {frame.channel} {due}"
        )
        return lacking[0]

    def _passes_over(self, garbage: Garbage) -> bool:
        """Keep what is wrong with octets that are no frame; say whether we go on behind them."""
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
        """Read a content header, as of its method's class where it names another. Raises DecodeError."""
        told = payload[:2]
        if len(told) == 2 and int.from_bytes(told) != class_index:
            self._breach(leniency.ANOTHER_CLASS, f"class {int.from_bytes(told)} in a content header")
            payload = class_index.to_bytes(2) + payload[2:]
        return ContentHeader.decode(payload)

    # -- what the observations are called --------------------------------------------------------------

    def _answered(self, kind: type[Any]) -> Outcome:
        return answered(kind)

    def signature(self, seen: Observation) -> str:
        return signature(seen)

    def _place(self, seen: Observation) -> int:
        return seen.frame if isinstance(seen, Received) else self._kept

    def _finished_transcript(self) -> Transcript:
        rest = b"" if self._reader.broken else self._reader.rest()
        if rest and not begins_a_unit(rest):
            # What would have been passed over, had it come whole. At an end it has been kept.
            if self.ended is None:
                self._keep(RECEIVED, rest)
            self.transcript.append(cut_short(self.now(), rest, self._kept))
        return Transcript(self.transcript)
