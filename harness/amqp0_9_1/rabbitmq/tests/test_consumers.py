"""Consumers of the peer that serves the extensions: told, preferred, limited, served one at a time."""

from collections import Counter
from typing import Any

from harness.amqp0_9_1.peer.tests.dialogue import START_OK, Client, delivered, peer, queue_with
from harness.amqp0_9_1.rabbitmq.peer import Peer
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Queue

CAPABLE = START_OK.replace(client_properties={"capabilities": {"consumer_cancel_notify": True}})
SINGLE = {"x-single-active-consumer": True}


def consume(client: Client, tag: str, queue: str = "q", channel: int = 1, **flags: Any) -> None:
    assert client.ask(Basic.Consume(queue, tag, **flags), channel) == Basic.ConsumeOk(tag)


def test_a_client_that_asked_is_told_of_a_deleted_queue() -> None:
    server = peer(kind=Peer)
    capable, other = Client(server, start_ok=CAPABLE), Client(server)
    other.declare()
    consume(capable, "a")
    consume(other, "b")
    other.ask(Queue.Delete("q"))
    assert capable.hear() == Basic.Cancel("a", no_wait=True)
    assert other.listen() == []
    assert capable.ask(Basic.Cancel("a")) == Basic.CancelOk("a")


def test_who_deletes_the_queue_is_told_before_the_answer() -> None:
    client = Client(peer(kind=Peer), start_ok=CAPABLE)
    client.declare()
    consume(client, "a")
    client.send(Queue.Delete("q"))
    assert client.listen() == [Basic.Cancel("a", no_wait=True), Queue.DeleteOk(0)]


def test_messages_go_to_the_highest_priority_that_has_room() -> None:
    client = queue_with(kind=Peer)
    consume(client, "low", arguments={"x-priority": -1})
    client.ask(Basic.Qos(prefetch_count=1))
    consume(client, "high", arguments={"x-priority": 1})
    for body in (b"1", b"2"):
        client.publish(body=body)
    assert delivered(client) == [("high", b"1"), ("low", b"2")]
    client.send(Basic.Ack(1))
    client.publish(body=b"3")
    assert delivered(client) == [("high", b"3")]


def test_a_priority_is_an_integer() -> None:
    for wrong in ("high", True):
        client = queue_with(kind=Peer)
        consume(client, "a", arguments={"x-priority": 1})
        assert client.is_refused(Basic.Consume("q", "b", arguments={"x-priority": wrong})) == (406, "channel")


def test_a_limit_is_for_new_consumers_and_a_global_one_for_all() -> None:
    for together, expected in ((0, {"a": 2, "b": 3}), (4, {"a": 2, "b": 2})):
        client = queue_with(kind=Peer)
        client.ask(Basic.Qos(prefetch_count=together, global_=True))
        for tag, count in (("a", 2), ("b", 3)):
            client.ask(Basic.Qos(prefetch_count=count))
            consume(client, tag)
        for _ in range(6):
            client.publish()
        assert Counter(tag for tag, _ in delivered(client)) == expected


def test_one_consumer_is_active_until_it_ends() -> None:
    client = queue_with(kind=Peer)
    client.declare("s", arguments=SINGLE)
    consume(client, "a", "s", 2)
    consume(client, "b", "s")
    client.publish("s", b"1")
    assert delivered(client) == [("a", b"1")]
    client.send(Channel.Close(), channel=2)
    assert delivered(client) == [("b", b"1")]


def test_a_single_active_consumer_is_not_exclusive() -> None:
    client = Client(peer(kind=Peer))
    client.declare("s", arguments=SINGLE)
    assert client.is_refused(Basic.Consume("s", exclusive=True)) == (403, "channel")


def test_a_higher_priority_takes_over_a_quorum_queue_when_nothing_is_out() -> None:
    client = Client(peer(kind=Peer))
    client.declare("s", durable=True, arguments={"x-queue-type": "quorum", **SINGLE})
    consume(client, "a", "s")
    client.publish("s", b"1")
    assert delivered(client) == [("a", b"1")]
    consume(client, "b", "s", arguments={"x-priority": 10})
    client.publish("s", b"2")
    assert delivered(client) == []
    client.send(Basic.Ack(1))
    assert delivered(client) == [("b", b"2")]


def test_a_quorum_queue_does_not_look_at_exclusive() -> None:
    client = Client(peer(kind=Peer))
    client.declare("s", durable=True, arguments={"x-queue-type": "quorum"})
    consume(client, "a", "s", exclusive=True)
    consume(client, "b", "s", exclusive=True)
