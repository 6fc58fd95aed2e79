"""A frame-level 0-9-1 client: one connection, nothing automatic that a scenario did not ask for.

It cuts what arrives into observations per channel, keeps the transcript, and answers a Close that was
expected. Everything else (the steps of the handshake, heartbeats, acknowledgements) is sent on request,
altered or left out as wanted.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

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
    content_frames,
    method_frame,
)
from harness.amqp0_9_1.outcomes import (
    Closed,
    HeaderReceived,
    Observation,
    Received,
    Silence,
    Unreadable,
    answered,
    signature,
)
from harness.amqp0_9_1.tables import DecodeError
from harness.amqp0_9_1.vocabulary import Channel, Connection
from harness.context import Context
from harness.expect import Outcome, OverBudget, Unmet
from harness.journal import Direction, Ended, Expected, Grade, Octets, Opened, Seen
from harness.transport import End, Transport

MOST_UNITS = 10_000
"""Frames a peer may send in one scenario; an honest one sends less than a thousand."""
MOST_OCTETS = 32 << 20
"""Octets a peer may send in one scenario; an honest one sends less than 12 MB."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One unit on the wire, as passive rules see it."""

    at: float
    direction: Direction
    unit: Frame | Header | Garbage


@dataclass(slots=True)
class _Content:
    """A content-bearing method whose content is still arriving."""

    method: Method
    header: ContentHeader | None = None
    body: bytearray = field(default_factory=bytearray)


