"""Channels and heartbeats: what keeps channels apart, how many there may be, and signs of life."""

from harness.amqp0_9_1.broken.deviations import answers, changes, drops, rejects
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import channel_closed, connection_closed, message, refused
from harness.amqp0_9_1.client.pulse import Pulse
from harness.amqp0_9_1.peer.policy import Level
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.rabbitmq.broken.connections.limits import cancel_all_consumers, every_other_time
from harness.amqp0_9_1.wire.vocabulary import (
    CHANNEL_ERROR,
    NOT_ALLOWED,
    NOT_FOUND,
    RESOURCE_ERROR,
    Basic,
    Channel,
    Queue,
)
from scenarios.registry import broken_by, scenario

BEYOND = "channel.open: refuses more than agreed"
MISSING = "queue.declare: passive refuses one that does not exist"
CONSUMES_MISSING = "basic.consume: refuses a queue that does not exist"
BEAT = "heartbeat: is sent twice an interval"
GONE = refused(NOT_FOUND)


@scenario("rabbitmq/channels.channel-max")
@broken_by("does not count", drops(BEYOND))
@broken_by("has another code", changes(BEYOND, answer=refuse(CHANNEL_ERROR)))
@broken_by("refuses the channel", changes(BEYOND, answer=refuse(NOT_ALLOWED, Level.CHANNEL)))
@broken_by("counts what is closed", answers(Channel.Close, Channel.CloseOk()))
def one_channel_too_many_ends_the_connection(broker: Broker) -> None:
    """With two channels agreed upon a third one ends the connection; one in the place of another does not."""
    connection = broker.tuned()
    connection.open(connection.tune_ok(channel_max=2))
    connection.channel(1)
    connection.channel(2).close()
    connection.unopened(2).tries(Channel.Open(), Channel.OpenOk)
    connection.unopened(3).tries(Channel.Open(), connection_closed(NOT_ALLOWED))


@scenario("rabbitmq/channels.others-unaffected")
@broken_by("ends the connection", changes(MISSING, answer=refuse(NOT_FOUND, Level.CONNECTION)))
@broken_by("ends the consumer", changes(MISSING, cancel_all_consumers))
@broken_by("knows no channel twice", rejects(Channel.Open, CHANNEL_ERROR, skip=3))
def error_ends_its_channel_alone(broker: Broker) -> None:
    """An exception on one channel leaves the consumer of another its messages, and the connection open."""
    consuming, failing, publishing = (broker.channel() for _ in range(3))
    queue = consuming.declare_queue()
    consuming.consume(queue, no_ack=True)
    failing.tries(Queue.Declare(broker.name("queue"), passive=True), channel_closed(NOT_FOUND))
    publishing.publish(b"goes on", key=queue)
    consuming.expect(message(Basic.Deliver, b"goes on"))
    failing.tries(Channel.Open(), Channel.OpenOk)


@scenario("rabbitmq/channels.missing-not-found")
@broken_by("binds any queue", drops("queue.bind: refuses a queue that does not exist"))
@broken_by(
    "binds to any exchange", answers(Queue.Bind, Queue.BindOk(), lambda it: it.exchange != "amq.direct")
)
@broken_by("lets anybody consume", answers(Basic.Consume, Basic.ConsumeOk("nothing")))
@broken_by("has another code", changes(CONSUMES_MISSING, answer=refuse(RESOURCE_ERROR)))
def missing_things_are_not_found(broker: Broker) -> None:
    """What does not exist can neither be bound, bound to nor consumed from."""
    channel, queue = broker.queue()
    channel.bind(queue, "amq.direct", "key")
    channel.refuses(Queue.Bind(broker.name("queue"), "amq.direct", "key"), *GONE)
    channel.refuses(Queue.Bind(queue, broker.name("exchange"), "key"), *GONE)
    channel.refuses(Basic.Consume(broker.name("queue")), *GONE)


@scenario("rabbitmq/heartbeats.half-interval", slow=True)
@broken_by("sends none", drops(BEAT))
@broken_by("sends one an interval", changes(BEAT, every_other_time()))
def heartbeats_come_twice_an_interval(broker: Broker) -> None:
    """While ours go on, at least four heartbeats come in three intervals."""
    pulse = Pulse(broker)
    if not pulse.offered:
        broker.inapplicable("the server proposes no heartbeats")
    pulse.passes(3, pulse.connection.heartbeat)
    broker.judge("four heartbeats in three intervals", "fewer heartbeats", pulse.heartbeats >= 4)
