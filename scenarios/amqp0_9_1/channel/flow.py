"""channel.flow: either side pauses the content the other one sends."""

from harness.amqp0_9_1.broken.deviations import answers, changes, swaps, withholds
from harness.amqp0_9_1.broken.faults import (
    BANS_THE_UNRULY,
    PAUSES_PUBLISHERS,
    regardless_of_the_client,
    stop_flow,
)
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import EXCEPTION, answered, closed_silently, message
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Exchange
from scenarios.registry import broken_by, scenario

BACKLOG = 190
OCTETS = bytes(59_000)
"""11 MB together: more than sockets hold when nobody reads, yet few messages, each in one frame."""

MANY = 300
"""Messages nobody consumes; a server that ever throttles a publisher has a reason by then."""


@scenario("0-9-1/channel.flow.initial-state")
@broken_by("opens channels paused", changes("channel.open: is answered", stop_flow))
@broken_by("waits to be asked", withholds(Basic.Deliver))
def new_channel_is_active(broker: Broker) -> None:
    """A consumer on a new channel gets the message that is waiting, without any Channel.Flow."""
    publisher, queue = broker.queue(b"waiting")
    publisher.fence()
    broker.channel().consumes(queue, b"waiting")


FLOW = "channel.flow: stops or starts deliveries"


@scenario("0-9-1/channel.flow.bidirectional")
@broken_by("does not answer", withholds(Channel.FlowOk))
@broken_by("answers and goes on", changes(FLOW, effects=()))
@broken_by("stops for ever", changes(FLOW, stop_flow))
@broken_by("listens when all is sent", swaps(hears=regardless_of_the_client))
def flow_is_answered_amid_deliveries(broker: Broker) -> None:
    """Flow is answered before a long backlog is through; nothing follows until the flow is resumed."""
    channel, queue = broker.queue()
    for _ in range(BACKLOG):
        channel.publish(OCTETS, key=queue)
        channel.fence()
    channel.consume(queue, no_ack=True)
    received = len(channel.deliveries(3))
    channel.send(Channel.Flow(active=False))
    content_or_answer = message(Basic.Deliver) | answered(Channel.FlowOk)
    while not isinstance(channel.expect(content_or_answer), Channel.FlowOk):
        received += 1
    broker.judge("Flow-Ok amid the backlog", "Flow-Ok after all of the backlog", received < BACKLOG)
    channel.stays_quiet()
    channel.send(Channel.Flow(active=True))
    channel.expect_answer(Channel.FlowOk)
    for _ in range(received, BACKLOG):
        channel.expect(message(Basic.Deliver, OCTETS))


@scenario("0-9-1/channel.flow.throttling")
@broken_by("throttles a publisher", PAUSES_PUBLISHERS)
@broken_by("throttles at once", answers(Basic.Publish, Channel.Flow(active=False)))
def request_to_pause_is_recorded(broker: Broker) -> None:
    """Whether a publisher whose messages nobody consumes is asked to pause; both conform."""
    asked_to_pause(broker, broker.channel())


@scenario("0-9-1/channel.flow.expected-behaviour")
@broken_by("ends a publisher that goes on", BANS_THE_UNRULY)
@broken_by("asks and does not mind", PAUSES_PUBLISHERS)
def end_of_a_publisher_that_goes_on_is_recorded(broker: Broker) -> None:
    """Whether a publisher that was asked to pause, and goes on, is disconnected; both conform."""
    publisher = broker.channel()
    if not (queue := asked_to_pause(broker, publisher)):
        broker.note("no publisher was asked to pause, so none could go on against it")
        return
    flood(publisher, queue)
    publisher.send(FENCE)
    ended = EXCEPTION | closed_silently()
    publisher.expect(Exchange.DeclareOk, ended.recorded("MAY disconnect"))


def asked_to_pause(broker: Broker, publisher: AmqpChannel) -> str:
    """Publish much that nobody consumes; the queue's name when Channel.Flow came, else blank."""
    queue = publisher.declare_queue()
    flood(publisher, queue)
    if isinstance(
        publisher.tries(FENCE, answered(Exchange.DeclareOk) | answered(Channel.Flow)), Exchange.DeclareOk
    ):
        broker.note(f"no Channel.Flow came within {MANY} messages that nobody consumed")
        return ""
    broker.note(f"Channel.Flow came within {MANY} messages that nobody consumed")
    publisher.tries(Channel.FlowOk(active=False), Exchange.DeclareOk)
    return queue


def flood(publisher: AmqpChannel, queue: str) -> None:
    for _ in range(MANY):
        publisher.publish(b"unconsumed", key=queue)
