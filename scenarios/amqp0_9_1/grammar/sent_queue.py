"""What a server fills the fields of its methods with: names and counts of queues, tags of consumers."""

from harness.amqp0_9_1.broken.deviations import rewrites
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import EXCEPTION, answered, channel_closed, connection_closed, fields
from harness.amqp0_9_1.wire.vocabulary import NOT_IMPLEMENTED, Basic, Channel, Queue, Tx
from scenarios.amqp0_9_1.grammar.calls import BODY
from scenarios.amqp0_9_1.grammar.methods import holds
from scenarios.amqp0_9_1.grammar.sent import one_more
from scenarios.amqp0_9_1.prose.chapter_3.s3_1_4_queues import counts_consumers
from scenarios.amqp0_9_1.tx.common import transacted
from scenarios.registry import broken_by, scenario

THREE = 3


def filled(channel: AmqpChannel) -> str:
    """Give a queue in which three messages wait.

    A fourth is got: servers count in passing what is still on its way to the queue, or do not.
    """
    queue = channel.queue_with(*[BODY] * (THREE + 1))
    channel.get(queue)
    return queue


# -- queues --------------------------------------------------------------------------------------------


def is_made(ok: Queue.DeclareOk) -> bool:
    """Say whether the name is one that the reference peer made."""
    return ok.queue.startswith("amq.")


@scenario("0-9-1/grammar/queue.declare-ok.queue.carries")
@broken_by("reports another name", rewrites(Queue.DeclareOk, queue="another"))
@broken_by("reports no name", rewrites(Queue.DeclareOk, queue=""))
def declared_queue_is_reported_by_its_name(broker: Broker) -> None:
    """Declare-Ok repeats the name that the client gave."""
    channel = broker.channel()
    queue = channel.new_name("queue")
    channel.tries(Queue.Declare(queue), fields(Queue.DeclareOk, queue=queue))


@scenario("0-9-1/grammar/queue.declare-ok.queue.carries")
@broken_by("reports another name than it made", rewrites(Queue.DeclareOk, queue="another", when=is_made))
@broken_by("keeps its name to itself", rewrites(Queue.DeclareOk, queue="", when=is_made))
def name_that_the_server_made_is_reported(broker: Broker) -> None:
    """Where the client gives no name Declare-Ok has one, and a queue is found under it."""
    channel = broker.channel()
    answer = channel.tries(Queue.Declare("", exclusive=True), answered(Queue.DeclareOk) | EXCEPTION)
    if not isinstance(answer, Queue.DeclareOk):
        broker.inapplicable("the server makes no names: see 0-9-1/queue.declare.queue.default-name")
    made = answer.queue
    broker.judge("a name", "no name", bool(made))
    channel.tries(Queue.Declare(made, passive=True), fields(Queue.DeclareOk, queue=made))


@scenario("0-9-1/grammar/queue.declare-ok.message-count.carries")
@broken_by("counts one too many", rewrites(Queue.DeclareOk, message_count=one_more))
@broken_by("counts none", rewrites(Queue.DeclareOk, message_count=0))
@broken_by(
    "counts what is out",
    rewrites(Queue.DeclareOk, message_count=THREE, when=lambda ok: ok.message_count == THREE - 1),
)
def messages_that_wait_are_counted(broker: Broker) -> None:
    """A new queue has no messages; with three that wait it has three, with one of them out two."""
    channel = broker.channel()
    channel.tries(Queue.Declare(channel.new_name("queue")), fields(Queue.DeclareOk, message_count=0))
    queue = filled(channel)
    holds(channel, queue, THREE)
    channel.get(queue, no_ack=False)
    holds(channel, queue, THREE - 1)


@scenario("0-9-1/grammar/queue.declare-ok.message-count.carries")
@broken_by(
    "counts what is not committed",
    rewrites(Queue.DeclareOk, message_count=1, when=lambda ok: not ok.message_count),
)
def messages_count_when_they_are_committed(broker: Broker) -> None:
    """Messages published in a transaction are counted after Commit, and not before."""
    channel = transacted(broker)
    queue = channel.queue_with(*[BODY] * 2)
    holds(channel, queue, 0)
    channel.ask(Tx.Commit())
    channel.get(queue)
    holds(channel, queue, 1)


