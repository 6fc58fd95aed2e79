"""The sans-I/O driver: octets become events, events are met by the tables' rows, replies become octets.

No behaviour is decided here beyond cutting the stream into headers and frames and reading them.
"""

from harness.amqp1_0.peer import entities, events
from harness.amqp1_0.peer.entities import Link, Said, Session
from harness.amqp1_0.peer.events import ConnectionState, LinkState, SaslState, SessionState
from harness.amqp1_0.peer.reading import announced, read_body, read_garbage, read_header
from harness.amqp1_0.peer.traffic import release, suspend
from harness.amqp1_0.peer.turn import WHOLE_CONNECTION, AnyTurn, Server, Turn
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import (
    AMQP,
    MIN_MAX_FRAME_SIZE,
    PROTOCOL_HEADER,
    SASL,
    Frame,
    FrameReader,
    Unit,
)
from harness.amqp1_0.wire.performatives import Attach, Begin, Close, Detach, End, Open
from harness.peers.events import Event, Silence
from harness.wire.units import Garbage, Header

_AWAITING_HEADER = (
    ConnectionState.START,
    ConnectionState.HDR_SENT,
    ConnectionState.OPEN_PIPE,
    ConnectionState.OC_PIPE,
    SaslState.HDR_SENT,
)
_OURS_TO_ANSWER = (
    SessionState.BEGIN_RCVD,
    SessionState.END_RCVD,
    LinkState.ATTACH_RCVD,
    LinkState.DETACH_RCVD,
)
"""States of sessions and links that only we lead out of."""
_MOST_STATES = 14
"""States passed through at one time; only faulty tables lead in circles."""
MOMENT = 0.05
"""Seconds that outcomes are gathered for."""
THRESHOLD = 2
"""2.4.5: how many times the idle-time-out that the client states its threshold is, as far as one can tell."""
_MAGIC = PROTOCOL_HEADER[:4]
_SENDING: dict[type, type[events.Sending]] = {Open: events.SendingOpen, Close: events.SendingClose}


