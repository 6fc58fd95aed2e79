"""The sans-I/O driver: octets become events, events are met by the tables' rows, replies become octets.

No behaviour is decided here beyond cutting the stream into frames and reading them.
"""

import struct

from harness.amqp0_9_1.peer import entities, events
from harness.amqp0_9_1.peer.deliveries import serve
from harness.amqp0_9_1.peer.events import ConnectionState
from harness.amqp0_9_1.peer.reading import read_content_header, read_method
from harness.amqp0_9_1.peer.strategies import CHOKED
from harness.amqp0_9_1.peer.turn import Server, Turn, meet_on_channel
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import (
    BODY,
    FRAME_MIN_SIZE,
    HEADER,
    HEARTBEAT,
    METHOD,
    OVERHEAD,
    PROTOCOL_HEADER,
    Frame,
    FrameReader,
    Unit,
)
from harness.peers.events import Event, Silence
from harness.wire.units import Garbage, Header

_PREFIX = struct.Struct(">BHI")
_HEARTBEAT = Frame(HEARTBEAT, 0, b"").encode()
_DEAF = (ConnectionState.CONDEMNED, ConnectionState.LINGERING, ConnectionState.CLOSED)


class Connection(entities.Connection):
    """One connection; implements harness.peers.peer.PeerConnection."""

    def __init__(self, peer: Server, now: float, number: int = 0) -> None:
        super().__init__(peer.nowhere, now, number)
        self.peer = peer
        self._next_beat = 0.0
        self._reader = FrameReader(limit=FRAME_MIN_SIZE)
        self._to_skip = 0
        self._header = b""

    @property
    def over(self) -> bool:
        """Whether the socket is closed."""
        return self.closed is not None

    # What the transport calls.

    def receive(self, octets: bytes) -> None:
        """Take octets the client sent, in pieces of any size; none where they are held back on the way."""
        if self.state in _DEAF:
            return
        self._heard = True
        self.peer.pass_time(self.peer.clock())
        if self.state is ConnectionState.EXPECT_HEADER:
            octets = self._take_header(octets)
        if self.state in _DEAF or not octets:
            return
        while octets:
            skipped = min(self._to_skip, len(octets))
            self._to_skip -= skipped
            octets = self._read_frames(octets[skipped:])
            if self.state in _DEAF:
                self._reader.pending.clear()
                return

    def hang_up(self) -> None:
        """Take note that the client's side of the socket is gone."""
        super().hang_up()
        serve(self.peer, self.host)

    def take(self) -> bytes:
        """Remove and return what the peer has to say now."""
        said = super().take()
        if len(said) >= CHOKED:
            # The client was slow: its consumers may have been waiting for it.
            for channel in self.channels.values():
                for consumer in channel.consumers.values():
                    self.host.stir(consumer.queue)
            serve(self.peer, self.host)
        return said

    @property
    def receiving(self) -> bool:
        return bool(self._reader.pending)

    def _times(self) -> list[float]:
        own = [self._next_beat, self._last_heard + 2 * self.interval] if self.interval else []
        return [*own, *self.peer.times()]

    def tick(self, now: float) -> None:
        """Let everything that is due at `now` happen."""
        self._see(now)
        self.peer.pass_time(now)
        if self.over:
            return
        if self.interval and now >= self._last_heard + 2 * self.interval:
            # Whoever takes it lightly has two more intervals to wait.
            self._last_heard = now
            self.happens(Silence())
        if self.interval and now >= self._next_beat:
            self._next_beat = now + self.interval / 2
            self.happens(events.HeartbeatDue())
        self._end_waiting(now)
        serve(self.peer, self.host)

    # What effects call.

    def close(self) -> None:
        self.state = ConnectionState.CLOSED
        self.closed = self.closed or self.peer.policy.socket_close

    def tune(self, channel_max: int, frame_max: int, heartbeat: int) -> None:
        self.channel_max, self.frame_max, self.interval = channel_max, frame_max, float(heartbeat)
        self._reader.limit = frame_max or self.peer.limits.frame
        self._next_beat = self._now + self.interval / 2
        self._last_heard, self._heard = self._now, True

    def send(self, channel: int, method: Method) -> None:
        self._say(METHOD, 0 if method.key >> 16 == 10 else channel, method.encode())

    def send_content(self, channel: int, method: Method, message: entities.Message) -> None:
        self._say(METHOD, channel, method.encode())
        self._say(HEADER, channel, self.peer.tables.strategies.shown(message))
        for payload in self.peer.tables.strategies.cut(message.body, self.frame_max):
            self._say(BODY, channel, payload)

    def send_heartbeat(self) -> None:
        self.put(_HEARTBEAT)

    def send_header(self) -> None:
        self.put(PROTOCOL_HEADER)

    # Octets to events.

    def _take_header(self, octets: bytes) -> bytes:
        """Compare with the protocol header as far as it has come; returns what follows it."""
        begun = self._header + octets[: 8 - len(self._header)]
        rest = octets[len(begun) - len(self._header) :]
        self._header = begun
        # Five octets name the protocol, all eight the version (4.2.2).
        if begun[:5] != PROTOCOL_HEADER[: min(len(begun), 5)] or (
            len(begun) == 8 and begun != PROTOCOL_HEADER
        ):
            self.happens(events.BadHeader())
        elif len(begun) == 8:
            self.happens(events.GoodHeader())
        else:
            return b""
        return rest

    def happens(self, event: Event | Method) -> None:
        """Take the row for an event that concerns the whole connection, and its next state."""
        row = self.peer.meet(self.state, Turn(self.peer, self, None, event, None))
        if row is not None and isinstance(row.next, ConnectionState):
            self.state = row.next
            if row.next is ConnectionState.CLOSED:
                self.close()

    def _meet_unit(self, unit: Unit) -> None:
        if not isinstance(unit, Frame):
            self.happens(self._no_frame(unit))
        elif unit.type == METHOD:
            self._meet_method(unit)
        elif unit.type == HEARTBEAT:
            self.happens(events.HeartbeatReceived(unit.channel, len(unit.payload)))
        elif unit.channel == 0:
            self.happens(events.ContentOnChannelZero())
        elif unit.type == HEADER:
            header = self.peer.in_the_grammar(unit.payload)
            read = read_content_header(header, self.peer.checks_names, self.peer.reads_contested_types)
            # What is passed on are the octets that came, however they were read.
            read.payload = unit.payload
            self._meet_channel(unit.channel, read)
        else:
            self._meet_channel(unit.channel, events.BodyReceived(unit.payload))

    def _read_frames(self, octets: bytes) -> bytes:
        for _, unit in self._reader.feed(octets):
            if self.unread > self.peer.limits.unread:
                # It goes on asking and never reads the answers.
                self.hang_up()
                break
            self._meet_unit(unit)
            serve(self.peer, self.host)
            self.peer.pass_time(self.peer.clock())
            if isinstance(unit, Garbage):
                # We may be waiting for Close-Ok: go on where the frame ends by its own account.
                end = int.from_bytes(unit.octets[3:7]) + OVERHEAD
                self._to_skip = max(0, end - len(unit.octets))
                self._reader = FrameReader(limit=self._reader.limit)
                return unit.octets[end:]
            if self.state in _DEAF:
                break
        return b""

    def _no_frame(self, unit: Header | Garbage) -> Event:
        octets = unit.octets
        if isinstance(unit, Header) or octets[0] not in (METHOD, HEADER, BODY, HEARTBEAT):
            return events.UndefinedFrame()
        if int.from_bytes(octets[3:7]) + OVERHEAD > self._reader.limit:
            return events.OversizedFrame()
        return events.BadFrameEnd()

    def _meet_method(self, frame: Frame) -> None:
        read = read_method(
            frame.payload, self.peer.checks_names, self.peer.reads_contested_types, self.peer.knows
        )
        of_connection = frame.payload[:2] == b"\x00\x0a"
        if frame.channel and not of_connection:
            self._meet_channel(frame.channel, read)
        elif frame.channel:
            self.happens(events.Misplaced(type(read) if isinstance(read, Method) else None))
        elif of_connection or isinstance(read, events.UnknownMethod):
            self.happens(read)
        else:
            self.happens(events.OnChannelZero(type(read) if isinstance(read, Method) else None))

    def _meet_channel(self, number: int, event: Event | Method) -> None:
        if self.state is not ConnectionState.OPEN:
            self.happens(event)
            return
        channel = self.channels.get(number) or entities.Channel(self, number)
        meet_on_channel(Turn(self.peer, self, channel, event, None))

    # Frames to octets.

    def _say(self, kind: int, channel: int, payload: bytes) -> None:
        self.put(_PREFIX.pack(kind, channel, len(payload)) + payload + b"\xce")
