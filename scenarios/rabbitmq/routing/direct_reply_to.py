"""amq.rabbitmq.reply-to: replies come to the channel that asked, without a queue of its own."""

from typing import Any

from harness.amqp0_9_1.broken.deviations import (
    answers,
    changes,
    drops,
    forwards,
    ignores,
    rewrites,
)
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE, QUIET
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import (
    EXCEPTION,
    Received,
    channel_closed,
    fields,
    message,
)
from harness.amqp0_9_1.peer.consumers import generate_tag, start_consumer
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.tables.basic import route_now
from harness.amqp0_9_1.rabbitmq.broken.routing.replying import (
    asks_for_any_replies,
    has_consumers_of_replies,
    is_a_late_reply,
    is_a_mandatory_reply,
    keep_one_queue_for_all,
    keep_the_queue,
    name_where_to_reply_and_nothing_else,
    names_another_than_the_pseudo_queue,
    names_no_reply_passively,
    names_replies_passively,
    names_the_pseudo_queue,
)
from harness.amqp0_9_1.rabbitmq.routing.reply_to import publish_it
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, PRECONDITION_FAILED, Basic, Queue
from scenarios.registry import broken_by, scenario

REPLIES = "amq.rabbitmq.reply-to"
CONSUMES = "basic.consume: starts a consumer of replies with a generated tag"
TELLS = "basic.publish: a request is told where replies go"
THERE = "queue.declare: confirms a name of replies"
NOT_THERE = "queue.declare: refuses a name of replies that nobody awaits"
REFUSED = (
    channel_closed(PRECONDITION_FAILED),
    EXCEPTION.under("the guide says that it does not work, not by which code it is refused"),
)
MISSING = (
    channel_closed(NOT_FOUND),
    EXCEPTION.under("the guide says that the declare fails, not by which code"),
)


def requester(broker: Broker) -> AmqpChannel:
    """Give a channel, on a connection of its own, that consumes replies."""
    return awaiting_replies(broker.channel(new_connection=True))


def awaiting_replies(channel: AmqpChannel) -> AmqpChannel:
    """Judge that a channel can consume replies; give it."""
    channel.tries(Basic.Consume(REPLIES, no_ack=True), Basic.ConsumeOk)
    return channel


def beside(channel: AmqpChannel) -> AmqpChannel:
    """Give another channel of the same connection."""
    return channel.connection.channel()


def responder(broker: Broker) -> tuple[AmqpChannel, str]:
    """Give a channel, on a connection of its own, that consumes from a queue for requests, and that queue."""
    channel = broker.channel(new_connection=True)
    queue = channel.declare_queue()
    return channel.consuming(queue, no_ack=True), queue


def asked(broker: Broker, channel: AmqpChannel, answering: AmqpChannel, queue: str, **properties: Any) -> str:
    """Publish a request and judge that it comes, with properties as they are; give the name for replies."""
    channel.publish(b"request", key=queue, reply_to=REPLIES, **properties)
    seen = answering.observe(message(Basic.Deliver, b"request", carrying=properties))
    assert isinstance(seen, Received)  # else it is unmet
    assert isinstance(seen.properties, Basic.Properties)
    name = str(seen.properties.reply_to)
    told = f"a reply-to that begins {REPLIES}. and goes on"
    broker.judge(told, "another reply-to", name.startswith(f"{REPLIES}.") and len(name) > len(REPLIES) + 1)
    return name


def is_about_replies(method: Queue.Declare) -> bool:
    return method.queue.startswith(REPLIES)


def gone(broker: Broker, channel: AmqpChannel) -> AmqpChannel:
    """End the connection of a requester, and leave the server a moment; give a channel of another one."""
    channel.connection.close()
    other = broker.channel(new_connection=True)
    other.settle()
    return other


@scenario("rabbitmq/direct-reply-to.reply-delivered")
@broken_by("knows no such queue", drops(CONSUMES, "basic.consume: starts a consumer of replies"))
@broken_by("gives no name", drops(TELLS))
@broken_by("drops requests", changes(TELLS, effects=()))
@broken_by(
    "starts no consumer", answers(Basic.Consume, Basic.ConsumeOk("one"), when=lambda it: it.queue == REPLIES)
)
def reply_comes_to_who_asked(broker: Broker) -> None:
    """A request is answered on another connection, by the default exchange: the reply comes as published.

    It comes under the tag of the consumer, be it of the client or of the server.
    """
    answering, queue = responder(broker)
    for wanted in ("", "replies"):
        channel = broker.channel(new_connection=True)
        tag = channel.tries(Basic.Consume(REPLIES, wanted, no_ack=True), Basic.ConsumeOk).consumer_tag
        broker.judge("a tag for the consumer", "another tag, or none", bool(tag) and wanted in ("", tag))
        name = asked(broker, channel, answering, queue)
        answering.publish(b"reply", key=name, correlation_id="1")
        as_published = {"correlation_id": "1"}
        channel.expect(message(Basic.Deliver, b"reply", carrying=as_published, consumer_tag=tag))


