"""Consumers whose queue is deleted are told so, where their client can understand it."""

from harness.amqp0_9_1.broken.basic_faults import queue_of_the_consumer_is_gone
from harness.amqp0_9_1.broken.deviations import (
    changes,
    confirms,
    drops,
    ignores,
    rejects,
    repeats,
    replaces,
    rewrites,
)
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import fields
from harness.amqp0_9_1.peer.consumers import cancel_it
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.rabbitmq.broken.consuming import (
    has_named_it,
    has_told_something,
    is_deleted_by_another,
    is_there_to_be_told,
    notify_one_of_its_channel,
    notify_one_of_its_connection,
    tell_of_it,
)
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, Basic, Channel, Queue
from harness.play.expect import Outcome
from scenarios.registry import broken_by, scenario

CAPABILITY = "consumer_cancel_notify"
TELLS = "queue end: tells its consumers"


def listening(broker: Broker) -> AmqpChannel:
    """Give a channel of a client that can be told, on a connection of its own."""
    return broker.promising(CAPABILITY).channel()


def cancelled(tag: str) -> Outcome:
    """Allow that the server cancels the consumer with this tag."""
    return fields(Basic.Cancel, consumer_tag=tag)


def confirmed(tag: str) -> Outcome:
    """Allow that the server confirms our own Cancel of the consumer with this tag."""
    return fields(Basic.CancelOk, consumer_tag=tag)


def delete(broker: Broker, queue: str) -> None:
    """Delete a queue on a connection of its own."""
    broker.channel(new_connection=True).ask(Queue.Delete(queue))


@scenario("rabbitmq/consumer-cancel.queue-deleted")
@broken_by("tells nobody", drops(TELLS))
@broken_by("names another consumer", rewrites(Basic.Cancel, consumer_tag="another"))
@broken_by("ends the channel", replaces(Basic.Cancel, Channel.Close(NOT_FOUND, "no queue")))
def consumer_hears_that_its_queue_was_deleted(broker: Broker) -> None:
    """One of two queues is deleted elsewhere: Cancel comes for its consumer, and messages for the other."""
    channel = listening(broker)
    queue, other = channel.declare_queue(), channel.declare_queue()
    tag, kept = channel.consume(queue), channel.consume(other)
    delete(broker, queue)
    channel.expect(cancelled(tag))
    channel.hears(b"still consumed", key=other, consumer_tag=kept)


@scenario("rabbitmq/consumer-cancel.own-deletion")
@broken_by("tells nobody", drops(TELLS))
@broken_by("tells others than who deletes", changes(TELLS, condition=is_deleted_by_another))
@broken_by("tells in place of an answer", replaces(Queue.DeleteOk, Basic.Cancel("another")))
def consumer_hears_that_its_channel_deleted_its_queue(broker: Broker) -> None:
    """Delete on the channel that consumes is answered by Delete-Ok and by Cancel for the consumer."""
    channel = listening(broker)
    queue = channel.declare_queue()
    told = cancelled(channel.consume(queue))
    answer = fields(Queue.DeleteOk)
    first = channel.tries(Queue.Delete(queue), told | answer)
    channel.expect(told if isinstance(first, Queue.DeleteOk) else answer)


@scenario("rabbitmq/consumer-cancel.every-consumer")
@broken_by("tells one of a channel", changes(TELLS, notify_one_of_its_channel))
@broken_by("tells one of a connection", changes(TELLS, notify_one_of_its_connection))
@broken_by("tells it twice", repeats(Basic.Cancel))
@broken_by("gives all one tag", rewrites(Basic.Cancel, consumer_tag="consumer"))
def every_consumer_of_the_queue_is_told(broker: Broker) -> None:
    """Four consumers on three channels of two connections: each is cancelled once, under its own tag."""
    first = listening(broker)
    channels = (first, first, first.connection.channel(), listening(broker))
    queue = first.declare_queue()
    tags: dict[AmqpChannel, list[str]] = {}
    for channel in channels:
        tags.setdefault(channel, []).append(channel.consume(queue))
    delete(broker, queue)
    for channel, consumers in tags.items():
        told = [channel.expect(Basic.Cancel).consumer_tag for _ in consumers]
        each_once = sorted(told) == sorted(consumers)
        broker.judge("the tag of each consumer", "other tags than those of the consumers", each_once)
        channel.stays_quiet()


