"""The second implementation talks to itself of large messages, of what waits, of transfers that go on."""

from __future__ import annotations

from typing import Any

import pytest

from harness.amqp_fast.tests.second.client import INITIATION
from harness.amqp_fast.tests.second.codec import encode, encode_header
from harness.amqp_fast.tests.second.handle import listed
from harness.amqp_fast.tests.second.server import Connection
from harness.amqp_fast.tests.second.store import QUEUE
from harness.amqp_fast.tests.second.stream import Command, Splitter
from harness.amqp_fast.tests.second.talk import LARGE, Talk


@pytest.fixture
def talk() -> Talk:
    return Talk()


# -- fragments -----------------------------------------------------------------------------------------


def test_a_large_message_goes_in_fragments() -> None:
    talk = Talk(frame_max=2048)
    client = talk.client(FRAME_MAX=1024)
    client.consume("q")
    client.send("q", LARGE, tag=1)
    talk()
    assert client.read() == [LARGE]
    assert client.replies() == [(1, 200)]
    notified = client.hear("handle-notify")
    header = len(encode_header())
    assert [each["fragment_size"] for each in notified] == [1024, 1024, 1024, header]
    assert [each["partial"] for each in notified] == [True, True, True, False]
    assert [each["dest_name"] for each in notified] == [b"", b"", b"", b"q"]
    assert {each["message_nbr"] for each in notified} == {1}


def test_a_header_may_need_several_fragments(talk: Talk) -> None:
    client = talk.client()
    octets = encode_header(body_size=2, identifier="identifier") + b"ab"
    for index in range(len(octets)):
        partial = index + 1 < len(octets)
        fields = {"service_type": QUEUE, "dest_name": "" if partial else "q", "confirm_tag": index}
        client.say("handle-send", octets[index : index + 1], handle_id=1, partial=partial, **fields)
    client.consume("q")
    talk()
    assert client.read() == [b"ab"]
    assert len(client.replies()) == len(octets) - 1, "each fragment is a command"


def test_messages_of_two_channels_may_be_mixed_but_not_those_of_one(talk: Talk) -> None:
    client = talk.client()
    client.open_channel(2)
    client.open_handle(2, channel=2)
    client.open_handle(3)
    octets = encode_header(body_size=2) + b"ab"
    for handle in (1, 2):
        client.say("handle-send", octets[:5], handle_id=handle, service_type=1, partial=True)
    for handle in (1, 2):
        client.say("handle-send", octets[5:], handle_id=handle, service_type=1, dest_name="q", confirm_tag=1)
    client.say("handle-send", octets[:5], handle_id=1, service_type=1, partial=True)
    client.say("handle-send", octets, handle_id=3, service_type=1, dest_name="q", confirm_tag=2)
    talk()
    assert client.replies() == [(1, 200), (1, 200)]
    assert [each["channel_id"] for each in client.hear("channel-close")] == [1]


@pytest.mark.parametrize(
    "octets",
    [
        encode_header(body_size=3) + b"ab",
        encode_header(body_size=1) + b"ab",
        encode_header()[:-1],
        encode_header(priority=10),
        encode_header()[:-1] + b"\x05AAAAA",
        b"",
    ],
)
def test_what_is_no_message_closes_the_handle(talk: Talk, octets: bytes) -> None:
    client = talk.client()
    client.say("handle-send", octets, handle_id=1, service_type=1, dest_name="q", confirm_tag=1)
    talk()
    assert client.replies() == []
    assert client.closed_by("handle") == [542]


def test_a_body_that_grows_too_long_is_refused_at_once(talk: Talk) -> None:
    client = talk.client()
    for fragment in (encode_header(body_size=1) + b"a", b"b"):
        client.say("handle-send", fragment, handle_id=1, service_type=QUEUE, partial=True)
    talk()
    assert client.closed_by("handle") == [542]


# -- looking -------------------------------------------------------------------------------------------


