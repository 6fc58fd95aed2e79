"""A frame-level 1.0 client: one connection, nothing automatic that a scenario did not ask for.

It cuts what arrives into observations in the order of their arrival and tells which session each belongs to.
Headers, the layer of SASL, performatives, empty frames and anything malformed are sent on request.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import islice
from typing import Any, TypeAlias

from harness.amqp1_0.client import leniency
from harness.amqp1_0.client.outcomes import (
    EmptyFrame,
    HeaderReceived,
    Observation,
    Received,
    Sight,
    answered,
    signature,
)
from harness.amqp1_0.client.transcript import LIMIT, Transcript, performative_of
from harness.amqp1_0.wire.annotate import ANNOTATOR
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import (
    AMQP,
    SASL,
    Frame,
    FrameReader,
    RawFrame,
    Unit,
    amqp_frame,
    empty_frame,
    sasl_frame,
)
from harness.amqp1_0.wire.performatives import Begin, Close, End, Flow, Open
from harness.play import link
from harness.play.context import Context
from harness.play.expect import Outcome
from harness.play.link import EVERYWHERE, Unreadable
from harness.wire.journal import Direction
from harness.wire.transport import Transport
from harness.wire.units import ANY_SIZE, DecodeError, Header

Said: TypeAlias = Composite | Frame | RawFrame | bytes
"""What can be sent: a performative, a frame, one as malformed as needed, any octets."""

CONNECTION = -1
"""The place that sees everything but what may come at any time: empty frames, and flows of sessions."""
WHOLE = -2
"""The place that sees only what concerns the whole connection, nothing of sessions."""


class Link(link.Link[Unit, Sight]):
    """One connection to the target, seen frame by frame.

    A place is `CONNECTION`, `WHOLE` or our channel number of a session. `partner` is the server's open once
    it has come. `said_open` and `said_close` are ours as they went out, in whatever form. `channels` are ours
    on which a session has begun and not ended, `spoiled` says that octets went out that may be no frame.
    `told` is what came on the last session on each of our channels, from its begin on, as far as it is as
    defined. With `beat`, in seconds, an empty frame is sent whenever nothing else was for so long, while
    somebody waits.
    """

    annotator = ANNOTATOR

    def __init__(self, transport: Transport, context: Context, name: str, protocol: str) -> None:
        super().__init__(transport, context, name, protocol, FrameReader(limit=LIMIT))
        self.partner: Open | None = None
        self.door = leniency.Door()
        self.said_open: Open | None = None
        self.said_close = False
        self.heard_close = False
        self.spoiled = False
        self.channels: set[int] = set()
        self.beat: float | None = None
        self.hears_empty_frames = False
        self._spoken = FrameReader(limit=ANY_SIZE)
        self._sent_at = self.now()
        self.told: defaultdict[int, list[Received]] = defaultdict(list)
        self._sessions: dict[int, int] = {}
        self._passed: Counter[int] = Counter()

    # -- sending ---------------------------------------------------------------------------------------

    def send(self, *what: Said, channel: int = 0, by: int = 0) -> None:
        """Send all in one write, performatives on `channel`; with `by` in writes of so many octets."""
        pieces = [self._encoded(each, channel) for each in what]
        octets = b"".join(pieces)
        # Blanked as a whole: a password may reach over what is malformed.
        at, blanked = 0, self.annotator.blanked(octets)
        for piece in pieces:
            cut = list(self._spoken.feed(piece))
            unit = cut[0][1] if len(cut) == 1 and cut[0][0] == piece else None
            kept = blanked[at : at + len(piece)]
            self._keep(Direction.SENT, kept, unit if kept == piece else None)
            at += len(piece)
            for _, unit in cut:
                self._went(unit)
                self._note_sent(unit)
        if self._spoken.broken:
            self._spoken = FrameReader(limit=ANY_SIZE)
        for start in range(0, len(octets), by or len(octets) or 1):
            self._push(octets[start : start + (by or len(octets))])
        self._sent_at = self.now()

    def _encoded(self, what: Said, channel: int) -> bytes:
        if isinstance(what, bytes):
            self.spoiled |= not _is_header(what)
            return what
        if isinstance(what, Composite):
            sasl = "sasl-frame" in what.spec.provides
            return (sasl_frame(what) if sasl else amqp_frame(channel, what)).encode()
        self.spoiled |= isinstance(what, RawFrame)
        return what.encode()

    def _note_sent(self, unit: Unit) -> None:
        said = performative_of(unit)
        self.door.went(said)
        match said:
            case Open() as opening:
                self.said_open = self.said_open or opening
            case Close():
                self.said_close = True
            case Begin() if isinstance(unit, Frame):
                self.channels.add(unit.channel)
        self.over = self.said_close and self.heard_close

    # -- receiving -------------------------------------------------------------------------------------

    def _take(self, channel: int) -> Sight | Unreadable | None:
        inbox = self._inboxes[EVERYWHERE]
        # Of a peer that talks about something else without end nothing is looked at twice.
        for place, seen in enumerate(islice(inbox, self._passed[channel], None), self._passed[channel]):
            if _is_for(seen, channel):
                del inbox[place]
                self._passed.clear()
                return seen
        self._passed[channel] = len(inbox)
        return None

    def put_back(self, channel: int, seen: Sequence[Any]) -> None:
        """Return observations that were taken out of turn, oldest first."""
        del channel
        self._passed.clear()
        super().put_back(EVERYWHERE, seen)

    def _wait(self, deadline: float) -> bool:
        while self.beat is not None and not self.said_close and self.ended is None:
            due = self._sent_at + self.beat
            if due <= self.now():
                self.send(empty_frame())
            elif due >= deadline:
                break
            elif super()._wait(due):
                return True
        return super()._wait(deadline)

    def keep_up(self) -> float | None:
        """Send the empty frame that is due; give the seconds until the next, None for never.

        Where nothing else is wanted, half the server's idle-time-out may be silence (2.4.5).
        """
        stated = self.partner.idle_time_out if self.partner else None
        every = self.beat or (stated / 2000 if isinstance(stated, int) else None)
        if not every or self.said_close or self.ended is not None:
            return None
        if self._sent_at + every <= self.now():
            self.send(empty_frame())
        return max(0.0, self._sent_at + every - self.now())

    def _only_lives(self, unit: Unit) -> bool:
        return isinstance(unit, Frame) and unit.type == AMQP and not unit.body

    def _dispatch(self, unit: Unit) -> None:
        if isinstance(unit, Header):
            again = self.door.comes_again(unit)
            if self.partner is not None or not self._broke(again):
                self._inboxes[EVERYWHERE].append(HeaderReceived(unit, self._kept))
        elif isinstance(unit, Frame):
            self._dispatch_frame(unit)
        elif not unit.delimited:
            if self.partner is None and any(isinstance(each, Frame | Header) for each in self.received()):
                self._broke((leniency.NO_FRAME, unit.why))
            self._unreadable("no frame")
        else:
            frame, wrong = leniency.frame_in(unit)
            self._broke(wrong)
            if frame is not None:
                self._dispatch_frame(frame)

    def _dispatch_frame(self, frame: Frame) -> None:
        try:
            performative, payload = frame.read()
        except DecodeError:
            found = leniency.read_frame(frame)
            if found is None:
                self._unreadable("a frame that cannot be decoded")
                return
            performative, payload = found[0], b""
            self._broke(found[1])
            if performative is None:
                return
        inbox = self._inboxes[EVERYWHERE]
        if performative is not None:
            again = self.door.is_said_twice(performative)
            if not again and not self._broke(self.door.comes_again(performative)):
                session = self._session_of(frame.channel, performative)
                came = Received(frame.channel, performative, payload, session, self._kept)
                inbox.append(came)
                if session is not None and performative.is_as_defined():
                    if isinstance(performative, Begin):
                        self.told[session].clear()
                    self.told[session].append(came)
        elif frame.type not in (AMQP, SASL):
            self._broke((leniency.UNDEFINED_TYPE, f"a frame of type {frame.type}"))
        elif frame.type == SASL:
            self._unreadable("an empty frame of SASL")
        elif self.hears_empty_frames:
            inbox.append(EmptyFrame(frame.channel, self._kept))

    def _broke(self, wrong: leniency.Wrong | None) -> bool:
        if wrong is not None:
            self.context.breach(*wrong, self.name, self.now())
        return wrong is not None

    def _finished_transcript(self) -> Transcript:
        return Transcript(self.transcript)

    def _session_of(self, channel: int, performative: Composite) -> int | None:
        match performative:
            case Open() as opening:
                told, wrong = leniency.readable(opening)
                # What is as little as defined as what we said may repeat it.
                for each in wrong if self.said_open is None or self.said_open.is_as_defined() else ():
                    self._broke(each)
                self.partner = self.partner or told
                return None
            case Close():
                if self.partner is None:
                    self._broke((leniency.CLOSE_FIRST, "a close before the open"))
                self.heard_close = True
                self.over = self.said_close
                return None
            case Begin(remote_channel=int(ours)):
                self._sessions[channel] = ours
            case End():
                ours = self._sessions.pop(channel, -1)
                self.channels.discard(ours)
                return None if ours < 0 else ours
        return self._sessions.get(channel)

    def behind_close(self) -> str:
        """Name by its kind what came behind the server's close; empty when nothing did."""
        came = list(self.received())
        closes = (place for place, unit in enumerate(came) if isinstance(performative_of(unit), Close))
        for unit in came[next(closes, len(came)) + 1 :]:
            said, empty = performative_of(unit), isinstance(unit, Frame) and not unit.body
            return said.type_name if said else "empty frame" if empty else type(unit).__name__.lower()
        return "a part of a frame" if self.heard_close and self._reader.rest() else ""

    # -- what the observations are called --------------------------------------------------------------

    def _answered(self, kind: type[Any]) -> Outcome:
        return answered(kind)

    def signature(self, seen: Observation) -> str:
        return signature(seen)

    def _place(self, seen: Observation) -> int:
        return seen.frame if isinstance(seen, (Received, EmptyFrame, HeaderReceived)) else self._kept


def _is_header(octets: bytes) -> bool:
    return len(octets) == 8 and octets.startswith(b"AMQP")


def _is_for(seen: Sight | Unreadable, place: int) -> bool:
    if not isinstance(seen, Received):
        return True
    if place == CONNECTION:
        return not (isinstance(seen.performative, Flow) and seen.session is not None)
    wide = isinstance(seen.performative, (Open, Close)) or "sasl-frame" in seen.performative.spec.provides
    return wide or seen.session == place
