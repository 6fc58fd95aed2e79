"""Time-to-live of messages and queues in the reference peer."""

from typing import Any

import pytest

from harness.amqp0_9_1.peer.tests.dialogue import Client, peer
from harness.amqp0_9_1.rabbitmq.peer import Peer
from harness.amqp0_9_1.wire.vocabulary import Basic, Queue

GONE = None


def client(**choices: Any) -> Client:
    """A client of a peer of the extensions, with a queue that sends its dead messages to another one."""
    made = Client(peer(kind=Peer, **choices), channels=2)
    made.declare("dead")
    return made


def mortal(made: Client, **arguments: object) -> None:
    """Declare the queue q, whose dead messages go to another one."""
    goes_on = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    made.declare(arguments={**goes_on, **{f"x-{name}": value for name, value in arguments.items()}})


def test_a_message_dies_when_its_time_is_over() -> None:
    made = client()
    mortal(made, **{"message-ttl": 200})
    made.publish(body=b"1")
    made.publish(body=b"2", expiration="100")
    made.peer.tick(0.19)
    assert made.count() == (2, 0)
    made.peer.tick(0.2)
    assert made.count() == (0, 0)
    assert [made.get("dead").body for _ in range(2)] == [b"1", b"2"]


@pytest.mark.parametrize(("expired", "left"), [("at the head", 2), ("at once", 1)])
def test_what_is_dead_behind_others_goes_at_the_head_or_at_once(expired: str, left: int) -> None:
    made = client(expired=expired)
    made.declare()
    made.publish(body=b"1")
    made.publish(body=b"2", expiration="100")
    made.peer.tick(0.1)
    assert made.count() == (left, 0)
    assert made.get(no_ack=True).body == b"1"
    assert made.get() is None
    assert made.count() == (0, 0)


def test_what_is_put_back_too_late_is_dead() -> None:
    made = client()
    mortal(made, **{"message-ttl": 200})
    made.publish(body=b"1")
    made.get()
    made.peer.tick(0.3)
    made.send(Basic.Nack(1, requeue=True))
    assert made.get() is None
    assert made.get("dead").body == b"1"


def test_without_time_only_a_consumer_that_waits_gets_it() -> None:
    made = client()
    mortal(made, **{"message-ttl": 0})
    made.publish(body=b"1")
    assert made.get() is None
    made.ask(Basic.Consume("q", no_ack=True))
    made.publish(body=b"2")
    assert made.bodies() == [b"2"]


@pytest.mark.parametrize("expiration", ["soon", "-1", "1.5", ""])
def test_an_expiration_that_is_no_number_is_refused(expiration: str) -> None:
    made = client()
    made.publish(key="dead", expiration=expiration)
    assert made.hear().reply_code == 406


def test_a_queue_goes_when_nobody_used_it() -> None:
    made = client()
    arguments = {"x-expires": 1000}
    made.declare(arguments=arguments)
    made.peer.tick(0.9)
    made.get()
    made.peer.tick(1.8)
    made.declare(arguments=arguments)
    made.peer.tick(2.7)
    assert made.count() == (0, 0)
    tag = made.ask(Basic.Consume("q")).consumer_tag
    made.peer.tick(4.0)
    assert made.count() == (0, 1)
    made.ask(Basic.Cancel(tag))
    made.peer.tick(4.9)
    assert made.count() == (0, 0)
    made.peer.tick(5.0)
    assert made.count() is GONE


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-message-ttl", -1),
        ("x-message-ttl", "1"),
        ("x-expires", 0),
        ("x-max-length", True),
        ("x-max-length-bytes", 1.0),
        ("x-overflow", "drop-tail"),
        ("x-max-priority", 256),
    ],
)
def test_arguments_with_other_values_are_refused(name: str, value: object) -> None:
    assert client().is_refused(Queue.Declare("q", arguments={name: value})) == (406, "channel")