def test_what_waits_is_listed_and_looked_at(talk: Talk) -> None:
    client, other = talk.client(), talk.client()
    for body in (b"1", b"2", b"3"):
        client.send("q", body)
    client.say("handle-query", handle_id=1, dest_name="q")
    client.say("handle-query", handle_id=1, dest_name="q", message_nbr=3)
    client.say("handle-query", handle_id=1, dest_name="t")
    talk()
    lists = [(each["message_nbr"], each["message_list"]) for each in client.hear("handle-index")]
    assert lists == [(0, b"1-3"), (0, b"3"), (0, b"")]
    client.say("handle-browse", handle_id=1, message_nbr=2, confirm_tag=4)
    other.say("handle-browse", handle_id=1, message_nbr=2, confirm_tag=5)
    talk()
    (message,) = client.messages
    assert (message.body, message.number, message.notify["delivered"]) == (b"2", 2, False)
    assert client.replies() == []
    assert other.replies() == [(5, 310)], "it has listed nothing"
    other.consume("q")
    talk()
    client.say("handle-browse", handle_id=1, message_nbr=2, confirm_tag=6)
    talk()
    assert client.replies() == [(6, 310)]
    assert other.read() == [b"1", b"2", b"3"]


@pytest.mark.parametrize(
    ("ids", "room", "expected"),
    [
        ([], 9, (b"", 0)),
        ([0, 5, 9, *range(15, 41), 80], 99, (b"0 5 9 15-40 80", 0)),
        ([1, 2, 4], 5, (b"1-2 4", 0)),
        ([1, 2, 4], 4, (b"1-2", 2)),
    ],
)
def test_a_list_of_ids_is_short(ids: list[int], room: int, expected: tuple[bytes, int]) -> None:
    assert listed(ids, room) == expected


def test_a_list_that_does_not_fit_is_continued() -> None:
    talk = Talk(frame_max=1024, queues=["q", "r"])
    client = talk.client()
    for _ in range(400):
        client.send("q", b"")
        client.send("r", b"")
    listing, number = b"", 0
    client.say("handle-query", handle_id=1, dest_name="q")
    talk()
    while number := client.heard[-1][1]["message_nbr"]:
        listing += client.hear("handle-index")[0]["message_list"] + b" "
        client.say("handle-query", handle_id=1, dest_name="q", message_nbr=number + 1)
        talk()
    listing += client.hear("handle-index")[0]["message_list"]
    assert listing == b" ".join(b"%d" % each for each in range(1, 801, 2))


# -- restarting ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("restart", ["naive", "minimal", "full"])
def test_a_message_is_prepared_and_sent(restart: str) -> None:
    talk = Talk(restart=restart, frame_max=1024)
    client = talk.client(channel={"restartable": True})
    client.prepare("q", LARGE, tag=1)
    client.consume("q")
    talk()
    size = 0 if restart == "naive" else 1024 - len(encode_header())
    assert [each["message_size"] for each in client.hear("handle-ready")] == [size]
    assert client.read() == [LARGE]
    assert client.replies() == [(1, 200)]


@pytest.mark.parametrize(("restart", "known"), [("minimal", 8), ("full", 2008)])
@pytest.mark.parametrize("how", ["connection", "channel", "handle"])
def test_a_transfer_that_is_broken_off_goes_on(restart: str, known: int, how: str) -> None:
    talk = Talk(restart=restart, frame_max=4096)
    client = talk.client(channel={"restartable": True})
    first = encode_header(body_size=len(LARGE), identifier="i") + LARGE[:8]
    client.say("handle-prepare", first, handle_id=1)
    client.say("handle-send", LARGE[8:2008], handle_id=1, service_type=1, partial=True, recovery=True)
    talk()
    if how == "connection":
        talk.lose(client)
    else:
        which: dict[str, Any] = {f"{how}_id": 1}
        client.say(f"{how}-close", **which)
    again = talk.client(channel={"restartable": True})
    again.consume("q")
    again.say("handle-prepare", first, handle_id=1)
    talk()
    assert [each["message_size"] for each in again.hear("handle-ready")] == [known]
    again.say("handle-send", LARGE[known:], handle_id=1, service_type=1, recovery=True, dest_name="q")
    talk()
    assert again.read() == [LARGE]


def test_what_is_prepared_has_a_whole_header_and_is_not_mixed_with_others(talk: Talk) -> None:
    client = talk.client(channel={"restartable": True})
    client.say("handle-prepare", encode_header()[:-1], handle_id=1)
    talk()
    assert client.closed_by("handle") == [542]
    client.open_handle()
    client.say("handle-send", encode_header(), handle_id=1, service_type=QUEUE, partial=True)
    client.say("handle-prepare", encode_header(), handle_id=1)
    talk()
    assert client.closed_by("channel") == [503]


