"""The connection of the 1.0 reference peer: opens, frames, closes."""

from __future__ import annotations

from typing import Any

import pytest

from harness.amqp1_0.peer import Limits, Peer
from harness.amqp1_0.peer.policy import Refusal
from harness.amqp1_0.peer.tests.dialogue import EMPTY, HEADER, SASL, Client, peer
from harness.amqp1_0.wire.encoding import encode
from harness.amqp1_0.wire.frames import SASL as SASL_TYPE
from harness.amqp1_0.wire.frames import Frame, RawFrame, amqp_frame
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Begin,
    Close,
    ConnectionError_,
    Error,
    Open,
    SaslInit,
)
from harness.amqp1_0.wire.types import As, Described, Map, Raw, Symbol, Ulong
from harness.wire.units import Header

OPEN = Open("me")
FRAMING = str(ConnectionError_.FRAMING_ERROR)


# -- the open ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "condition"),
    [
        (Open(), AmqpError.INVALID_FIELD),
        (Described(Ulong(0x10), ()), AmqpError.INVALID_FIELD),
        (Open(Raw(encode(5))), AmqpError.INVALID_FIELD),
        (OPEN.sent_as(unknown=("more",)), AmqpError.INVALID_FIELD),
        (Open("me", max_frame_size=511), AmqpError.INVALID_FIELD),
        (Open("me", max_frame_size=0), AmqpError.INVALID_FIELD),
        (Open("me", properties=Map({"string": 1})), AmqpError.INVALID_FIELD),
        (Open("me", properties=Map({None: 1})), AmqpError.INVALID_FIELD),
        (Begin(None, 0, 1, 1), AmqpError.ILLEGAL_STATE),
        (Begin(), AmqpError.ILLEGAL_STATE),
        (Close(), AmqpError.ILLEGAL_STATE),
        (EMPTY, AmqpError.ILLEGAL_STATE),
        (Frame(SASL_TYPE, 0, OPEN.encode()), FRAMING),
        (amqp_frame(1, OPEN), FRAMING),
        (HEADER, FRAMING),
        (Open("m" * 600), FRAMING),
    ],
)
def test_a_bad_first_frame_is_answered_by_open_and_close(said: Any, condition: str) -> None:
    octets = Frame(0, 0, encode(said)).encode() if isinstance(said, Described) else said
    client = Client(opened=False)
    assert client.condition(HEADER, octets) == condition
    assert client.peer.closed == ("fin" if isinstance(said, Close) else None)
    client.send(Begin(None, 0, 1, 1), EMPTY)
    assert client.listen() == []
    client.wait(3.1)
    assert client.peer.closed == "fin"
    client = Client(peer(refusal_before_open="end"), opened=False)
    client.send(HEADER, octets)
    assert client.listen() == [HEADER]
    assert client.peer.closed == "fin"
    client = Client(peer(open="first"), opened=False)
    if condition != FRAMING or not isinstance(said, Open):
        assert client.condition(HEADER, octets) == condition


def test_a_refused_client_may_close_or_open() -> None:
    for last in ((Close(),), (OPEN, Close()), (Close(Raw(encode("odd"))),)):
        client = Client(opened=False)
        client.condition(HEADER, Begin(None, 0, 1, 1))
        client.send(*last)
        assert client.listen() == []
        assert client.peer.closed == "fin"


def test_what_the_policy_ignores_is_ignored() -> None:
    given: list[tuple[dict[str, Any], Any]] = [
        ({"property_keys": "ignore"}, (Open("me", properties=Map({"string": 1})),)),
        ({"small_frame_size": "ignore"}, (Open("me", max_frame_size=0),)),
        ({"premature_empty": "ignore"}, (EMPTY, OPEN)),
        ({"foreign_type": "ignore"}, (Frame(SASL_TYPE, 0, OPEN.encode()), OPEN)),
        ({"second_open": "ignore"}, (OPEN, Open("you"))),
        ({"open_payload": "ignore"}, (amqp_frame(0, OPEN, bytes(4)),)),
    ]
    for choices, said in given:
        client = Client(peer(**choices), opened=False)
        client.send(HEADER, *said, Close())
        assert [type(each) for each in client.listen()] == [Header, Open, Close]


def test_where_the_policy_says_so_the_condition_is_another() -> None:
    other = AmqpError.NOT_IMPLEMENTED
    client = Client(peer(missing_field=other), opened=False)
    assert client.condition(HEADER, Open()) == other
    for said, choices in (
        (amqp_frame(0, OPEN, bytes(4)), {"open_payload": Refusal(other)}),
        (Open("me", properties=Map({"string": 1})), {"property_keys": Refusal(other)}),
        (Begin(None, 0, 1, 1), {"premature": other}),
        (Close(), {"premature": other}),
        (EMPTY, {"premature_empty": Refusal(other)}),
    ):
        client = Client(peer(**choices), opened=False)
        assert client.condition(HEADER, said) == other
        client.send(Close())
        assert client.listen() == []
        assert client.peer.closed == "fin"


