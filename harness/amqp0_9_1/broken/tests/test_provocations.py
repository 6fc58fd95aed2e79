"""What a server says without end, and what a client keeps back or takes for an end."""

from __future__ import annotations

from itertools import count
from typing import Any

from harness.amqp0_9_1.broken.content_faults import OneAfterTheOther
from harness.amqp0_9_1.broken.provocations import Flood
from harness.amqp0_9_1.peer import Peer
from harness.amqp0_9_1.trials.odd import OPENING
from harness.amqp0_9_1.wire.frames import PROTOCOL_HEADER, Frame, FrameReader, content_frames, method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Queue
from harness.peers.peer import ConnectionAround, PeerConnection, ServerAround
from harness.targets.client.ears import Ears

BEAT = b"over and over"


def opened(server: ServerAround | Any) -> PeerConnection:
    """A connection with channel 1 open."""
    connection: PeerConnection = server.connect(0.0)
    connection.receive(PROTOCOL_HEADER)
    for method in OPENING:
        connection.receive(method_frame(0, method).encode())
    connection.receive(method_frame(1, Channel.Open()).encode())
    while connection.take():
        pass
    return connection


def said(connection: PeerConnection, until: float) -> list[bytes]:
    """Have time pass, and give all that is said meanwhile."""
    found = list(iter(connection.take, b""))
    while (due := connection.next_timer()) is not None and due <= until:
        connection.tick(max(due, 0.0))
        found += iter(connection.take, b"")
    return found


def flooding(most: int = 5) -> PeerConnection:
    flood = Flood(Queue.DeclareOk, lambda channel, _: BEAT + bytes((channel,)), Channel.Open, most, 0.5)
    connection = opened(flood.before(Peer()))
    assert said(connection, 10.0) == []
    connection.receive(method_frame(1, Queue.Declare("q")).encode())
    return connection


def test_a_flood_begins_behind_its_method_and_keeps_its_pace() -> None:
    first, *others = said(flooding(), 1.2)
    assert first == method_frame(1, Queue.DeclareOk("q", 0, 0)).encode()
    assert others == 3 * [BEAT + b"\x01"]


def test_a_flood_ends_when_all_is_said() -> None:
    assert said(flooding(2), 10.0)[1:] == 2 * [BEAT + b"\x01"]


def test_a_flood_ends_when_the_client_has_said_what_it_waits_for() -> None:
    connection = flooding()
    assert len(said(connection, 0.2)) == 2
    connection.receive(method_frame(2, Channel.Open()).encode())
    assert said(connection, 10.0) == [method_frame(2, Channel.OpenOk()).encode()]


class Hearing(ServerAround):
    """A server that keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__(Peer())
        self.heard: list[int] = []

    def around(self, connection: PeerConnection) -> PeerConnection:
        heard, reader = self.heard, FrameReader()

        class Kept(ConnectionAround):
            def receive(self, octets: bytes) -> None:
                heard.extend(unit.channel for _, unit in reader.feed(octets) if isinstance(unit, Frame))

        return Kept(connection)


def test_contents_of_other_channels_wait_for_something_else() -> None:
    server = Hearing()
    connection = OneAfterTheOther().before(server).connect(0.0)
    content = {
        on: b"".join(
            each.encode() for each in content_frames(on, Basic.Publish(), Basic.Properties(), b"body", 4096)
        )
        for on in (1, 2)
    }
    for on in (1, 2, 1, 2):
        connection.receive(content[on])
    assert server.heard == 6 * [1]
    connection.receive(method_frame(1, Queue.Declare("q")).encode())
    assert server.heard == [*6 * [1], *6 * [2], 1]


class Saying(ServerAround):
    """A server that says these, one after the other."""

    def __init__(self, *words: bytes) -> None:
        super().__init__(Peer())
        self._words = words

    def around(self, connection: PeerConnection) -> PeerConnection:
        words, at = self._words, count()

        class Said(ConnectionAround):
            def take(self) -> bytes:
                return dict(enumerate(words)).get(next(at), b"")

        return Said(connection)


def test_octets_may_be_as_the_end_of_the_socket() -> None:
    connection = Ears(ends_at=b"end").before(Saying(b"one", b"two end three", b"four")).connect(0.0)
    seen = [(connection.take(), connection.closed) for _ in range(3)]
    assert seen == [(b"one", None), (b"two ", "fin"), (b"", "fin")]
