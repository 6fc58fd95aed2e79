"""semantics: transactions, and the order of messages."""

from harness.amqp0_9_1.broken.basic_faults import last_come_last
from harness.amqp0_9_1.broken.deviations import answers, changes, drops, swaps, withholds
from harness.amqp0_9_1.broken.settling_faults import forget_transaction, settle_anyway
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import EXCEPTION, message
from harness.amqp0_9_1.peer.tables.basic import discard_rejected
from harness.amqp0_9_1.rabbitmq.broken.publishing.transactions import (
    commit_late,
    commit_the_rejected_alone,
    forget_what_was_made,
    publish_anyway,
    publish_nothing,
    return_already,
    undo_and_requeue,
)
from harness.amqp0_9_1.wire.vocabulary import Basic, Queue, Tx
from scenarios.amqp0_9_1.tx.common import transacted
from scenarios.rabbitmq.definition.basic_nack import filled, left
from scenarios.registry import broken_by, scenario

WAITS = "rejection: waits for the commit"
REJECTS = "tx.commit: rejections take effect too"
ABANDONED = "tx.rollback: publications and acknowledgements are abandoned"
COMMITTED = "tx.commit: publications and acknowledgements take effect"
HELD = "basic.publish: waits for the commit"
THIRTY = 30


@scenario("rabbitmq/semantics.publication-order")
@broken_by("puts it behind all others", swaps(place=last_come_last))
@broken_by("discards by Reject", changes("basic.reject: requeues for others", discard_rejected))
@broken_by("discards by Nack", changes("basic.nack: requeues for others", discard_rejected))
def queue_keeps_the_order_of_publication(broker: Broker) -> None:
    """Of seven messages six are requeued in various ways: all are got in the order they were published."""
    channel, other = broker.channel(), broker.channel()
    queue = filled(channel, 7)
    tags = [channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag for _ in range(4)]
    other.ask(Basic.Get(queue), Basic.GetOk)
    other.ask(Basic.Get(queue), Basic.GetOk)
    channel.send(Basic.Reject(tags[2], requeue=True), Basic.Nack(tags[1], requeue=True))
    channel.stays_quiet()
    other.close()
    channel.ask(Basic.Recover(requeue=True), Basic.RecoverOk)
    channel.close()
    left(broker, queue, *map(str, range(1, 8)))


@scenario("rabbitmq/semantics.tx-rejections")
@broken_by("rejects at once", drops(WAITS))
@broken_by("rejects at once, and not for good", changes(ABANDONED, undo_and_requeue))
@broken_by("acknowledges what was rejected", drops(REJECTS))
@broken_by("forgets what else was to be committed", changes(REJECTS, commit_the_rejected_alone))
def rejection_takes_effect_with_its_transaction(broker: Broker) -> None:
    """What is rejected in a transaction is back, or gone, after Commit; after Rollback it is still out."""
    channel, other = transacted(broker), broker.channel()
    queue = filled(other, 3)
    tags = [channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag for _ in range(3)]
    channel.send(Basic.Reject(tags[0], requeue=True), Basic.Nack(tags[1], requeue=True))
    channel.ask(Tx.Rollback())
    channel.send(Basic.Reject(tags[0], requeue=True), Basic.Nack(tags[1]), Basic.Ack(tags[2]))
    channel.publish("published", key=queue)
    channel.stays_quiet()
    found = other.depth(queue)
    broker.judge("nothing in the queue before Commit", f"{found} messages", not found)
    channel.ask(Tx.Commit())
    channel.close()
    left(broker, queue, "1", "published")


@scenario("rabbitmq/semantics.tx-errors-at-once")
@broken_by("sees no missing exchange", answers(Basic.Publish, Basic.Qos(), when=lambda it: bool(it.exchange)))
@broken_by("passes over what is unknown", drops("basic.publish: refuses an exchange that does not exist"))
@broken_by(
    "passes over what was never given",
    changes("basic.ack: refuses a tag of no delivered message", settle_anyway, answer=None),
)
def error_in_a_transaction_is_told_at_once(broker: Broker) -> None:
    """In a transaction, a missing exchange and an unknown tag each close the channel before Commit."""
    channel = transacted(broker)
    channel.publish("nowhere", exchange=broker.name("exchange"))
    channel.expect(EXCEPTION)
    transacted(broker).tries(Basic.Ack(9999), EXCEPTION)


