"""Streams of the reference peer."""

from typing import Any

import pytest

from harness.amqp0_9_1.peer.tests.dialogue import Client, Message, peer
from harness.amqp0_9_1.rabbitmq.peer import Peer
from harness.amqp0_9_1.wire.field_tables import As, Timestamp
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Queue

STREAM = {"x-queue-type": "stream"}


def stream(*bodies: bytes, channels: int = 3, **choices: Any) -> Client:
    """A client whose peer has a stream q with these messages, and a limit on its second and third channel."""
    client = Client(peer(kind=Peer, **choices), channels=channels)
    client.declare(durable=True, arguments=STREAM)
    for channel in (2, 3):
        client.ask(Basic.Qos(prefetch_count=10), channel)
    for body in bodies:
        client.publish(body=body)
    return client


def read(client: Client, offset: Any = None, channel: int = 2, **arguments: Any) -> list[bytes]:
    """Start a reader and give what comes at once."""
    asked = arguments if offset is None else {"x-stream-offset": offset, **arguments}
    client.send(Basic.Consume("q", arguments=asked), channel=channel)
    return client.bodies()


@pytest.mark.parametrize(
    "flags",
    [
        {"durable": False},
        {"exclusive": True},
        {"arguments": {**STREAM, "x-max-age": "7X"}},
        {"arguments": {**STREAM, "x-max-age": 7}},
        {"arguments": {**STREAM, "x-stream-filter-size-bytes": 15}},
    ],
)
def test_what_no_stream_can_be_is_refused(flags: dict[str, Any]) -> None:
    client = stream()
    declare = Queue.Declare("r", **{"durable": True, "arguments": STREAM, **flags})
    assert client.is_refused(declare) == (406, "channel")
    assert client.declare("r", **{**flags, "durable": True, "exclusive": False, "arguments": {}}).queue == "r"


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        ("first", [b"0", b"1", b"2"]),
        ("last", [b"2"]),
        ("next", []),
        (None, []),
        (1, [b"1", b"2"]),
        (9, []),
        (As("T", Timestamp(0)), [b"0", b"1", b"2"]),
        (As("T", Timestamp(1 << 33)), []),
        ("1h", [b"0", b"1", b"2"]),
    ],
)
def test_reading_begins_where_it_is_asked_for(offset: Any, expected: list[bytes]) -> None:
    client = stream(b"0", b"1", b"2")
    assert read(client, offset) == expected
    client.publish(body=b"3")
    assert client.bodies() == [b"3"]


def test_the_last_chunk_may_be_all_there_is() -> None:
    client = stream(b"0", b"1", chunks="of all there is")
    assert read(client, "last") == [b"0", b"1"]


def test_what_was_read_is_there_for_others_and_over_a_restart() -> None:
    client = stream(b"0", b"1")
    assert read(client, "first") == [b"0", b"1"]
    client.send(Basic.Ack(1), Basic.Nack(2, requeue=True), channel=2)
    assert client.bodies() == []
    assert read(client, "first", channel=3) == [b"0", b"1"]
    server = client.peer.peer
    assert isinstance(server, Peer)
    server.restart()
    again = Client(server)
    again.ask(Basic.Qos(prefetch_count=10))
    assert read(again, "first", channel=1) == [b"0", b"1"]


def test_a_reader_that_goes_leaves_nothing() -> None:
    client = stream(b"0", b"1", b"2")
    client.ask(Basic.Qos(prefetch_count=1), 2)
    assert read(client, "first") == [b"0"]
    assert client.ask(Channel.Close(), 2) == Channel.CloseOk()
    assert read(client, "first", channel=3) == [b"0", b"1", b"2"]
    assert client.bodies() == []


def test_readers_say_what_they_can_take_and_acknowledge() -> None:
    client = stream()
    assert client.is_refused(Basic.Consume("q")) == (406, "channel")
    assert client.is_refused(Basic.Consume("q", no_ack=True), channel=2) == (406, "channel")
    client.ask(Basic.Qos(prefetch_count=10, global_=True), 3)
    assert client.is_refused(Basic.Consume("q"), channel=3) == (406, "channel")


def test_a_place_that_is_none_is_refused() -> None:
    consume = Basic.Consume("q", arguments={"x-stream-offset": "middle"})
    assert stream().is_refused(consume, channel=2) == (406, "channel")


@pytest.mark.parametrize(
    ("asked", "unfiltered", "expected"),
    [("a", False, [b"a"]), (["a", "b"], False, [b"a", b"b"]), ("a", True, [b"a", b""])],
)
def test_filters_pass_what_they_ask_for(asked: Any, unfiltered: bool, expected: list[bytes]) -> None:
    client = stream()
    for value in ("a", "b", ""):
        client.publish(body=value.encode(), headers={"x-stream-filter-value": value} if value else {})
    more = {"x-stream-filter": asked, "x-stream-match-unfiltered": unfiltered}
    assert read(client, "first", **more) == expected


def test_messages_tell_their_offset_and_keep_their_order() -> None:
    client = stream()
    for priority in (0, 9):
        client.publish(body=b"%d" % priority, priority=priority, headers={"a": 1})
    client.send(Basic.Consume("q", arguments={"x-stream-offset": "first"}), channel=2)
    came = [each for each in client.listen() if isinstance(each, Message)]
    assert [each.body for each in came] == [b"0", b"9"]
    carried: list[Any] = [each.properties for each in came]
    assert [each.headers for each in carried] == [{"a": 1, "x-stream-offset": n} for n in (0, 1)]
