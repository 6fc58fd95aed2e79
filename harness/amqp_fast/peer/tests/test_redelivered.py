"""Whom the reference peer tells that a message has been delivered before."""

from typing import Literal

import pytest

from harness.amqp_fast.peer import Peer
from harness.amqp_fast.peer.driver import Connection
from harness.amqp_fast.peer.entities import Message, Stored
from harness.amqp_fast.peer.policy import Policy
from harness.amqp_fast.wire.vocabulary import MessageHead


def named(peer: Peer, name: bytes) -> Connection:
    connection = peer.connect(0.0)
    connection.client_name = name
    return connection


@pytest.mark.parametrize(
    ("told", "same_connection", "same_client", "another"),
    [
        ("to anybody", True, True, True),
        ("to the connection", True, False, False),
        ("to the client", True, True, False),
    ],
)
def test_who_is_told_is_a_choice(
    told: Literal["to anybody", "to the connection", "to the client"],
    same_connection: bool,
    same_client: bool,
    another: bool,
) -> None:
    peer = Peer(Policy(redelivered=told))
    first, again, other = named(peer, b"a"), named(peer, b"a"), named(peer, b"b")
    message = Stored(Message(b"", MessageHead(), b""), 1)
    assert not any(message.is_redelivered(each) for each in (first, again, other))
    message.seen_by.append(first)
    assert message.is_redelivered(first) is same_connection
    assert message.is_redelivered(again) is same_client
    assert message.is_redelivered(other) is another


def test_clients_without_a_name_are_not_one() -> None:
    peer = Peer(Policy(redelivered="to the client"))
    first, other = named(peer, b""), named(peer, b"")
    message = Stored(Message(b"", MessageHead(), b""), 1, [first])
    assert message.is_redelivered(first)
    assert not message.is_redelivered(other)