@scenario("rabbitmq/consumer-cancel.only-on-request")
@broken_by("tells every client", changes(TELLS, condition=is_there_to_be_told))
@broken_by("tells every client with a table of capabilities", changes(TELLS, condition=has_told_something))
@broken_by("takes false for true", changes(TELLS, condition=has_named_it))
@broken_by("tells nobody", drops(TELLS))
def client_that_did_not_ask_is_not_told(broker: Broker) -> None:
    """Of four clients that consume, only that which told the capability as true is sent Cancel."""
    silent = [
        broker.connection().channel(),
        broker.promising().channel(),
        broker.promising(CAPABILITY, value=False).channel(),
    ]
    told = listening(broker)
    queue = told.declare_queue()
    for channel in silent:
        channel.consume(queue)
    tag = told.consume(queue)
    delete(broker, queue)
    told.expect(cancelled(tag))
    for channel in silent:
        channel.stays_quiet()


@scenario("rabbitmq/consumer-cancel.not-for-own-cancel")
@broken_by("tells of it as well", changes("basic.cancel: ends the consumer", tell_of_it, cancel_it))
@broken_by("answers by Cancel", replaces(Basic.CancelOk, Basic.Cancel("another")))
@broken_by("tells of it behind the answer", confirms(Basic.Cancel, Basic.Cancel("another")))
@broken_by("goes on with what was cancelled", changes("basic.cancel: ends the consumer", effects=()))
@broken_by("tells nobody", drops(TELLS))
def own_cancel_is_only_confirmed(broker: Broker) -> None:
    """Of two consumers one is cancelled, then the queue is deleted: Cancel comes for the other alone."""
    channel = listening(broker)
    queue = channel.declare_queue()
    mine, other = channel.consume(queue), channel.consume(queue)
    channel.tries(Basic.Cancel(mine), confirmed(mine))
    channel.stays_quiet()
    delete(broker, queue)
    channel.expect(cancelled(other))
    channel.stays_quiet()


@scenario("rabbitmq/consumer-cancel.cancel-afterwards")
@broken_by(
    "misses the queue",
    changes(
        "basic.cancel: is ignored without the queue",
        condition=queue_of_the_consumer_is_gone,
        answer=refuse(NOT_FOUND),
    ),
)
@broken_by("refuses with the connection", rejects(Basic.Cancel, NOT_FOUND))
@broken_by("does not answer", ignores(Basic.Cancel))
@broken_by("tells nobody", drops(TELLS))
def what_is_cancelled_can_be_cancelled(broker: Broker) -> None:
    """Cancel for a consumer of which the server has told that it is gone is confirmed."""
    channel = listening(broker)
    queue = channel.declare_queue()
    tag = channel.consume(queue)
    delete(broker, queue)
    channel.expect(cancelled(tag))
    channel.tries(Basic.Cancel(tag), confirmed(tag))
    channel.stays_quiet()


@scenario("rabbitmq/consumer-cancel.cancel-afterwards")
@broken_by("refuses with the connection", rejects(Basic.Cancel, NOT_FOUND))
@broken_by("does not answer", ignores(Basic.Cancel))
def cancel_may_cross_the_notification(broker: Broker) -> None:
    """Cancel that is sent before the notification is read is confirmed; the notification may be missing."""
    channel = listening(broker)
    queue = channel.declare_queue()
    tag = channel.consume(queue)
    delete(broker, queue)
    first = channel.tries(Basic.Cancel(tag), cancelled(tag) | confirmed(tag))
    if isinstance(first, Basic.Cancel):
        channel.expect(confirmed(tag))
    channel.fence()
