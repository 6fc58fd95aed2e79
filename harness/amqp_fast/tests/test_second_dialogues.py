"""The second implementation talks to itself: what its server does, as its client sees it."""

from __future__ import annotations

from typing import Any

import pytest

from harness.amqp_fast.tests.second.client import Client
from harness.amqp_fast.tests.second.store import ANY, TOPIC
from harness.amqp_fast.tests.second.talk import Talk
from harness.amqp_fast.tests.second.types import Time


@pytest.fixture
def talk() -> Talk:
    return Talk()


def names(client: Client) -> list[str]:
    return [name for name, _ in client.heard]


# -- queues --------------------------------------------------------------------------------------------


def test_a_message_goes_through_a_queue(talk: Talk) -> None:
    client = talk.client()
    client.send("q", b"hello", tag=7, priority=4, identifier="id", headers={"A": Time(1)})
    client.consume("q", confirm_tag=8)
    talk()
    assert client.replies() == [(7, 200), (8, 200)]
    (message,) = client.messages
    assert (message.body, message.number) == (b"hello", 1)
    assert message.header["headers"] == [(b"A", Time(1))]
    assert {name: message.notify[name] for name in ("delivered", "redelivered", "recovery", "dest_name")} == {
        "delivered": True,
        "redelivered": False,
        "recovery": False,
        "dest_name": b"q",
    }


def test_a_confirmation_comes_before_what_the_command_lets_loose(talk: Talk) -> None:
    client = talk.client()
    client.send("q", b"hello")
    client.heard.clear()
    client.consume("", dynamic=True, confirm_tag=1)
    client.consume("q", confirm_tag=1)
    talk()
    assert names(client) == ["handle-created", "handle-reply", "handle-reply", "handle-notify"]


def test_prefetch_is_how_many_are_outstanding(talk: Talk) -> None:
    client = talk.client()
    client.consume("q", prefetch=2)
    for body in (b"1", b"2", b"3", b"4"):
        client.send("q", body)
    talk()
    assert client.read() == [b"1", b"2"]
    client.ack(1, tag=5)
    talk()
    assert client.read() == [b"3"]
    assert client.replies("channel") == [(5, 200)]
    client.ack(99)
    talk()
    assert client.read() == [b"4"]


def test_who_does_not_acknowledge_gets_all(talk: Talk) -> None:
    client = talk.client()
    client.consume("q", prefetch=1, no_ack=True)
    for body in (b"1", b"2"):
        client.send("q", body)
    talk()
    assert client.read() == [b"1", b"2"]
    talk.lose(client)
    other = talk.client()
    other.consume("q")
    talk()
    assert other.read() == []


def test_consumers_take_turns_and_high_priority_goes_first(talk: Talk) -> None:
    sender, one, two = (talk.client() for _ in range(3))
    for priority, body in ((0, b"1"), (4, b"2"), (5, b"3"), (9, b"4")):
        sender.send("q", body, priority=priority)
    talk()
    one.consume("q", prefetch=1)
    talk()
    two.consume("q", prefetch=1)
    talk()
    assert (one.read(), two.read()) == ([b"3"], [b"4"])
    one.ack(1)
    two.ack(1)
    talk()
    assert (one.read(), two.read()) == ([b"1"], [b"2"])


def test_what_is_not_acknowledged_comes_again(talk: Talk) -> None:
    client = talk.client(name="reader")
    client.send("q", b"1")
    client.consume("q")
    talk()
    assert client.read() == [b"1"]
    talk.lose(client)
    again, other = talk.client(name="reader"), talk.client(name="other")
    again.consume("q")
    talk()
    assert [each.notify["redelivered"] for each in again.messages] == [True]
    again.say("handle-close", handle_id=1)
    other.consume("q")
    talk()
    assert [each.notify["redelivered"] for each in other.messages] == [False]


