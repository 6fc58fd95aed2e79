"""What the guides ask of arguments that clients give: names are strings, numbers are integers."""

from collections.abc import Mapping
from typing import Any

from harness.amqp0_9_1.broken.deviations import Interposer, forwards
from harness.amqp0_9_1.broken.frame_faults import sent_on
from harness.amqp0_9_1.server.client import Client, JudgedConnection
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.field_tables import As, encode_value, shortstr
from harness.amqp0_9_1.wire.frames import Frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Queue
from harness.play.expect import ControlFailed
from scenarios.registry import broken_by, scenario
from spec.rules import Role

WIDTHS: Mapping[str, int] = {"b": 1, "B": 1, "s": 2, "U": 2, "u": 2, "I": 4, "i": 4, "l": 8, "L": 8}
"""Octets of an integer by its letter, which of them there are in practice included."""
QUORUM = {"x-queue-type": "quorum"}
DEAD, KEY, SIZE, PRIORITY = (
    "x-dead-letter-exchange",
    "x-dead-letter-routing-key",
    "x-quorum-initial-group-size",
    "x-priority",
)


def gives(method: type[Method], name: str, value: Any) -> Interposer:
    """Sends another value of an argument."""
    return forwards(method, when=lambda it: name in it.arguments, arguments=lambda it: {**it, name: value})


def sent_with(connection: JudgedConnection, method: type[Method], name: str) -> bytes:
    """Give what stands behind the name of an argument in the frame that has it. Raises ControlFailed."""
    connection.hear_out()
    named = shortstr(name)
    for each in connection.link.received():
        if isinstance(each, Frame) and sent_on(method)(each) and named in each.payload:
            return each.payload.partition(named)[2]
    raise ControlFailed(method.full_name, f"none with {name}")


def is_integer(client: Client, value: bytes, given: int) -> None:
    """Judge that a value is of a type of integers, and the one that was given."""
    width = WIDTHS.get(chr(value[0]), 0)
    read = int.from_bytes(value[1 : 1 + width], signed=True)
    client.judge(f"the integer {given}", f"a value of type {chr(value[0])!r}", width > 0 and read == given)


def declares(client: Client, **arguments: Any) -> JudgedConnection:
    """Have the client declare a queue with these arguments, by their names with underscores."""
    connection = client.connection()
    told = {"map": [[name.replace("_", "-"), each] for name, each in arguments.items()]}
    how = {"durable": True, "exclusive": False, "auto_delete": False}
    connection.channel().tries("queue.declare", queue=client.name("queue"), arguments=told, **how)
    return connection


@scenario("rabbitmq/dlx.exchange-is-a-name", role=Role.CLIENT)
@broken_by("gives a number", gives(Queue.Declare, DEAD, 7), Role.CLIENT)
@broken_by("gives the key as a number", gives(Queue.Declare, KEY, 7), Role.CLIENT)
@broken_by("gives another type of strings", gives(Queue.Declare, DEAD, As("s", "dead")), Role.CLIENT)
def client_gives_names_as_strings(client: Client) -> None:
    """Told to declare a queue with a dead-letter exchange and key, the client gives both as strings."""
    connection = declares(client, x_dead_letter_exchange="dead", x_dead_letter_routing_key="key")
    for name, given in ((DEAD, "dead"), (KEY, "key")):
        value = sent_with(connection, Queue.Declare, name)
        client.judge("a string", f"a value of type {chr(value[0])!r}", value.startswith(encode_value(given)))


@scenario("rabbitmq/quorum-queues.initial-group-size", role=Role.CLIENT)
@broken_by("gives a float", gives(Queue.Declare, SIZE, As("d", 3.0)), Role.CLIENT)
@broken_by("gives a text", gives(Queue.Declare, SIZE, "3"), Role.CLIENT)
@broken_by("gives none", gives(Queue.Declare, SIZE, 0), Role.CLIENT)
def client_gives_the_size_of_a_group_as_an_integer(client: Client) -> None:
    """Told to declare a quorum queue for a group of three, the client gives the integer three."""
    connection = declares(client, x_queue_type="quorum", x_quorum_initial_group_size=3)
    is_integer(client, sent_with(connection, Queue.Declare, SIZE), 3)


@scenario("rabbitmq/consumer-priority.integer", role=Role.CLIENT)
@broken_by("gives a float", gives(Basic.Consume, PRIORITY, As("d", 5.0)), Role.CLIENT)
@broken_by("gives a text", gives(Basic.Consume, PRIORITY, "5"), Role.CLIENT)
def client_gives_a_priority_as_an_integer(client: Client) -> None:
    """Told to consume with a priority of five, the client gives the integer five."""
    connection, queue = client.connection(), client.name("queue")
    channel = connection.channel()
    channel.declares(queue)
    channel.tries_to_receive(queue, arguments={PRIORITY: 5})
    is_integer(client, sent_with(connection, Basic.Consume, PRIORITY), 5)
