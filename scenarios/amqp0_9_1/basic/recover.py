"""basic.recover: unacknowledged messages are resent."""

from harness.amqp0_9_1.broken.basic_faults import resend_unmarked
from harness.amqp0_9_1.broken.deviations import changes, rewrites, swaps
from harness.amqp0_9_1.broken.faults import never_redelivered
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import EXCEPTION, Silence, answered, message, silence
from harness.amqp0_9_1.wire.vocabulary import Basic
from scenarios.registry import broken_by, scenario

THREE = 3
RESENT = message(Basic.Deliver, redelivered=True)
ELSEWHERE = "judged by 0-9-1/grammar/basic.recover.implemented"


def three_taken(broker: Broker) -> AmqpChannel:
    """Give a channel whose consumer has three messages that await acknowledgement."""
    channel, queue = broker.queue(*map(str, range(THREE)))
    channel.consume(queue)
    channel.deliveries(THREE)
    return channel


@scenario("0-9-1/basic.recover.01")
@broken_by("never sets the flag", swaps(redelivered=never_redelivered))
@broken_by("does not mark what it resends", changes("basic.recover: requeues", resend_unmarked))
@broken_by("clears the flag", rewrites(Basic.Deliver, redelivered=False))
@broken_by("sets the flag once", rewrites(Basic.Deliver, redelivered=False, skip=THREE + 1))
def what_recover_requeues_is_marked(broker: Broker) -> None:
    """Three messages are taken; each that Recover with requeue set resends has redelivered=1."""
    channel = three_taken(broker)
    recovers(broker, channel, requeue=True)
    if isinstance(channel.expect(RESENT | silence()), Silence):
        broker.inapplicable("nothing was resent, so that nothing could be marked")
    for _ in range(THREE - 1):
        channel.expect(RESENT | silence())


@scenario("0-9-1/basic.recover.01")
@broken_by(
    "does not mark what it returns to its recipient", changes("basic.recover: redelivers", resend_unmarked)
)
def what_recover_returns_to_its_recipient_is_marked(broker: Broker) -> None:
    """With requeue clear, each message that is resent has redelivered=1; an exception resends nothing."""
    channel = three_taken(broker)
    recovers(broker, channel, requeue=False)
    for _ in range(THREE):
        channel.expect(RESENT, silence().recorded("no more was resent"))


def recovers(broker: Broker, channel: AmqpChannel, *, requeue: bool) -> None:
    """Send Recover; end the scenario where it is refused: nothing is resent, which another rule judges."""
    channel.send(Basic.Recover(requeue=requeue))
    refused = EXCEPTION
    answer = channel.expect_answer(answered(Basic.RecoverOk), (refused | silence()).recorded(ELSEWHERE))
    if not isinstance(answer, Basic.RecoverOk | Silence):
        broker.inapplicable("Recover is refused, so that nothing is resent and nothing can be marked")