def test_an_equal_header_comes_back_whatever_else_is_offered() -> None:
    client = Client(peer(offered_id="sasl"), opened=False)
    client.send(HEADER, OPEN)
    assert [type(each) for each in client.listen()] == [Header, Open]


def test_the_limits_of_an_open_hold_also_where_it_comes_second() -> None:
    client = Client(peer(open="first"), opened=False)
    client.send(HEADER, Open("me", idle_time_out=1000))
    client.listen()
    assert client.wait(0.6) == [EMPTY]


@pytest.mark.parametrize(
    "said",
    [
        Open("", "host", 512, 0, 0),
        Open("me", incoming_locales="i-klingon", outgoing_locales=("en-US",)),
        Open("me", incoming_locales=(), outgoing_locales=()),
        Open("me", offered_capabilities="x", desired_capabilities=("y",)),
        Open("me", properties={"unknown": Map({1: 2}), "list": (1, None)}),
        OPEN.sent_as(descriptor=Symbol("amqp:open:list")),
        OPEN.sent_as(width=10),
        Raw(encode(Described(As(0x80, 0x10), As(0xD0, ("me",))))),
        Frame(0, 0, OPEN.encode(), bytes(4)),
        Frame(0, 0, OPEN.encode(), Close().encode().ljust(8, b"\0")),
        amqp_frame(0, Open("m" * 487)),
    ],
)
def test_every_legal_open_is_answered_alike(said: Any) -> None:
    frame = Frame(0, 0, said.octets) if isinstance(said, Raw) else said
    client = Client(opened=False)
    client.send(HEADER, frame, EMPTY, Close())
    header, answer, close = client.listen()
    assert (header, close) == (HEADER, Close())
    assert answer.container_id == "amqp-conformance-peer"
    assert not list(answer.breaches())


# -- frames --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "condition"),
    [
        (RawFrame(size=0), FRAMING),
        (RawFrame(size=4), FRAMING),
        (RawFrame(size=7), FRAMING),
        (RawFrame(doff=0), FRAMING),
        (RawFrame(doff=1), FRAMING),
        (RawFrame(doff=4), FRAMING),
        (RawFrame(bytes(8), doff=255), FRAMING),
        (RawFrame(size=65537), FRAMING),
        (RawFrame(size=0xFFFFFFFF), FRAMING),
        (Frame(2, 0, Close().encode()), FRAMING),
        (Frame(255, 0, Close().encode()), FRAMING),
        (Frame(SASL_TYPE, 0, SaslInit("x").encode()), FRAMING),
        (Frame(0, 256), FRAMING),
        (amqp_frame(256, Begin(None, 0, 1, 1)), FRAMING),
        (amqp_frame(256, Close()), FRAMING),
        (HEADER, FRAMING),
        (Frame(0, 0, encode(Described(Ulong(0x19), ()))), AmqpError.DECODE_ERROR),
        (Frame(0, 0, encode(Described(Symbol("a:b"), ()))), AmqpError.DECODE_ERROR),
        (Frame(0, 0, SaslInit("x").encode()), AmqpError.DECODE_ERROR),
        (Frame(0, 0, encode((1, 2))), AmqpError.DECODE_ERROR),
        (Frame(0, 0, encode(None)), AmqpError.DECODE_ERROR),
        (Frame(0, 0, encode(Described(Ulong(0x11), None))), AmqpError.DECODE_ERROR),
        (Frame(0, 0, b"\x00\x53\x11\xc0\x05\x01\xa1"), AmqpError.DECODE_ERROR),
        (Frame(0, 0, b"\x00\x53\x11\x3f"), AmqpError.DECODE_ERROR),
        (Begin(None, 0, Raw(encode("text")), 1), AmqpError.INVALID_FIELD),
        (Begin(None, 0, None, 1), AmqpError.INVALID_FIELD),
        (OPEN, AmqpError.NOT_ALLOWED),
        (Open(), AmqpError.NOT_ALLOWED),
    ],
)
def test_a_bad_frame_is_answered_by_one_close_and_all_else_discarded(said: Any, condition: str) -> None:
    client = Client()
    assert client.condition(said) == condition
    readable = condition != FRAMING or isinstance(said, (Frame, Header))
    client.send(Begin(None, 0, 1, 1), Frame(0, 0, b"\xff"), EMPTY)
    assert client.listen() == []
    assert client.peer.closed is None
    if readable:
        client.send(Close())
    else:
        client.wait(3.0)
    assert client.listen() == []
    assert client.peer.closed == "fin"


