"""What many rules of clients begin with: a control, then the server says what it must not, or rarely does."""

from typing import Any

from harness.amqp0_9_1.broken.provocations import Said, follows, hangs_up
from harness.amqp0_9_1.client.outcomes import Received, signature
from harness.amqp0_9_1.server.client import Client, JudgedChannel, JudgedConnection
from harness.amqp0_9_1.wire.frames import OVERHEAD, Frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Connection, Queue
from harness.play.expect import ControlFailed
from harness.shims.contract import Refused
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


def lost_in_use(client: Client) -> tuple[JudgedConnection, Refused | None]:
    """Have the socket of a connection end behind a Declare-Ok, and give what the client tells of it."""
    connection = client.connection(hangs_up(Queue.DeclareOk, included=False))
    # Some hear of the end before they tell of the queue.
    told = connection.channel().attempt("queue.declare", queue=client.name("queue"))
    return connection, told or refused_next(connection)


def refused_next(connection: JudgedConnection) -> Refused | None:
    """Have the client use a connection that has ended, and say why it does not."""
    told = connection.tries_channel()
    return told if isinstance(told, Refused) else None


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


def fits_into_frames(connection: JudgedConnection, agreed: int) -> None:
    """Judge that a message of 20,000 octets is published in frames of a size that was agreed upon.

    By 4.2.6.2 that may be the size of the payload.
    """
    client, queue = connection.client, connection.client.name("queue")
    channel = connection.channel()
    channel.call("queue.declare", queue=queue)
    channel.tries_to_publish({"fill": 20_000}, key=queue)
    published = connection.link.taken(Basic.Publish)
    largest = largest_frame(connection)
    client.judge(f"payloads of at most {agreed} octets", "a larger payload", largest <= agreed + OVERHEAD)
    payloads = "4.2.6.2: the size agreed upon is that of the payload"
    whole = f"frames of at most {agreed} octets"
    client.judge(whole, f"payloads of at most {agreed} octets", largest <= agreed, payloads)
    client.judge("a message in several frames", signature(published), isinstance(published, Received))
