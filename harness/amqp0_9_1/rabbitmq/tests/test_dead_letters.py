"""Dead letters of the reference peer: where they go, and what they tell."""

from typing import Any

from harness.amqp0_9_1.peer.tests.dialogue import Client, Message, peer
from harness.amqp0_9_1.rabbitmq.peer import Peer
from harness.amqp0_9_1.rabbitmq.queues.dead_letters import EPOCH, goes_in_circles
from harness.amqp0_9_1.wire.field_tables import Timestamp
from harness.amqp0_9_1.wire.vocabulary import Basic, Exchange, Queue


def client_with(**arguments: Any) -> Client:
    """A client whose queue q has these dead-letter arguments, and whose queue dead gets what its key says."""
    client = Client(peer(kind=Peer), channels=2)
    client.declare("dead")
    spelt = {f"x-dead-letter-{name.replace('_', '-')}": value for name, value in arguments.items()}
    client.declare("q", arguments=spelt)
    return client


def reject(client: Client, queue: str = "q") -> None:
    client.send(Basic.Reject(client.get(queue).method.delivery_tag))


def history(letter: Message) -> list[dict[str, Any]]:
    properties: Any = letter.properties
    return list(properties.headers["x-death"])


def test_a_rejected_message_is_sent_on_with_its_history() -> None:
    client = client_with(exchange="", routing_key="dead")
    client.publish(headers={"kept": 1, "CC": ["copy"], "BCC": ["blind"]}, expiration="60000")
    reject(client)
    letter = client.get("dead")
    assert letter.method.routing_key == "dead"
    assert letter.properties.expiration is None
    assert letter.properties.headers == {
        "x-first-death-queue": "q",
        "x-first-death-reason": "rejected",
        "x-first-death-exchange": "",
        "x-last-death-queue": "q",
        "x-last-death-reason": "rejected",
        "x-last-death-exchange": "",
        "kept": 1,
        "x-death": [
            {
                "queue": "q",
                "reason": "rejected",
                "count": 1,
                "time": Timestamp(EPOCH),
                "exchange": "",
                "routing-keys": ["q", "copy"],
                "original-expiration": "60000",
            }
        ],
    }


def test_deaths_alike_are_counted_and_the_latest_is_first() -> None:
    client = client_with(exchange="", routing_key="other")
    client.declare("other", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q"})
    client.publish()
    for queue in ("q", "other", "q"):
        reject(client, queue)
    told = [(each["queue"], each["count"]) for each in history(client.get("other"))]
    assert told == [("q", 2), ("other", 1)]


def test_without_a_key_of_the_queue_all_keys_of_the_message_count() -> None:
    client = client_with(exchange="graves")
    client.ask(Exchange.Declare("graves", "direct"))
    for key in ("q", "copy", "blind"):
        client.declare(f"dead {key}")
        client.ask(Queue.Bind(f"dead {key}", "graves", key))
    client.publish(headers={"CC": ["copy"], "BCC": ["blind"]})
    reject(client)
    for key in ("q", "copy", "blind"):
        headers = client.get(f"dead {key}").properties.headers
        assert headers["CC"] == ["copy"]
        assert "BCC" not in headers


def test_without_an_exchange_that_is_there_the_message_is_gone() -> None:
    for arguments in ({}, {"exchange": "missing"}):
        client = client_with(**arguments)
        client.publish()
        reject(client)
        assert client.listen() == []
        assert client.count("q") == (0, 0)


def test_only_a_cycle_with_a_rejection_goes_on() -> None:
    def died(*deaths: tuple[str, str]) -> list[dict[str, Any]]:
        return [{"queue": queue, "reason": reason} for queue, reason in deaths]

    assert goes_in_circles(died(("b", "expired"), ("a", "maxlen")), "a")
    assert not goes_in_circles(died(("b", "expired"), ("a", "maxlen")), "c")
    assert not goes_in_circles(died(("b", "rejected"), ("a", "maxlen")), "a")
    assert not goes_in_circles(died(("b", "expired"), ("a", "rejected")), "a")
    assert goes_in_circles(died(("a", "expired"), ("b", "rejected")), "a")
