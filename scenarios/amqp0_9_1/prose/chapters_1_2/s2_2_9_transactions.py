"""2.2.9: what takes effect by itself, and what waits for a Commit."""

from itertools import product

from harness.amqp0_9_1.broken.deviations import changes, drops, ignores, withholds
from harness.amqp0_9_1.broken.settling_faults import (
    commit_everywhere,
    commit_the_first,
    forget_transaction,
    hold_the_last,
    is_transacted_and_of_what_was_got,
    publish_what_was_not_committed,
    route_only,
    settle_anyway,
)
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.outcomes import EXCEPTION, Silence, answered, message, silence
from harness.amqp0_9_1.peer.life import abandon_transaction, end_connection
from harness.amqp0_9_1.peer.tables.basic import requeue_all, return_all_to_their_recipients
from harness.amqp0_9_1.peer.tables.tx import commit
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Connection, Exchange, Tx
from harness.peers.rows import always
from scenarios.amqp0_9_1.ends import WAYS, is_left
from scenarios.amqp0_9_1.three_ways import unroutable
from scenarios.amqp0_9_1.tx.common import transacted
from scenarios.registry import broken_by, scenario

HANGING_UP = "connection: hanging up ends it"
CLOSE = "connection.close: is answered"
COMMIT = "tx.commit: publications and acknowledgements take effect"
ROLLBACK = "tx.rollback: publications and acknowledgements are abandoned"


@scenario("0-9-1/prose/2.2.9.each-act-its-own-transaction")
@broken_by("holds what is published", changes("basic.publish: waits for the commit", condition=always))
@broken_by("does not acknowledge", changes("basic.ack: settles", effects=()))
def acts_take_effect_by_themselves(broker: Broker) -> None:
    """Without Select a message can be got as soon as it is published, and is gone once acknowledged."""
    channel, witness = broker.channel(), broker.channel()
    queue = channel.queue_with(b"at once")
    got = channel.tries(Basic.Get(queue), message(Basic.GetOk, b"at once"))
    channel.send(Basic.Ack(got.delivery_tag))
    channel.fence()
    channel.close()
    witness.tries(Basic.Get(queue), Basic.GetEmpty)


@scenario("0-9-1/prose/2.2.9.transaction-covers-publish-and-ack")
@broken_by("publishes at once", drops("basic.publish: waits for the commit"))
@broken_by("acknowledges at once", drops("basic.ack: waits for the commit"))
@broken_by("commits what is rolled back", changes(ROLLBACK, commit))
@broken_by("loses what is committed", changes(COMMIT, forget_transaction))
@broken_by("commits a part", changes(COMMIT, commit_the_first))
def publish_and_ack_wait_for_the_commit(broker: Broker) -> None:
    """What is published comes with Commit, all of it, not with Rollback; an Ack alone changes nothing."""
    channel, witness = transacted(broker), broker.channel()
    queue = channel.declare_queue()
    look = Basic.Get(queue, no_ack=True)
    for body in (b"committed", b"as well"):
        channel.publish(body, key=queue)
    channel.fence()
    witness.tries(look, Basic.GetEmpty)
    channel.ask(Tx.Commit())
    for body in (b"committed", b"as well"):
        witness.tries(look, message(Basic.GetOk, body))
    channel.publish(b"rolled back", key=queue)
    channel.ask(Tx.Rollback())
    witness.tries(look, Basic.GetEmpty)
    witness.publish(b"acknowledged", key=queue)
    witness.fence()
    channel.send(Basic.Ack(channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag))
    channel.fence()
    channel.close()
    is_left(broker, queue, b"acknowledged")


TWO = b"first", b"second"
ENDS = (Tx.Commit(), Tx.CommitOk), (Tx.Rollback(), Tx.RollbackOk)


@scenario("0-9-1/prose/2.2.9.transaction-covers-publish-and-ack")
@broken_by("commits acknowledgements that are rolled back", changes(ROLLBACK, settle_anyway))
@broken_by("forgets acknowledgements that are committed", changes(COMMIT, route_only))
@broken_by("acknowledges one for many", changes("basic.ack: waits for the commit", hold_the_last))
def acknowledgements_end_as_their_transaction(broker: Broker) -> None:
    """Two messages, acknowledged one by one or up to the second: Commit ends them, Rollback does not."""
    for multiple, (end, answer) in product((False, True), ENDS):
        channel, witness = transacted(broker), broker.channel()
        queue = witness.queue_with(*TWO)
        witness.fence()
        tags = [channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag for _ in TWO]
        for tag in tags[int(multiple) :]:
            channel.send(Basic.Ack(tag, multiple))
        channel.tries(end, answer)
        channel.close()
        is_left(broker, queue, *(() if answer is Tx.CommitOk else TWO))


ABANDONS = "channel end: abandons its transaction"


@scenario("0-9-1/prose/2.2.9.transaction-covers-publish-and-ack")
@broken_by("publishes when a channel ends", changes(ABANDONS, publish_what_was_not_committed))
@broken_by("commits when its client is gone", changes(HANGING_UP, commit_everywhere, end_connection))
@broken_by("commits when its connection is closed", changes(CLOSE, commit_everywhere, end_connection))
@broken_by(
    "acknowledges what was delivered at once",
    changes("basic.ack: waits for the commit", condition=is_transacted_and_of_what_was_got),
)
def end_of_a_channel_commits_nothing(broker: Broker) -> None:
    """A message is published, and one delivered and acknowledged, without Commit: the second is there again.

    However the channel ends.
    """
    for ends in WAYS:
        channel = transacted(broker, new_connection=True)
        queue = channel.declare_queue()
        broker.channel().publish(b"acknowledged", key=queue)
        channel.consume(queue)
        channel.send(Basic.Ack(channel.deliveries(1)[0].method.delivery_tag))
        channel.publish(b"published", key=queue)
        channel.fence()
        ends(channel)
        is_left(broker, queue, b"acknowledged")


