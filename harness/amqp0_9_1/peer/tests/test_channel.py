import struct
from typing import Any

import pytest

from harness.amqp0_9_1.peer import Limits
from harness.amqp0_9_1.peer.policy import Refusal
from harness.amqp0_9_1.peer.tests.dialogue import Client, peer, raw
from harness.amqp0_9_1.wire.frames import (
    BODY,
    HEADER,
    METHOD,
    ContentHeader,
    Frame,
    content_frames,
    method_frame,
)
from harness.amqp0_9_1.wire.vocabulary import (
    COMMAND_INVALID,
    NOT_ALLOWED,
    UNEXPECTED_FRAME,
    Basic,
    Channel,
    Connection,
    Queue,
    Tx,
)

PUBLISH = Basic.Publish("", "q")
NONE = Basic.Properties()


def header(
    size: Any, properties: Any = NONE, class_index: Any = 60, weight: Any = 0, channel: Any = 1
) -> Any:
    payload = ContentHeader(class_index, size, properties, weight).encode()
    return Frame(HEADER, channel, payload)


def body(octets: Any, channel: Any = 1) -> Any:
    return Frame(BODY, channel, octets)


def test_channels_open_once_and_close() -> None:
    client = Client(peer(), channels=0)
    assert client.ask(Channel.Open()) == Channel.OpenOk()
    assert client.ask(Channel.Close()) == Channel.CloseOk()
    assert client.ask(Channel.Open()) == Channel.OpenOk()
    assert client.is_refused(Channel.Open()) == (504, "connection")


@pytest.mark.parametrize(
    "unopened", [Queue.Declare("q"), Channel.Close(), Channel.CloseOk(), body(b"x"), raw(HEADER, 1)]
)
def test_nothing_is_served_on_a_channel_not_open(unopened: Any) -> None:
    assert Client(peer(), channels=0).is_refused(unopened) == (504, "connection")


@pytest.mark.parametrize("code", [501, 502])
def test_open_that_cannot_be_read_is_no_method_on_a_channel_not_open(code: Any) -> None:
    client = Client(peer(undecodable=code), channels=0)
    assert client.is_refused(raw(METHOD, 1, Channel.Open().encode() + b"more")) == (code, "connection")


def test_channel_max_by_number_and_by_count() -> None:
    tune: dict[str, Any] = {"tune": Connection.TuneOk(2, 0, 0)}
    assert Client(peer(), channels=0, **tune).is_refused(Channel.Open(), channel=3) == (504, "connection")
    assert Client(peer(beyond_channel_max=NOT_ALLOWED), channels=2, **tune).is_refused(
        Channel.Open(), channel=3
    ) == (
        530,
        "connection",
    )
    counting = Client(peer(channel_max_is="count"), channels=0, **tune)
    for number in (9, 7):
        assert counting.ask(Channel.Open(), number) == Channel.OpenOk()
    assert counting.is_refused(Channel.Open(), channel=1) == (504, "connection")


def test_a_channel_exception_leaves_the_other_channels_alone() -> None:
    client = Client(peer(), channels=2)
    client.ask(Queue.Declare("q", passive=True), 1)
    assert client.ask(Queue.Declare("q"), 2).queue == "q"


def test_while_closing_only_close_and_close_ok_are_heard() -> None:
    client = Client(peer())
    refusal = client.ask(Queue.Declare("missing", passive=True))
    assert (refusal.reply_code, refusal.class_id, refusal.method_id) == (404, 50, 10)
    client.send(
        Queue.Declare("q"), Channel.Open(), PUBLISH, header(1), body(b"x"), raw(METHOD, 1, b"\0\x32\0\x0a")
    )
    assert client.listen() == []
    assert client.ask(Channel.Close()) == Channel.CloseOk()
    client.send(Channel.Open())
    assert client.listen() == []
    client.send(Channel.CloseOk())
    assert client.ask(Channel.Open()) == Channel.OpenOk()
    assert client.count("q") is None


@pytest.mark.parametrize(
    ("payload", "choices", "code"),
    [
        (b"\x03\xe7\0\x01", {}, 540),
        (b"\0\x32\0\x0a", {}, 501),
        (Queue.Declare("q", arguments={"1st": 1}).encode(), {}, 502),
        (
            Queue.Declare("q", arguments={"1st": 1}).encode(),
            {"illegal_field_name": Refusal(COMMAND_INVALID)},
            503,
        ),
        (Queue.Declare("q").encode() + b"x", {}, 501),
        (Queue.Declare("q\0").encode(), {}, 501),
    ],
)
def test_methods_that_cannot_be_read_are_refused(payload: Any, choices: Any, code: Any) -> None:
    assert Client(peer(**choices)).is_refused(raw(METHOD, 1, payload)) == (code, "connection")


@pytest.mark.parametrize(
    "method", [Queue.DeclareOk("q"), Basic.Deliver(), Channel.OpenOk(), Channel.FlowOk(), Tx.SelectOk()]
)
def test_methods_clients_do_not_send_are_refused(method: Any) -> None:
    assert Client(peer()).is_refused(method) == (503, "connection")


def test_content_comes_in_any_number_of_frames() -> None:
    client = Client(peer())
    client.declare()
    client.send(PUBLISH, header(0), PUBLISH, header(3), body(b""), body(b"a"), body(b"bc"))
    assert [client.get().body for _ in range(2)] == [b"", b"abc"]


