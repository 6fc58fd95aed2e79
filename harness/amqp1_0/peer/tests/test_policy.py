"""Every legal variant of the 1.0 reference peer serves."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from harness.amqp1_0.peer import Peer
from harness.amqp1_0.peer.policy import VARIANTS, Policy
from harness.amqp1_0.peer.tests.dialogue import HEADER, SASL, TAKEN, Client
from harness.amqp1_0.wire.performatives import Begin, Close, End, Error, Open, SaslInit
from harness.wire.units import Header

EACH = [pytest.param(policy, id=name) for name, policy in VARIANTS.items()]


def opened(policy: Policy) -> Client:
    """A client that goes through SASL where it can."""
    client = Client(Peer(policy, taken=TAKEN), opened=False)
    if policy.layers != "bare":
        assert client.log_in(SaslInit("PLAIN", b"\0guest\0guest")) == 0
    client.send(HEADER, Open("me"))
    assert isinstance(client.listen()[-1], Open)
    return client


@pytest.mark.parametrize("policy", EACH)
def test_every_variant_opens_serves_and_closes(policy: Any) -> None:
    client = opened(policy)
    assert isinstance(client.begin(), Begin)
    client.sender()
    client.receiver()
    for number in range(3):
        client.transfer(bytes(1000) if policy.max_frame_size != 512 else bytes(100), number, settled=True)
    bodies = client.bodies()
    assert sum(map(len, bodies)) in (3000, 300)
    assert client.ask(End()) == End()
    assert client.ask(Close()) == Close()
    left = policy.socket_close == "left to the client"
    assert client.peer.closed == (None if left else policy.socket_close)


@pytest.mark.parametrize("policy", EACH)
def test_every_variant_refuses_what_is_bad(policy: Any) -> None:
    client = opened(policy)
    assert client.condition(b"\x00\x00\x00\x09\x02\x00\x00\x00\x40")
    client.wait(policy.close_timeout + 0.1)
    assert client.peer.closed == ("rst" if policy.socket_close == "rst" else "fin")
    client = Client(Peer(policy, taken=TAKEN), opened=False)
    client.send(b"AMQP\xff\x01\x00\x00")
    assert client.listen() in ([HEADER], [SASL])
    assert client.peer.closed == "fin"


@pytest.mark.parametrize("policy", EACH)
def test_every_variant_says_an_open_that_is_valid_and_small(policy: Any) -> None:
    client = Client(Peer(policy, taken=TAKEN), opened=False)
    if policy.layers != "bare":
        client.log_in()
    client.send(HEADER, Open("me"))
    (frame,) = [each for each in client.frames() if not isinstance(each, Header) and each.type == 0]
    assert len(frame.encode()) <= 512
    said = frame.performative()
    assert isinstance(said, Open)
    assert not list(said.breaches())
    assert said.container_id == policy.container_id


def test_what_is_said_may_come_one_by_one() -> None:
    client = Client(Peer(Policy(batching="one by one")), opened=False)
    client.send(HEADER, Open("me"), Close())
    assert client.peer.closed == "fin"
    assert client.peer.take() == HEADER.octets
    assert len(client.frames()) == 2
    assert client.peer.unread == 0


@pytest.mark.parametrize(("borne", "answer"), [("mandatory", Close), ("missing", End)])
def test_an_error_without_a_condition_is_borne_where_clients_are_judged(
    borne: Literal["mandatory", "missing"], answer: type
) -> None:
    client = opened(Policy(error_conditions=borne))
    client.send(Begin(None, 0, 1, 1))
    client.listen()
    client.send(End(Error()))
    assert isinstance(client.listen()[-1], answer)