class Link:
    """One connection to the target, seen frame by frame.

    `over` is true once the closing handshake has been done: nothing more can be asked on it. Of a peer that
    talks without end no more than `MOST_UNITS` and `MOST_OCTETS` are taken: who waits then gets OverBudget.
    """

    def __init__(self, transport: Transport, context: Context, name: str, protocol: str) -> None:
        self.transport = transport
        self.context = context
        self.name = name
        self.transcript: list[Passage] = []
        self.ended: End | None = None
        self.frame_max = 0
        self.over = False
        self._deaf = False
        self._finished = False
        self._kept = 0
        self._inboxes: dict[int, deque[Observation]] = defaultdict(deque)
        self._contents: dict[int, _Content] = {}
        self._reader = FrameReader(limit=16 << 20)
        context.write(Opened(self.now(), name, transport.endpoint, protocol))

    def now(self) -> float:
        """Seconds on this connection's clock."""
        return self.transport.now()

    # -- sending ---------------------------------------------------------------------------------------

    def send_octets(self, octets: bytes) -> None:
        """Send octets as they are; a peer that is gone shows at the next expectation."""
        self._keep(Direction.SENT, octets)
        for raw, unit in FrameReader(limit=len(octets)).feed(octets):
            del raw
            self.transcript.append(Passage(self.now(), Direction.SENT, unit))
        self._push(octets)

    def _push(self, octets: bytes) -> None:
        # A peer that no longer reads costs one time-out, not one for every frame.
        if not self._deaf:
            self._deaf = not self.transport.send(octets)

    def send_frames(self, frames: Sequence[Frame | RawFrame]) -> None:
        """Send frames in one piece."""
        pieces = [frame.encode() for frame in frames]
        for octets, frame in zip(pieces, frames, strict=True):
            self._keep(Direction.SENT, octets)
            if isinstance(frame, Frame):
                self.transcript.append(Passage(self.now(), Direction.SENT, frame))
        self._push(b"".join(pieces))

    def send(
        self, channel: int, method: Method, properties: Properties | None = None, body: bytes = b""
    ) -> None:
        """Send a method, with its content if it carries one."""
        if properties is None:
            self.send_frames([method_frame(channel, method)])
        else:
            self.send_frames(list(content_frames(channel, method, properties, body, self.frame_max)))

    def _keep(self, direction: Direction, octets: bytes) -> None:
        self._kept += 1
        # Both ways: a peer that echoes must not bring the password into the evidence.
        kept = blank_credentials(octets)
        self.context.write(Octets(self.now(), self.name, direction, kept, says(kept)))

    # -- receiving -------------------------------------------------------------------------------------

    def next(self, channel: int, patience: float) -> Observation:
        """The next observation on `channel`; what concerns the whole connection is seen by every channel."""
        began = self.now()
        while True:
            for inbox in (self._inboxes[channel], self._inboxes[0]):
                if inbox:
                    return inbox.popleft()
            if self.ended is not None:
                return Closed(self.ended)
            if not self._wait(began + patience):
                self.context.spend(self.now() - began)
                return Silence(self.now() - began)

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
            if self._inboxes[0] or self.ended is not None or not self._wait(began + patience):
                self.context.spend(self.now() - began)
                return None

    def put_back(self, channel: int, seen: Sequence[Observation]) -> None:
        """Return observations that were taken out of turn, oldest first."""
        self._inboxes[channel].extendleft(reversed(seen))

    def _wait(self, deadline: float) -> bool:
        """Take what comes; False when `deadline` has passed, on this connection's clock.

        A peer that keeps talking about something else does not hold us beyond it, nor beyond the scenario's
        own deadline in real time. Raises OverBudget.
        """
        limit, now = self.context.deadline, self.now()
        limit.check()
        if now > deadline:
            return False
        until = min(deadline, now + limit.left)
        return self._pump(until) or until < deadline

    def _pump(self, deadline: float) -> bool:
        if self.context.octets > MOST_OCTETS or self.context.units > MOST_UNITS:
            raise OverBudget(
                f"the peer talks without end: more than {MOST_UNITS} frames or {MOST_OCTETS >> 20} MiB"
            )
        octets = self.transport.receive(deadline)
        if octets is None:
            return False
        if isinstance(octets, End):
            self._rest()
            self.ended = octets
            self._kept += 1
            self.context.write(Ended(self.now(), self.name, "target", octets.value))
            return True
        self.context.octets += len(octets)
        for raw, unit in self._reader.feed(octets):
            self.context.units += 1
            self._keep(Direction.RECEIVED, raw)
            self.transcript.append(Passage(self.now(), Direction.RECEIVED, unit))
            self._dispatch(unit)
        return True

    def _rest(self) -> None:
        if not self._reader.broken and (rest := self._reader.rest()):
            self._keep(Direction.RECEIVED, rest)
            self._inboxes[0].append(Unreadable("the connection ended within a frame"))

    def _dispatch(self, unit: Frame | Header | Garbage) -> None:
        match unit:
            case Header():
                self._inboxes[0].append(HeaderReceived(unit))
            case Garbage():
                self._inboxes[0].append(Unreadable("octets that are no frame"))
            case Frame(type=kind) if kind != HEARTBEAT:
                try:
                    self._dispatch_frame(unit)
                except DecodeError:
                    self._contents.pop(unit.channel, None)
                    self._inboxes[unit.channel].append(Unreadable("a frame that cannot be decoded"))

    def _dispatch_frame(self, frame: Frame) -> None:
        inbox, content = self._inboxes[frame.channel], self._contents.get(frame.channel)
        if frame.type == METHOD:
            if self._contents.pop(frame.channel, None):
                inbox.append(Unreadable("a content cut off by a method"))
            method = frame.method()
            if method.spec.content:
                self._contents[frame.channel] = _Content(method)
            else:
                inbox.append(Received(frame.channel, method, frame=self._kept))
        elif content is None or (frame.type == BODY) != (content.header is not None):
            inbox.append(Unreadable("a content frame out of place"))
        else:
            self._extend(frame, content)

    def _extend(self, frame: Frame, content: _Content) -> None:
        if frame.type == HEADER:
            content.header = frame.content_header()
        else:
            content.body += frame.payload
        assert content.header is not None
        missing = content.header.body_size - len(content.body)
        if missing <= 0:
            del self._contents[frame.channel]
            inbox = self._inboxes[frame.channel]
            if missing < 0:
                inbox.append(Unreadable("a content longer than its header says"))
            else:
                body = bytes(content.body)
                properties = content.header.properties
                inbox.append(Received(frame.channel, content.method, properties, body, self._kept))

    # -- expecting -------------------------------------------------------------------------------------

    def expect(self, channel: int, *outcomes: Outcome | type[Method]) -> Observation:
        """Take the next observation on `channel` and hold it against the legal outcomes.

        The first outcome is the preferred one; a further one is legal, by the reading it names. Raises
        Unmet when none of them matches. A Close that was expected is answered with Close-Ok.
        """
        legal = [each if isinstance(each, Outcome) else answered(each) for each in outcomes]
        patience = self.context.patience
        slow = any(outcome.waits_for_end for outcome in legal)
        began = self.now()
        seen = self.next(channel, patience.close if slow else patience.answer)
        for outcome in legal:
            if outcome.matches(seen):
                self.decided(legal, seen, outcome.grade, outcome.reading, began)
                self.acknowledge_close(seen)
                return seen
        self.decided(legal, seen, Grade.UNMET, "", began)
        raise Unmet(tuple(outcome.says for outcome in legal), signature(seen), lost=seen == Closed(End.RST))

    def decided(
        self, legal: Sequence[Outcome], seen: Observation, grade: Grade, reading: str, began: float
    ) -> None:
        """Keep what an expectation came to."""
        outcomes = tuple(outcome.says for outcome in legal)
        now = self.now()
        # What decided may have come in one read with frames behind it.
        place = seen.frame if isinstance(seen, Received) else self._kept
        self.context.write(
            Expected(now, self.name, outcomes, signature(seen), grade, reading, place, now - began)
        )

    def judged(self, expected: str, otherwise: str, holds: bool) -> None:
        """Keep a judgement on what the last frame said. Raises Unmet when it does not hold."""
        grade = Grade.PREFERRED if holds else Grade.UNMET
        actual = expected if holds else otherwise
        self.context.write(Expected(self.now(), self.name, (expected,), actual, grade, "", self._kept, 0.0))
        if not holds:
            raise Unmet((expected,), otherwise)

    def acknowledge_close(self, seen: Observation) -> None:
        """Answer a Close with its Close-Ok."""
        match seen:
            case Received(channel=number, method=Channel.Close()):
                self.send(number, Channel.CloseOk())
            case Received(method=Connection.Close()):
                self.send(0, Connection.CloseOk())
                self.over = True

    # -- ending ----------------------------------------------------------------------------------------

    def finish(self, reset: bool = False) -> None:
        """Close our side of the socket and let the passive rules look at what went over the wire."""
        if self._finished:
            return
        self._finished = True
        if self.ended is None:
            self.context.write(Ended(self.now(), self.name, "harness", "rst" if reset else "fin"))
        self.transport.close(reset)
        for rule, watcher in self.context.watchers:
            sightings = list(watcher(self.transcript))
            if sightings:
                violations = tuple(sighting.what for sighting in sightings if not sighting.held)
                self.context.write(Seen(self.now(), self.name, rule, len(sightings), violations))


def methods_received(transcript: Iterable[Passage]) -> Iterator[tuple[float, Method]]:
    """The methods a peer sent on a connection, with their time in seconds; the unreadable is left out."""
    for passage in transcript:
        unit = passage.unit
        if passage.direction is Direction.RECEIVED and isinstance(unit, Frame) and unit.type == METHOD:
            try:
                yield passage.at, unit.method()
            except DecodeError:
                continue
