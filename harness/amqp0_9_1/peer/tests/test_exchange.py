from typing import Any

import pytest

from harness.amqp0_9_1.peer import Limits
from harness.amqp0_9_1.peer.policy import Refusal
from harness.amqp0_9_1.peer.tests.dialogue import Client, peer
from harness.amqp0_9_1.wire.vocabulary import NOT_ALLOWED, PRECONDITION_FAILED, Basic, Exchange, Queue

OK = Exchange.DeclareOk()


def client_with(name: Any = "x", **declared: Any) -> Any:
    client = Client(peer())
    assert client.ask(Exchange.Declare(name, **{"type": "direct", **declared})) == OK
    return client


@pytest.mark.parametrize("name", ["amq.direct", "amq.fanout", "amq.topic", "amq.headers", "amq.match"])
def test_predeclared_exchanges(name: Any) -> None:
    client = Client(peer())
    assert client.ask(Exchange.Declare(name, passive=True)) == OK
    assert client.is_refused(Exchange.Delete(name)) == (403, "channel")


def test_predeclared_exchanges_by_policy() -> None:
    client = Client(peer(headers_instances=("amq.match",), predeclared_durable=False))
    assert client.is_refused(Exchange.Declare("amq.headers", passive=True)) == (404, "channel")
    assert client.ask(Exchange.Declare("amq.match", "headers")) == OK
    assert client.is_refused(Exchange.Declare("amq.match", "headers", durable=True)) == (406, "channel")


@pytest.mark.parametrize("kind", ["direct", "fanout", "topic", "headers"])
def test_every_type_can_be_declared_twice_and_deleted(kind: Any) -> None:
    declare = Exchange.Declare("x", kind, durable=True, arguments={"a": 1})
    client = Client(peer())
    assert client.ask(declare) == OK
    assert client.ask(declare.replace(internal=True)) == OK
    assert client.ask(Exchange.Delete("x")) == Exchange.DeleteOk()
    assert client.is_refused(Exchange.Delete("x")) == (404, "channel")


def test_the_default_exchange_is_not_for_declare_and_delete() -> None:
    client = Client(peer())
    for use in (Exchange.Declare("", "direct"), Exchange.Declare("", passive=True), Exchange.Delete("")):
        assert client.is_refused(use) == (403, "channel")
    client = Client(peer(blank_exchange=PRECONDITION_FAILED))
    assert client.is_refused(Exchange.Declare("", "direct")) == (406, "channel")


def test_passive_checks_only_the_name() -> None:
    client = client_with()
    assert (
        client.ask(Exchange.Declare("x", "no such type", passive=True, durable=True, arguments={"a": 1}))
        == OK
    )
    assert client.is_refused(Exchange.Declare("y", passive=True)) == (404, "channel")
    assert client.is_refused(Exchange.Declare("amq.y", passive=True, no_wait=True)) == (404, "channel")


def test_passive_with_no_wait_may_have_no_effect() -> None:
    client = Client(peer(passive_no_wait="silence"))
    client.send(Exchange.Declare("y", passive=True, no_wait=True))
    assert client.listen() == []
    assert client.is_refused(Exchange.Declare("y", passive=True)) == (404, "channel")


def test_no_wait_has_no_answer() -> None:
    client = Client(peer())
    client.send(Exchange.Declare("x", "direct", no_wait=True), Exchange.Declare("x", "direct", no_wait=True))
    client.send(Exchange.Declare("x", passive=True, no_wait=True), Exchange.Delete("x", no_wait=True))
    assert client.listen() == []
    assert client.is_refused(Exchange.Delete("x", no_wait=True)) == (404, "channel")


@pytest.mark.parametrize("change", [{"durable": True}, {"arguments": {"a": 1}}, {"type": "fanout"}])
def test_declaring_it_otherwise_is_refused(change: Any) -> None:
    assert client_with().is_refused(Exchange.Declare("x", "direct").replace(**change)) == (406, "channel")


def test_another_type_is_refused_by_policy() -> None:
    client = Client(peer(type_change=Refusal(NOT_ALLOWED)))
    assert client.is_refused(Exchange.Declare("amq.direct", "fanout", durable=True)) == (530, "connection")


def test_types_that_are_not_supported_are_refused() -> None:
    assert Client(peer()).is_refused(Exchange.Declare("x", "x-none")) == (503, "connection")


@pytest.mark.parametrize("name", ["a b", "a/b", "é", "x" * 128])
def test_illegal_names_are_refused(name: Any) -> None:
    assert Client(peer()).is_refused(Exchange.Declare(name, "direct")) == (406, "channel")


