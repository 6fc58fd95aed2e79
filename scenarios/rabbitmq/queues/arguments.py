"""What queues are called, and which of their arguments cannot change."""

from harness.amqp0_9_1.broken.deviations import changes, forwards, rewrites
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import channel_closed, fields, refused
from harness.amqp0_9_1.rabbitmq.broken.queues.policies import COMPARES, is_never_other
from harness.amqp0_9_1.wire.vocabulary import PRECONDITION_FAILED, Queue
from scenarios.rabbitmq.queues.length_limits import has, limited
from scenarios.rabbitmq.queues.time_to_live import LONG
from scenarios.registry import broken_by, scenario

LONGEST = 255
"""Octets of the longest name."""


@scenario("rabbitmq/queues.long-names")
@broken_by("cuts it short", rewrites(Queue.DeclareOk, queue=lambda name: name[:100]))
def name_may_be_long(broker: Broker) -> None:
    """A queue with a name of 255 octets, not all of ASCII, is declared and has what is sent to it."""
    channel = broker.channel()
    name = broker.name("queue", "{}-äöü€")
    name += "x" * (LONGEST - len(name.encode()))
    channel.remember("queue", name)
    told = fields(Queue.DeclareOk, queue=name)
    short = channel_closed(PRECONDITION_FAILED).under(
        "0-9-1: a name is at most 127 octets of a few characters"
    )
    if isinstance(channel.tries(Queue.Declare(name), told, short), Queue.DeclareOk):
        channel.publish("1", key=name)
        has(channel, name, b"1")


@scenario("rabbitmq/queues.arguments-kept")
@broken_by("does not compare", changes(COMPARES, condition=is_never_other))
@broken_by("forgets them", forwards(Queue.Declare, arguments={}))
def arguments_cannot_change(broker: Broker) -> None:
    """A queue with limits is declared again as it was; with another limit, or none, it is refused: 406."""
    limits: dict[str, int] = {"message_ttl": LONG, "max_length": 10, "expires": LONG}
    queue = broker.channel().declare_queue(arguments=limited(**limits))
    broker.channel().tries(Queue.Declare(queue, arguments=limited(**limits)), Queue.DeclareOk)
    for other in ({**limits, "message_ttl": 1}, {**limits, "max_length": 1}, {**limits, "expires": 1}, {}):
        broker.channel().tries(
            Queue.Declare(queue, arguments=limited(**other)), *refused(PRECONDITION_FAILED)
        )
