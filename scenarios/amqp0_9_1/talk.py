"""What a client under test is told to do so that there is something to see of it."""

from harness.amqp0_9_1.server.client import Client, JudgedConnection
from harness.play.expect import ControlFailed

TALK = "0-9-1/prose/2.3.7.close-by-handshake"
"""The rule whose scenario for clients has them talk, and so gives watches of clients their occasion."""
SIZES = (0, 24, 300_000)
"""Octets of bodies: none, a few, and more than a frame has room for."""


def talk(client: Client) -> JudgedConnection:
    """Have the client declare, bind, publish, get and delete; give its connection, with no channel open."""
    connection = client.connection()
    channel = connection.channel()
    queue, exchange = client.name("queue"), client.name("exchange")
    channel.call("queue.declare", queue=queue)
    channel.call("exchange.declare", exchange=exchange, type="direct")
    channel.call("queue.bind", queue=queue, exchange=exchange, routing_key="key")
    for size in SIZES:
        channel.publish({"fill": size}, exchange, "key", {"content-type": "application/octet-stream"})
        got = channel.get(queue)
        if got is None or got.size != size:
            raise ControlFailed(f"getting a message of {size} octets", f"{got.size if got else 'no'} octets")
    channel.call("exchange.delete", exchange=exchange)
    channel.close()
    return connection