def test_names_may_be_as_long_as_the_policy_says() -> None:
    assert client_with("aZ09-_.:" + "x" * 119)
    client = Client(peer(name_limit=255))
    assert client.ask(Exchange.Declare("x" * 255, "direct")) == OK


def test_reserved_names_are_refused_unless_they_exist() -> None:
    client = Client(peer())
    assert client.is_refused(Exchange.Declare("amq.new", "direct")) == (403, "channel")
    assert client.ask(Exchange.Declare("amq.direct", "direct", durable=True)) == OK


def test_there_is_a_limit() -> None:
    client = Client(peer(Limits(entities=7)))
    assert client.ask(Exchange.Declare("x", "direct")) == OK
    assert client.is_refused(Exchange.Declare("y", "direct")) == (506, "connection")


def test_if_unused_spares_an_exchange_with_bindings() -> None:
    client = client_with()
    client.declare()
    client.ask(Queue.Bind("q", "x", "k"))
    assert client.is_refused(Exchange.Delete("x", if_unused=True)) == (406, "channel")
    client.ask(Queue.Unbind("q", "x", "k"))
    assert client.ask(Exchange.Delete("x", if_unused=True)) == Exchange.DeleteOk()


def test_deleting_an_exchange_cancels_its_bindings() -> None:
    client = client_with()
    client.declare()
    client.ask(Queue.Bind("q", "x", "k"))
    client.ask(Exchange.Delete("x"))
    client.ask(Exchange.Declare("x", "direct"))
    client.publish("k", exchange="x")
    assert client.get() is None


def routed(kind: Any, key: Any, arguments: Any, sent: Any, headers: Any = None) -> Any:
    client = client_with(type=kind)
    client.declare()
    client.ask(Queue.Bind("q", "x", key, arguments=arguments))
    client.publish(sent, exchange="x", headers=headers)
    return client.get() is not None


@pytest.mark.parametrize(
    ("kind", "key", "sent", "arrives"),
    [
        ("direct", "k", "k", True),
        ("direct", "k", "K", False),
        ("direct", "", "", True),
        ("fanout", "k", "other", True),
        ("topic", "*.stock.#", "usd.stock", True),
        ("topic", "*.stock.#", "eur.stock.db", True),
        ("topic", "*.stock.#", "stock.nasdaq", False),
        ("topic", "#", "", True),
        ("topic", "#", "a.b.c", True),
        ("topic", "*", "", False),
        ("topic", "", "", True),
        ("topic", "a.#.b", "a.b", True),
        ("topic", "a.#.b", "a.x.y.b", True),
        ("topic", "a.#.b", "a.x.y", False),
        ("topic", "#.#", "a", True),
        ("topic", "a.*", "a.b.c", False),
        ("topic", "a*", "ab", False),
        ("topic", "x.#.a", "b.a", False),
    ],
)
def test_routing_by_key(kind: Any, key: Any, sent: Any, arrives: Any) -> None:
    assert routed(kind, key, {}, sent) is arrives


@pytest.mark.parametrize(
    ("arguments", "headers", "arrives"),
    [
        ({"x-match": "all", "a": 1, "b": "2"}, {"a": 1, "b": "2", "c": 3}, True),
        ({"x-match": "all", "a": 1, "b": "2"}, {"a": 1}, False),
        ({"x-match": "any", "a": 1, "b": "2"}, {"b": "2"}, True),
        ({"x-match": "any", "a": 1, "b": "2"}, {"a": 2, "b": "1"}, False),
        ({"x-match": "all", "a": None}, {"a": "whatever"}, True),
        ({"x-match": "all", "a": None}, {"b": 1}, False),
        ({"x-match": "all", "a": 1, "x-other": 5}, {"a": 1}, True),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, None, False),
    ],
)
def test_routing_by_headers(arguments: Any, headers: Any, arrives: Any) -> None:
    assert routed("headers", "", arguments, "ignored", headers) is arrives


def test_a_message_goes_once_to_every_queue_bound() -> None:
    client = client_with(type="topic")
    for name in ("q", "p"):
        client.declare(name)
        for key in ("#", "a.*", "*.b"):
            client.ask(Queue.Bind(name, "x", key))
    client.publish("a.b", exchange="x")
    assert client.count("q") == client.count("p") == (1, 0)
    answer = client.get("p")
    assert (answer.method.exchange, answer.method.routing_key) == ("x", "a.b")


def test_publishing_to_nowhere_is_dropped_and_to_no_exchange_refused() -> None:
    client = Client(peer())
    client.publish("nowhere")
    assert client.listen() == []
    assert client.is_refused(Basic.Publish("none", "q")) == (404, "channel")
