"""basic.nack of the reference peer."""

from typing import Any

import pytest

from harness.amqp0_9_1.peer.tests.dialogue import queue_with
from harness.amqp0_9_1.rabbitmq.peer import Peer
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel


def test_nack_refuses_one_several_and_all() -> None:
    for nack, left in (
        (Basic.Nack(2), [b"1", b"3"]),
        (Basic.Nack(2, True), [b"3"]),
        (Basic.Nack(0, True), []),
    ):
        client = queue_with(b"1", b"2", b"3", kind=Peer)
        for _ in range(3):
            client.get()
        client.send(nack)
        client.ask(Channel.Close())
        assert [client.get(channel=2).body for _ in left] == left
        assert client.get(channel=2) is None


def test_what_nack_puts_back_has_its_old_place_and_is_for_other_channels() -> None:
    client = queue_with(b"1", b"2", b"3", kind=Peer)
    for _ in range(2):
        client.get()
    client.send(Basic.Nack(2, requeue=True))
    assert client.get().body == b"3"
    assert client.get() is None
    assert client.get(channel=2).body == b"2"
    client = queue_with(b"1", kind=Peer, rejected="redeliver")
    client.get()
    client.send(Basic.Nack(1, requeue=True))
    assert client.get().method.redelivered


@pytest.mark.parametrize("method", [Basic.Nack(9), Basic.Nack(9, True), Basic.Nack(0)])
def test_nack_refuses_unknown_tags(method: Any) -> None:
    client = queue_with(b"1", kind=Peer)
    client.get()
    assert client.is_refused(method) == (406, "channel")
