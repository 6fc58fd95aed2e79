"""4.5: what becomes of a channel's number, messages and queues when channels and connections end."""

from harness.amqp0_9_1.broken.deviations import Fault, changes, drops, forwards, rejects
from harness.amqp0_9_1.broken.end_faults import delete_what_it_declared, disown_queues
from harness.amqp0_9_1.broken.settling_faults import requeue_what_was_consumed
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import EXCEPTION, answered, channel_closed, connection_closed, silence
from harness.amqp0_9_1.peer.life import end_connection
from harness.amqp0_9_1.wire.vocabulary import (
    CHANNEL_ERROR,
    NOT_FOUND,
    RESOURCE_LOCKED,
    Basic,
    Channel,
    Connection,
    Queue,
)
from scenarios.amqp0_9_1.ends import WAYS, by_exception, by_handshake, with_connection
from scenarios.amqp0_9_1.prose.chapter_3.s3_1_4_queues import counts_consumers
from scenarios.amqp0_9_1.prose.chapters_1_2.s2_3_3_negotiation import opened
from scenarios.registry import broken_by, scenario

CLOSE = "connection.close: is answered"
REQUEUES = "channel end: requeues what is not acknowledged"


@scenario("0-9-1/prose/4.5.closed-number-reused")
@broken_by("does not free it", drops("channel.close-ok: frees the channel"))
@broken_by("opens a number once", rejects(Channel.Open, CHANNEL_ERROR, skip=1))
@broken_by("keeps the consumer", drops("channel end: cancels its consumers"))
def closed_channel_can_be_opened_again(broker: Broker) -> None:
    """A channel that was closed by the handshake, then by an exception, opens again, without its consumer."""
    channel, queue = broker.queue()
    for ends in (by_handshake, by_exception):
        channel.consume(queue, consumer_tag="tag")
        ends(channel)
        channel = opened(channel.connection, channel.number)
        counts_consumers(channel, queue, 0)
        channel.publish(b"works", key=queue)
        channel.gets(queue, b"works")


@scenario("0-9-1/prose/4.5.unacknowledged-comes-again")
@broken_by("loses them", drops(REQUEUES))
@broken_by("keeps them when a connection ends", drops("connection end: ends its channels"))
@broken_by("does not see that a client is gone", changes("connection: hanging up ends it", effects=()))
def unacknowledged_messages_come_again(broker: Broker) -> None:
    """A message consumed and not acknowledged comes to another channel, however the first has ended."""
    for number, ends in enumerate(WAYS):
        channel = broker.channel(new_connection=True)
        queue, body = channel.declare_queue(), f"message {number}".encode()
        channel.publish(body, key=queue)
        channel.consume(queue)
        channel.deliveries(1)
        ends(channel)
        broker.channel(new_connection=True).consumes(queue, body)


@scenario("0-9-1/prose/4.5.unacknowledged-comes-again")
@broken_by("loses what was got", changes(REQUEUES, requeue_what_was_consumed))
def what_was_got_and_not_acknowledged_comes_again(broker: Broker) -> None:
    """A message got and not acknowledged can be got on another channel, however the first has ended."""
    for number, ends in enumerate(WAYS):
        channel = broker.channel(new_connection=True)
        queue, body = channel.declare_queue(), f"message {number}".encode()
        channel.publish(body, key=queue)
        channel.ask(Basic.Get(queue), Basic.GetOk)
        ends(channel)
        broker.channel(new_connection=True).consumes(queue, body)


@scenario("0-9-1/prose/4.5.owned-queues-deleted", slow=True)
@broken_by("keeps them", drops("connection end: deletes its exclusive queues"))
@broken_by("shares them", forwards(Queue.Declare, exclusive=False))
def exclusive_queue_goes_with_its_connection(broker: Broker) -> None:
    """With a dropped socket an exclusive queue is deleted; one with auto-delete may be gone or there.

    The server may need a moment to see that the socket is gone, and to clear up: until then the queue is
    locked, or still there.
    """
    channel = broker.channel().misses("queue")
    owned, unused = channel.declare_queue(exclusive=True), channel.declare_queue(auto_delete=True)
    broker.drop()
    gone, locked = (
        channel_closed(NOT_FOUND),
        channel_closed(RESOURCE_LOCKED) | connection_closed(RESOURCE_LOCKED),
    )
    seen = look_for(broker, owned).expect(gone | locked | answered(Queue.DeclareOk))
    if not isinstance(seen, Channel.Close) or seen.reply_code != NOT_FOUND:
        broker.channel().expect(silence())
        look_for(broker, owned).expect(gone)
    look_for(broker, unused).expect(
        answered(Queue.DeclareOk).recorded("auto-delete ends a queue with its last consumer"),
        gone.recorded("4.5: auto-delete ends a queue with its connection"),
    )


@scenario("0-9-1/prose/4.5.owned-queues-deleted")
@broken_by("keeps them when the connection is closed", changes(CLOSE, disown_queues, end_connection))
@broken_by(
    "keeps them behind an exception", changes("channel.open: refuses a channel already open", disown_queues)
)
@broken_by("deletes them with their channel", Fault(delete_what_it_declared))
def exclusive_queues_go_with_their_connection_alone(broker: Broker) -> None:
    """They stay when their channel ends, and go when the connection is closed, or ended by an exception.

    Until they are gone they are locked, or still there.
    """
    for ends in (with_connection, by_opening_twice):
        channel, queue = broker.queue(new_connection=True, exclusive=True)
        channel.close()
        channel = channel.connection.channel()
        channel.tries(Queue.Declare(queue, passive=True), Queue.DeclareOk)
        ends(channel)
        # By which code a locked queue is refused is judged by 0-9-1/queue.declare.exclusive.exclusive.
        gone, locked = channel_closed(NOT_FOUND), EXCEPTION
        seen = look_for(broker, queue).expect(gone | locked | answered(Queue.DeclareOk))
        if not isinstance(seen, Channel.Close) or seen.reply_code != NOT_FOUND:
            broker.channel().expect(silence())
            look_for(broker, queue).expect(gone)


def by_opening_twice(channel: AmqpChannel) -> None:
    """Open a channel again: an exception of the connection (0-9-1/channel.open.state)."""
    channel.ask(Channel.Open(), Connection.Close)
    channel.connection.send(Connection.CloseOk())
    channel.connection.drop()


def look_for(broker: Broker, queue: str) -> AmqpChannel:
    """Ask on a new channel whether the queue is there."""
    channel = broker.channel()
    channel.send(Queue.Declare(queue, passive=True))
    return channel