OF_AN_END = (Basic.Return, Tx.CommitOk, Tx.RollbackOk, Exchange.DeclareOk)
REFUSED = EXCEPTION.recorded("an exception: the behaviour is not defined")


@scenario("0-9-1/prose/2.2.9.return-in-transaction")
@broken_by("never returns it", withholds(Basic.Return))
@broken_by("returns it at once", drops("basic.publish: waits for the commit"))
def when_a_message_is_returned_is_recorded(broker: Broker) -> None:
    """A mandatory message without a queue, in a transaction: returned at once, with Commit, or not at all."""
    for end in (Tx.Rollback(), Tx.Commit()):
        channel, nowhere = transacted(broker), unroutable(broker.name("queue"))
        channel.publish(b"in vain", exchange=nowhere.exchange, key=nowhere.routing_key, mandatory=True)
        channel.send(FENCE)
        early = message(Basic.Return, b"in vain").recorded("it is returned before the transaction ends")
        seen = channel.expect(answered(Exchange.DeclareOk).recorded(), early, REFUSED)
        if isinstance(seen, Channel.Close | Connection.Close):
            return
        if isinstance(seen, Basic.Return):
            channel.control("the method after it", Exchange.DeclareOk)
        channel.send(end, FENCE)
        came: list[str] = []
        while Exchange.DeclareOk.full_name not in came:
            seen = channel.expect(answered(*OF_AN_END).recorded(), REFUSED)
            if isinstance(seen, Channel.Close | Connection.Close):
                return
            came.append(seen.full_name)
        broker.note(f"{end.full_name} is followed by {' and '.join(came[:-1])}")


@scenario("0-9-1/prose/2.2.9.reject-in-transaction")
@broken_by("does not hear it", ignores(Basic.Reject))
def when_a_reject_takes_effect_is_recorded(broker: Broker) -> None:
    """A message rejected with requeue in a transaction goes to the other consumer at once, or with Commit."""
    channel, other = transacted(broker), broker.channel(new_connection=True)
    queue = other.queue_with(b"rejected")
    other.fence()
    taken = channel.ask(Basic.Get(queue), Basic.GetOk)
    other.consume(queue)
    channel.send(Basic.Reject(taken.delivery_tag, requeue=True))
    again = message(Basic.Deliver, b"rejected")
    if isinstance(other.expect(again.recorded("at once"), silence().recorded("not yet")), Silence):
        channel.ask(Tx.Commit())
        other.expect(again.recorded("with the Commit"), silence().recorded("not at all"))


@scenario("0-9-1/prose/2.2.9.rollback-redelivers-nothing")
@broken_by("requeues what is out", changes(ROLLBACK, requeue_all, abandon_transaction))
def rollback_leaves_alone_what_was_not_acknowledged(broker: Broker) -> None:
    """One message is got and one consumed, neither is acknowledged: nothing comes after Rollback.

    In the next transaction both are acknowledged, and gone.
    """
    channel, witness = transacted(broker), broker.channel()
    queue = witness.queue_with(*TWO)
    witness.fence()
    channel.ask(Basic.Get(queue), Basic.GetOk)
    channel.consume(queue)
    channel.deliveries(1)
    channel.ask(Tx.Rollback())
    channel.stays_quiet()
    witness.tries(Basic.Get(queue, no_ack=True), Basic.GetEmpty)
    channel.send(Basic.Ack(0, multiple=True))
    channel.tries(Tx.Commit(), Tx.CommitOk)
    channel.close()
    witness.tries(Basic.Get(queue, no_ack=True), Basic.GetEmpty)


@scenario("0-9-1/prose/2.2.9.rollback-redelivers-nothing")
@broken_by("requeues", changes(ROLLBACK, abandon_transaction, requeue_all))
@broken_by("redelivers", changes(ROLLBACK, abandon_transaction, return_all_to_their_recipients))
def rollback_leaves_deliveries_alone(broker: Broker) -> None:
    """One of two messages is delivered and acknowledged; after Rollback it comes to nobody again."""
    channel, witness = transacted(broker), broker.channel()
    queue = witness.queue_with(b"delivered", b"waiting")
    witness.fence()
    channel.ask(Basic.Qos(prefetch_count=1))
    channel.consume(queue)
    channel.send(Basic.Ack(channel.deliveries(1)[0].method.delivery_tag))
    channel.ask(Tx.Rollback())
    channel.stays_quiet()
    witness.gets(queue, b"waiting")
    witness.send(Basic.Get(queue, no_ack=True))
    witness.expect(Basic.GetEmpty)


@scenario("0-9-1/prose/2.2.9.acknowledged-after-rollback")
@broken_by("knows the message no more", changes(ROLLBACK, forget_transaction))
@broken_by("does not take it a second time", changes(COMMIT, abandon_transaction))
def message_can_be_acknowledged_after_rollback(broker: Broker) -> None:
    """An acknowledgement is rolled back, sent again and committed: no exception, and the message is gone."""
    channel, witness = transacted(broker), broker.channel()
    queue = witness.queue_with(b"once")
    witness.fence()
    tag = channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag
    channel.send(Basic.Ack(tag))
    channel.ask(Tx.Rollback())
    channel.send(Basic.Ack(tag))
    channel.tries(Tx.Commit(), Tx.CommitOk)
    channel.close()
    witness.send(Basic.Get(queue, no_ack=True))
    witness.expect(Basic.GetEmpty)