def test_what_is_given_back_goes_to_another(talk: Talk) -> None:
    one, two = talk.client(), talk.client()
    one.consume("q", prefetch=9)
    one.send("q", b"1")
    talk()
    two.consume("q")
    talk()
    one.say("handle-unget", handle_id=1, message_nbr=1, confirm_tag=3)
    talk()
    assert (one.read(), two.read()) == ([b"1"], [b"1"])
    assert one.replies() == [(3, 200)]
    two.say("handle-unget", handle_id=1, message_nbr=1)
    talk()
    assert [each.number for each in one.messages] == [2], "all have given it back once"


def test_a_handle_is_paused_and_goes_on(talk: Talk) -> None:
    one, two = talk.client(), talk.client()
    one.consume("q")
    one.consume("t", service=TOPIC)
    one.say("handle-flow", handle_id=1, flow_pause=True, confirm_tag=1)
    talk()
    two.send("t", b"topic", service=TOPIC)
    two.consume("q")
    two.send("q", b"queue")
    talk()
    assert (one.read(), two.read()) == ([], [b"queue"])
    one.say("handle-flow", handle_id=1, confirm_tag=2)
    talk()
    assert one.read() == [b"topic"]
    assert one.replies() == [(1, 200), (2, 200)]


def test_a_dynamic_queue_is_created_and_goes_with_its_connection(talk: Talk) -> None:
    one, two = talk.client(), talk.client()
    one.consume("", dynamic=True)
    one.consume("kept", dynamic=True)
    talk()
    generated, named = [each["dest_name"] for each in one.hear("handle-created")]
    assert generated
    assert named == b"kept"
    for name in (generated, named):
        two.send(name, b"hello", service=ANY)
    talk()
    assert one.read() == [b"hello"] * 2
    one.say("connection-close", reply_code=200)
    talk()
    assert one.closed
    assert talk.connection(one).closed
    two.send(named, b"stays", tag=1)
    two.send(generated, b"is gone", tag=2)
    talk()
    assert two.replies() == [(1, 200)]
    assert two.closed_by("handle") == [404]


def test_selectors_name_fields_and_values(talk: Talk) -> None:
    client = talk.client()
    client.consume("q", selector={"COLOUR": "red", "SIZE": ""})
    client.consume("t", service=TOPIC, selector={"SIZE": 1})
    sent: list[dict[str, Any]] = [
        {"COLOUR": "red"},
        {"COLOUR": "red", "SIZE": 1},
        {"COLOUR": "blue", "SIZE": 1},
    ]
    for index, headers in enumerate(sent):
        client.send("q", b"q%d" % index, headers=headers)
        client.send("t", b"t%d" % index, service=TOPIC, headers=headers)
    talk()
    assert client.read() == [b"q1", b"t1", b"t2"]


# -- topics --------------------------------------------------------------------------------------------


def test_a_topic_goes_to_each_subscriber(talk: Talk) -> None:
    one, two, late = (talk.client() for _ in range(3))
    one.consume("t", service=TOPIC, no_local=True)
    two.consume("t", service=TOPIC, prefetch=1)
    talk()
    one.send("t", b"1", service=TOPIC)
    two.send("t", b"2", service=ANY)
    two.send("another", b"of no concern", service=TOPIC)
    late.consume("t", service=TOPIC)
    talk()
    assert (one.read(), two.read(), late.read()) == ([b"2"], [b"1"], [])
    two.ack(1)
    talk()
    assert two.read() == [b"2"]
    two.say("handle-close", handle_id=1)
    one.send("t", b"3", service=TOPIC)
    talk()
    assert (one.read(), two.read(), late.read()) == ([], [], [b"3"])


def test_only_what_came_from_a_queue_is_given_back(talk: Talk) -> None:
    client = talk.client()
    client.open_handle(2)
    client.consume("t", service=TOPIC)
    client.consume("q", handle=2)
    client.send("q", b"1")
    talk()
    client.say("handle-unget", handle_id=1, message_nbr=1)
    client.say("handle-close", handle_id=1)
    client.open_handle(1)
    client.consume("t", service=TOPIC)
    client.send("t", b"2", service=TOPIC)
    client.say("handle-unget", handle_id=1, message_nbr=2)
    talk()
    assert client.closed_by("handle") == [310, 530]


