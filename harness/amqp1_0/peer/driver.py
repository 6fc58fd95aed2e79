"""The sans-I/O driver: octets become events, events are met by the tables' rows, replies become octets.

No behaviour is decided here beyond cutting the stream into headers and frames and reading them.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from harness.amqp1_0.peer import events
from harness.amqp1_0.peer.entities import Link, Session
from harness.amqp1_0.peer.events import ConnectionState, LinkState, SaslState, SessionState
from harness.amqp1_0.peer.reading import announced, read_body, read_garbage, read_header
from harness.amqp1_0.peer.turn import Reply, Row, Said, Turn
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
from harness.amqp1_0.wire.performatives import Attach, Close, Open
from harness.peers.rows import State
from harness.wire.units import Garbage, Header

if TYPE_CHECKING:
    from harness.amqp1_0.peer import Peer

_AWAITING_HEADER = (
    ConnectionState.START,
    ConnectionState.HDR_SENT,
    ConnectionState.OPEN_PIPE,
    ConnectionState.OC_PIPE,
    SaslState.HDR_SENT,
)
_MOST_STATES = 14
"""States passed through at one time; only faulty tables lead in circles."""
THRESHOLD = 2
"""2.4.5: how many times the idle-time-out that the client states its threshold is, as far as one can tell."""
_MAGIC = PROTOCOL_HEADER[:4]
_WHOLE_CONNECTION = (Open, Close)
_SENDING: dict[type, type[events.Sending]] = {Open: events.SendingOpen, Close: events.SendingClose}


class Connection:
    """One connection; implements harness.peers.peer.PeerConnection and HalfClosing."""

    def __init__(self, peer: Peer, now: float, number: int = 0) -> None:
        self.peer = peer
        self.number = number
        self.state: State = ConnectionState.START
        self.closed: str | None = None
        self.reads_on = True
        """Whether what comes behind the end of our stream is read, and dropped, or meets a reset."""
        self.user = ""
        self.mechanism = ""
        self.header = b""
        """The protocol header that came last."""
        self.partner: Open | None = None
        self.sessions: dict[int, Session] = {}
        """By the client's channel."""
        self.frame_max = MIN_MAX_FRAME_SIZE
        self.channel_max = 0
        self.interval = 0.0
        """Seconds between frames that the client requires at most; zero for any."""
        self.unread = 0
        """Octets said but not taken yet."""
        self._now = now
        self._last_heard = self._last_said = now
        self._heard = self._spoke = True
        self._waiting: float | None = None
        self._deadline: float | None = None
        self._our_channel_max: int | None = None
        self._entering = 0
        self._reader = FrameReader(limit=MIN_MAX_FRAME_SIZE)
        self._to_skip = 0
        self._out: deque[bytes] = deque()
        self._meet(events.Entered())

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
        """The client sends nothing more, but still reads."""
        self._meet(events.StreamEnded())

    def hang_up(self) -> None:
        """The client's side of the socket is gone."""
        self._meet(events.HungUp())

    def restart(self) -> None:
        """The server goes down; the first row may be a farewell, which leaves the end to another one."""
        self._meet(events.Restarting())
        if self.state is not ConnectionState.END:
            self._meet(events.Restarting())

    def take(self) -> bytes:
        """Remove and return what the peer has to say now: all of it, or one unit where the policy says so."""
        if not self._out:
            return b""
        if self.peer.policy.batching == "one by one":
            said = self._out.popleft()
        else:
            said = b"".join(self._out)
            self._out.clear()
        self.unread -= len(said)
        return said

    def next_timer(self) -> float | None:
        """When something is due, in seconds of the peer's clock."""
        if self.state is ConnectionState.END:
            return None
        if self._heard or self._spoke or self._waiting is not None:
            # Nobody tells us when octets came, only that they did: the time is asked for at once.
            return self._now
        times = [self._deadline] if self._deadline is not None else []
        if self._threshold:
            times.append(self._last_heard + self._threshold)
        if self.interval:
            times.append(self._last_said + self.interval * self.peer.policy.keep_alive_at)
        return max(min(times), self._now) if times else None

    def tick(self, now: float) -> None:
        """Let everything that is due at `now` happen."""
        self._now = now
        if self._heard:
            self._heard, self._last_heard = False, now
        if self._spoke:
            self._spoke, self._last_said = False, now
        if self._waiting is not None:
            self._deadline, self._waiting = now + self._waiting, None
        if self.unread > self.peer.limits.unread:
            self.hang_up()
        if self.state is ConnectionState.END:
            return
        if self._deadline is not None and now >= self._deadline:
            self._deadline = None
            self._meet(events.Waited())
        if self._threshold and now >= self._last_heard + self._threshold:
            self._last_heard = now
            self._meet(events.Silence())
        if self.interval and now >= self._last_said + self.interval * self.peer.policy.keep_alive_at:
            late = now > self._last_said + self.interval * THRESHOLD
            self._last_said = now
            self._meet(events.TrafficLate() if late else events.TrafficDue())

    # What effects call.

    def go(self, state: State, by: object = None) -> None:
        """Come into another state by an event, and do there what the document has a peer do by itself."""
        if state is self.state:
            return
        self.state = state
        if state is ConnectionState.START:
            self._reader.limit = MIN_MAX_FRAME_SIZE
        if self._entering < _MOST_STATES:
            self._entering += 1
            self._meet(events.Entered(by))
            self._entering -= 1

    def wait(self, seconds: float) -> None:
        """Let Waited happen after so many seconds, unless it is waited for already."""
        if self._deadline is None and self._waiting is None:
            self._waiting = seconds

    def end_stream(self, how: str) -> None:
        """End our stream: "fin" or "rst"."""
        self.closed = self.closed or how

    def stand_by_our_open(self) -> None:
        """Our limits hold from here on: the client may know them."""
        policy = self.peer.policy
        self._reader.limit = max(policy.max_frame_size or self.peer.limits.frame, MIN_MAX_FRAME_SIZE)
        self._our_channel_max = 65535 if policy.channel_max is None else policy.channel_max

    def take_limits(self, theirs: Open) -> None:
        """Keep within what the client's open states."""
        self.partner = theirs
        self.frame_max = max(theirs.max_frame_size, MIN_MAX_FRAME_SIZE)
        self.channel_max = theirs.channel_max
        self.interval = (theirs.idle_time_out or 0) / 1000

    def map_session(self, session: Session) -> bool:
        """Give a session a channel of ours; False when none is left that the client accepts."""
        taken = {each.channel for each in self.sessions.values()}
        numbers = range(min(self.channel_max, len(taken)) + 1)
        if self.peer.policy.outgoing_channel == "highest":
            numbers = range(self.channel_max, max(self.channel_max - len(taken), 0) - 1, -1)
        session.channel = next((number for number in numbers if number not in taken), -1)
        if session.channel >= 0:
            self.sessions[session.number] = session
        return session.channel >= 0

    def leave(self, session: Session) -> None:
        """A session is over: its links let go, what they have not settled goes back."""
        self.sessions.pop(session.number, None)
        session.state = SessionState.UNMAPPED
        for link in list(session.links.values()):
            self.peer.release(link)

    def leave_all(self) -> None:
        """All sessions are over."""
        for session in list(self.sessions.values()):
            self.leave(session)

    def say(self, said: Said, channel: int = 0, payload: bytes = b"") -> None:
        """Say something, if there is a row for saying it in this state."""
        channel = self.peer.tables.strategies.place(said, channel)
        self._meet(self._sending(said, channel, payload))

    def answer(self, turn: Turn, reply: Reply) -> None:
        """Say what a row answers: on the session's channel, but for what concerns the connection."""
        for said in reply:
            whole = turn.session is None or isinstance(said, _WHOLE_CONNECTION)
            self.say(said, 0 if whole else turn.session.channel)

    def put(self, octets: bytes) -> None:
        """Write octets."""
        self._out.append(octets)
        self._spoke = True
        self.unread += len(octets)

    def meet_frame(self, frame: Frame, raw: bytes = b"") -> None:
        """Meet what a frame holds, taking it for one of this layer whatever its type."""
        strategies = self.peer.tables.strategies
        channel = strategies.channel(frame)
        body = strategies.body(raw or frame.encode(), frame)
        event, payload = read_body(body, self._layer, self.peer.policy)
        if self._our_channel_max is not None and channel > self._our_channel_max:
            event = events.ChannelOutOfRange(f"channel {channel} is above {self._our_channel_max}")
        if self.state is ConnectionState.OPENED and _of_session(event):
            self._meet_session(event, channel, payload)
        else:
            self._meet(event, channel, payload)

    # Octets to events.

    @property
    def _threshold(self) -> float:
        """Seconds of silence after which we act; zero for never."""
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
        self._meet(read_header(octets))

    def _take_frames(self, octets: bytes) -> bytes:
        """Meet the frames in `octets`; returns what follows one that is too large."""
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
            self._meet(read_garbage(unit))
        elif unit.type != self._layer:
            self._meet(events.ForeignType(f"a frame of type {unit.type}", unit), unit.channel)
        else:
            self.meet_frame(unit, raw)

    def _meet_session(self, event: Any, channel: int, payload: bytes) -> None:
        session = self.sessions.get(channel) or Session(self, channel)
        turn = Turn(self, event, channel, payload, session)
        handle = getattr(event, "handle", None)
        if handle is None or session.state is not SessionState.MAPPED:
            self._meet_at(session, turn)
            return
        turn.link = session.links.get(handle)
        if turn.link is None and isinstance(event, Attach):
            turn.link = Link(session, handle, session.free_handle())
        if turn.link is None:
            self._meet_at(session, turn)
            return
        self._meet_at(turn.link, turn)
        if turn.link.state is LinkState.DETACHED:
            self.peer.release(turn.link)

    # Events to rows.

    def _meet(self, event: Any, channel: int = 0, payload: bytes = b"") -> None:
        row = self.peer.meet(self.state, Turn(self, event, channel, payload))
        if row is not None and row.next is not None:
            self.go(row.next, event)

    def _meet_at(self, place: Session | Link, turn: Turn) -> Row | None:
        row = self.peer.meet(place.state, turn)
        if row is not None and isinstance(row.next, type(place.state)):
            place.state = row.next
        return row

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


def _of_session(event: Any) -> bool:
    """Whether a session's rows are to meet this: a performative of sessions and links, however invalid."""
    performative = event.performative if isinstance(event, events.Invalid) else event
    return isinstance(performative, Composite) and not isinstance(performative, _WHOLE_CONNECTION)
