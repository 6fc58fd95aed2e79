"""What is wrong with contents and heartbeats: words for interposers, and effects for the tables."""

from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from harness.amqp0_9_1.broken.deviations import Fault, Interposer, changes, spoils
from harness.amqp0_9_1.broken.frame_faults import Matching, sent_whole
from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.peer.entities import Connection
from harness.amqp0_9_1.peer.life import end_connection
from harness.amqp0_9_1.peer.tables.channel import abort_content_and_serve, content_is_complete
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import BODY, HEADER, HEARTBEAT, ContentHeader, Frame, FrameReader
from harness.amqp0_9_1.wire.vocabulary import CODEC, Basic
from harness.peers.interposer import always
from harness.peers.peer import ConnectionAround, PeerConnection, PeerServer, ServerAround
from harness.wire.units import DecodeError

# -- frames of a content -------------------------------------------------------------------------------


def is_header(frame: Frame) -> bool:
    return frame.type == HEADER


def is_body(frame: Frame) -> bool:
    return frame.type == BODY


def header_of(size: int) -> Matching:
    """Match content headers that announce a body of `size` octets."""
    return lambda frame: frame.type == HEADER and frame.payload[4:12] == size.to_bytes(8)


def body_of(size: int) -> Matching:
    return lambda frame: frame.type == BODY and len(frame.payload) == size


def header_with(**properties: Callable[[Any], bool]) -> Matching:
    """Match content headers in which these properties are present and satisfy these conditions."""

    def matches(frame: Frame) -> bool:
        if frame.type != HEADER:
            return False
        try:
            carried = frame.content_header().properties
        except DecodeError:
            return False
        values = {name: getattr(carried, name, None) for name in properties}
        return all(value is not None and properties[name](value) for name, value in values.items())

    return matches


def _present(_: Any) -> bool:
    return True


def with_properties(frame: Frame, values: Mapping[str, Any]) -> Frame:
    """Give the content header with other property values; a value may be a function of the old."""
    header = frame.content_header()
    kept = {name: getattr(header.properties, name) for name in header.properties.names}
    changed = {name: value(kept[name]) if callable(value) else value for name, value in values.items()}
    properties = CODEC.properties[header.class_index](**kept | changed)
    return Frame(
        HEADER, frame.channel, ContentHeader(header.class_index, header.body_size, properties).encode()
    )


def delivers(
    when: Callable[[Frame], bool] = lambda _: True, behind: type[Method] | None = None, **values: Any
) -> Interposer:
    """Sends contents (`behind` this method) with other values of these properties; None takes one away."""
    carries = header_with(**dict.fromkeys(values, _present))
    return spoils(
        lambda frame: carries(frame) and when(frame), lambda frame: with_properties(frame, values), behind
    )


def bare(behind: type[Method]) -> Interposer:
    """Sends the contents that this method carries without any property."""

    def without(frame: Frame) -> Frame:
        header = frame.content_header()
        kept = ContentHeader(header.class_index, header.body_size, CODEC.properties[header.class_index]())
        return Frame(HEADER, frame.channel, kept.encode())

    return spoils(is_header, without, behind)


def heads(size: int, change: Callable[[bytes], bytes]) -> Interposer:
    """Sends the headers of contents of so many octets with other octets in them."""
    return spoils(header_of(size), lambda frame: Frame(HEADER, frame.channel, change(frame.payload)))


# -- contents the peer receives ------------------------------------------------------------------------


def add_to_every_body(turn: Turn) -> None:
    """Keeps a body frame for all contents that are under way on the connection, whichever it belongs to."""
    for channel in turn.connection.channels.values():
        if channel.content is not None:
            channel.body += turn.event.octets


def deliver_what_there_is(turn: Turn) -> None:
    """Takes a content that was cut off for a whole one, then serves the method."""
    if turn.channel.content is not None:
        content_is_complete(turn)
    abort_content_and_serve(turn)


# -- contents that wait --------------------------------------------------------------------------------


class OneAfterTheOther:
    """Sends the contents of channel 1 at once, and those of all others when it says something else."""

    def before(self, server: PeerServer) -> PeerServer:
        """Make a server that is sent contents so."""
        return _Kept(server)


class _Kept(ServerAround):
    def around(self, connection: PeerConnection) -> PeerConnection:
        return _KeptBack(connection)


class _KeptBack(ConnectionAround):
    def __init__(self, inner: PeerConnection) -> None:
        super().__init__(inner)
        self._reader, self._kept = FrameReader(), b""

    def receive(self, octets: bytes) -> None:
        for raw, unit in self._reader.feed(octets):
            if not (isinstance(unit, Frame) and sent_whole(Basic.Publish, always)(unit)):
                raw, self._kept = self._kept + raw, b""
            elif unit.channel > 1:
                raw, self._kept = b"", self._kept + raw
            self.inner.receive(raw)


# -- heartbeats ----------------------------------------------------------------------------------------

BEAT = "heartbeat: is sent twice an interval"
TAKEN = "heartbeat: is taken"
MOST_BEATS = 4
"""Heartbeats of the peer's own in two intervals, after which it gives a client up."""


def is_heartbeat(frame: Frame) -> bool:
    return frame.type == HEARTBEAT


def end_at_once(turn: Turn) -> None:
    end_connection(turn)
    turn.connection.close()


def gives_up_when(deaf: Callable[[Connection], bool]) -> Fault:
    """Ends a connection that was `deaf` and without a heartbeat for two intervals."""
    passed: WeakKeyDictionary[Connection, int] = WeakKeyDictionary()

    def beat_or_end(turn: Turn) -> None:
        passed[turn.connection] = passed.get(turn.connection, 0) + 1 if deaf(turn.connection) else 0
        if passed[turn.connection] > MOST_BEATS:
            end_at_once(turn)
        else:
            turn.connection.send_heartbeat()

    def hear(turn: Turn) -> None:
        passed[turn.connection] = 0

    sending, taking = changes(BEAT, effects=(beat_or_end,)), changes(TAKEN, effects=(hear,))
    return Fault(lambda tables: taking.change(sending.change(tables)))


def amid_a_frame(connection: Connection) -> bool:
    """Say whether a frame has begun to come and is not complete."""
    return connection.receiving
