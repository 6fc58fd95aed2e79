"""basic.consume: a queue consumer is started."""

from harness.amqp0_9_1.broken.basic_faults import (
    cancel_anywhere,
    never_the_sixteenth,
    tag_is_in_use_anywhere,
    take_over,
    wants_to_be_alone_among_connections,
)
from harness.amqp0_9_1.broken.deviations import answers, changes, drops, forwards, rejects, rewrites, swaps
from harness.amqp0_9_1.broken.entity_faults import one_tag_for_all, tag_of_a_client, tag_of_the_queue
from harness.amqp0_9_1.broken.faults import is_full
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import answered, channel_closed, connection_closed, message, refused
from harness.amqp0_9_1.peer.consumers import cancel_ok, consume_ok, start_consumer
from harness.amqp0_9_1.wire.vocabulary import (
    ACCESS_REFUSED,
    COMMAND_INVALID,
    NOT_ALLOWED,
    RESOURCE_ERROR,
    RESOURCE_LOCKED,
    Basic,
    Channel,
    Connection,
)
from scenarios.registry import broken_by, scenario

OTHER_CHANNEL = "basic.cancel: refuses a tag of another channel"
IN_USE = "basic.consume: refuses a tag in use"
ALONE = "basic.consume: refuses exclusive access to a queue with consumers"
MANY = 16


@scenario("0-9-1/basic.consume.01")
@broken_by("has room for 15 consumers", rejects(Basic.Consume, RESOURCE_ERROR, skip=15))
@broken_by(
    "has room for 15 consumers of a queue",
    is_full("basic.consume", 15, lambda turn: turn.queue.consumers),
)
@broken_by("serves 15 consumers", swaps(choose=never_the_sixteenth))
def sixteen_consumers_share_a_queue(broker: Broker) -> None:
    """Sixteen consumers are confirmed and served: whoever got a message is cancelled before the next."""
    channel, queue = broker.queue()
    for number in range(MANY):
        channel.tries(Basic.Consume(queue, f"consumer {number + 1}", no_ack=True), Basic.ConsumeOk)
    for number in range(MANY):
        channel.publish(f"{number}", key=queue)
        delivery = channel.expect(message(Basic.Deliver, f"{number}".encode()))
        channel.ask(Basic.Cancel(delivery.consumer_tag))


@scenario("0-9-1/basic.consume.consumer-tag.01")
@broken_by("takes a tag twice", drops(IN_USE))
@broken_by("confirms and does nothing", changes(IN_USE, answer=consume_ok))
@broken_by("gives another code", rewrites(Connection.Close, reply_code=COMMAND_INVALID))
def consumer_tag_cannot_be_used_twice_on_a_channel(broker: Broker) -> None:
    """A second consumer on the channel may have another tag; with the tag of the first it is refused, 530."""
    channel, queue = broker.queue()
    channel.consume(queue, consumer_tag="one")
    channel.consume(queue, consumer_tag="other")
    channel.tries(Basic.Consume(queue, "one"), *refused(NOT_ALLOWED))


@scenario("0-9-1/basic.consume.consumer-tag.02")
@broken_by("cancels on another channel", changes(OTHER_CHANNEL, cancel_anywhere, answer=cancel_ok))
@broken_by("gives another code", rewrites(Connection.Close, reply_code=COMMAND_INVALID))
def consumer_tag_of_another_channel_cannot_be_used(broker: Broker) -> None:
    """Cancel with the tag of a consumer on another channel is refused, or does nothing to that consumer."""
    channel, other = broker.channel(), broker.channel()
    queue = channel.declare_queue()
    tag = channel.consume(queue, no_ack=True)
    other.ask(Basic.Cancel(other.consume(other.declare_queue())))
    other.send(Basic.Cancel(tag))
    unknown = answered(Basic.CancelOk) | channel_closed()
    tolerated = unknown.under("the tag is local to a channel, so on another one it is merely unknown")
    if not isinstance(other.expect(connection_closed(NOT_ALLOWED), tolerated), Connection.Close):
        channel.hears(b"still consumed", key=queue, consumer_tag=tag)