@scenario("0-9-1/grammar/queue.declare-ok.consumer-count.carries")
@broken_by("counts none", rewrites(Queue.DeclareOk, consumer_count=0))
@broken_by("counts itself", rewrites(Queue.DeclareOk, consumer_count=one_more))
@broken_by(
    "counts the paused", rewrites(Queue.DeclareOk, consumer_count=2, when=lambda ok: ok.consumer_count == 1)
)
def consumers_that_are_active_are_counted(broker: Broker) -> None:
    """With two consumers the count is two; with the channel of one of them paused it is one."""
    channel, other = broker.channel(), broker.channel(new_connection=True)
    queue = channel.declare_queue()
    channel.consume(queue)
    other.consume(queue)
    counts_consumers(channel, queue, 2)
    other.send(Channel.Flow(active=False))
    refused = connection_closed(NOT_IMPLEMENTED) | channel_closed(NOT_IMPLEMENTED)
    if isinstance(other.expect(answered(Channel.FlowOk) | refused), Channel.FlowOk):
        counts_consumers(channel, queue, 1)


@scenario("0-9-1/grammar/queue.purge-ok.message-count.carries")
@broken_by("counts one too many", rewrites(Queue.PurgeOk, message_count=one_more))
@broken_by("counts none", rewrites(Queue.PurgeOk, message_count=0))
@broken_by("counts what is out", rewrites(Queue.PurgeOk, message_count=THREE))
def messages_purged_are_counted(broker: Broker) -> None:
    """Of three messages one is out: Purge-Ok counts two, and of an empty queue none."""
    channel = broker.channel()
    queue = filled(channel)
    channel.get(queue, no_ack=False)
    for count in (THREE - 1, 0):
        channel.tries(Queue.Purge(queue), fields(Queue.PurgeOk, message_count=count))


@scenario("0-9-1/grammar/queue.delete-ok.message-count.carries")
@broken_by("counts one too many", rewrites(Queue.DeleteOk, message_count=one_more))
@broken_by("counts none", rewrites(Queue.DeleteOk, message_count=0))
def messages_deleted_are_counted(broker: Broker) -> None:
    """Delete-Ok of a queue with three messages counts three; with one of them out two, or three as well."""
    channel = broker.channel()
    channel.tries(Queue.Delete(filled(channel)), fields(Queue.DeleteOk, message_count=THREE))
    queue = filled(channel)
    channel.get(queue, no_ack=False)
    channel.send(Queue.Delete(queue))
    all_of_them = fields(Queue.DeleteOk, message_count=THREE)
    channel.expect(
        fields(Queue.DeleteOk, message_count=THREE - 1),
        all_of_them.recorded("the message that is out is deleted as well"),
    )


# -- consumers -----------------------------------------------------------------------------------------


@scenario("0-9-1/grammar/basic.consume-ok.consumer-tag.carries")
@broken_by("gives another tag", rewrites(Basic.ConsumeOk, consumer_tag="another"))
@broken_by("gives another tag than it made", rewrites(Basic.ConsumeOk, consumer_tag="another", skip=1))
@broken_by("gives no tag", rewrites(Basic.ConsumeOk, consumer_tag="", skip=1))
def consumer_has_the_tag_that_is_told(broker: Broker) -> None:
    """Consume-Ok repeats the client's tag; the one that the server made comes with what is delivered."""
    channel = broker.channel()
    queue, other = channel.declare_queue(), channel.declare_queue()
    channel.tries(Basic.Consume(queue, "ours"), fields(Basic.ConsumeOk, consumer_tag="ours"))
    made = channel.tries(Basic.Consume(other), Basic.ConsumeOk).consumer_tag
    broker.judge("a tag of its own", "no tag, or one in use", made not in ("", "ours"))
    channel.hears(BODY, key=other, consumer_tag=made)


@scenario("0-9-1/grammar/basic.cancel-ok.consumer-tag.carries")
@broken_by("names another", rewrites(Basic.CancelOk, consumer_tag="first"))
@broken_by("names none", rewrites(Basic.CancelOk, consumer_tag=""))
def cancelled_consumer_is_named(broker: Broker) -> None:
    """Of two consumers the second is cancelled, then the first: Cancel-Ok names each."""
    channel, queue = broker.queue()
    for tag in ("first", "second"):
        channel.consume(queue, consumer_tag=tag)
    for tag in ("second", "first"):
        channel.tries(Basic.Cancel(tag), fields(Basic.CancelOk, consumer_tag=tag))


@scenario("0-9-1/grammar/basic.deliver.consumer-tag.carries")
@broken_by("names the first always", rewrites(Basic.Deliver, consumer_tag="first"))
@broken_by("names none", rewrites(Basic.Deliver, consumer_tag=""))
def delivery_names_its_consumer(broker: Broker) -> None:
    """Two consumers on two queues: what is delivered comes with the tag of the one whose queue it was on."""
    channel = broker.channel()
    consumed = [(tag, channel.declare_queue()) for tag in ("first", "second")]
    for tag, queue in consumed:
        channel.consume(queue, consumer_tag=tag, no_ack=True)
    for tag, queue in (*reversed(consumed), *consumed):
        channel.hears(BODY, key=queue, consumer_tag=tag)
