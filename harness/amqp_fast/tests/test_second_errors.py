"""How the second implementation refuses: what is closed, and what it does until that is answered."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.amqp_fast.tests.second.client import INITIATION, Client
from harness.amqp_fast.tests.second.codec import CARRIERS, COMMANDS, encode, encode_header
from harness.amqp_fast.tests.second.server import NEVER, Connection, Server
from harness.amqp_fast.tests.second.stream import Command, Malformed, Splitter
from harness.amqp_fast.tests.second.talk import Talk
from harness.amqp_fast.tests.second.types import first
from harness.tests.streams import thorough

RESPONSE = encode("connection-response", mechanism="PLAIN", responses={"LOGIN": "guest", "PASSWORD": "guest"})


def commands(octets: bytes) -> list[tuple[str, dict[str, Any]]]:
    return [(each.name, each.fields) for each in Splitter().feed(octets) if isinstance(each, Command)]


def names(octets: bytes) -> list[str]:
    return [name for name, _ in commands(octets)]


# -- before CONNECTION OPEN ----------------------------------------------------------------------------


def begun(**settings: Any) -> Connection:
    return Server(**settings).connect()


def test_a_connection_begins() -> None:
    connection = begun(frame_max=4096, channel_max=5)
    assert connection.receive(INITIATION) == encode("connection-challenge", version=1, mechanisms="PLAIN")
    ((name, fields),) = commands(connection.receive(RESPONSE))
    assert name == "connection-tune"
    assert fields["dictionary"] == []
    options = first(fields["options"])
    assert (options[b"FRAME_MAX"], options[b"CHANNEL_MAX"], options[b"HANDLE_MAX"]) == (4096, 5, 0)
    said = encode("connection-tune", options={"FRAME_MAX": 1024}, dictionary={"ET": "Expiration-Time"})
    said += encode("connection-tune", options={"HEARTBEAT": 9, "WHATEVER": "else"})
    said += encode("connection-open", virtual_path="/", confirm_tag=9)
    ((name, fields),) = commands(connection.receive(said))
    assert (name, fields["confirm_tag"], fields["reply_code"]) == ("connection-reply", 9, 200)
    assert connection.frame_max == 1024


def test_all_may_be_said_at_once_octet_by_octet() -> None:
    connection = begun()
    said = (
        INITIATION
        + RESPONSE
        + encode("connection-open", virtual_path="/")
        + encode("channel-open", channel_id=1)
    )
    said += encode("channel-close", channel_id=1)
    heard = b"".join(connection.receive(bytes((octet,))) for octet in said)
    assert names(heard) == ["connection-challenge", "connection-tune", "channel-close"]


@pytest.mark.parametrize("version", [1, 2, 255])
def test_a_higher_version_is_answered_with_ours(version: int) -> None:
    connection = begun()
    assert commands(connection.receive(bytes((128, version))))[0][1]["version"] == 1
    assert not connection.closed


@pytest.mark.parametrize(
    "said",
    [
        b"\x80\x00",
        b"GET /",
        b"\x81\x01",
        INITIATION
        + encode("connection-response", mechanism="PLAIN", responses={"LOGIN": "guest", "PASSWORD": "x"}),
        INITIATION + RESPONSE[:-1] + b"\xcf",
        INITIATION + encode("connection-open", virtual_path="/"),
        INITIATION + RESPONSE + RESPONSE,
        INITIATION + RESPONSE + encode("channel-open", channel_id=1),
        INITIATION + RESPONSE + encode("connection-reply"),
        INITIATION + RESPONSE + encode("connection-tune", options={"A": "x" * 4090}),
        INITIATION + encode("connection-response", mechanism="PLAIN", responses={"A": "x" * 4090}),
        INITIATION + encode("connection-response", mechanism="PLAIN", responses={"A": "x" * 40000}),
    ],
)
def test_the_network_is_closed_without_a_word(said: bytes) -> None:
    connection = begun()
    assert "connection-close" not in names(connection.receive(said))
    assert connection.closed
    assert connection.receive(RESPONSE) == b""


@pytest.mark.parametrize(
    "said",
    [
        encode("connection-response", mechanism="TLS"),
        encode("connection-response", mechanism="PLAIN", responses={"LOGIN": "guest"}),
        encode("connection-response", mechanism="PLAIN", responses={"LOGIN": 1, "PASSWORD": "guest"}),
        encode("connection-response", mechanism="PLAIN", responses={"login": "guest", "password": "guest"}),
        RESPONSE + encode("connection-tune", options={"FRAME_MAX": 1023}),
        RESPONSE + encode("connection-tune", options={"FRAME_MAX": 4097}),
        RESPONSE + encode("connection-tune", options={"FRAME_MAX": "x"}),
        RESPONSE + encode("connection-tune", options={"CHANNEL_MAX": 6}),
        RESPONSE + encode("connection-tune", options={"CHANNEL_MAX": 0}),
        RESPONSE + encode("connection-open", virtual_path="/elsewhere"),
    ],
)
def test_what_cannot_be_agreed_closes_the_connection(said: bytes) -> None:
    connection = begun(frame_max=4096, channel_max=5)
    assert names(connection.receive(INITIATION + said))[-1] == "connection-close"
    assert not connection.closed
    assert names(connection.receive(encode("connection-ping", respond=True))) == ["connection-close"]
    assert connection.receive(encode("connection-close")) == b""
    assert connection.closed


def test_what_is_just_within_the_limits_is_agreed() -> None:
    connection = begun(frame_max=4096, channel_max=5)
    least = len(encode("connection-tune", options={"A": ""}))
    padded = encode("connection-tune", options={"A": "x" * (4096 - least)})
    assert len(padded) == 4096
    options = {"FRAME_MAX": 4096, "CHANNEL_MAX": 5, "HANDLE_MAX": 0}
    said = INITIATION + RESPONSE + padded + encode("connection-tune", options=options)
    said += encode("connection-open", virtual_path="/", confirm_tag=1)
    assert names(connection.receive(said))[-1] == "connection-reply"


def test_a_client_has_one_connection() -> None:
    talk = Talk()
    first_one = talk.client(name="me")
    assert talk.client(name="me").hear("connection-close")
    connection = talk.connection(first_one)
    talk.lose(first_one)
    assert not talk.client(name="me").hear("connection-close")
    connection.lost()
    assert talk.client(name="me").hear("connection-close"), "the name is of another by now"


# -- behind it -----------------------------------------------------------------------------------------


def test_a_client_answers_what_is_asked_of_it() -> None:
    client, _ = opened()
    assert client.receive(encode("connection-ping", respond=True)) == encode("connection-ping")
    with pytest.raises(ValueError, match="0xcf in place of 0xce"):
        client.receive(b"\x00\x03\x0e\x01\xcf")


def test_a_ping_is_answered_where_that_is_asked_for() -> None:
    talk = Talk()
    client = talk.client()
    client.say("connection-ping")
    talk()
    assert client.hear("connection-ping") == []
    client.say("connection-ping", respond=True)
    talk()
    assert client.hear("connection-ping") == [{"respond": False}]


SEND = {"handle_id": 1, "service_type": 1, "dest_name": "q"}
CONSUME = {"handle_id": 1, "service_type": 1, "dest_name": "q", "prefetch": 1}
ERRORS: list[tuple[str, int, str, dict[str, Any]]] = [
    ("connection", 503, "connection-tune", {}),
    ("connection", 503, "connection-open", {}),
    ("connection", 503, "connection-challenge", {}),
    ("connection", 503, "channel-reply", {"channel_id": 1}),
    ("connection", 503, "handle-created", {"handle_id": 1}),
    ("connection", 503, "handle-notify", {"handle_id": 1}),
    ("connection", 504, "channel-ack", {"channel_id": 2}),
    ("connection", 504, "channel-close", {"channel_id": 2}),
    ("connection", 504, "handle-open", {"channel_id": 2, "handle_id": 9}),
    ("connection", 504, "handle-flow", {"handle_id": 9}),
    ("connection", 504, "handle-close", {"handle_id": 9}),
    ("connection", 504, "handle-flow", {"handle_id": 5}),
    ("connection", 504, "channel-ack", {"channel_id": 5}),
    ("connection", 504, "handle-send", SEND | {"handle_id": 9}),
    ("connection", 530, "channel-open", {"channel_id": 0}),
    ("connection", 506, "channel-open", {"channel_id": 3}),
    ("channel", 503, "channel-open", {"channel_id": 1}),
    ("channel", 530, "channel-commit", {"channel_id": 1}),
    ("channel", 530, "channel-rollback", {"channel_id": 1}),
    ("channel", 530, "handle-open", {"channel_id": 1, "handle_id": 0}),
    ("channel", 506, "handle-open", {"channel_id": 1, "handle_id": 4}),
    ("handle", 503, "handle-open", {"channel_id": 1, "handle_id": 1}),
    ("handle", 530, "handle-send", SEND | {"service_type": 4}),
    ("handle", 540, "handle-send", SEND | {"out_of_band": True}),
    ("handle", 404, "handle-send", SEND | {"dest_name": "nowhere"}),
    ("handle", 404, "handle-send", SEND | {"service_type": 2, "dest_name": ""}),
    ("handle", 503, "handle-send", SEND | {"recovery": True}),
    ("handle", 530, "handle-prepare", {"handle_id": 1}),
    ("handle", 503, "handle-ready", {"handle_id": 1}),
    ("handle", 530, "handle-consume", CONSUME | {"service_type": 3}),
    ("handle", 530, "handle-consume", CONSUME | {"prefetch": 0}),
    ("handle", 404, "handle-consume", CONSUME | {"dest_name": "nowhere"}),
    ("handle", 404, "handle-consume", CONSUME | {"dest_name": ""}),
    ("handle", 404, "handle-consume", CONSUME | {"service_type": 2, "dest_name": "", "dynamic": True}),
    ("handle", 530, "handle-consume", CONSUME | {"dest_name": "mine"}),
    ("handle", 405, "handle-consume", CONSUME | {"dest_name": "taken"}),
    ("handle", 405, "handle-consume", CONSUME | {"dest_name": "shared", "exclusive": True}),
    ("handle", 310, "handle-unget", {"handle_id": 1, "message_nbr": 1}),
    ("handle", 540, "handle-query", {"handle_id": 1, "dest_name": "q", "selector": "x"}),
    ("handle", 403, "handle-send", SEND | {"handle_id": 2}),
    ("handle", 403, "handle-consume", CONSUME | {"handle_id": 2}),
    ("handle", 403, "handle-query", {"handle_id": 2, "dest_name": "q"}),
    ("handle", 403, "handle-browse", {"handle_id": 2}),
    ("handle", 403, "handle-prepare", {"handle_id": 2}),
]


@pytest.mark.parametrize(("level", "code", "command", "fields"), ERRORS)
def test_an_error_closes_what_it_is_about(
    level: str, code: int, command: str, fields: dict[str, Any]
) -> None:
    talk = Talk(queues=["q", "mine", "taken", "shared"], channel_max=2, handle_max=3)
    client, other = talk.client(), talk.client()
    other.consume("taken", exclusive=True)
    other.consume("shared")
    client.consume("mine")
    client.open_channel(5)
    client.open_handle(5, channel=5)
    client.say("handle-close", handle_id=5)
    client.say("channel-close", channel_id=5)
    client.open_channel(9)
    client.open_handle(2, producer=False, consumer=False, browser=False)
    client.open_handle(3, channel=9)
    talk()
    client.heard.clear()
    fragment = encode_header() if command in ("handle-send", "handle-prepare") else b""
    client.say(command, b"" if fields.get("out_of_band") else fragment, **fields)
    talk()
    client.say("handle-flow", handle_id=3, confirm_tag=1)
    talk()
    closed = {name: each["reply_code"] for name, each in client.heard if name.endswith("-close")}
    assert closed == {f"{level}-close": code}
    assert len(client.hear("handle-reply")) == (level != "connection")
    assert client.closed == talk.connection(client).closed == (level == "connection")


def test_until_a_handle_is_closed_what_is_said_on_it_is_passed_over() -> None:
    client, connection = opened()
    client.consume("nowhere")
    client.send("q", b"lost", tag=1)
    client.open_handle(1, confirm_tag=1)
    assert names(connection.receive(client.take())) == ["handle-close"]
    client.say("handle-close", handle_id=1)
    client.open_handle(1, confirm_tag=2)
    assert names(connection.receive(client.take())) == ["handle-reply"]


def test_a_handle_that_is_closed_may_be_closed_again() -> None:
    client, connection = opened()
    for _ in range(2):
        client.say("handle-close", handle_id=1)
    assert names(connection.receive(client.take())) == ["handle-close"]


def test_until_a_channel_is_closed_it_is_closed_again() -> None:
    client, connection = opened()
    client.open_channel()
    client.send("q", b"lost", tag=1)
    client.open_handle(2)
    client.ack(1)
    client.open_channel()
    assert names(connection.receive(client.take())) == ["channel-close"] * 5
    for _ in range(5):
        client.say("channel-close", channel_id=1)
    client.open_channel(confirm_tag=1)
    client.open_handle(1, confirm_tag=1)
    assert names(connection.receive(client.take())) == ["channel-reply", "handle-reply"]


def test_what_is_malformed_closes_the_connection() -> None:
    _, connection = opened()
    assert names(connection.receive(b"\x00\x03\x0e\x01\xcf")) == ["connection-close"]
    assert names(connection.receive(b"\x00\x02\x63\xce")) == ["connection-close"]
    assert names(connection.receive(encode("connection-close"))) == []
    assert connection.closed


def test_a_fragment_that_is_too_large_closes_the_connection() -> None:
    client, connection = opened(frame_max=1024)
    client.say("handle-send", bytes(1025), handle_id=1, service_type=1, dest_name="q")
    client.say("connection-close")
    assert names(connection.receive(client.take())) == ["connection-close"]
    assert connection.closed


def opened(**settings: Any) -> tuple[Client, Connection]:
    talk = Talk(**settings)
    client = talk.client()
    return client, talk.connection(client)


# -- whatever comes ------------------------------------------------------------------------------------

POOLS: dict[str, st.SearchStrategy[Any]] = {
    "octet": st.integers(0, 2),
    "short": st.sampled_from([1, 1, 1, 2, 0]),
    "long": st.integers(0, 3),
    "bit": st.booleans(),
    "short-string": st.sampled_from(["q", "q", "t", ""]),
    "long-string": st.just(""),
    "table": st.sampled_from([{}, {"A": 1}]),
}
FRAGMENTS = st.sampled_from([b"", encode_header(), encode_header(body_size=2) + b"a", b"b", b"\0"])


@st.composite
def said(draw: st.DrawFn) -> bytes:
    """Any command of a client to channels and handles, with what follows it."""
    asked = [each for each in COMMANDS if each.code >= 20 and each.name not in NEVER]
    command = draw(st.sampled_from(asked))
    fields = {field.name: draw(POOLS[field.kind]) for field in command.fields}
    fragment = draw(FRAGMENTS) if command.name in CARRIERS and not fields.get("out_of_band") else b""
    if command.name in CARRIERS:
        fields["fragment_size"] = len(fragment)
    return encode(command.name, **fields) + fragment


@thorough
@given(st.lists(st.tuples(st.booleans(), said()), max_size=40), st.booleans())
def test_whatever_clients_say_it_is_answered(dialogue: list[tuple[bool, bytes]], prepares: bool) -> None:
    talk = Talk(restart="full", prepares=prepares)
    modes = {"transacted": True, "restartable": True}
    sides = [talk.connection(talk.client(channel=mode)) for mode in ({}, modes)]
    for side, octets in dialogue:
        heard = list(Splitter().feed(sides[side].receive(octets)))
        assert not any(isinstance(item, Malformed) for item in heard)
    for connection in sides:
        connection.lost()
    host = talk.server.hosts[b"/"]
    assert not any(queue.consumers for queue in host.queues.values())
    assert host.subscriptions == []
