"""2.2.9: what takes effect by itself, and what waits for a Commit."""

from __future__ import annotations

from harness.amqp0_9_1.basic_faults import forget_transaction
from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.deviations import changes, drops, ignores
from harness.amqp0_9_1.outcomes import message
from harness.amqp0_9_1.peer.basic_table import requeue_all, return_all_to_their_recipients
from harness.amqp0_9_1.peer.life import abandon_transaction
from harness.amqp0_9_1.peer.rows import always
from harness.amqp0_9_1.peer.tx_table import commit
from harness.amqp0_9_1.vocabulary import Basic, Tx
from scenarios.amqp0_9_1.tx import transacted
from scenarios.registry import broken_by, scenario

COMMIT = "tx.commit: publications and acknowledgements take effect"
ROLLBACK = "tx.rollback: publications and acknowledgements are abandoned"


@scenario("0-9-1/prose/2.2.9.each-act-its-own-transaction")
@broken_by("holds what is published", changes("basic.publish: waits for the commit", condition=always))
@broken_by("does not acknowledge", changes("basic.ack: settles", effects=()))
def acts_take_effect_by_themselves(broker: Broker) -> None:
    """Without Select a message can be got as soon as it is published, and is gone once acknowledged."""
    channel, witness = broker.channel(), broker.channel()
    queue = channel.declare_queue()
    channel.publish(b"at once", key=queue)
    channel.send(Basic.Get(queue))
    got = channel.expect(message(Basic.GetOk, b"at once"))
    channel.send(Basic.Ack(got.delivery_tag))
    channel.fence()
    channel.close()
    witness.send(Basic.Get(queue))
    witness.expect(Basic.GetEmpty)


@scenario("0-9-1/prose/2.2.9.transaction-covers-publish-and-ack")
@broken_by("publishes at once", drops("basic.publish: waits for the commit"))
@broken_by("acknowledges at once", drops("basic.ack: waits for the commit"))
@broken_by("commits what is rolled back", changes(ROLLBACK, effects=(commit,)))
@broken_by("loses what is committed", changes(COMMIT, effects=(forget_transaction,)))
@broken_by("commits a part", ignores(Basic.Publish, skip=1))
def publish_and_ack_wait_for_the_commit(broker: Broker) -> None:
    """What is published comes with Commit, all of it, not with Rollback; an Ack alone changes nothing."""
    channel, witness = transacted(broker), broker.channel()
    queue = channel.declare_queue()
    look = Basic.Get(queue, no_ack=True)
    for body in (b"committed", b"as well"):
        channel.publish(body, key=queue)
    channel.fence()
    witness.send(look)
    witness.expect(Basic.GetEmpty)
    channel.ask(Tx.Commit())
    for body in (b"committed", b"as well"):
        witness.send(look)
        witness.expect(message(Basic.GetOk, body))
    channel.publish(b"rolled back", key=queue)
    channel.ask(Tx.Rollback())
    witness.send(look)
    witness.expect(Basic.GetEmpty)
    witness.publish(b"acknowledged", key=queue)
    witness.fence()
    channel.send(Basic.Ack(channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag))
    channel.fence()
    channel.close()
    witness.send(look)
    witness.expect(message(Basic.GetOk, b"acknowledged"))


@scenario("0-9-1/prose/2.2.9.rollback-redelivers-nothing")
@broken_by("requeues", changes(ROLLBACK, effects=(abandon_transaction, requeue_all)))
@broken_by("redelivers", changes(ROLLBACK, effects=(abandon_transaction, return_all_to_their_recipients)))
def rollback_leaves_deliveries_alone(broker: Broker) -> None:
    """One of two messages is delivered and acknowledged; after Rollback it comes to nobody again."""
    channel, witness = transacted(broker), broker.channel()
    queue = witness.declare_queue()
    witness.publish(b"delivered", key=queue)
    witness.publish(b"waiting", key=queue)
    witness.fence()
    channel.ask(Basic.Qos(prefetch_count=1))
    channel.consume(queue)
    channel.send(Basic.Ack(channel.deliveries(1)[0].method.delivery_tag))
    channel.ask(Tx.Rollback())
    channel.stays_quiet()
    witness.send(Basic.Get(queue, no_ack=True))
    witness.expect(message(Basic.GetOk, b"waiting"))
    witness.send(Basic.Get(queue, no_ack=True))
    witness.expect(Basic.GetEmpty)


@scenario("0-9-1/prose/2.2.9.acknowledged-after-rollback")
@broken_by("knows the message no more", changes(ROLLBACK, effects=(forget_transaction,)))
@broken_by("does not take it a second time", changes(COMMIT, effects=(abandon_transaction,)))
def message_can_be_acknowledged_after_rollback(broker: Broker) -> None:
    """An acknowledgement is rolled back, sent again and committed: no exception, and the message is gone."""
    channel, witness = transacted(broker), broker.channel()
    queue = witness.declare_queue()
    witness.publish(b"once", key=queue)
    witness.fence()
    tag = channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag
    channel.send(Basic.Ack(tag))
    channel.ask(Tx.Rollback())
    channel.send(Basic.Ack(tag))
    channel.send(Tx.Commit())
    channel.expect(Tx.CommitOk)
    channel.close()
    witness.send(Basic.Get(queue, no_ack=True))
    witness.expect(Basic.GetEmpty)
