"""Every legal variant serves."""

from typing import Any

import pytest

from harness.amqp0_9_1.peer import TABLES, Peer
from harness.amqp0_9_1.peer.policy import VARIANTS
from harness.amqp0_9_1.peer.tests.dialogue import Client
from harness.amqp0_9_1.wire.vocabulary import Basic, Connection


@pytest.mark.parametrize("policy", [pytest.param(policy, id=name) for name, policy in VARIANTS.items()])
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
