"""What a client under test is told to do so that there is something to see of it."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from harness.amqp0_9_1.server.client import Client, JudgedChannel, JudgedConnection
from harness.play.expect import ControlFailed

TALK = "0-9-1/prose/2.3.7.close-by-handshake"
"""The rule whose scenario for clients has them talk, and so gives watches of clients their occasion."""
SIZES = (0, 24)
LARGE = 300_000
"""Octets of a body that no frame has room for."""
OUTCOMES = ("accept", "reject", "release")


def talk(client: Client) -> JudgedConnection:
    """Have the client use all that its library has; give its connection, with no channel open."""
    client.can(partial(sends_much, client))
    connection = client.connection()
    channel = connection.channel()
    queue, exchange = client.name("queue"), client.name("exchange")
    channel.declares(queue)
    channel.declares_exchange(exchange)
    channel.call("queue.bind", queue=queue, exchange=exchange, routing_key="key")
    for size in SIZES:
        channel.publish({"fill": size}, exchange, "key", {"content-type": "application/octet-stream"})
        got = channel.get(queue)
        if got is None or got.size != size:
            raise ControlFailed(f"getting a message of {size} octets", f"{got.size if got else 'no'} octets")
    settles(client, channel, queue)
    consumes(client, channel, queue)
    commits(client, connection, queue)
    others: Mapping[str, Mapping[str, Any]] = {
        "basic.recover": {"requeue": True},
        "basic.recover-async": {"requeue": True},
        "channel.flow": {"active": True},
        "queue.unbind": {"queue": queue, "exchange": exchange, "routing_key": "key"},
        "queue.purge": {"queue": queue},
        "queue.delete": {"queue": queue},
    }
    for method, args in others.items():
        client.can(partial(channel.call, method, **args))
    channel.call("exchange.delete", exchange=exchange)
    channel.close()
    return connection


def sends_much(client: Client) -> None:
    """Have the client send and get a large message, on a connection that may not survive it."""
    connection = client.connection()
    channel, queue = connection.channel(), client.name("queue")
    channel.declares(queue)
    channel.publish({"fill": LARGE}, key=queue)
    channel.get(queue)
    connection.close()


def settles(client: Client, channel: JudgedChannel, queue: str) -> None:
    """Have the client get messages, and settle each in another way."""
    for outcome in OUTCOMES:
        channel.publish(outcome, key=queue)
        if got := channel.get(queue, settled=False):
            client.can(partial(channel.settle, got, outcome))


def consumes(client: Client, channel: JudgedChannel, queue: str) -> None:
    """Have the client consume two messages, one at a time, and stop."""
    client.can(lambda: channel.call("basic.qos", prefetch_count=1))
    tag = channel.receive(queue, settled=False)
    channel.publish("consumed", key=queue)
    for count in (1, 2):
        for message in channel.messages(count)[count - 1 :]:
            channel.settle(message)
    channel.stop(tag)


def commits(client: Client, connection: JudgedConnection, queue: str) -> None:
    """Have the client use transactions on a channel of their own, where its library has them."""
    channel = connection.channel()
    if client.can(lambda: channel.call("tx.select")):
        channel.publish("committed", key=queue)
        client.can(lambda: channel.call("tx.commit"))
        client.can(lambda: channel.call("tx.rollback"))
    channel.close()
