"""basic.cancel: a consumer is ended."""

from harness.amqp0_9_1.broken.basic_faults import queue_of_the_consumer_is_gone
from harness.amqp0_9_1.broken.deviations import changes, rejects, replaces
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import answered, silence
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, Basic, Channel, Queue
from scenarios.registry import broken_by, scenario

IS_IGNORED = "basic.cancel: is ignored without the queue"


@scenario("0-9-1/basic.cancel.01")
@broken_by(
    "misses the queue",
    changes(IS_IGNORED, condition=queue_of_the_consumer_is_gone, effects=(), answer=refuse(NOT_FOUND)),
)
@broken_by("refuses with the connection", rejects(Basic.Cancel, NOT_FOUND, skip=1))
@broken_by("ends the channel", replaces(Basic.CancelOk, Channel.Close(NOT_FOUND, "no queue"), skip=1))
def cancel_without_a_queue_is_no_error(broker: Broker) -> None:
    """Cancel for a consumer whose queue was deleted is confirmed too, or ignored; the channel goes on."""
    channel, other = broker.channel(), broker.channel()
    channel.ask(Basic.Cancel(channel.consume(channel.declare_queue())))
    queue = channel.declare_queue()
    tag = channel.consume(queue)
    channel.publish(b"consumed", key=queue)
    channel.deliveries(1)
    other.ask(Queue.Delete(queue))
    channel.send(Basic.Cancel(tag))
    channel.expect(answered(Basic.CancelOk), silence().under("to the letter the method is ignored"))
    channel.stays_quiet()