@scenario("rabbitmq/semantics.tx-returns")
@broken_by("returns it at once", changes(HELD, return_already))
@broken_by("returns nothing", withholds(Basic.Return))
@broken_by("returns what is rolled back", changes(ABANDONED, publish_anyway))
@broken_by("returns it behind Commit-Ok", changes(COMMITTED, commit_late))
def message_is_returned_when_its_transaction_commits(broker: Broker) -> None:
    """What is mandatory and goes nowhere is returned between Commit and Commit-Ok; not after Rollback."""
    channel = transacted(broker)
    exchange = channel.declare_exchange("fanout")
    channel.publish("rolled back", exchange=exchange, mandatory=True)
    channel.stays_quiet()
    channel.tries(Tx.Rollback(), Tx.RollbackOk)
    channel.publish("committed", exchange=exchange, mandatory=True)
    channel.stays_quiet()
    channel.send(Tx.Commit())
    channel.expect_each(message(Basic.Return, b"committed"), Tx.CommitOk)
    channel.stays_quiet()


@scenario("rabbitmq/semantics.tx-visible")
@broken_by("commits a moment later", changes(COMMITTED, commit_late))
@broken_by("waits for no Commit", drops(HELD))
@broken_by("commits nothing", changes(COMMITTED, publish_nothing))
def committed_messages_are_there_for_others(broker: Broker) -> None:
    """Thirty messages to three queues are seen by another connection with Commit-Ok, and none before."""
    channel, other = transacted(broker), broker.channel(new_connection=True)
    exchange = channel.declare_exchange("fanout")
    queues = [channel.declare_queue(durable=True) for _ in range(3)]
    for queue in queues:
        channel.bind(queue, exchange)
    for number in range(THIRTY):
        channel.publish(f"{number}", exchange=exchange, delivery_mode=2)
    channel.stays_quiet()
    for there in (0, THIRTY):
        found = [len(other.drain(queue)) for queue in queues]
        broker.judge(f"{there} messages in each queue", f"{found}", found == [there] * 3)
        channel.ask(Tx.Commit())


@scenario("rabbitmq/semantics.tx-declarations")
@broken_by("undoes what was made", changes(ABANDONED, forget_what_was_made))
@broken_by("deletes nothing", answers(Queue.Delete, Queue.DeleteOk(0)))
@broken_by("binds nothing", answers(Queue.Bind, Queue.BindOk()))
def declarations_are_not_part_of_a_transaction(broker: Broker) -> None:
    """What is declared, bound and deleted in a transaction is so at once, and after Rollback."""
    channel, other = transacted(broker), broker.channel(new_connection=True)
    gone, queue = other.declare_queue(), channel.declare_queue()
    channel.ask(Queue.Delete(gone))
    exchange = channel.declare_exchange("fanout")
    channel.bind(queue, exchange)
    other.consume(queue, no_ack=True)
    for _ in range(2):
        other.hears("through the binding", exchange=exchange)
        looking = broker.channel(new_connection=True)
        looking.tries(Queue.Declare(gone, passive=True), EXCEPTION)
        channel.ask(Tx.Rollback())


@scenario("rabbitmq/semantics.tx-settled-later")
@broken_by("requeues what is out", changes(ABANDONED, undo_and_requeue))
@broken_by("has the tags spent", changes(ABANDONED, forget_transaction))
@broken_by("settles at once", drops("basic.ack: waits for the commit"))
def what_was_rolled_back_is_settled_later(broker: Broker) -> None:
    """Acknowledged and rolled back, two messages are still out; one is acknowledged, one rejected, later."""
    channel = transacted(broker)
    queue = filled(channel, 0)
    other = broker.channel()
    for body in ("1", "2"):
        other.publish(body, key=queue)
    other.depth(queue)
    one, two = [channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag for _ in range(2)]
    channel.send(Basic.Ack(two, multiple=True))
    channel.ask(Tx.Rollback())
    found = other.depth(queue)
    broker.judge("nothing in the queue", f"{found} messages", not found)
    channel.send(Basic.Ack(one), Basic.Reject(two, requeue=True))
    channel.stays_quiet()
    channel.ask(Tx.Commit())
    channel.close()
    left(broker, queue, "2")
