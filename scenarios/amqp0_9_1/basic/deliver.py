"""basic.deliver: a message is sent to a consumer."""

from harness.amqp0_9_1.broken.deviations import changes, drops
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import Silence, message, silence
from harness.amqp0_9_1.peer.life import bury_delivery, mark_redelivered, put_back
from harness.amqp0_9_1.wire.vocabulary import Basic
from scenarios.registry import broken_by, scenario

TOO_OFTEN = "requeue: too often dead-letters"
REDELIVERIES = 50


@scenario("0-9-1/basic.deliver.01", slow=True)
@broken_by("does not count", drops(TOO_OFTEN))
@broken_by("keeps what it moves away", changes(TOO_OFTEN, bury_delivery, mark_redelivered, put_back))
@broken_by(
    "counts to a thousand", changes(TOO_OFTEN, condition=lambda turn: turn.subject.entry.deliveries > 1000)
)
def message_that_nobody_acknowledges_is_given_up(broker: Broker) -> None:
    """A message that is delivered but never acknowledged leaves its queue after fifty redeliveries at most.

    It is taken on a fresh channel each time, which is closed; the queue then gets and gives another message.
    """
    channel, queue = broker.queue(b"unprocessable")
    deliveries = 0
    while deliveries <= 1 + REDELIVERIES and comes_again(broker, queue):
        deliveries += 1
    gone = deliveries <= 1 + REDELIVERIES
    broker.note(f"given up after {deliveries} deliveries" if gone else "not given up")
    told = f"after {REDELIVERIES} redeliveries at most"
    broker.judge(f"the message gone {told}", "the message still there", gone)
    channel.publish(b"sentinel", key=queue)
    channel.consumes(queue, b"sentinel")


def comes_again(broker: Broker, queue: str) -> bool:
    """Say whether the message is delivered on a fresh channel, which is closed afterwards."""
    channel = broker.channel().consuming(queue)
    seen = channel.expect(message(Basic.Deliver, b"unprocessable") | silence())
    channel.close()
    return not isinstance(seen, Silence)
