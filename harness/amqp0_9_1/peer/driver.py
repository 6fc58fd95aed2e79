"""The sans-I/O driver: octets become events, events are met by the tables' rows, replies become octets.

No behaviour is decided here beyond cutting the stream into frames and reading them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.amqp0_9_1.peer import events
from harness.amqp0_9_1.peer.deliveries import serve
from harness.amqp0_9_1.peer.entities import Consumer, Delivery, VirtualHost
from harness.amqp0_9_1.peer.events import ChannelState, ConnectionState
from harness.amqp0_9_1.peer.reading import read_content_header, read_method
from harness.amqp0_9_1.peer.turn import Publication, Reply, Turn, WithContent
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
from harness.amqp0_9_1.wire.vocabulary import Channel as ChannelMethods
from harness.amqp0_9_1.wire.vocabulary import Connection as ConnectionMethods
from harness.wire.units import Garbage, Header

if TYPE_CHECKING:
    from harness.amqp0_9_1.peer import Peer

_PREFIX = struct.Struct(">BHI")
_HEARTBEAT = Frame(HEARTBEAT, 0, b"").encode()
_CLOSES = (ChannelMethods.Close, ConnectionMethods.Close)
_DEAF = (ConnectionState.CONDEMNED, ConnectionState.LINGERING, ConnectionState.CLOSED)
_DELIVERING = (ChannelState.OPEN, ChannelState.EXPECT_CONTENT_HEADER, ChannelState.EXPECT_BODY)


@dataclass(slots=True)
class Window:
    """A prefetch window (basic.qos): its limits, zero for none, and what fills it."""

    count: int = 0
    size: int = 0
    messages: int = 0
    octets: int = 0

    @property
    def limited(self) -> bool:
        """Whether the window can hold anything back."""
        return bool(self.count or self.size)


class Channel:
    """One channel as the peer sees it."""

    def __init__(self, connection: Connection, number: int) -> None:
        self.connection = connection
        self.number = number
        self.state: ChannelState = ChannelState.UNOPENED
        self.flowing = True
        self.flow_asked = 0
        self.current_queue = ""
        self.window = Window()
        self.last_tag = 0
        self.unacknowledged: dict[int, Delivery] = {}
        self.consumers: dict[str, Consumer] = {}
        self.transacted = False
        self.transaction: list[Publication | Delivery] = []
        self.withheld: list[Delivery] = []
        self.publishing: Any = None
        self.content: events.ContentHeaderReceived | None = None
        self.body = bytearray()

    @property
    def delivers(self) -> bool:
        """Whether the channel is open, in whatever state of receiving."""
        return self.state in _DELIVERING

    def forget_content(self) -> None:
        """No content is being received any more."""
        self.publishing, self.content, self.body = None, None, bytearray()


class Connection:
    """One connection; implements harness.peers.peer.PeerConnection."""

    def __init__(self, peer: Peer, now: float, number: int = 0) -> None:
        self.peer = peer
        self.number = number
        self.state: ConnectionState = ConnectionState.EXPECT_HEADER
        self.closed: str | None = None
        self.ended = False
        self.opened = False
        self.user = ""
        self.mechanism = ""
        self.claimed = b""
        """What Start-Ok said, where Secure asked for more."""
        self.host: VirtualHost = peer.nowhere
        self.channels: dict[int, Channel] = {}
        self.window = Window()
        self.frame_max = FRAME_MIN_SIZE
        self.channel_max = 0
        self.interval = 0.0
        """Heartbeat interval in seconds; zero for none."""
        self.unread = 0
        """Octets said but not taken yet."""
        self._now = now
        self._deadline: float | None = None
        self._next_beat = 0.0
        self._last_heard = now
        self._heard = False
        self._reader = FrameReader(limit=FRAME_MIN_SIZE)
        self._to_skip = 0
        self._header = b""
        self._out: list[bytes] = []

    # What the transport calls.

    def receive(self, octets: bytes) -> None:
        """Take octets the client sent, in pieces of any size; none where they are held back on the way."""
        if self.state in _DEAF:
            return
        self._heard = True
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
        """The client's side of the socket is gone."""
        self._meet(events.HungUp())
        serve(self.peer, self.host)

    def restart(self) -> None:
        """The server goes down; the first row may be a farewell, which leaves the end to another one."""
        self._meet(events.Restarting())
        if self.closed is None:
            self._meet(events.Restarting())

    def take(self) -> bytes:
        """Remove and return what the peer has to say now."""
        if not self._out:
            return b""
        said = b"".join(self._out)
        self._out.clear()
        self.unread = 0
        if len(said) >= 1 << 20:
            # The client was slow: its consumers may have been waiting for it.
            for channel in self.channels.values():
                for consumer in channel.consumers.values():
                    self.host.stir(consumer.queue)
            serve(self.peer, self.host)
        return said

    @property
    def receiving(self) -> bool:
        """Whether a frame has begun to come and is not complete."""
        return bool(self._reader.pending)

    def next_timer(self) -> float | None:
        """When something is due, in seconds of the peer's clock."""
        if self.closed:
            return None
        times = [self._deadline] if self._deadline is not None else []
        if self.interval:
            times += [self._next_beat, self._last_heard + 2 * self.interval]
        return max(min(times), self._now) if times else None

    def tick(self, now: float) -> None:
        """Let everything that is due at `now` happen."""
        self._now = now
        if self.closed:
            return
        if self._heard:
            # Nobody tells us when octets came, only that they did since the last tick.
            self._heard, self._last_heard = False, now
        if self.interval and now >= self._last_heard + 2 * self.interval:
            # Whoever takes it lightly has two more intervals to wait.
            self._last_heard = now
            self._meet(events.Silence())
        if self.interval and now >= self._next_beat:
            self._next_beat = now + self.interval / 2
            self._meet(events.HeartbeatDue())
        if self._deadline is not None and now >= self._deadline:
            self._deadline = None
            self._meet(events.Waited())
        serve(self.peer, self.host)

    # What effects call.

    def wait(self, seconds: float) -> None:
        """Let Waited happen after so many seconds."""
        self._deadline = self._now + seconds

    def close(self) -> None:
        """Close the socket."""
        self.state = ConnectionState.CLOSED
        self.closed = self.closed or self.peer.policy.socket_close

    def tune(self, channel_max: int, frame_max: int, heartbeat: int) -> None:
        """Take over what was negotiated; zero is no limit, or no heartbeat."""
        self.channel_max, self.frame_max, self.interval = channel_max, frame_max, float(heartbeat)
        self._reader.limit = frame_max or self.peer.limits.frame
        self._next_beat = self._now + self.interval / 2
        self._last_heard, self._heard = self._now, True

    def send(self, channel: int, method: Method) -> None:
        """Say a method; those of the Connection class always on channel zero."""
        self._say(METHOD, 0 if method.key >> 16 == 10 else channel, method.encode())

    def send_content(self, channel: int, said: WithContent) -> None:
        """Say a method with its content, cut to the size of frame agreed upon."""
        message = said.message
        self._say(METHOD, channel, said.method.encode())
        self._say(HEADER, channel, message.header)
        for payload in self.peer.tables.strategies.cut(message.body, self.frame_max):
            self._say(BODY, channel, payload)

    def send_heartbeat(self) -> None:
        """Say a heartbeat frame."""
        self._put(_HEARTBEAT)

    def send_header(self) -> None:
        """Say the protocol header this peer supports."""
        self._put(PROTOCOL_HEADER)

    def answer(self, turn: Turn, reply: Reply) -> None:
        """Say what a row answers: nothing for a method with no-wait, unless it is an exception."""
        if reply is None:
            return
        number = turn.channel.number if turn.channel is not None else 0
        if isinstance(reply, WithContent):
            self.send_content(number, reply)
        elif isinstance(reply, _CLOSES) or not getattr(turn.event, "no_wait", False):
            self.send(number, reply)

    def meet_on(self, channel: Channel, turn: Turn) -> None:
        """Take the row for an event on a channel, and its next state."""
        row = self.peer.meet(channel.state, turn)
        if row is not None and isinstance(row.next, ChannelState):
            channel.state = row.next
        if channel.state is ChannelState.UNOPENED:
            self.channels.pop(channel.number, None)
        else:
            self.channels[channel.number] = channel

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
            self._meet(events.BadHeader())
        elif len(begun) == 8:
            self._meet(events.GoodHeader())
        else:
            return b""
        return rest

    def _meet(self, event: Any) -> None:
        row = self.peer.meet(self.state, Turn(self, None, event))
        if row is not None and isinstance(row.next, ConnectionState):
            self.state = row.next
            if row.next is ConnectionState.CLOSED:
                self.close()

    def _meet_unit(self, unit: Unit) -> None:
        if not isinstance(unit, Frame):
            self._meet(self._no_frame(unit))
        elif unit.type == METHOD:
            self._meet_method(unit)
        elif unit.type == HEARTBEAT:
            self._meet(events.HeartbeatReceived(unit.channel, len(unit.payload)))
        elif unit.channel == 0:
            self._meet(events.ContentOnChannelZero())
        elif unit.type == HEADER:
            read = read_content_header(unit.payload, self.peer.checks_names, self.peer.reads_contested_types)
            self._meet_channel(unit.channel, read)
        else:
            self._meet_channel(unit.channel, events.BodyReceived(unit.payload))

    def _read_frames(self, octets: bytes) -> bytes:
        """Meet the frames in `octets`; returns what follows one that could not be read."""
        for _, unit in self._reader.feed(octets):
            if self.unread > self.peer.limits.unread:
                # It goes on asking and never reads the answers.
                self.hang_up()
                break
            self._meet_unit(unit)
            serve(self.peer, self.host)
            if isinstance(unit, Garbage):
                # We may be waiting for Close-Ok: go on where the frame ends by its own account.
                end = int.from_bytes(unit.octets[3:7]) + OVERHEAD
                self._to_skip = max(0, end - len(unit.octets))
                self._reader = FrameReader(limit=self._reader.limit)
                return unit.octets[end:]
            if self.state in _DEAF:
                break
        return b""

    def _no_frame(self, unit: Header | Garbage) -> events.Event:
        octets = unit.octets
        if isinstance(unit, Header) or octets[0] not in (METHOD, HEADER, BODY, HEARTBEAT):
            return events.UndefinedFrame()
        if int.from_bytes(octets[3:7]) + OVERHEAD > self._reader.limit:
            return events.OversizedFrame()
        return events.BadFrameEnd()

    def _meet_method(self, frame: Frame) -> None:
        read = read_method(frame.payload, self.peer.checks_names, self.peer.reads_contested_types)
        of_connection = frame.payload[:2] == b"\x00\x0a"
        if frame.channel and not of_connection:
            self._meet_channel(frame.channel, read)
        elif frame.channel:
            self._meet(events.Misplaced(type(read) if isinstance(read, Method) else None))
        elif of_connection or isinstance(read, events.UnknownMethod):
            self._meet(read)
        else:
            self._meet(events.OnChannelZero(type(read) if isinstance(read, Method) else None))

    def _meet_channel(self, number: int, event: Any) -> None:
        if self.state is not ConnectionState.OPEN:
            self._meet(event)
            return
        channel = self.channels.get(number) or Channel(self, number)
        self.meet_on(channel, Turn(self, channel, event))

    # Frames to octets.

    def _say(self, kind: int, channel: int, payload: bytes) -> None:
        self._put(_PREFIX.pack(kind, channel, len(payload)) + payload + b"\xce")

    def _put(self, octets: bytes) -> None:
        self._out.append(octets)
        self.unread += len(octets)
