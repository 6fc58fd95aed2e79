"""Quorum queues of the reference peer."""

from typing import Any

import pytest

from harness.amqp0_9_1.peer.tests.dialogue import Client, peer
from harness.amqp0_9_1.rabbitmq.peer import Peer
from harness.amqp0_9_1.wire.vocabulary import Basic, Queue


def client_with(*bodies: bytes, **arguments: Any) -> Client:
    """A client whose peer has a quorum queue q with these messages."""
    client = Client(peer(kind=Peer), channels=3)
    spelt = {f"x-{name.replace('_', '-')}": value for name, value in arguments.items()}
    client.declare("q", durable=True, arguments={"x-queue-type": "quorum", **spelt})
    for body in bodies:
        client.publish(body=body)
    return client


def put_back(client: Client) -> Any:
    """Take a message and put it back by the end of its channel; gives it."""
    taken = client.get()
    client.send(Basic.Recover(requeue=True))
    client.listen()
    return taken


@pytest.mark.parametrize("flags", [{"durable": False}, {"exclusive": True}, {"queue": ""}])
def test_what_no_quorum_queue_can_be_is_refused(flags: Any) -> None:
    client = Client(peer(kind=Peer))
    wanted = Queue.Declare("other", durable=True, arguments={"x-queue-type": "quorum"})
    assert client.is_refused(wanted.replace(**flags)) == (406, "channel")


def test_it_is_not_consumed_from_under_a_limit_of_the_channel() -> None:
    client = client_with()
    client.ask(Basic.Qos(0, 1, True))
    assert client.is_refused(Basic.Consume("q")) == (540, "channel")


def test_what_comes_back_is_counted_and_dropped_at_last() -> None:
    client = client_with(b"1", delivery_limit=2)
    told = [(put_back(client).properties.headers or {}).get("x-delivery-count") for _ in range(3)]
    assert told == [None, 1, 2]
    assert client.get() is None


def test_without_a_limit_it_comes_back_behind_others() -> None:
    client = client_with(b"1", b"2", delivery_limit=-1)
    put_back(client)
    assert [client.get().body for _ in range(2)] == [b"2", b"1"]
    client = client_with(b"1", b"2")
    put_back(client)
    assert client.get().body == b"1"


def test_two_high_ones_go_before_a_normal_one_that_came_before() -> None:
    client = client_with()
    for body, priority in ((b"n", 4), (b"h1", 5), (b"h2", 9), (b"h3", 7), (b"m", None)):
        client.publish(body=body, priority=priority)
    assert [client.get().body for _ in range(5)] == [b"h1", b"h2", b"n", b"h3", b"m"]


def test_all_its_messages_outlive_a_restart() -> None:
    server = peer(kind=Peer)
    client = Client(server)
    client.declare("q", durable=True, arguments={"x-queue-type": "quorum"})
    client.publish(body=b"1")
    server.restart()
    assert Client(server).get().body == b"1"