@scenario("rabbitmq/direct-reply-to.name-given")
@broken_by("leaves it as it is", changes(TELLS, route_now))
@broken_by("drops the other properties", changes(TELLS, name_where_to_reply_and_nothing_else, publish_it))
@broken_by("takes any reply-to for one", changes(TELLS, condition=asks_for_any_replies))
def request_is_told_where_to_reply(broker: Broker) -> None:
    """A request comes with a generated reply-to and its other properties; another reply-to is left alone."""
    channel = requester(broker)
    answering, queue = responder(broker)
    headers = {"answer": "soon"}
    asked(
        broker, channel, answering, queue, content_type="text/plain", correlation_id="7", headers=headers,
        message_id="request 7", delivery_mode=1, priority=1, timestamp=1, type="question",
    )  # fmt: skip
    channel.publish(b"plain", key=queue, reply_to="mine", headers=headers)
    answering.expect(message(Basic.Deliver, b"plain", carrying={"reply_to": "mine", "headers": headers}))


@scenario("rabbitmq/direct-reply-to.names-apart")
@broken_by("has all share a queue", changes(CONSUMES, keep_one_queue_for_all, generate_tag, start_consumer))
def replies_do_not_get_mixed_up(broker: Broker) -> None:
    """Three channels ask, two of them of one connection: each gets the reply to its own request alone."""
    first = requester(broker)
    channels = (first, awaiting_replies(beside(first)), requester(broker))
    answering, queue = responder(broker)
    names = [asked(broker, channel, answering, queue) for channel in channels]
    for number, name in reversed([*enumerate(names)]):
        answering.publish(f"reply {number}", key=name)
    for number, channel in enumerate(channels):
        channel.expect(message(Basic.Deliver, f"reply {number}".encode()))
        channel.stays_quiet()


@scenario("rabbitmq/direct-reply-to.declared-at-will")
@broken_by("finds no such queue", drops(THERE))
@broken_by("keeps the name", changes(THERE, condition=names_replies_passively))
@broken_by("knows only names it has given", changes(THERE, answer=refuse(NOT_FOUND)))
def pseudo_queue_may_be_declared(broker: Broker) -> None:
    """Declare of the pseudo-queue is confirmed, passively and not; then replies are consumed from it."""
    channel = broker.channel()
    for passive in (True, False):
        channel.tries(Queue.Declare(REPLIES, passive=passive), Queue.DeclareOk)
    asked(broker, awaiting_replies(channel), *responder(broker))


@scenario("rabbitmq/direct-reply-to.automatic-mode")
@broken_by("takes both modes", drops("basic.consume: refuses to have replies acknowledged"))
@broken_by("takes it for the other mode", forwards(Basic.Consume, no_ack=True))
@broken_by(
    "confirms and does nothing",
    answers(Basic.Consume, Basic.ConsumeOk("one"), when=lambda it: not it.no_ack and it.queue == REPLIES),
)
def replies_cannot_be_acknowledged(broker: Broker) -> None:
    """Consume of replies without no-ack is refused, with it confirmed; other channels go on."""
    channel = requester(broker)
    beside(channel).tries(Basic.Consume(REPLIES), *REFUSED)
    channel.stays_quiet()


@scenario("rabbitmq/direct-reply-to.one-consumer")
@broken_by("takes a second one", drops("basic.consume: refuses a second consumer of replies"))
@broken_by("confirms and does nothing", answers(Basic.Consume, Basic.ConsumeOk("one"), skip=1))
@broken_by(
    "has one for a connection",
    changes("basic.consume: refuses a second consumer of replies", condition=has_consumers_of_replies),
)
def channel_has_one_consumer_of_replies(broker: Broker) -> None:
    """A second channel may consume replies as well; on a channel that does so already it is refused."""
    channel = requester(broker)
    other = awaiting_replies(beside(channel))
    channel.tries(Basic.Consume(REPLIES, no_ack=True), *REFUSED)
    other.stays_quiet()