# -- transactions --------------------------------------------------------------------------------------


def test_a_commit_sends_and_confirms(talk: Talk) -> None:
    one, two = talk.client(channel={"transacted": True}), talk.client()
    two.consume("q", prefetch=9)
    one.consume("t", service=TOPIC, prefetch=1)
    one.send("q", b"1", tag=1)
    one.send("t", b"2", service=TOPIC)
    talk()
    assert (two.read(), one.replies()) == ([], [(1, 200)])
    one.say("channel-commit", channel_id=1, confirm_tag=2)
    talk()
    assert (one.read(), two.read()) == ([b"2"], [b"1"])
    two.send("t", b"3", service=TOPIC)
    talk()
    assert one.read() == [], "one is outstanding"
    one.say("channel-commit", channel_id=1)
    talk()
    assert one.read() == [b"3"], "a commit confirms what was delivered"
    assert one.replies("channel") == [(2, 200)]


@pytest.mark.parametrize("acknowledges", [True, False])
def test_a_rollback_undoes(talk: Talk, acknowledges: bool) -> None:
    client = talk.client(channel={"transacted": True})
    talk.client().send("q", b"1")
    client.consume("q", prefetch=1)
    client.send("q", b"2")
    talk()
    if acknowledges:
        client.ack(1)
    client.say("channel-rollback", channel_id=1, confirm_tag=2)
    talk()
    assert [(each.body, each.number, each.notify["redelivered"]) for each in client.messages] == [
        (b"1", 1, False),
        (b"1", 2, True),
    ]
    client.say("channel-commit", channel_id=1)
    client.read()
    talk()
    assert client.read() == []
    assert client.replies("channel") == [(2, 200)]


@pytest.mark.parametrize("end", ["channel-commit", "channel-rollback"])
def test_in_a_transaction_too_prefetch_is_how_many_are_outstanding(talk: Talk, end: str) -> None:
    client, sender = talk.client(channel={"transacted": True}), talk.client()
    for body in (b"1", b"2", b"3", b"4"):
        sender.send("q", body)
    client.consume("q", prefetch=1)
    talk()
    client.ack(1)
    talk()
    assert client.read() == [b"1", b"2"]
    client.say(end, channel_id=1)
    talk()
    assert client.read() == [b"3" if end == "channel-commit" else b"1"]


def test_a_channel_that_is_closed_is_rolled_back(talk: Talk) -> None:
    client, other = talk.client(channel={"transacted": True}), talk.client()
    other.send("q", b"1")
    client.consume("q")
    client.send("q", b"2")
    talk()
    client.ack(1)
    client.say("channel-close", channel_id=1, reply_code=200)
    other.consume("q")
    talk()
    assert client.closed_by("channel") == [200]
    assert (client.read(), other.read()) == ([b"1"], [b"1"])


def test_what_cannot_be_committed_closes_the_channel(talk: Talk) -> None:
    client, other = talk.client(channel={"transacted": True}), talk.client()
    other.consume("", dynamic=True)
    talk()
    client.send(other.hear("handle-created")[0]["dest_name"], b"1")
    client.send("q", b"2")
    talk()
    talk.lose(other)
    client.say("channel-commit", channel_id=1, confirm_tag=1)
    talk()
    assert client.replies("channel") == []
    assert client.closed_by("channel") == [404]
    reader = talk.client()
    reader.consume("q")
    talk()
    assert reader.read() == []


def test_a_transaction_has_a_limit() -> None:
    talk = Talk(txn_limit=1)
    client = talk.client(channel={"transacted": True})
    client.send("q", b"1")
    client.say("channel-commit", channel_id=1, confirm_tag=1)
    client.send("q", b"2")
    client.send("q", b"3")
    talk()
    assert client.replies("channel") == [(1, 200)]
    assert client.closed_by("channel") == [506]