class Connection(entities.Connection):
    """One connection; implements harness.peers.peer.PeerConnection and HalfClosing."""

    def __init__(self, peer: Server, now: float, number: int = 0) -> None:
        super().__init__(now, number)
        self.peer = peer
        self._last_said = now
        self._heard = self._spoke = True
        self._waiting: float | None = None
        self._gathering: float | None = None
        self._our_channel_max: int | None = None
        self._entering = 0
        self._reader = FrameReader(limit=MIN_MAX_FRAME_SIZE)
        self._to_skip = 0
        self.happens(events.Entered())

    @property
    def over(self) -> bool:
        """Whether nothing may be written any more."""
        return self.state is ConnectionState.END

    # What the transport calls.

    def receive(self, octets: bytes) -> None:
        """Take octets the client sent, in pieces of any size."""
        if self.closed and octets and not self.reads_on:
            self.closed = "rst"
        while octets and self.state is not ConnectionState.END:
            skipped = min(self._to_skip, len(octets))
            self._to_skip -= skipped
            octets = octets[skipped:]
            if self.state in _AWAITING_HEADER:
                octets = self._take_header(octets)
            elif octets:
                octets = self._take_frames(octets)

    def end_of_stream(self) -> None:
        """Take note that the client sends nothing more, but still reads."""
        self.happens(events.StreamEnded())

    def take(self) -> bytes:
        """Remove and return what the peer has to say now: all of it, or one unit where the policy says so."""
        if self._out and self.peer.policy.batching == "one by one":
            said = self._out.popleft()
            self.unread -= len(said)
            return said
        return super().take()

    def _times(self) -> list[float]:
        if self._heard or self._spoke or self._waiting is not None or self._gathering == 0.0:
            # Nobody tells us when octets came, only that they did: the time is asked for at once.
            return [self._now]
        times = [self._last_heard + self._threshold] if self._threshold else []
        if self.interval:
            times.append(self._last_said + self.interval * self.peer.policy.keep_alive_at)
        return times + ([self._gathering] if self._gathering is not None else [])

    def tick(self, now: float) -> None:
        """Let everything that is due at `now` happen."""
        self._see(now)
        if self._spoke:
            self._spoke, self._last_said = False, now
        if self._waiting is not None:
            self._deadline, self._waiting = now + self._waiting, None
        if self._gathering == 0.0:
            self._gathering = now + MOMENT
        if self.unread > self.peer.limits.unread:
            self.hang_up()
        if self.over:
            return
        self._end_waiting(now)
        if self._gathering is not None and now >= self._gathering:
            self._gathering = None
            for session in list(self.sessions.values()):
                self._meet_at(session, Turn(self.peer, self, events.OutcomesDue(), 0, b"", session, None))
        if self._threshold and now >= self._last_heard + self._threshold:
            self._last_heard = now
            self.happens(Silence())
        if self.interval and now >= self._last_said + self.interval * self.peer.policy.keep_alive_at:
            late = now > self._last_said + self.interval * THRESHOLD
            self._last_said = now
            self.happens(events.TrafficLate() if late else events.TrafficDue())
            self._spoke = False  # it was said now, whenever we are asked again

    # What effects call.

    def go(self, state: ConnectionState | SaslState, by: object = None) -> None:
        if state is self.state:
            return
        self.state = state
        if state is ConnectionState.START:
            self._reader.limit = MIN_MAX_FRAME_SIZE
        if self._entering < _MOST_STATES:
            self._entering += 1
            self.happens(events.Entered(by))
            self._entering -= 1

    def wait(self, seconds: float) -> None:
        """Let Waited happen after so many seconds, unless it is waited for already."""
        if self._deadline is None and self._waiting is None:
            self._waiting = seconds

    def gather(self) -> None:
        # From when on is seen at the next tick.
        self._gathering = self._gathering or 0.0

    def end_stream(self, how: str) -> None:
        self.closed = self.closed or how

    def stand_by_our_open(self) -> None:
        policy = self.peer.policy
        self._reader.limit = max(policy.max_frame_size or self.peer.limits.frame, MIN_MAX_FRAME_SIZE)
        self._our_channel_max = 65535 if policy.channel_max is None else policy.channel_max

    def take_limits(self, theirs: Open) -> None:
        self.partner = theirs
        self.frame_max = max(theirs.max_frame_size, MIN_MAX_FRAME_SIZE)
        self.channel_max = theirs.channel_max
        self.interval = (theirs.idle_time_out or 0) / 1000

    def say(self, said: Said, channel: int = 0, payload: bytes = b"") -> None:
        channel = self.peer.tables.strategies.place(said, channel)
        self.happens(self._sending(said, channel, payload))

    def say_on(
        self, session: Session, said: Composite, link: Link | None = None, payload: bytes = b""
    ) -> None:
        about = link is not None and getattr(said, "handle", None) == link.number
        place = link if link is not None and about and isinstance(said, (Attach, Detach)) else session
        event = _saying(said)(said, payload)
        of = link if place is link else None
        self._meet_at(place, Turn(self.peer, self, event, session.channel, payload, session, of))

    def put(self, octets: bytes) -> None:
        super().put(octets)
        self._spoke = True

    def meet_frame(self, frame: Frame, raw: bytes = b"") -> None:
        strategies = self.peer.tables.strategies
        channel = strategies.channel(frame)
        body = strategies.body(raw or frame.encode(), frame)
        event, payload = read_body(body, self._layer, self.peer.policy)
        if self._our_channel_max is not None and channel > self._our_channel_max:
            event = events.ChannelOutOfRange(f"channel {channel} is above {self._our_channel_max}")
        if self.state is ConnectionState.OPENED and _of_session(event):
            self._meet_session(event, channel, payload)
        else:
            self.happens(event, channel, payload)

    def suffers(self, event: Event) -> None:
        """Let something happen to all its sessions, and to the links that are attached there."""
        for session in list(self.sessions.values()):
            number = session.number
            self._meet_at(session, Turn(self.peer, self, event, number, b"", session, None))
            for link in list(session.links.values()):
                self._meet_at(link, Turn(self.peer, self, event, number, b"", session, link))

    # Octets to events.

    @property
    def _threshold(self) -> float:
        return self.peer.policy.idle_time_out * self.peer.policy.idle_threshold / 1000

    @property
    def _layer(self) -> int:
        return SASL if isinstance(self.state, SaslState) else AMQP

    def _take_header(self, octets: bytes) -> bytes:
        """Meet the protocol header if it is there; returns what follows it."""
        octets = self._reader.rest() + octets
        self._reader = FrameReader(limit=self._reader.limit)
        begun = octets[: len(PROTOCOL_HEADER)]
        if len(begun) < len(PROTOCOL_HEADER) and begun[:4] == _MAGIC[: len(begun)]:
            self._reader.pending += begun
            return b""
        self._meet_header(begun)
        return octets[len(begun) :]

    def _meet_header(self, octets: bytes) -> None:
        self._heard = True
        self.header = octets
        self.happens(read_header(octets))

    def _take_frames(self, octets: bytes) -> bytes:
        for raw, unit in self.peer.tables.strategies.cut(self._reader, octets):
            if self.unread > self.peer.limits.unread:
                # It goes on asking and never reads the answers.
                self.hang_up()
            if self.state is ConnectionState.END:
                return b""
            self._meet_unit(raw, unit)
            if isinstance(unit, Garbage) and not unit.delimited and announced(unit) >= 8:
                # We may be waiting for its close: go on where the frame ends by its own account.
                self._to_skip = announced(unit) - min(len(unit.octets), announced(unit))
                self._reader = FrameReader(limit=self._reader.limit)
                return unit.octets[announced(unit) :]
        return b""

    def _meet_unit(self, raw: bytes, unit: Unit) -> None:
        self._heard = True
        if self.state in _AWAITING_HEADER or isinstance(unit, Header):
            self._meet_header(raw[: len(PROTOCOL_HEADER)])
        elif isinstance(unit, Garbage):
            self.happens(read_garbage(unit))
        elif unit.type != self._layer:
            self.happens(events.ForeignType(f"a frame of type {unit.type}", unit), unit.channel)
        else:
            self.meet_frame(unit, raw)

    def _meet_session(self, event: Event | Composite, channel: int, payload: bytes) -> None:
        session = self.sessions.get(channel) or Session(self, channel)
        handle = getattr(event, "handle", None)
        link = None
        if handle is not None and session.state is SessionState.MAPPED:
            link = session.links.get(handle)
            if link is None and isinstance(event, Attach):
                link = Link(session, handle, session.free_handle())
        if link is None:
            self._meet_at(session, Turn(self.peer, self, event, channel, payload, session, None))
            return
        self._meet_at(link, Turn(self.peer, self, event, channel, payload, session, link))
        if link.state is LinkState.DETACHED:
            release(self.peer, link)
        elif link.state is LinkState.SUSPENDED:
            suspend(self.peer, link)

    # Events to rows.

    def happens(self, event: Event | Composite, channel: int = 0, payload: bytes = b"") -> None:
        """Take the row for an event that concerns the whole connection, and its next state."""
        row = self.peer.meet(self.state, Turn(self.peer, self, event, channel, payload, None, None))
        if row is not None and row.next is not None:
            self.go(row.next, event)

    def _meet_at(self, place: Session | Link, turn: AnyTurn) -> None:
        before = place.state
        row = self.peer.meet(before, turn)
        if row is None or not isinstance(row.next, type(before)):
            return
        place.state = row.next
        if row.next in _OURS_TO_ANSWER and before not in _OURS_TO_ANSWER:
            # What led there is met once more: now it is answered.
            self._meet_at(place, turn)

    def _sending(self, said: Said, channel: int, payload: bytes) -> events.Sending:
        if isinstance(said, Header):
            return events.SendingHeader(said.octets)
        if isinstance(said, Frame):
            return events.SendingEmpty(Frame(AMQP, channel, said.body, said.extended).encode())
        if "sasl-frame" in said.spec.provides:
            return events.SendingSasl(Frame(SASL, 0, said.encode()).encode())
        body = self.peer.tables.strategies.spell(said, self.peer.policy) + payload
        kind = _SENDING.get(type(said), events.SendingFrame)
        if isinstance(said, Close) and said.error is not None:
            kind = events.SendingError
        return kind(Frame(AMQP, channel, body, self.peer.policy.extended_header).encode())


def _saying(said: Composite) -> type[events.Saying]:
    match said:
        case Begin():
            return events.SayingBegin
        case End():
            return events.SayingEnd if said.error is None else events.SayingEndError
        case Attach():
            return events.SayingAttach
        case Detach(error=None):
            return events.SayingClosing if said.closed else events.SayingDetach
        case Detach():
            return events.SayingDetachError
    return events.SayingFrame


def _of_session(event: Event | Composite) -> bool:
    performative = event.performative if isinstance(event, events.Invalid) else event
    return isinstance(performative, Composite) and not isinstance(performative, WHOLE_CONNECTION)
