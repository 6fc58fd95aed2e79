"""The sans-I/O driver: octets become events, events are met by the tables' rows, replies become octets.

No behaviour is decided here beyond cutting the stream into frames, reading them, and finding what they are
about.
"""

from __future__ import annotations

from harness.amqp_fast.peer import entities
from harness.amqp_fast.peer.entities import Channel, Handle
from harness.amqp_fast.peer.events import (
    ChannelState,
    ConnectionState,
    Early,
    HandleState,
    Malformed,
    NeverExpected,
    NothingHeard,
    PingDue,
    Undecodable,
)
from harness.amqp_fast.peer.traffic import deliver
from harness.amqp_fast.peer.turn import AnyTurn, Server, Turn
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import ESCAPE, Frame, FrameReader, Initiation, Unit, frame
from harness.amqp_fast.wire.vocabulary import Handle as HandleSaid
from harness.peers.events import Event
from harness.peers.rows import State
from harness.wire.units import DecodeError, Garbage
from spec.rules import Party

PATIENCE = 2
"""How many times the heartbeat that was asked for a client may take (1133)."""
_UP = (ConnectionState.OPEN,)


class Connection(entities.Connection):
    """One connection; implements harness.peers.peer.PeerConnection."""

    def __init__(self, peer: Server, now: float, number: int) -> None:
        super().__init__(now, number, peer.policy, peer.limits)
        self.peer = peer
        self._last_said = now
        self._spoke = True
        self._waiting: float | None = None
        self._reader = FrameReader(limit=peer.limits.handshake, initiated=False)
        if greeting := peer.tables.strategies.greeting:
            self.put(greeting)

    @property
    def over(self) -> bool:
        """Whether nothing can happen any more."""
        return self.state is ConnectionState.END

    # What the transport calls.

    def receive(self, octets: bytes) -> None:
        """Take octets the client sent, in pieces of any size."""
        self._heard = True
        if self.closed and octets:
            self.closed = "rst"
        cut = self.peer.tables.strategies.cut
        for _, unit in cut(self._reader, octets) if not self.over else ():
            if not self.over:
                self._take_unit(unit)
        self._deliver()

    def end_of_stream(self) -> None:
        """Note that the client sends no more."""
        self.hang_up()

    def take(self) -> bytes:
        """Remove and return what the peer has to say now: all of it, or one command, as the policy says."""
        if self._out and self.peer.policy.transfer == "one by one":
            said = self._out.popleft()
            self.unread -= len(said)
            return said
        return super().take()

    def tick(self, now: float) -> None:
        """Let everything that is due at `now` happen."""
        self._see(now)
        if self._spoke:
            self._spoke, self._last_said = False, now
        if self._waiting is not None:
            self._deadline, self._waiting = now + self._waiting, None
        if self.unread > self.peer.limits.unread:
            self.hang_up()
        self.peer.pass_time(now)
        if self.over:
            return
        self._end_waiting(now)
        if self.interval and now >= self._last_said + self.interval:
            self._last_said = now
            self.happens(PingDue())
            self._spoke = False
        if self._listens and now >= self._last_heard + PATIENCE * self.heartbeat:
            self._last_heard = now
            self.happens(NothingHeard())

    def _times(self) -> list[float]:
        if self._heard or self._spoke or self._waiting is not None:
            # Nobody tells us when octets came, only that they did: the time is asked for at once.
            return [self._now]
        times = self.peer.times()
        if self.interval:
            times.append(self._last_said + self.interval)
        if self._listens:
            times.append(self._last_heard + PATIENCE * self.heartbeat)
        return times

    @property
    def _listens(self) -> bool:
        """Whether silence of the client means something (1133)."""
        return bool(self.heartbeat) and (self.pings or self.peer.policy.silence != "waits")

    # What effects call.

    def say(self, command: Command, fragment: bytes = b"") -> None:
        said = frame(command, fragment)
        said.long = self.peer.policy.sends_long
        self.put(said.encode())
        self._spoke = True

    def pause(self, seconds: float) -> None:
        self._waiting = seconds

    def end(self) -> None:
        self.state = ConnectionState.END
        self.closed = self.closed or "fin"

    def happens(self, event: Event) -> None:
        """Take the row for what happens to the connection, and its next state."""
        self._meet(self.state, Turn(self.peer, self, event))
        self._deliver()

    # From units to events.

    def _take_unit(self, unit: Unit) -> None:
        match unit:
            case Garbage(why=why):
                self.happens(Malformed(why))
            case Initiation():
                self._meet(self.state, Turn(self.peer, self, unit))
            case Frame() if self._is_oversized(unit):
                self.happens(Malformed("a small size in the long form"))
            case Frame():
                try:
                    self._take_command(self._readable(unit.command()), unit.fragment)
                except DecodeError as failure:
                    self.happens(Undecodable(unit.type, failure.what))
        if self.state is ConnectionState.TUNED and self._reader.limit < self.peer.limits.frame:
            self._reader.limit = self.peer.limits.frame

    def _is_oversized(self, unit: Frame) -> bool:
        """Say whether a size is in the long form without need, and that is not taken."""
        small = len(unit.payload) + 1 < ESCAPE
        return unit.long and small and self.peer.policy.long_size == "large alone"

    def _readable(self, command: Command) -> Command:
        """Give a command whose short strings are text. Raises DecodeError."""
        is_text = self.peer.tables.strategies.is_text
        for name, field in zip(command.names, command.fields, strict=True):
            if field.type == "shortstr" and not is_text(getattr(command, name)):
                raise DecodeError(0, f"{name} has a zero")
        return command

    def _take_command(self, command: Command, fragment: bytes) -> None:
        turn: AnyTurn = Turn(self.peer, self, command, fragment)
        if command.spec.by is Party.SERVER:
            turn.event = NeverExpected(command)
            self._meet(self.state, turn)
        elif command.spec.class_name == "connection":
            self._meet(self.state, turn)
        elif self.state not in _UP:
            turn.event = Early(command)
            self._meet(self.state, turn)
        elif command.spec.class_name == "channel":
            self._meet(self._channel(turn, getattr(command, "channel_id")), turn)  # noqa: B009
        else:
            self._meet(self._handle(turn, command), turn)

    def _channel(self, turn: AnyTurn, number: int) -> ChannelState:
        """Find the channel that a command is about, and its state."""
        channel = self.channels.get(number)
        if channel is None:
            turn.channel = Channel(self, number, state=ChannelState.CLOSED)
        else:
            turn.channel = channel
        return turn.channel.state

    def _handle(self, turn: AnyTurn, command: Command) -> State:
        """Find the handle that a command is about, and its state; that of its channel where it is closing."""
        number: int = getattr(command, "handle_id")  # noqa: B009 - which command has one, the grammar says
        handle = self.handles.get(number)
        if handle is None:
            on = command.channel_id if isinstance(command, HandleSaid.Open) else 0
            state: State = self._channel(turn, on)
            turn.handle = Handle(turn.channel, HandleSaid.Open(on, number), HandleState.CLOSED)
            # A closing channel answers for all its handles; HANDLE OPEN tells one that is not open.
            return state if state is ChannelState.CLOSING else HandleState.CLOSED
        turn.channel, turn.handle = handle.channel, handle
        if handle.channel.state is ChannelState.CLOSING:
            return ChannelState.CLOSING
        return handle.state

    def _meet(self, state: State, turn: AnyTurn) -> None:
        row = self.peer.meet(state, turn)
        match row and row.next:
            case ConnectionState() as following if not self.over:
                self.state = following
                if following is ConnectionState.END:
                    self.end()
            case ChannelState() as following:
                turn.channel.state = following
            case HandleState() as following:
                turn.handle.state = following

    def _deliver(self) -> None:
        for host in self.peer.hosts.values():
            deliver(self.peer, host)
