"""Where the reference peer brings messages: over exchanges, to alternate ones, by several keys."""

from typing import Any

import pytest

from harness.amqp0_9_1.peer.tests.dialogue import Client, Message, queue_with
from harness.amqp0_9_1.rabbitmq.peer import Peer
from harness.amqp0_9_1.wire.vocabulary import Exchange, Queue


def with_alternate(exchange: str, alternate: str) -> Exchange.Declare:
    return Exchange.Declare(exchange, "direct", arguments={"alternate-exchange": alternate})


def with_exchanges(*declares: Exchange.Declare) -> Client:
    client = queue_with(kind=Peer)
    for each in declares:
        assert client.ask(each) == Exchange.DeclareOk()
    return client


def test_what_cannot_be_routed_goes_to_the_alternate_exchange_and_what_can_does_not() -> None:
    client = with_exchanges(
        with_alternate("x", "y"), with_alternate("y", "z"), Exchange.Declare("z", "fanout")
    )
    client.declare("rest")
    client.ask(Queue.Bind("q", "x", "key"))
    client.ask(Queue.Bind("rest", "z"))
    client.publish("key", exchange="x", body=b"routed")
    client.publish("other", exchange="x", body=b"not", mandatory=True)
    assert client.get().body == b"routed"
    assert client.get("rest").body == b"not"
    assert client.get("rest") is None


def test_alternates_that_go_round_or_are_missing_end_and_the_message_is_returned() -> None:
    client = with_exchanges(
        with_alternate("x", "y"), with_alternate("y", "x"), with_alternate("z", "missing")
    )
    for exchange in ("x", "z"):
        client.publish(exchange=exchange, mandatory=True)
        assert isinstance(client.hear(), Message)


def test_an_exchange_that_has_had_the_message_is_no_reason_for_the_alternate_one() -> None:
    client = with_exchanges(
        *(Exchange.Declare(name, "fanout") for name in ("a", "b", "d", "rest")),
        Exchange.Declare("c", "fanout", arguments={"alternate-exchange": "rest"}),
    )
    client.declare("rest")
    for source, destination in (("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")):
        client.ask(Exchange.Bind(destination, source))
    client.ask(Queue.Bind("q", "d"))
    client.ask(Queue.Bind("rest", "rest"))
    client.publish(exchange="a")
    assert client.get() is not None
    assert client.get() is None
    assert client.get("rest") is None


def test_keys_in_cc_and_bcc_are_added_and_bcc_is_not_shown() -> None:
    client = queue_with(kind=Peer)
    for name in ("copied", "blind"):
        client.declare(name)
    client.publish("q", headers={"CC": ["copied", "q"], "BCC": ["blind"], "other": 1})
    for name in ("q", "copied", "blind"):
        assert client.get(name).properties.headers == {"CC": ["copied", "q"], "other": 1}
        assert client.get(name) is None


@pytest.mark.parametrize("headers", [{"CC": "q"}, {"BCC": 5}, {"CC": ["q"], "BCC": {}}])
def test_keys_that_are_no_array_are_refused(headers: dict[str, Any]) -> None:
    client = queue_with(kind=Peer)
    client.publish(headers=headers)
    assert client.hear().reply_code == 406
    assert client.get(channel=2) is None
