"""3.3.4 CHANNEL COMMIT Command."""

from harness.amqp_fast.broken.channel_faults import (
    commit_acks,
    commit_and_keep,
    commit_in_reverse,
    commit_one,
    commit_queues,
    commit_sends,
    give_back_acknowledged,
    lose_unacknowledged,
    on_all_channels,
    send_at_once,
    send_to_topics_at_once,
    transacts_no_more,
)
from harness.amqp_fast.broken.deviations import Fault, rewrites, takes
from harness.amqp_fast.client.channel import FastHandle
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.tables import channel as rows
from harness.amqp_fast.peer.tables.sending import forget
from harness.amqp_fast.wire.vocabulary import OK, TOPIC, Channel
from scenarios.amqp_fast.channels.common import MARK, holds, left, staged, untagged
from scenarios.registry import broken_by, scenario

COMMIT, SEND = "channel commit: is done", "handle send: is done"


def unasked(commit: Channel.Commit) -> Channel.Reply:
    return Channel.Reply(commit.channel_id, 0, OK)


@scenario("fast/3.3.4.commit-confirmed")
@broken_by("does not confirm", Fault.changes(COMMIT, answer=None))
@broken_by("confirms unasked", takes(Channel.Commit, unasked, when=untagged))
@broken_by("gives another tag", rewrites(Channel.Reply, lambda it: it.channel_id > 1, confirm_tag=0xFFFF))
@broken_by(
    "commits what is confirmed alone", Fault.changes(COMMIT, condition=lambda it: not untagged(it.event))
)
def commit_with_a_tag_is_confirmed(server: Server) -> None:
    """COMMIT is confirmed where it has a tag; where it has none it works in silence."""
    stage = staged(server)
    stage.sends(b"first")
    stage.channel.confirms(Channel.Commit(stage.channel.id))
    stage.sends(b"second")
    stage.channel.send(Channel.Commit(stage.channel.id))
    stage.channel.stays_quiet()
    stage.shows(b"first", b"second")


@scenario("fast/3.3.9.commit-confirmed-when-done")
@broken_by("does not confirm", Fault.changes(COMMIT, answer=None))
@broken_by("commits the first message alone", Fault.changes(COMMIT, commit_one))
@broken_by("commits in another order", Fault.changes(COMMIT, commit_in_reverse))
def commit_is_done_when_it_is_confirmed(server: Server) -> None:
    """Twenty messages are there when COMMIT is confirmed: one sent then comes behind them."""
    stage, bodies = staged(server), [b"%d" % number for number in range(20)]
    stage.sends(*bodies)
    stage.channel.confirms(Channel.Commit(stage.channel.id))
    stage.shows(*bodies)


@scenario("fast/3.3.4.new-transaction-after-commit")
@broken_by("has no further transaction", Fault.changes(COMMIT, rows.commit, transacts_no_more))
@broken_by("commits again what it has committed", Fault.changes(COMMIT, commit_and_keep))
def transaction_begins_behind_a_commit(server: Server) -> None:
    """COMMIT follows on COMMIT; what is sent behind one, in the same write, waits for the next."""
    stage = staged(server)
    number = stage.channel.id
    for _ in range(2):
        stage.channel.confirms(Channel.Commit(number))
    stage.sends(b"before")
    stage.channel.send(Channel.Commit(number), *stage.within.carries(stage.queue, b"behind"))
    stage.channel.fence()
    stage.shows(b"before")
    stage.channel.confirms(Channel.Commit(number))
    stage.shows(b"behind")


def transacted(server: Server, queue: str) -> FastHandle:
    """Give a handle of a transacted channel on a new connection, which consumes a queue."""
    return server.channel(new_connection=True, transacted=True).handle().consume(queue)


@scenario("fast/3.3.4.commit-since-the-last")
@broken_by("commits no acknowledgements", Fault.changes(COMMIT, commit_sends))
@broken_by("commits nothing but acknowledgements", Fault.changes(COMMIT, commit_acks))
@broken_by("commits in another order", Fault.changes(COMMIT, commit_in_reverse))
@broken_by("forgets nothing with a rollback", Fault.changes("channel rollback: is done", effects=()))
def commit_acts_on_what_was_done_since_the_last(server: Server) -> None:
    """Two messages are sent and one is acknowledged, and committed; of two more one is rolled back."""
    source, target = server.queue(b"acknowledged"), server.queue()
    handle = transacted(server, source)
    handle.messages(1)
    handle.channel.ack()
    handle.publish(target, b"1", b"2")
    handle.channel.commit()
    handle.publish(target, b"3")
    handle.channel.roll_back()
    handle.publish(target, b"4")
    handle.channel.commit()
    server.judge("1, 2 and 4 in their order", "something else", left(server, target) == [b"1", b"2", b"4"])
    handle.channel.close()
    holds(server, source)


