"""What the errata have the reference peer do."""

import struct
from typing import Any

import pytest

from harness.amqp0_9_1.peer.tests.dialogue import Client, peer, queue_with
from harness.amqp0_9_1.rabbitmq.contents import properties_of
from harness.amqp0_9_1.rabbitmq.field_types import in_the_grammar
from harness.amqp0_9_1.rabbitmq.peer import Peer
from harness.amqp0_9_1.wire.field_tables import longstr, shortstr
from harness.amqp0_9_1.wire.frames import BODY, HEADER, Frame, method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Queue


def headed(flags: int, *properties: bytes) -> bytes:
    return struct.pack(">HHQH", 60, 0, 1, flags) + b"".join(properties)


def entry(letter: bytes, value: bytes) -> bytes:
    return shortstr("name") + letter + value


PRACTICE = (
    entry(b"s", b"\xff\xfe"),
    entry(b"l", bytes(8)),
    entry(b"x", longstr(b"\xff")),
    entry(b"F", longstr(entry(b"s", bytes(2)))),
    entry(b"A", longstr(b"x" + longstr(b"s") + b"I" + bytes(4) + b"D" + bytes(5))),
    entry(b"t", b"\x01"),
)
GRAMMAR = (
    entry(b"U", b"\xff\xfe"),
    entry(b"L", bytes(8)),
    entry(b"S", longstr(b"\xff")),
    entry(b"F", longstr(entry(b"U", bytes(2)))),
    entry(b"A", longstr(b"S" + longstr(b"s") + b"I" + bytes(4) + b"D" + bytes(5))),
    entry(b"t", b"\x01"),
)


def test_letters_of_practice_become_those_of_the_grammar() -> None:
    for texts, flags in (((), 0x2000), ((shortstr("s"), shortstr("x")), 0xE000), ((shortstr("l"),), 0x6000)):
        given, wanted = (headed(flags, *texts, longstr(b"".join(each))) for each in (PRACTICE, GRAMMAR))
        assert in_the_grammar(given) == wanted


@pytest.mark.parametrize(
    "header", [headed(0x8000, shortstr("s")), headed(0x2000), headed(0x2000, b"\0\0\0\x09\x04s")]
)
def test_headers_without_a_table_stay(header: bytes) -> None:
    assert in_the_grammar(header) == header


def test_a_table_of_practice_comes_back_as_it_was() -> None:
    client = queue_with(kind=Peer)
    header = headed(0x2000, longstr(PRACTICE[0]))
    client.send(method_frame(1, Basic.Publish("", "q")), Frame(HEADER, 1, header), Frame(BODY, 1, b"x"))
    client.send(Basic.Get("q"))
    assert header in client.peer.take()


def test_a_table_of_practice_can_be_read() -> None:
    client = queue_with(kind=Peer)
    header = headed(0x2000, longstr(PRACTICE[0]))
    client.send(method_frame(1, Basic.Publish("", "q")), Frame(HEADER, 1, header), Frame(BODY, 1, b"x"))
    server = client.peer.peer
    (kept,) = server.virtual_hosts["/"].queues["q"]
    read: Any = properties_of(kept.message)
    assert read.headers == {"name": -2}


def test_an_exclusive_queue_is_not_durable() -> None:
    client = Client(peer(kind=Peer))
    assert client.declare("r", durable=True, exclusive=True).queue == "r"
    assert client.declare("r", exclusive=True).queue == "r"


@pytest.mark.parametrize("method", [Queue.Bind("q", "", "key"), Queue.Unbind("q", "", "q")])
def test_the_default_exchange_is_left_alone(method: Any) -> None:
    assert queue_with(kind=Peer).is_refused(method) == (403, "channel")
