"""How consumers start, are served and end."""

from collections import Counter

from harness.amqp0_9_1.broken.basic_faults import last_come_first, take_over
from harness.amqp0_9_1.broken.deviations import answers, changes, drops, forwards, ignores, rewrites, swaps
from harness.amqp0_9_1.broken.end_faults import forget_consumer
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import EXCEPTION, channel_closed, message
from harness.amqp0_9_1.peer.consumers import generate_tag, start_consumer
from harness.amqp0_9_1.peer.policy import Level
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.rabbitmq.broken.consuming import (
    cancel_and_discard,
    cancel_and_keep_its_place,
    cancel_and_requeue,
    queue_is_empty,
    start_unseen,
    stick_to_the_first,
    stick_to_the_last,
)
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, RESOURCE_ERROR, Basic
from scenarios.amqp0_9_1.ends import by_dropping_the_socket, by_handshake, with_connection
from scenarios.registry import broken_by, scenario

STARTS = "basic.consume: starts a consumer with a generated tag"
ENDS = "basic.cancel: ends the consumer"
MISSING = "basic.consume: refuses a queue that does not exist"
ALONE = "basic.consume: refuses exclusive access to a queue with consumers"
LOCKED = "basic.consume: refuses a queue with an exclusive consumer"
REQUEUES = "channel end: requeues what is not acknowledged"
QUORUM = {"x-queue-type": "quorum"}


@scenario("rabbitmq/consumers.ready-messages")
@broken_by("looks only at what comes later", changes(STARTS, generate_tag, start_unseen))
@broken_by("delivers the last one first", swaps(place=last_come_first))
def messages_that_wait_are_delivered(broker: Broker) -> None:
    """Two messages are in the queue when the consumer starts: both come, in their order."""
    channel, queue = broker.queue("first", "second")
    channel.depth(queue)
    channel.consumes(queue, b"first", b"second")


@scenario("rabbitmq/consumers.later-messages")
@broken_by(
    "serves no empty queue",
    changes("basic.consume: refuses when there are too many", condition=queue_is_empty),
)
@broken_by("confirms and does nothing", changes(STARTS, generate_tag))
def consumer_may_wait_for_messages(broker: Broker) -> None:
    """A consumer starts on an empty queue; the message that is published elsewhere then comes to it."""
    channel, queue = broker.queue()
    channel.tries(Basic.Consume(queue), Basic.ConsumeOk)
    broker.channel(new_connection=True).publish(b"later", key=queue)
    channel.expect(message(Basic.Deliver, b"later"))


@scenario("rabbitmq/consumers.missing-queue")
@broken_by("gives another code", changes(MISSING, answer=refuse(RESOURCE_ERROR, Level.CHANNEL)))
@broken_by("ends the connection", changes(MISSING, answer=refuse(NOT_FOUND, Level.CONNECTION)))
@broken_by("confirms", answers(Basic.Consume, Basic.ConsumeOk("one"), skip=1))
def missing_queue_closes_the_channel(broker: Broker) -> None:
    """Consume from a queue that exists is confirmed, from a missing one refused with 404 on the channel."""
    channel, queue = broker.queue()
    other = channel.connection.channel()
    channel.consume(queue)
    channel.tries(Basic.Consume(broker.name("queue")), channel_closed(NOT_FOUND))
    other.stays_quiet()


@scenario("rabbitmq/consumers.tag")
@broken_by("delivers under another tag", rewrites(Basic.Deliver, consumer_tag="another"))
@broken_by("confirms another tag", rewrites(Basic.ConsumeOk, consumer_tag="another"))
@broken_by("cancels another consumer", forwards(Basic.Cancel, consumer_tag="mine"))
def consumer_is_known_by_its_tag(broker: Broker) -> None:
    """Messages come under the tags that Consume-Ok gave; Cancel by one of them leaves the other consumer."""
    channel, queue = broker.queue()
    other = channel.declare_queue()
    mine = channel.tries(Basic.Consume(queue, "mine"), Basic.ConsumeOk).consumer_tag
    theirs = channel.tries(Basic.Consume(other), Basic.ConsumeOk).consumer_tag
    broker.judge("the tag that was asked for", "another tag", mine == "mine")
    channel.hears(b"to mine", key=queue, consumer_tag=mine)
    channel.hears(b"to theirs", key=other, consumer_tag=theirs)
    channel.tries(Basic.Cancel(theirs), Basic.CancelOk)
    channel.publish(b"to nobody", key=other)
    channel.hears(b"still", key=queue, consumer_tag=mine)


@scenario("rabbitmq/consumers.cancelled")
@broken_by("goes on", changes(ENDS, effects=()))
@broken_by("does not hear it", answers(Basic.Cancel, Basic.CancelOk("consumer")))
def cancelled_consumer_gets_nothing(broker: Broker) -> None:
    """A message that is published behind Cancel-Ok does not come; it can be got."""
    channel, queue = broker.queue()
    tag = channel.consume(queue, no_ack=True)
    channel.hears(b"consumed", key=queue)
    channel.tries(Basic.Cancel(tag), Basic.CancelOk)
    channel.publish(b"left", key=queue)
    channel.gets(queue, b"left")


