"""Exchanges of the reference peer that are bound to exchanges, go by themselves, or are internal."""

from typing import Any

import pytest

from harness.amqp0_9_1.peer.policy import Refusal
from harness.amqp0_9_1.peer.tests.dialogue import Client, Message, peer, queue_with
from harness.amqp0_9_1.rabbitmq.peer import Peer
from harness.amqp0_9_1.wire.vocabulary import Exchange, Queue


def joined(*pairs: tuple[str, str], **choices: Any) -> Client:
    """A client with fanout exchanges, bound from the first to the second of each pair, and a queue q."""
    client = queue_with(kind=Peer, **choices)
    for name in dict.fromkeys(each for pair in pairs for each in pair):
        assert client.ask(Exchange.Declare(name, "fanout")) == Exchange.DeclareOk()
    for source, destination in pairs:
        assert client.ask(Exchange.Bind(destination, source)) == Exchange.BindOk()
    return client


def is_there(client: Client, name: str) -> bool:
    answer = client.ask(Exchange.Declare(name, "fanout", passive=True), 2)
    return bool(answer == Exchange.DeclareOk())


def test_bindings_of_exchanges_lead_one_way_and_end_with_unbind_or_delete() -> None:
    client = joined(("a", "b"), ("b", "c"))
    client.ask(Queue.Bind("q", "c"))
    client.publish(exchange="a", body=b"over two")
    assert client.get().body == b"over two"
    assert client.get() is None
    assert client.ask(Exchange.Unbind("b", "a")) == Exchange.UnbindOk()
    client.publish(exchange="a")
    assert client.get() is None
    assert client.ask(Exchange.Bind("b", "a")) == Exchange.BindOk()
    assert client.ask(Exchange.Delete("b")) == Exchange.DeleteOk()
    client.ask(Exchange.Declare("b", "fanout"))
    client.ask(Queue.Bind("q", "b"))
    client.publish(exchange="a")
    assert client.get() is None


def test_an_exchange_deleted_takes_those_along_that_lead_nowhere_then() -> None:
    client = queue_with(kind=Peer)
    for name in ("a", "b", "c"):
        client.ask(Exchange.Declare(name, "fanout", auto_delete=name != "c"))
    for source, destination in (("a", "b"), ("b", "c"), ("b", "b"), ("c", "a")):
        client.ask(Exchange.Bind(destination, source))
    client.ask(Exchange.Unbind("b", "b"))
    client.ask(Exchange.Delete("c"))
    assert not is_there(client, "a")


@pytest.mark.parametrize("last", [Queue.Unbind("q", "x"), Queue.Delete("q"), Exchange.Unbind("y", "x")])
def test_an_exchange_with_auto_delete_goes_with_its_last_binding(last: Any) -> None:
    client = queue_with(kind=Peer)
    client.ask(Exchange.Declare("x", "fanout", auto_delete=True))
    client.ask(Exchange.Declare("y", "fanout"))
    client.ask(Exchange.Bind("y", "x") if isinstance(last, Exchange.Unbind) else Queue.Bind("q", "x"))
    assert is_there(client, "x")
    client.ask(last)
    assert not is_there(client, "x")


def test_bind_and_unbind_want_both_exchanges() -> None:
    client = joined(("a", "b"))
    assert client.is_refused(Exchange.Bind("missing", "a")) == (404, "channel")
    assert client.is_refused(Exchange.Bind("a", "missing")) == (404, "channel")
    assert client.ask(Exchange.Bind("b", "a")) == Exchange.BindOk()
    assert client.ask(Exchange.Unbind("b", "a", "never")) == Exchange.UnbindOk()
    assert client.is_refused(Exchange.Unbind("missing", "a")) == (404, "connection")


def test_choices_about_bindings_of_exchanges() -> None:
    client = joined(("a", "b"), default_exchange_bound=Refusal(403), missing_binding="refuse")
    assert client.is_refused(Exchange.Bind("", "a")) == (403, "channel")
    assert client.is_refused(Exchange.Unbind("a", "")) == (403, "channel")
    assert client.is_refused(Exchange.Unbind("b", "a", "never")) == (404, "connection")
    client = queue_with(kind=Peer, auto_delete_mismatch="refuse")
    client.ask(Exchange.Declare("x", "fanout"))
    assert client.is_refused(Exchange.Declare("x", "fanout", auto_delete=True)) == (406, "channel")


def test_internal_exchanges_are_for_exchanges() -> None:
    client = joined(("a", "b"))
    client.ask(Exchange.Declare("inside", "fanout", internal=True))
    client.ask(Exchange.Bind("inside", "a"))
    client.ask(Queue.Bind("q", "inside"))
    client.publish(exchange="a", body=b"from another")
    assert client.get().body == b"from another"
    client.publish(exchange="inside", channel=2)
    assert client.hear().reply_code == 403


def test_what_is_published_to_an_internal_exchange_may_be_dropped() -> None:
    client = queue_with(kind=Peer, published_to_internal="drop")
    client.ask(Exchange.Declare("inside", "fanout", internal=True))
    client.ask(Queue.Bind("q", "inside"))
    client.publish(exchange="inside")
    assert client.get() is None
    client.publish(exchange="inside", mandatory=True)
    assert isinstance(client.hear(), Message)


def test_bindings_of_durable_exchanges_survive_a_restart() -> None:
    server = peer(kind=Peer)
    client = Client(server)
    client.declare("kept", durable=True)
    for name, durable in (("a", True), ("b", True), ("c", False)):
        client.ask(Exchange.Declare(name, "fanout", durable=durable))
    for source, destination in (("a", "b"), ("b", "c")):
        client.ask(Exchange.Bind(destination, source))
    client.ask(Queue.Bind("kept", "b"))
    server.restart()
    client = Client(server)
    client.publish(exchange="a", body=b"after")
    assert client.get("kept").body == b"after"
    assert len(server.virtual_hosts["/"].bound_to("b")) == 1