@scenario("fast/3.3.4.commit-of-its-channel")
@broken_by("commits all channels", Fault.changes(COMMIT, on_all_channels(rows.commit)))
@broken_by("commits nothing", Fault.changes(COMMIT, effects=()))
@broken_by(
    "commits when the channel is closed", Fault.changes("channel close: is answered", rows.commit, rows.close)
)
def commit_is_of_its_channel(server: Server) -> None:
    """Of two transacted channels one is committed: the message of the other one never comes."""
    stage = staged(server)
    other = server.channel(transacted=True).handle()
    stage.sends(b"of the first")
    other.publish(stage.queue, b"of the second")
    other.channel.commit()
    stage.shows(b"of the second")
    stage.channel.close()
    stage.shows()


@scenario("fast/3.3.4.commit-makes-available")
@broken_by("commits what went to queues alone", Fault.changes(COMMIT, commit_queues))
@broken_by("commits the first message alone", Fault.changes(COMMIT, commit_one))
@broken_by("commits in another order", Fault.changes(COMMIT, commit_in_reverse))
def commit_reaches_queues_and_topics(server: Server) -> None:
    """What was sent to two queues and a topic in one transaction comes to each with the commit."""
    queues, topic = [server.queue(), server.queue()], server.topic()
    subscriber = server.handle(new_connection=True)
    subscriber.consume(topic, service_type=TOPIC, no_ack=True)
    handle = server.channel(transacted=True).handle()
    handle.publish(queues[0], b"1", b"2")
    handle.publish(queues[1], b"3")
    handle.publish(topic, b"4", service=TOPIC)
    handle.channel.commit()
    subscriber.hears(b"4")
    found = [left(server, queue) for queue in queues]
    server.judge("each message where it was sent to", "something else", found == [[b"1", b"2"], [b"3"]])


@scenario("fast/3.3.4.others-wait-for-commit")
@broken_by("gives out at once", Fault.changes(SEND, send_at_once, forget))
@broken_by("gives out at once what goes to topics", Fault.changes(SEND, send_to_topics_at_once, forget))
@broken_by("commits what went to queues alone", Fault.changes(COMMIT, commit_queues))
def others_get_it_with_the_commit(server: Server) -> None:
    """A consumer and a subscriber elsewhere get what was sent in a transaction with the commit only."""
    stage, topic = staged(server), server.topic()
    subscriber = server.handle(new_connection=True)
    subscriber.consume(topic, service_type=TOPIC, no_ack=True)
    stage.sends(b"to the queue")
    stage.within.publish(topic, b"to the topic", service=TOPIC)
    stage.shows()
    stage.plain.publish(topic, MARK, service=TOPIC)
    subscriber.hears(MARK)
    stage.channel.commit()
    subscriber.hears(b"to the topic")
    stage.shows(b"to the queue")


@scenario("fast/3.3.4.commit-settles-acknowledged")
@broken_by("settles nothing", Fault.changes(COMMIT, commit_sends))
@broken_by("gives back what was acknowledged", Fault.changes(COMMIT, give_back_acknowledged))
@broken_by("does not wait for the commit", Fault.changes("channel ack: is taken", lose_unacknowledged))
def commit_settles_what_was_acknowledged(server: Server) -> None:
    """A message that was acknowledged comes again without COMMIT, and with it does not."""
    for committed in (False, True):
        queue = server.queue(b"acknowledged")
        handle = transacted(server, queue)
        handle.messages(1)
        handle.channel.ack()
        if committed:
            handle.channel.commit()
        handle.channel.close()
        holds(server, queue, *([] if committed else [b"acknowledged"]))


@scenario("fast/3.3.4.commit-settles-unacknowledged")
@broken_by("settles nothing", Fault.changes(COMMIT, commit_sends))
@broken_by("settles the others alone", Fault.changes(COMMIT, give_back_acknowledged))
def what_commit_makes_of_the_unacknowledged_is_recorded(server: Server) -> None:
    """Of two messages one is acknowledged and committed; whether the other comes again, is recorded."""
    queue = server.queue(b"1", b"2")
    handle = transacted(server, queue)
    handle.channel.ack(handle.messages(2)[0].command.message_nbr)
    handle.channel.commit()
    handle.channel.close()
    found = left(server, queue)
    server.judge("the second message, or none", "something else", found in ([], [b"2"]))
    server.note("a commit settles all messages" if not found else "a commit settles acknowledged messages")