@scenario("rabbitmq/direct-reply-to.same-channel")
@broken_by("passes it on", drops("content header: refuses a request where no replies are consumed"))
@broken_by("drops it", ignores(Basic.Publish))
def request_belongs_to_the_channel_of_its_replies(broker: Broker) -> None:
    """A request on another channel than that which consumes replies is refused; the first goes on."""
    channel = requester(broker)
    answering, queue = responder(broker)
    other = beside(channel)
    other.publish(b"request", key=queue, reply_to=REPLIES)
    other.expect(*REFUSED)
    answering.stays_quiet()
    channel.stays_quiet()


@scenario("rabbitmq/direct-reply-to.declared-to-look")
@broken_by("finds only the pseudo-queue", changes(NOT_THERE, condition=names_another_than_the_pseudo_queue))
@broken_by("counts no consumer", rewrites(Queue.DeclareOk, consumer_count=0))
@broken_by("counts a message", rewrites(Queue.DeclareOk, message_count=1))
def responder_sees_that_its_requester_is_there(broker: Broker) -> None:
    """Declare of the generated name is confirmed, passively and not: no messages, one consumer."""
    answering, queue = responder(broker)
    name = asked(broker, requester(broker), answering, queue)
    for passive in (True, False):
        there = fields(Queue.DeclareOk, message_count=0, consumer_count=1)
        answering.tries(Queue.Declare(name, passive=passive), there)


@scenario("rabbitmq/direct-reply-to.gone")
@broken_by("keeps the queue", changes(CONSUMES, keep_the_queue, generate_tag, start_consumer))
@broken_by("creates it anew", changes(NOT_THERE, condition=names_no_reply_passively))
@broken_by("confirms", answers(Queue.Declare, Queue.DeclareOk(REPLIES), when=is_about_replies))
def name_of_a_requester_that_is_gone_is_missing(broker: Broker) -> None:
    """Once the requester has ended its connection, Declare of its name fails, passively and not."""
    answering, queue = responder(broker)
    channel = requester(broker)
    name = asked(broker, channel, answering, queue)
    other = gone(broker, channel)
    for passive in (True, False, True):
        beside(other).tries(Queue.Declare(name, passive=passive), *MISSING)
        other.stays_quiet()


@scenario("rabbitmq/direct-reply-to.dropped")
@broken_by("has all share a queue", changes(CONSUMES, keep_one_queue_for_all, generate_tag, start_consumer))
@broken_by(
    "takes it for an error",
    changes("basic.publish: refuses an exchange that does not exist", condition=is_a_late_reply),
)
def reply_to_a_requester_that_is_gone_is_dropped(broker: Broker) -> None:
    """A late reply does nothing to its responder, and is not the first that the next requester gets."""
    answering, queue = responder(broker)
    channel = requester(broker)
    name = asked(broker, channel, answering, queue)
    gone(broker, channel)
    again = requester(broker)
    answering.publish(b"late", key=name)
    answering.stays_quiet()
    answering.publish(b"reply", key=asked(broker, again, answering, queue))
    again.expect(message(Basic.Deliver, b"reply"))


@scenario("rabbitmq/direct-reply-to.not-deleted")
@broken_by("deletes it", drops("queue.delete: leaves a name of replies"))
@broken_by(
    "forgets replies",
    changes(
        "queue.delete: leaves a name of replies", answer=refuse(NOT_FOUND), condition=names_the_pseudo_queue
    ),
)
def pseudo_queue_cannot_be_deleted(broker: Broker) -> None:
    """Whatever Delete of the pseudo-queue and of a generated name is answered, replies come."""
    channel = requester(broker)
    answering, queue = responder(broker)
    name = asked(broker, channel, answering, queue)
    for each in (REPLIES, name):
        other = broker.channel(new_connection=True)
        if other.takes(Queue.Delete(each), Queue.DeleteOk):
            other.stays_quiet()
    answering.publish(b"reply", key=name)
    channel.expect(message(Basic.Deliver, b"reply"))


@scenario("rabbitmq/direct-reply-to.mandatory")
@broken_by(
    "finds no queue for it",
    changes("routing: a mandatory reply is returned as well", condition=is_a_mandatory_reply, effects=()),
)
@broken_by("loses it", ignores(Basic.Publish, when=lambda it: it.mandatory))
def mandatory_reply_is_delivered(broker: Broker) -> None:
    """A reply with mandatory comes to the requester; better nothing comes back to the responder."""
    channel = requester(broker)
    answering, queue = responder(broker)
    name = asked(broker, channel, answering, queue)
    answering.publish(b"reply", key=name, mandatory=True)
    channel.expect(message(Basic.Deliver, b"reply"))
    answering.send(FENCE)
    returned = message(Basic.Return, b"reply").under("until 4.1 the guide said that it counts as unroutable")
    answering.expect(QUIET, returned)
