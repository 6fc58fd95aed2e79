"""What a publisher can count on: errors, unroutable messages, and what a consumer is told."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from harness.amqp0_9_1.broken.content_faults import delivers
from harness.amqp0_9_1.broken.deviations import changes, forwards, ignores, rejects, rewrites, withholds
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import message, refused
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.rabbitmq.broken.connections.limits import publishes_while_closing
from harness.amqp0_9_1.wire.frames import FRAME_MIN_SIZE, Frame, content_frames
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, PRECONDITION_FAILED, Basic, Channel
from scenarios.registry import broken_by, scenario

MISSING = "basic.publish: refuses an exchange that does not exist"
REFUSED = refused(NOT_FOUND)
PROPERTIES: Final[Mapping[str, Any]] = {
    "content_type": "no/such; type",
    "content_encoding": "none,neither",
    "headers": {"text": "one", "number": 2, "within": {"truth": True}, "several": [1, "two"]},
    "delivery_mode": 2,
    "correlation_id": "to which it belongs",
    "reply_to": "nobody there",
    "message_id": "1 of 1",
    "timestamp": 1_700_000_000,
    "type": "of.no.type",
    "app_id": "conformance",
}
"""Every property but those by which the server itself goes: priority, expiration and user-id."""


@scenario("rabbitmq/publishers.no-such-exchange")
@broken_by("drops the message", ignores(Basic.Publish))
@broken_by("has another code", changes(MISSING, answer=refuse(PRECONDITION_FAILED)))
@broken_by("minds where it is mandatory", ignores(Basic.Publish, lambda sent: not sent.mandatory))
def missing_exchange_closes_the_channel(broker: Broker) -> None:
    """A message to an exchange that does not exist closes the channel, mandatory or not."""
    for mandatory in (False, True):
        channel = broker.channel()
        channel.publish(b"nowhere", exchange=broker.name("exchange"), key="key", mandatory=mandatory)
        if isinstance(channel.expect(*REFUSED), Channel.Close):
            channel.tries(Channel.Open(), Channel.OpenOk)


def framed(channel: AmqpChannel, publish: Basic.Publish) -> Iterator[Frame]:
    """Give the frames of a message on a channel."""
    return content_frames(channel.number, publish, Basic.Properties(), b"lost", FRAME_MIN_SIZE)


@scenario("rabbitmq/publishers.nothing-after-error")
@broken_by("publishes what follows", publishes_while_closing())
@broken_by("drops the message", ignores(Basic.Publish, lambda sent: bool(sent.exchange)))
def nothing_is_published_behind_an_error(broker: Broker) -> None:
    """A message to a queue, sent right behind one to an exchange that does not exist, is lost."""
    channel, queue = broker.queue()
    failing = broker.channel()
    first, behind = Basic.Publish(broker.name("exchange")), Basic.Publish("", queue)
    failing.connection.send_frames(*framed(failing, first), *framed(failing, behind))
    failing.expect(*REFUSED)
    channel.tries(Basic.Get(queue), Basic.GetEmpty)


@scenario("rabbitmq/publishers.unroutable-dropped")
@broken_by("returns it", forwards(Basic.Publish, mandatory=True))
@broken_by("takes it for an error", rejects(Basic.Publish, NOT_FOUND, lambda sent: bool(sent.exchange)))
def unroutable_message_is_dropped(broker: Broker) -> None:
    """A message that goes nowhere, and is not mandatory, is lost without a word."""
    channel, queue = broker.queue()
    exchange = channel.declare_exchange()
    channel.publish(b"nowhere", exchange=exchange, key="key")
    channel.publish(b"somewhere", key=queue)
    channel.stays_quiet()
    channel.gets(queue, b"somewhere")


@scenario("rabbitmq/publishers.properties-kept")
@broken_by("sets a time of its own", delivers(timestamp=1))
@broken_by("loses the type", delivers(type=None))
@broken_by("loses what it does not know", delivers(content_encoding=None))
@broken_by("flattens headers", delivers(headers=lambda told: {**told, "within": "table"}))
@broken_by("makes it transient", delivers(delivery_mode=1))
def properties_come_as_published(broker: Broker) -> None:
    """A consumer gets a message with every property as it was published."""
    channel = broker.channel()
    queue = channel.declare_queue()
    channel.consume(queue, no_ack=True)
    channel.publish(b"with properties", key=queue, **PROPERTIES)
    channel.expect(message(Basic.Deliver, b"with properties", carrying=PROPERTIES))


@scenario("rabbitmq/publishers.delivery-details")
@broken_by("tells the key of the binding", rewrites(Basic.Deliver, routing_key="#.key"))
@broken_by("tells no exchange", rewrites(Basic.Deliver, exchange=""))
@broken_by("tells another consumer", rewrites(Basic.Deliver, consumer_tag="theirs"))
@broken_by("has it redelivered", rewrites(Basic.Deliver, redelivered=True))
@broken_by("counts nothing", rewrites(Basic.Deliver, delivery_tag=1))
@broken_by("delivers nothing", withholds(Basic.Deliver))
def delivery_tells_where_it_came_from(broker: Broker) -> None:
    """A delivery tells exchange, routing key, consumer tag and that it is the first one."""
    channel = broker.channel()
    queue, exchange = channel.declare_queue(), channel.declare_exchange("topic")
    channel.bind(queue, exchange, "#.key")
    channel.consume(queue, consumer_tag="ours")
    for tag, (source, key) in enumerate(((exchange, "a.long.key"), ("", queue)), 1):
        channel.publish("told", exchange=source, key=key)
        told: dict[str, Any] = {"consumer_tag": "ours", "exchange": source, "routing_key": key}
        channel.expect(message(Basic.Deliver, b"told", delivery_tag=tag, redelivered=False, **told))
