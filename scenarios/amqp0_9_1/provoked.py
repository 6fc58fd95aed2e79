"""What many rules of clients begin with: a control, then the server says what it must not, or rarely does."""

from typing import Any

from harness.amqp0_9_1.broken.provocations import Said, follows
from harness.amqp0_9_1.client.outcomes import Received, signature
from harness.amqp0_9_1.server.client import Client, JudgedChannel, JudgedConnection
from harness.amqp0_9_1.wire.frames import OVERHEAD, Frame
from harness.amqp0_9_1.wire.vocabulary import Connection, Queue
from harness.play.expect import ControlFailed
from harness.targets.client.target import BeforeServer


def provoked(
    client: Client, *said: Said, meets: tuple[BeforeServer, ...] = (), **options: Any
) -> JudgedConnection:
    """Have the client declare two queues; behind the second Declare-Ok the server says something more."""
    return provoked_on(client, *said, meets=meets, **options).connection


def provoked_on(
    client: Client, *said: Said, meets: tuple[BeforeServer, ...] = (), **options: Any
) -> JudgedChannel:
    """Do the same, and give the channel on which it was."""
    connection = client.connection(follows(Queue.DeclareOk, *said, skip=1), *meets, **options)
    channel = connection.channel()
    channel.call("queue.declare", queue=client.name("queue"))
    channel.tries("queue.declare", queue=client.name("queue"))
    connection.came(Queue.Declare)
    return channel


def connects(client: Client, *meets: BeforeServer, **options: Any) -> JudgedConnection:
    """Judge that the client can connect to a server that it has to bear. Raises Unmet."""
    connection = client.connecting(*meets, **options)
    client.judge("a connection", connection.refused.told if connection.refused else "", bool(connection.on))
    return connection


def tune_ok(connection: JudgedConnection) -> Any:
    """Give what the client agreed to; what it said before is left behind. Raises ControlFailed."""
    seen = connection.link.taken(Connection.TuneOk)
    if not isinstance(seen, Received):
        raise ControlFailed("connection.tune", signature(seen))
    return seen.method


def largest_frame(connection: JudgedConnection) -> int:
    """Give the octets of the largest frame that the client sent, header and end included."""
    connection.hear_out()
    return max(len(unit.payload) + OVERHEAD for unit in connection.link.received() if isinstance(unit, Frame))
