"""3.1.10: names that a client leaves to its application."""

from collections.abc import Callable
from typing import Any

from harness.amqp0_9_1.broken.deviations import forwards, ignores
from harness.amqp0_9_1.client.outcomes import Received, signature
from harness.amqp0_9_1.server.client import Client
from harness.amqp0_9_1.wire.vocabulary import Exchange, Queue
from scenarios.amqp0_9_1.prose.chapter_3.s3_1_4_queues import LIKE_RESERVED
from scenarios.registry import broken_by, scenario
from spec.rules import Role


def begins(kind: str, start: str) -> Callable[[Any], bool]:
    return lambda it: getattr(it, kind).startswith(start)


@scenario("0-9-1/prose/3.1.10.application-names", role=Role.CLIENT)
@broken_by("reserves amq without a dot", ignores(Queue.Declare, begins("queue", "amq")), Role.CLIENT)
@broken_by("reserves it by any case", ignores(Exchange.Declare, begins("exchange", "AMQ.")), Role.CLIENT)
@broken_by(
    "has another name for it", forwards(Queue.Declare, begins("queue", "x.amq."), queue="other"), Role.CLIENT
)
def client_leaves_other_names_to_its_application(client: Client) -> None:
    """Queues and exchanges whose names only look like reserved ones are declared as the client is told."""
    connection = client.connection()
    channel = connection.channel()
    channel.declares(client.name("queue"))
    for pattern in LIKE_RESERVED:
        name = pattern.format(client.name("name"))
        for kind, method in (("queue", Queue.Declare), ("exchange", Exchange.Declare)):
            told = {"type": "direct"} if kind == "exchange" else {}
            channel.tries(f"{kind}.declare", **{kind: name}, **told)
            seen = connection.link.taken(method)
            same = isinstance(seen, Received) and getattr(seen.method, kind) == name
            otherwise = "another name" if isinstance(seen, Received) else signature(seen)
            client.judge("the name as it was told", otherwise, same)