def test_a_wrong_hash_is_refused(talk: Talk) -> None:
    client = talk.client(channel={"restartable": True})
    for digest in ("", "DA39A3EE5E6B4B0D3255BFEF95601890AFD80709", "da39"):
        client.say("handle-prepare", encode_header(), handle_id=1, content_hash=digest)
        client.say("handle-send", handle_id=1, service_type=1, recovery=True, dest_name="q", confirm_tag=1)
    talk()
    assert client.replies() == [(1, 200), (1, 200)]
    assert client.closed_by("handle") == [542]


@pytest.mark.parametrize("command", ["handle-prepare", "handle-send"])
def test_a_message_that_is_too_large_closes_the_channel(command: str) -> None:
    talk = Talk(largest=10)
    client = talk.client(channel={"restartable": True})
    fields: dict[str, Any] = {"service_type": QUEUE, "dest_name": "q"} if command == "handle-send" else {}
    client.say(command, encode_header(body_size=10) + bytes(10), handle_id=1, **fields)
    client.say(command, encode_header(body_size=11) + bytes(11), handle_id=1, **fields)
    talk()
    assert client.closed_by("channel") == [311]


def test_a_server_may_prepare_too() -> None:
    talk = Talk(prepares=True, frame_max=1024)
    client, plain = talk.client(channel={"restartable": True}), talk.client()
    for body in (LARGE, b"small"):
        client.send("q", body)
    client.consume("q")
    talk()
    assert client.read() == [LARGE, b"small"]
    assert len(client.hear("handle-prepare")) == 1
    assert [each["recovery"] for each in client.hear("handle-notify")] == [True, True, True, False]
    plain.consume("q")
    client.say("handle-close", handle_id=1)
    talk()
    assert plain.read() == [LARGE, b"small"]
    assert plain.hear("handle-prepare") == []


@pytest.mark.parametrize(("size", "prepares"), [(1024, 0), (1025, 1)])
def test_what_fits_into_one_fragment_is_not_prepared(size: int, prepares: int) -> None:
    talk = Talk(prepares=True, frame_max=1024)
    client = talk.client(channel={"restartable": True})
    client.send("q", bytes(size - len(encode_header())))
    client.consume("q")
    talk()
    assert len(client.hear("handle-prepare")) == prepares
    assert len(client.read()) == 1


def offered(talk: Talk) -> Connection:
    """A connection whose client has a message offered to it on handle 1, and has not answered."""
    talk.client().send("q", LARGE)
    talk()
    connection = talk.server.connect()
    login = {"LOGIN": "guest", "PASSWORD": "guest"}
    connection.receive(
        INITIATION
        + encode("connection-response", mechanism="PLAIN", responses=login)
        + encode("connection-open", virtual_path="/")
        + encode("channel-open", channel_id=1, restartable=True)
        + encode("handle-open", channel_id=1, handle_id=1, consumer=True)
        + encode("handle-consume", handle_id=1, service_type=QUEUE, prefetch=1, dest_name="q")
    )
    return connection


@pytest.mark.parametrize(
    ("known", "answer"),
    [(0, "handle-notify"), (len(LARGE), "handle-notify"), (len(LARGE) + 1, "handle-close")],
)
def test_what_is_offered_is_sent_from_where_the_client_has_it(known: int, answer: str) -> None:
    connection = offered(Talk(prepares=True, frame_max=1024))
    heard = Splitter().feed(connection.receive(encode("handle-ready", handle_id=1, message_size=known)))
    commands = [item for item in heard if isinstance(item, Command)]
    assert {command.name for command in commands} == {answer}
    sent = sum(command.fields.get("fragment_size", 0) for command in commands)
    assert sent == max(0, len(LARGE) - known)


def test_what_is_offered_is_for_another_when_the_client_goes() -> None:
    talk = Talk(prepares=True, frame_max=1024)
    connection, other = offered(talk), talk.client()
    other.consume("q")
    talk()
    assert other.read() == []
    connection.lost()
    talk()
    assert [(each.body, each.notify["redelivered"]) for each in other.messages] == [(LARGE, False)]
