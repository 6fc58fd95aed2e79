"""The user without permissions, as the reference peer treats it."""

from typing import Any

import pytest

from harness.amqp0_9_1.peer.tests.dialogue import START_OK, Client, peer
from harness.amqp0_9_1.rabbitmq.peer import Peer
from harness.amqp0_9_1.wire.vocabulary import Basic, Exchange, Queue

METHODS = (
    Queue.Declare("r"),
    Queue.Declare("q", passive=True),
    Exchange.Declare("e", "direct"),
    Exchange.Declare("amq.direct", "direct", passive=True),
    Queue.Delete("q"),
    Exchange.Delete("e"),
    Queue.Bind("q", "amq.direct", "key"),
    Queue.Unbind("q", "amq.direct", "key"),
    Exchange.Bind("amq.direct", "amq.fanout"),
    Exchange.Unbind("amq.direct", "amq.fanout"),
    Basic.Publish("amq.direct"),
    Basic.Get("q"),
    Basic.Consume("q"),
    Queue.Purge("q"),
)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_powerless_user_may_do_nothing(method: Any) -> None:
    server = peer(kind=Peer)
    Client(server).declare()
    made = server.use("powerless-user")
    response = f"\0{made['user']}\0{made['password']}".encode()
    client = Client(server, start_ok=START_OK.replace(response=response))
    assert client.is_refused(method) == (403, "channel")


def test_others_may_do_everything() -> None:
    server = peer(kind=Peer)
    server.use("powerless-user")
    client = Client(server)
    assert client.declare().queue == "q"
    assert client.ask(Queue.Bind("q", "amq.direct", "key")) == Queue.BindOk()
