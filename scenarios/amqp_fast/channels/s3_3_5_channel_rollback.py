"""3.3.5 CHANNEL ROLLBACK Command."""

from harness.amqp_fast.broken.channel_faults import (
    lose_unacknowledged,
    on_all_channels,
    roll_back_acks,
    roll_back_and_drop,
    roll_back_and_reach,
    roll_back_and_settle,
    roll_back_queues,
    roll_back_sends,
    transacts_no_more,
)
from harness.amqp_fast.broken.deviations import Fault, rewrites, takes
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.peer.tables import channel as rows
from harness.amqp_fast.wire.vocabulary import OK, TOPIC, Channel
from scenarios.amqp_fast.channels.common import MARK, holds, left, staged, untagged
from scenarios.amqp_fast.channels.s3_3_4_channel_commit import transacted
from scenarios.registry import broken_by, scenario

ROLLBACK = "channel rollback: is done"
STAYS = "1499 does not say when a message whose delivery is cancelled is delivered anew"


def unasked(rollback: Channel.Rollback) -> Channel.Reply:
    return Channel.Reply(rollback.channel_id, 0, OK)


@scenario("fast/3.3.5.rollback-confirmed")
@broken_by("does not confirm", Fault.changes(ROLLBACK, answer=None))
@broken_by("confirms unasked", takes(Channel.Rollback, unasked, when=untagged))
@broken_by("gives another tag", rewrites(Channel.Reply, lambda it: it.channel_id > 1, confirm_tag=0xFFFF))
@broken_by(
    "does what is confirmed alone", Fault.changes(ROLLBACK, condition=lambda it: not untagged(it.event))
)
def rollback_with_a_tag_is_confirmed(server: Server) -> None:
    """ROLLBACK is confirmed where it has a tag; where it has none it works in silence."""
    stage = staged(server)
    for asks in (True, False):
        stage.sends(b"rolled back")
        if asks:
            stage.channel.confirms(Channel.Rollback(stage.channel.id))
        else:
            stage.channel.send(Channel.Rollback(stage.channel.id))
            stage.channel.stays_quiet()
    stage.channel.commit()
    stage.shows()


@scenario("fast/3.3.9.rollback-confirmed-when-done")
@broken_by("does not confirm", Fault.changes(ROLLBACK, answer=None))
@broken_by("rolls back no acknowledgement", Fault.changes(ROLLBACK, roll_back_and_settle))
@broken_by("rolls back nothing but acknowledgements", Fault.changes(ROLLBACK, roll_back_acks))
def rollback_is_done_when_it_is_confirmed(server: Server) -> None:
    """What was sent and what was acknowledged is rolled back: a commit behind it changes nothing."""
    source, target = server.queue(b"acknowledged"), server.queue()
    handle = transacted(server, source)
    channel = handle.channel
    handle.messages(1)
    channel.ack()
    handle.publish(target, b"sent")
    handle.pause()
    channel.confirms(Channel.Rollback(channel.id))
    channel.commit()
    channel.close()
    holds(server, target)
    holds(server, source, b"acknowledged")


@scenario("fast/3.3.5.new-transaction-after-rollback")
@broken_by("has no further transaction", Fault.changes(ROLLBACK, rows.roll_back, transacts_no_more))
@broken_by("rolls nothing back", Fault.changes(ROLLBACK, effects=()))
def transaction_begins_behind_a_rollback(server: Server) -> None:
    """What is sent behind ROLLBACK, in the same write, waits for COMMIT; what was sent before never comes."""
    stage = staged(server)
    stage.sends(b"before")
    behind = stage.within.carries(stage.queue, b"behind")
    stage.channel.send(Channel.Rollback(stage.channel.id), *behind)
    stage.channel.fence()
    stage.shows()
    stage.channel.confirms(Channel.Commit(stage.channel.id))
    stage.shows(b"behind")


