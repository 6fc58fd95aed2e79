"""A hostile client costs the 1.0 reference peer bounded memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from harness.amqp1_0.peer import Limits
from harness.amqp1_0.peer.tests.dialogue import HEADER, Client, peer
from harness.amqp1_0.wire.frames import amqp_frame, empty_frame
from harness.amqp1_0.wire.performatives import Attach, Begin, Flow, Role, Source, Target

SMALL = Limits(
    frame=1 << 16, content=1 << 16, stored=1 << 18, nodes=50, sessions=10, links=10, unread=1 << 18
)
MOST = 1_500_000
BEGIN = Begin(None, 0, 1000, 1000)


def endless_frame(client: Client) -> None:
    client.send(b"\xff\xff\xff\xff\x02\x00\x00\x00")
    for _ in range(80):
        client.send(bytes(1 << 16))


def endless_garbage(client: Client) -> None:
    client.send(b"\x00\x00\x00\x04\x02\x00\x00\x00")
    for _ in range(100):
        client.send(b"\xff" * (1 << 16))


def many_sessions(client: Client) -> None:
    for channel in range(256):
        client.send(BEGIN, channel=channel)


def many_links(client: Client) -> None:
    client.send(BEGIN)
    for handle in range(30):
        target = Target(f"q{handle}" + "x" * 1000)
        client.send(Attach("n" * 50_000, handle, Role.SENDER, None, None, Source("x"), target))
        client.peer.take()


def many_nodes(client: Client) -> None:
    for _ in range(3):
        client.send(BEGIN)
        many_links(client)


def many_messages(client: Client) -> None:
    client.begin()
    client.sender()
    for number in range(400):
        client.transfer(bytes(10_000), number, settled=True)
        client.peer.take()


def unfinished_messages(client: Client) -> None:
    client.begin()
    for handle in range(10):
        client.sender(handle, f"q{handle}")
        for _ in range(60):
            client.transfer(bytes(5000), 0, handle=handle, more=True)
        client.peer.take()


def unsettled_messages(client: Client) -> None:
    client.begin()
    client.sender()
    client.receiver(credit=1_000_000)
    for number in range(800):
        client.transfer(bytes(5000), number, settled=True)
        client.send(Flow(0, 1 << 20, 0, 1000, 1, 0, 1_000_000))
        client.peer.take()


def questions_without_reading(client: Client) -> None:
    client.begin()
    ask = amqp_frame(0, Flow(0, 1, 0, 1, echo=True)).encode() * 100
    for _ in range(100):
        client.send(ask)


def empty_frames(client: Client) -> None:
    for _ in range(3):
        client.send(empty_frame().encode() * 8000)


@pytest.mark.parametrize(
    "attack",
    [
        endless_frame,
        endless_garbage,
        many_sessions,
        many_links,
        many_nodes,
        many_messages,
        unfinished_messages,
        unsettled_messages,
        questions_without_reading,
        empty_frames,
    ],
)
def test_memory_is_bounded(attack: Callable[[Client], None]) -> None:
    server = peer(SMALL)
    client = Client(server)
    tracemalloc.start()
    try:
        attack(client)
        client.peer.take()
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert left < MOST
    assert isinstance(Client(server).begin(), Begin)


def test_what_is_announced_is_not_waited_for_in_memory() -> None:
    client = Client(peer(SMALL), opened=False)
    client.send(HEADER, b"\x00\x00\x02\x00\x02\x00\x00\x00", bytes(400))
    assert len(client.listen()) == 1
    assert len(client.peer._reader.pending) == 408


def test_transfers_on_many_links_are_counted_together() -> None:
    client = Client(peer(SMALL))
    unfinished_messages(client)
    assert client.server.nodes.octets <= SMALL.stored
    client.peer.hang_up()
    assert client.server.nodes.octets == 0