@scenario("0-9-1/basic.consume.consumer-tag.02")
@broken_by("admits a tag once in a connection", changes(IN_USE, condition=tag_is_in_use_anywhere))
@broken_by("delivers under another tag", rewrites(Basic.Deliver, consumer_tag="another"))
def same_consumer_tag_works_on_two_channels(broker: Broker) -> None:
    """Consumers with one tag on two channels are confirmed, and each gets the messages of its own queue."""
    channels = broker.channel(), broker.channel()
    queues = [channel.declare_queue() for channel in channels]
    for channel, queue in zip(channels, queues, strict=True):
        channel.tries(Basic.Consume(queue, "same"), Basic.ConsumeOk)
    for channel, queue in zip(channels, queues, strict=True):
        channel.hears(queue, key=queue, consumer_tag="same")


GENERATED = "basic.consume: starts a consumer with a generated tag"


@scenario("0-9-1/basic.consume.consumer-tag.02")
@broken_by("leaves the tag empty", drops(GENERATED))
@broken_by("makes one tag for all", changes(GENERATED, one_tag_for_all, start_consumer))
@broken_by("makes one tag for each queue", changes(GENERATED, tag_of_the_queue, start_consumer))
@broken_by("makes a tag that a client has", changes(GENERATED, tag_of_a_client, start_consumer))
def tag_left_empty_is_made_by_the_server(broker: Broker) -> None:
    """Consumers that are given no tag get one each; messages come under it, and Cancel by it ends that one.

    No two on a channel are alike, nor like one that the client chose; on two channels they should differ.
    """
    first, second = broker.channel(), broker.channel()
    queue, other = first.declare_queue(), first.declare_queue()
    own, _ = first.consume(queue, consumer_tag="own"), second.consume(queue, consumer_tag="another")
    tags = []
    for channel, name in ((first, queue), (first, other), (first, other), (second, other)):
        tags.append(str(channel.tries(Basic.Consume(name, no_ack=True), Basic.ConsumeOk).consumer_tag))
    *here, elsewhere = tags
    different = all(tags) and len({own, *here}) == len(here) + 1
    broker.judge("tags that differ", "a tag that is empty or of another consumer", different)
    local = "the tag is local to a channel: one of another channel may be the same"
    broker.judge("another tag on another channel", "the same tag", elsewhere not in here, local)
    second.close()
    first.ask(Basic.Cancel(own))
    first.hears(b"under its tag", key=queue, consumer_tag=here[0])
    first.ask(Basic.Cancel(here[0]))
    first.publish(b"to nobody", key=queue)
    first.stays_quiet()


@scenario("0-9-1/basic.consume.exclusive.01")
@broken_by("lets it in", drops(ALONE))
@broken_by("overlooks the bit", forwards(Basic.Consume, exclusive=False))
@broken_by("ends the other consumer", changes(ALONE, take_over, start_consumer, answer=consume_ok))
@broken_by("refuses, and ends the other consumer", changes(ALONE, take_over))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=RESOURCE_LOCKED))
@broken_by("confirms", answers(Basic.Consume, Basic.ConsumeOk("alone"), when=lambda it: it.exclusive, skip=1))
def exclusive_access_to_a_queue_with_a_consumer_is_refused(broker: Broker) -> None:
    """A queue without consumers admits an exclusive one; with one on another connection it does not, 403."""
    first, second = broker.channel(), broker.channel(new_connection=True)
    second.consume(second.declare_queue(), exclusive=True)
    queue = first.declare_queue()
    first.consume(queue, no_ack=True)
    second.tries(Basic.Consume(queue, exclusive=True), *refused(ACCESS_REFUSED))
    first.hears(b"still consumed", key=queue)


@scenario("0-9-1/basic.consume.exclusive.01")
@broken_by("looks at other connections alone", changes(ALONE, condition=wants_to_be_alone_among_connections))
@broken_by("lets others in beside it", drops("basic.consume: refuses a queue with an exclusive consumer"))
def exclusive_access_and_another_consumer_exclude_each_other(broker: Broker) -> None:
    """Where one of two consumers wants to be alone the second is refused, 403.

    It is on the channel of the first, on another one of its connection, or on another connection.
    """
    for first, second in ((False, True), (True, True), (True, False)):
        for beside in (same_channel, another_channel, another_connection):
            channel, queue = broker.queue()
            channel.consume(queue, exclusive=first)
            beside(broker, channel).tries(Basic.Consume(queue, exclusive=second), *refused(ACCESS_REFUSED))


def same_channel(_: Broker, channel: AmqpChannel) -> AmqpChannel:
    return channel


def another_channel(_: Broker, channel: AmqpChannel) -> AmqpChannel:
    return channel.connection.channel()


def another_connection(broker: Broker, _: AmqpChannel) -> AmqpChannel:
    return broker.channel(new_connection=True)