@scenario("fast/3.3.5.rollback-cancels-sends")
@broken_by("cancels nothing", Fault.changes(ROLLBACK, effects=()))
@broken_by("cancels no sends", Fault.changes(ROLLBACK, roll_back_acks))
@broken_by("cancels what goes to queues alone", Fault.changes(ROLLBACK, roll_back_queues))
def rollback_cancels_what_was_sent(server: Server) -> None:
    """What was sent to a queue and to a topic, and rolled back, never comes; what is committed does."""
    stage, topic = staged(server), server.topic()
    subscriber = server.handle(new_connection=True)
    subscriber.consume(topic, service_type=TOPIC, no_ack=True)
    stage.sends(b"committed")
    stage.channel.commit()
    stage.shows(b"committed")
    stage.sends(b"rolled back")
    stage.within.publish(topic, b"rolled back", service=TOPIC)
    stage.channel.roll_back()
    stage.channel.commit()
    stage.shows()
    stage.plain.publish(topic, MARK, service=TOPIC)
    subscriber.hears(MARK)


@scenario("fast/3.3.5.rollback-since-the-last")
@broken_by("takes back what was committed", Fault.changes(ROLLBACK, roll_back_and_reach))
@broken_by("commits nothing for good", Fault.changes("channel commit: is done", effects=()))
@broken_by("rolls nothing back", Fault.changes(ROLLBACK, rows.commit))
def rollback_goes_back_to_the_last_commit(server: Server) -> None:
    """What was sent and acknowledged before a COMMIT stays so; what was sent after it is rolled back."""
    source, target = server.queue(b"acknowledged"), server.queue()
    handle = transacted(server, source)
    handle.messages(1)
    handle.channel.ack()
    handle.publish(target, b"committed")
    handle.channel.commit()
    handle.publish(target, b"rolled back")
    handle.channel.roll_back()
    holds(server, target, b"committed")
    handle.channel.close()
    holds(server, source)


@scenario("fast/3.3.5.rollback-of-its-channel")
@broken_by("rolls all channels back", Fault.changes(ROLLBACK, on_all_channels(rows.roll_back)))
@broken_by("rolls nothing back", Fault.changes(ROLLBACK, rows.commit))
def rollback_is_of_its_channel(server: Server) -> None:
    """Of two transacted channels one is rolled back: the message of the other one is committed."""
    stage = staged(server)
    other = server.channel(transacted=True).handle()
    stage.sends(b"of the first")
    other.publish(stage.queue, b"of the second")
    stage.channel.roll_back()
    other.channel.commit()
    stage.shows(b"of the second")


@scenario("fast/3.3.5.rollback-cancels-acks")
@broken_by("settles what was acknowledged", Fault.changes(ROLLBACK, roll_back_and_settle))
@broken_by("leaves messages acknowledged", Fault.changes("channel ack: is taken", lose_unacknowledged))
@broken_by("gives back what was committed", Fault.changes("channel commit: is done", effects=()))
def rollback_cancels_acknowledgements(server: Server) -> None:
    """A message that was acknowledged comes again after ROLLBACK, and after COMMIT does not."""
    for committed in (True, False):
        queue = server.queue(b"acknowledged")
        handle = transacted(server, queue)
        handle.messages(1)
        handle.channel.ack()
        handle.pause()
        (handle.channel.commit if committed else handle.channel.roll_back)()
        handle.channel.close()
        holds(server, queue, *([] if committed else [b"acknowledged"]))


@scenario("fast/3.3.5.rollback-cancels-deliveries")
@broken_by("leaves deliveries as they are", Fault.changes(ROLLBACK, roll_back_sends))
@broken_by("drops what was delivered", Fault.changes(ROLLBACK, roll_back_and_drop))
def rollback_gives_deliveries_back(server: Server) -> None:
    """A message that was delivered comes again when its delivery is rolled back, or when the channel ends."""
    queue = server.queue(b"delivered")
    handle = transacted(server, queue)
    handle.messages(1)
    handle.channel.roll_back()
    handle.pause()
    again = [each.body for each in handle.channel.arrived()]
    server.judge("the message again", "no message", again == [b"delivered"], STAYS)
    handle.channel.close()
    found = left(server, queue)
    server.judge("the message for another consumer", "no message, or more than one", found == [b"delivered"])
