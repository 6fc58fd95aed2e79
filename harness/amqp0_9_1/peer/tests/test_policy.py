"""Every legal variant is different, and serves."""

from dataclasses import fields
from typing import Any

import pytest

from harness.amqp0_9_1.peer import TABLES, Peer, Policy
from harness.amqp0_9_1.peer.tests.dialogue import Client
from harness.amqp0_9_1.wire.vocabulary import Basic, Connection

VARIANTS = Policy.variants()


def test_every_choice_has_a_variant_and_every_variant_is_one_choice() -> None:
    departed = set()
    for name, policy in VARIANTS:
        (choice,) = [
            each.name for each in fields(Policy) if getattr(policy, each.name) != getattr(Policy(), each.name)
        ]
        assert name.startswith(f"{choice} = ")
        departed.add(choice)
    assert departed == {each.name for each in fields(Policy)}
    assert len({name for name, _ in VARIANTS}) == len(VARIANTS)


@pytest.mark.parametrize("policy", [pytest.param(policy, id=name) for name, policy in VARIANTS])
def test_every_variant_serves_an_ordinary_client(policy: Any) -> None:
    server = Peer(policy, TABLES)
    client = Client(server, tune=Connection.TuneOk(policy.channel_max or 9, policy.frame_max or 4096, 0))
    assert client.declare().queue == "q"
    client.publish(body=bytes(10_000), headers={"a": 1})
    answer = client.get()
    assert answer.body == bytes(10_000)
    client.send(Basic.Ack(answer.method.delivery_tag))
    client.ask(Basic.Consume("q", "t"))
    client.publish(body=b"2")
    assert client.bodies() == [b"2"]
    assert client.ask(Connection.Close()) == Connection.CloseOk()