@scenario("rabbitmq/consumers.in-flight-kept")
@broken_by("puts it back", changes(ENDS, cancel_and_requeue))
@broken_by("discards it", changes(ENDS, cancel_and_discard))
@broken_by("hears no acknowledgement then", ignores(Basic.Ack))
def what_is_out_outlives_its_consumer(broker: Broker) -> None:
    """Two messages are out when the consumer is cancelled: neither can be got; one is still acknowledged.

    The other one is there again when the channel is closed.
    """
    channel, queue = broker.queue("acknowledged", "open")
    tag = channel.consume(queue)
    first, _ = (channel.expect(message(Basic.Deliver)) for _ in range(2))
    channel.tries(Basic.Cancel(tag), Basic.CancelOk)
    channel.tries(Basic.Get(queue), Basic.GetEmpty)
    channel.send(Basic.Ack(first.delivery_tag))
    channel.stays_quiet()
    channel.close()
    another = broker.channel()
    another.gets(queue, b"open")
    another.tries(Basic.Get(queue), Basic.GetEmpty)


@scenario("rabbitmq/consumers.closing-requeues")
@broken_by("loses it", drops(REQUEUES))
@broken_by("hears no acknowledgement", ignores(Basic.Ack))
@broken_by("does not mark it", rewrites(Basic.Deliver, redelivered=False))
def what_is_out_comes_again_when_the_channel_closes(broker: Broker) -> None:
    """Of two messages one is acknowledged; the other comes elsewhere, however the channel ends."""
    for ends in (by_handshake, with_connection, by_dropping_the_socket):
        other, queue = broker.queue("acknowledged", "open", new_connection=True)
        other.depth(queue)
        channel = broker.channel(new_connection=True).consuming(queue)
        first, _ = (channel.expect(message(Basic.Deliver)) for _ in range(2))
        channel.send(Basic.Ack(first.delivery_tag))
        channel.stays_quiet()
        other.consume(queue)
        ends(channel)
        other.expect(message(Basic.Deliver, b"open", redelivered=True))
        other.stays_quiet()


@scenario("rabbitmq/consumers.exclusive")
@broken_by("lets it in beside another", drops(ALONE))
@broken_by("lets others in beside it", drops(LOCKED))
@broken_by("overlooks the bit", forwards(Basic.Consume, exclusive=False))
@broken_by("ends the other consumer", changes(ALONE, take_over, start_consumer, answer=None))
def exclusive_consumer_is_alone(broker: Broker) -> None:
    """Exclusive access is refused beside a consumer, given without one, and then nobody else is let in."""
    channel, queue = broker.queue()
    tag = channel.consume(queue)
    exclusive = Basic.Consume(queue, exclusive=True)
    broker.channel(new_connection=True).tries(exclusive, EXCEPTION)
    channel.ask(Basic.Cancel(tag))
    broker.channel(new_connection=True).tries(exclusive, Basic.ConsumeOk)
    broker.channel(new_connection=True).tries(Basic.Consume(queue), EXCEPTION)


def by_cancel(channel: AmqpChannel) -> None:
    """Cancel the consumer that is called "alone"."""
    channel.ask(Basic.Cancel("alone"))


@scenario("rabbitmq/consumers.exclusive-ends")
@broken_by("keeps the place of a cancelled one", changes(ENDS, cancel_and_keep_its_place))
@broken_by(
    "keeps the place of one that is gone", changes("channel end: cancels its consumers", forget_consumer)
)
def exclusive_access_can_be_had_again(broker: Broker) -> None:
    """Another exclusive consumer is let in when the first is cancelled or gone, and gets messages."""
    for ends in (by_cancel, by_handshake, with_connection, by_dropping_the_socket):
        channel, queue = broker.queue(new_connection=True)
        other = broker.channel(new_connection=True)
        channel.consume(queue, consumer_tag="alone", exclusive=True)
        ends(channel)
        other.settle()
        other.tries(Basic.Consume(queue, exclusive=True), Basic.ConsumeOk)
        other.hears(b"to the next", key=queue)


@scenario("rabbitmq/consumers.quorum-not-exclusive")
@broken_by("looks at it", drops("basic.consume: a quorum queue does not look at exclusive"))
@broken_by("serves the first", swaps(choose=stick_to_the_first))
def quorum_queue_does_not_look_at_exclusive(broker: Broker) -> None:
    """Two consumers of a quorum queue that both want to be alone are confirmed, and both get messages."""
    channel, queue = broker.queue(durable=True, arguments=QUORUM)
    tags = {
        channel.tries(Basic.Consume(queue, exclusive=True), Basic.ConsumeOk).consumer_tag for _ in range(2)
    }
    for number in range(4):
        channel.publish(f"{number}", key=queue)
    served = {channel.expect(message(Basic.Deliver)).consumer_tag for _ in range(4)}
    broker.judge("messages for both", "messages for one", served == tags)


@scenario("rabbitmq/consumers.round-robin")
@broken_by("serves whoever came first", swaps(choose=stick_to_the_first))
@broken_by("serves whoever came last", swaps(choose=stick_to_the_last))
def consumers_are_served_in_turn(broker: Broker) -> None:
    """Of six messages each of three consumers gets two."""
    channel, queue = broker.queue()
    found = Counter({channel.consume(queue): 0 for _ in range(3)})
    for number in range(6):
        channel.publish(f"{number}", key=queue)
        found[channel.expect(message(Basic.Deliver, f"{number}".encode())).consumer_tag] += 1
    told = "two messages for each of the three"
    broker.judge(told, f"{sorted(found.values())} messages for each", {*found.values()} == {2})


@scenario("rabbitmq/consumers.polled-in-order")
@broken_by("gives the last one first", swaps(place=last_come_first))
@broken_by("loses one", ignores(Basic.Publish, skip=2))
def messages_are_got_in_their_order(broker: Broker) -> None:
    """Three messages are got in the order in which they were published; then the queue is empty."""
    channel, queue = broker.queue("1", "2", "3")
    channel.gets(queue, b"1", b"2", b"3")
    channel.tries(Basic.Get(queue), Basic.GetEmpty)
