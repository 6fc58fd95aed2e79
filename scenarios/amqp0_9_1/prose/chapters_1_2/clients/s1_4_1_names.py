"""1.4.1: a client keeps the letters of names."""

from harness.amqp0_9_1.broken.deviations import forwards
from harness.amqp0_9_1.client.outcomes import Received, signature
from harness.amqp0_9_1.server.client import Client
from harness.amqp0_9_1.wire.vocabulary import Queue
from scenarios.registry import broken_by, scenario
from spec.rules import Role


@scenario("0-9-1/prose/1.4.1.strings-case-sensitive", role=Role.CLIENT)
@broken_by("writes all in small letters", forwards(Queue.Declare, queue=lambda it: it.lower()), Role.CLIENT)
def client_keeps_the_case_of_names(client: Client) -> None:
    """The client is told to declare a queue whose name has letters of both cases: it declares that one."""
    connection = client.connection()
    channel, name = connection.channel(), f"{client.name('queue')}-Both-CASES"
    channel.tries("queue.declare", queue=name)
    seen = connection.link.taken(Queue.Declare)
    same = isinstance(seen, Received) and seen.method.queue == name
    client.judge(
        "the name as it was told", "another name" if isinstance(seen, Received) else signature(seen), same
    )