def test_contents_on_different_channels_may_be_mixed() -> None:
    client = Client(peer(), channels=2)
    client.declare()
    other = method_frame(2, PUBLISH)
    client.send(PUBLISH, other, header(1, channel=2), header(1), body(b"2", 2), body(b"1"))
    assert [client.get().body for _ in range(2)] == [b"2", b"1"]


def test_properties_are_delivered_octet_by_octet() -> None:
    client = Client(peer())
    client.declare()
    payload = struct.pack(">HHQH", 60, 0, 0, 0x2000) + b"\0\0\0\x09\x01ku\0\x01\x01bB\x05"
    client.send(PUBLISH, Frame(HEADER, 1, payload))
    client.get()
    assert client.frames[1].payload == payload


@pytest.mark.parametrize(
    ("frames", "choices", "code"),
    [
        ([header(0)], {}, 505),
        ([body(b"x")], {}, 505),
        ([PUBLISH, body(b"x")], {}, 505),
        ([PUBLISH, header(1), header(1)], {}, 505),
        ([PUBLISH, header(1), body(b"xx")], {}, 505),
        ([PUBLISH, Queue.Declare("q")], {}, 505),
        ([PUBLISH, header(1), Queue.Declare("q")], {}, 505),
        ([PUBLISH, header(0, weight=1)], {}, 501),
        ([PUBLISH, header(0, class_index=50)], {}, 501),
        ([PUBLISH, header(0, class_index=50)], {"bad_content_header": UNEXPECTED_FRAME}, 505),
        ([PUBLISH, raw(HEADER, 1, b"\0\x3c")], {}, 501),
        ([PUBLISH, raw(HEADER, 1, struct.pack(">HHQH", 60, 0, 0, 1))], {}, 501),
        ([PUBLISH, raw(HEADER, 1, struct.pack(">HHQH", 60, 0, 0, 0x8000))], {}, 501),
        ([PUBLISH, header(0, Basic.Properties(headers={"1st": 1}))], {}, 502),
    ],
)
def test_bad_contents_are_refused(frames: Any, choices: Any, code: Any) -> None:
    client = Client(peer(**choices))
    assert client.is_refused(*frames) == (code, "connection")


def test_contents_too_large_are_refused_and_may_be_retried() -> None:
    client = Client(peer(Limits(content=10, stored=40)))
    client.declare()
    assert client.is_refused(PUBLISH, header(11)) == (311, "channel")
    for _ in range(2):
        client.publish(body=b"0123")
    assert client.is_refused(PUBLISH, header(9)) == (311, "channel")
    while client.get(no_ack=True):
        pass
    client.publish(body=b"012345678")
    assert client.count() == (1, 0)


def test_a_content_may_be_aborted_where_the_policy_reads_it_so() -> None:
    client = Client(peer(content_interrupted="abort"))
    client.send(PUBLISH, header(5), body(b"x"))
    assert client.declare().message_count == 0
    client.send(PUBLISH)
    assert client.get() is None
    client.publish()
    assert client.get().body == b"x"


def test_a_channel_may_be_closed_amid_a_content() -> None:
    client = Client(peer())
    client.send(PUBLISH, header(5))
    assert client.ask(Channel.Close()) == Channel.CloseOk()


def test_flow_stops_deliveries_but_not_get() -> None:
    client = Client(peer())
    client.declare()
    client.ask(Basic.Consume("q", "t"))
    assert client.ask(Channel.Flow(False)) == Channel.FlowOk(False)
    client.publish(body=b"1")
    assert client.listen() == []
    assert client.count() == (1, 0)
    assert client.get().body == b"1"
    client.publish(body=b"2")
    client.send(Channel.Flow(True))
    answer, delivery = client.listen()
    assert answer == Channel.FlowOk(True)
    assert delivery.body == b"2"


def test_publishers_are_paused_where_the_policy_throttles() -> None:
    client = Client(peer(pause_publishers_at=2), channels=2)
    client.declare()
    client.publish()
    assert client.listen() == []
    client.publish()
    assert client.hear() == Channel.Flow(False)
    client.send(Channel.FlowOk(False))
    client.publish()
    assert client.listen() == []
    client.get(channel=2)
    client.send(Basic.Get("q"))
    resumed, got = client.listen()
    assert resumed == Channel.Flow(True)
    assert got.body == b"x"
    client.send(Channel.FlowOk(True))
    assert client.is_refused(Channel.FlowOk(True)) == (503, "connection")


def test_the_frame_max_agreed_upon_is_kept() -> None:
    server = peer()
    client, narrow = Client(server), Client(server, tune=Connection.TuneOk(0, 4096, 0))
    client.declare()
    client.publish(body=bytes(10_000))
    client.publish(headers={"a": "x" * 5000})
    assert narrow.get().body == bytes(10_000)
    assert max(len(frame.encode()) for frame in narrow.frames) == 4096
    # A header cannot be cut: this one is not for a client with such small frames.
    assert narrow.get() is None
    assert client.get().properties.headers == {"a": "x" * 5000}


def test_frames_of_the_full_size_are_taken() -> None:
    client = Client(peer(), tune=Connection.TuneOk(0, 4096, 0))
    client.declare()
    client.send(*content_frames(1, PUBLISH, Basic.Properties(), bytes(4088), 4096))
    assert len(client.get().body) == 4088
    assert client.is_refused(raw(BODY, 1, bytes(4089))) == (501, "connection")