def test_a_frame_as_large_as_allowed_is_taken_and_one_octet_more_is_not() -> None:
    client = Client()
    client.send(Frame(0, 255, b"", bytes(1012)), Frame(0, 0, b"", bytes(1000)), Begin(None, 0, 1, 1))
    assert isinstance(client.hear(), Begin)
    client = Client(peer(max_frame_size=512))
    assert client.ask(RawFrame(Begin(None, 0, 1, 1).encode().ljust(504, b"\0"))).remote_channel == 0
    # What is too large is passed over, and its end found: the close behind it is read.
    assert client.condition(RawFrame(bytes(505))) == FRAMING
    client.send(Close())
    assert client.peer.closed == "fin"
    unstated = Client(peer(Limits(frame=2048), max_frame_size=None))
    assert unstated.condition(RawFrame(bytes(2041))) == FRAMING


def test_a_bad_frame_and_a_close_in_one_write_get_one_close() -> None:
    client = Client()
    both = Frame(0, 0, encode(None)).encode() + amqp_frame(0, Close()).encode()
    assert client.condition(both) == AmqpError.DECODE_ERROR
    assert client.peer.closed == "fin"


# -- the end -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        Close(),
        Close().sent_as(width=1),
        Close(Error(AmqpError.INTERNAL_ERROR, "gone")),
        Close(Raw(encode("odd"))),
        amqp_frame(255, Close()),
    ],
)
def test_a_close_is_answered_and_ends(said: Any) -> None:
    client = Client()
    client.send(said, Begin(None, 0, 1, 1))
    assert client.listen() == [Close()]
    assert client.peer.closed == "fin"
    assert client.peer.next_timer() is None


def test_everything_in_one_write() -> None:
    client = Client(opened=False)
    octets = HEADER.octets + amqp_frame(0, OPEN).encode() + amqp_frame(0, Close()).encode()
    client.send(octets)
    assert [type(each) for each in client.listen()] == [Header, Open, Close]
    assert client.peer.closed == "fin"


def test_a_clients_close_is_waited_for_so_long() -> None:
    client = Client()
    client.condition(Frame(0, 0, encode(None)))
    assert client.wait(2.9) == []
    assert client.peer.closed is None
    assert client.wait(0.2) == []
    assert client.peer.closed == "fin"


def test_the_stream_may_end_behind_our_close() -> None:
    half = Client(peer(half_close=True))
    half.condition(Frame(0, 0, encode(None)))
    assert half.peer.closed == "fin"
    half.send(EMPTY)
    assert half.listen() == []
    half.send(Close())
    assert half.peer.state.name == "END"


def test_sockets_may_be_closed_by_a_reset_once_both_have_closed() -> None:
    client = Client(peer(socket_close="rst"))
    assert client.ask(Close()) == Close()
    assert client.peer.closed == "rst"
    client = Client(peer(socket_close="rst"), opened=False)
    client.send(b"GET / HT")
    assert client.peer.closed == "fin"


def test_the_socket_may_be_left_to_the_client_once_both_have_closed() -> None:
    client = Client(peer(socket_close="left to the client"))
    assert (client.ask(Close()), client.peer.closed) == (Close(), None)
    client.peer.end_of_stream()
    assert client.peer.closed == "fin"
    client = Client(peer(socket_close="left to the client"))
    client.condition(Frame(0, 0, encode(None)))
    client.wait(3.1)
    assert client.peer.closed == "fin"


def test_a_stream_that_ends_is_answered() -> None:
    client = Client()
    client.peer.end_of_stream()
    assert client.hear().error.condition == AmqpError.NOT_ALLOWED
    assert client.peer.closed == "fin"
    for begun in ((), (SASL,)):
        client = Client(opened=False)
        client.send(*begun)
        client.listen()
        client.peer.end_of_stream()
        assert client.listen() == []
        assert client.peer.closed == "fin"
    client = Client()
    client.peer.hang_up()
    assert client.listen() == []
    assert client.peer.closed == "fin"


def test_a_restart_is_told_or_not() -> None:
    for notice, said in (("close", [Close]), ("silent", [])):
        client, unopened = Client(peer(restart_notice=notice)), None
        unopened = client.server.connect(0.0)
        client.server.restart()
        heard = client.listen()
        assert [type(each) for each in heard] == said
        assert all(each.error.condition == ConnectionError_.CONNECTION_FORCED for each in heard)
        assert (client.peer.closed, unopened.closed) == ("fin", "fin")
        assert isinstance(Client(client.server).begin(), Begin)


def test_a_peer_that_has_stopped_reading_resets() -> None:
    client = Client()
    client.ask(Close())
    client.peer.reads_on = False
    client.send(bytes(64))
    assert client.peer.closed == "rst"


def test_there_are_no_facilities() -> None:
    with pytest.raises(KeyError, match="second-vhost"):
        Peer().use("second-vhost")
