"""What is done to the 1.0 reference peer from outside, and what it refuses because of that."""

from typing import Any

from harness.amqp1_0.peer import Peer, Policy
from harness.amqp1_0.peer.policy import Level, Refusal
from harness.amqp1_0.peer.tests.dialogue import HEADER, Client, peer
from harness.amqp1_0.wire.performatives import (
    AmqpError,
    Attach,
    Close,
    Detach,
    End,
    LinkError,
    Open,
    Role,
    SaslInit,
    SessionError,
    Source,
    Target,
)


def session(server: Peer, **fields: Any) -> Client:
    client = Client(server, **fields)
    client.begin()
    return client


def test_an_address_that_is_not_there_is_refused_in_both_directions() -> None:
    server = peer()
    client, given = session(server), server.use("no-address")
    client.send(Attach("in", 0, Role.SENDER, None, None, Source(), Target(given["target"]), None, None, 0))
    client.send(Attach("out", 1, Role.RECEIVER, None, None, Source(given["source"]), Target()))
    refused, why, unable, because = client.listen()
    assert (refused.target, unable.source) == (None, None)
    assert why.error.condition == because.error.condition == AmqpError.NOT_FOUND
    assert why.closed


def test_an_address_is_removed_under_its_links_and_what_they_held_is_lost() -> None:
    for choice in (AmqpError.RESOURCE_DELETED, LinkError.DETACH_FORCED):
        server = peer(node_removed=Refusal(choice, Level.LINK))
        client, address = session(server), server.use("removable-address")["address"]
        client.sender(0, address)
        client.transfer(b"held")
        client.transfer(b"waits", 1)
        client.receiver(1, address, credit=1)
        client.sender(2, "another")
        client.listen()
        server.use("remove-address")
        first, second = client.listen()
        assert (first.handle, second.handle) == (0, 1)
        assert first.error.condition == second.error.condition == choice
        client.send(Detach(0, True), Detach(1, True))
        assert client.listen() == []
        assert server.nodes.octets == 0
        assert isinstance(client.sender(0, address)[0], Attach)


def test_a_powerless_user_may_attach_to_nothing() -> None:
    server = peer()
    made = server.use("powerless-user")
    client = Client(server, opened=False)
    client.log_in(SaslInit("PLAIN", f"\0{made['user']}\0{made['password']}".encode()))
    client.send(HEADER, Open("me"))
    client.listen()
    client.begin()
    assert client.sender()[-1].error.condition == AmqpError.UNAUTHORIZED_ACCESS


def test_an_alarm_closes_the_windows_and_what_comes_then_violates_them() -> None:
    server = peer(incoming_window=4)
    client = session(server)
    client.sender(0)
    server.use("memory-alarm")
    assert client.hear().incoming_window == 0
    assert session(server).sender(0)[-1].incoming_window == 0
    server.use("lift-memory-alarm")
    assert client.hear().incoming_window == 4
    server.use("memory-alarm")
    client.listen()
    client.transfer(b"x")
    (end,) = client.listen()
    assert isinstance(end, End)
    assert end.error is not None
    assert end.error.condition == SessionError.WINDOW_VIOLATION
    server.restart()
    assert session(server).sender(0)[-1].incoming_window == 4


def test_an_alarm_may_mean_nothing_to_sessions() -> None:
    server = peer(on_alarm="does nothing")
    client = session(server)
    server.use("memory-alarm")
    assert client.listen() == []


def test_an_answer_that_fits_into_no_frame_is_not_given() -> None:
    long = Attach("x" * 600, 0, Role.RECEIVER, None, None, Source("here"), Target())
    client = session(peer(), max_frame_size=512)
    (end,) = client.ask_all(long)
    assert end.error.condition == AmqpError.FRAME_SIZE_TOO_SMALL
    client = session(peer(answer_too_large=Refusal(AmqpError.FRAME_SIZE_TOO_SMALL)), max_frame_size=512)
    (close,) = client.ask_all(long)
    assert isinstance(close, Close)
    assert isinstance(session(peer()).ask_all(long)[0], Attach)


def test_a_message_larger_than_its_attach_says_is_refused() -> None:
    client = session(peer(max_message_size=10))
    assert client.sender(0)[0].max_message_size == 10
    client.transfer(bytes(6), more=True)
    client.transfer(bytes(6))
    assert client.hear().error.condition == LinkError.MESSAGE_SIZE_EXCEEDED
    assert session(peer(max_message_size=None)).sender(0)[0].max_message_size is None
    assert Policy().max_message_size
