"""Limits, priorities and policies of queues in the reference peer."""

from typing import Any

import pytest

from harness.amqp0_9_1.peer.tests.dialogue import Client, peer
from harness.amqp0_9_1.rabbitmq.peer import Peer
from harness.amqp0_9_1.wire.vocabulary import Queue


def holding(*bodies: bytes, name: str = "q", **arguments: Any) -> tuple[Client, list[bytes]]:
    """A client that has published to a queue with these arguments, and what is left there."""
    client = Client(peer(kind=Peer))
    client.declare("dead")
    client.declare(name, arguments={f"x-{key.replace('_', '-')}": value for key, value in arguments.items()})
    for body in bodies:
        client.publish(name, body)
    return client, left(client, name)


def left(client: Client, name: str = "q") -> list[bytes]:
    """The bodies of all that is on a queue."""
    found = []
    while (message := client.get(name, no_ack=True)) is not None:
        found.append(message.body)
    return found


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"max_length": 2}, [b"22", b"333"]),
        ({"max_length": 0}, []),
        ({"max_length_bytes": 4}, [b"333"]),
        ({"max_length": 1, "max_length_bytes": 100}, [b"333"]),
        ({"max_length": 2, "overflow": "reject-publish"}, [b"1", b"22"]),
        ({"max_length_bytes": 4, "overflow": "reject-publish"}, [b"1", b"22"]),
    ],
)
def test_a_limit_drops_the_oldest_or_turns_the_newest_away(
    arguments: dict[str, Any], expected: list[bytes]
) -> None:
    assert holding(b"1", b"22", b"333", **arguments)[1] == expected


@pytest.mark.parametrize(
    ("overflow", "kept", "dead"),
    [
        ("drop-head", b"2", [b"1"]),
        ("reject-publish", b"1", []),
        ("reject-publish-dlx", b"1", [b"2"]),
    ],
)
def test_dropped_or_rejected_messages_are_dead(overflow: str, kept: bytes, dead: list[bytes]) -> None:
    goes_on = {"dead_letter_exchange": "", "dead_letter_routing_key": "dead"}
    client, found = holding(b"1", b"2", max_length=1, overflow=overflow, **goes_on)
    assert found == [kept]
    assert left(client, "dead") == dead


def test_priorities_are_for_queues_that_ask_for_them() -> None:
    client = Client(peer(kind=Peer))
    client.declare("plain")
    client.declare("high", arguments={"x-max-priority": 2})
    for name in ("plain", "high"):
        for body, priority in ((b"0", None), (b"1", 1), (b"2", 2), (b"9", 9)):
            client.publish(name, body, priority=priority)
    assert left(client, "plain") == [b"0", b"1", b"2", b"9"]
    assert left(client, "high") == [b"2", b"9", b"1", b"0"]


def test_policies_hold_for_their_names() -> None:
    server = peer(kind=Peer)
    named = server.use("policies")
    for key, expected in (("max-length", 2), ("operator", 2), ("two", 3)):
        assert len(holding(*[b"x"] * 6, name=named[key] + "q")[1]) == expected
    assert len(holding(*[b"x"] * 6, name=named["max-length"] + "q", max_length=1)[1]) == 1


def test_a_policy_that_is_set_later_holds_for_queues_that_are_there() -> None:
    server = peer(kind=Peer)
    client = Client(server)
    name = server.use("no-late-policy")["begins"] + "q"
    client.declare(name)
    for body in (b"1", b"2"):
        client.publish(name, body)
    assert client.count(name) == (2, 0)
    server.use("late-policy")
    assert left(client, name) == [b"2"]
    server.use("no-late-policy")
    for body in (b"1", b"2"):
        client.publish(name, body)
    assert client.count(name) == (2, 0)


@pytest.mark.parametrize(("limit", "legal"), [(255, True), (127, False)])
def test_names_are_of_utf_8_unless_they_are_those_of_0_9_1(limit: int, legal: bool) -> None:
    client = Client(peer(kind=Peer, name_limit=limit))
    name = "ä" * 127
    if legal:
        assert client.declare(name) == Queue.DeclareOk(name, 0, 0)
    else:
        assert client.is_refused(Queue.Declare(name)) == (406, "channel")
