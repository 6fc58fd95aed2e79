"""2.2.1 to 2.2.7: requests and notices on one channel, silence of success, channels, queues nobody uses."""

from collections import Counter

from harness.amqp0_9_1.broken.deviations import (
    Fault,
    changes,
    confirms,
    drops,
    ignores,
    repeats,
    swaps,
    withholds,
)
from harness.amqp0_9_1.broken.end_faults import (
    deaf_while_one_is_closing,
    delete_what_it_consumed,
    end_consumer_unseen,
    end_consumers_unseen,
    hears_while_none_is_closing,
)
from harness.amqp0_9_1.broken.faults import cancel_all_consumers, stop_all_flow
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import answered
from harness.amqp0_9_1.peer.life import cancel_consumer, end_connection
from harness.amqp0_9_1.peer.tables.queue import becomes_current
from harness.amqp0_9_1.wire.frames import method_frame
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Exchange, Queue
from scenarios.amqp0_9_1.ends import WAYS
from scenarios.amqp0_9_1.queue.declare import queue_goes
from scenarios.registry import broken_by, scenario

TWENTY = 20


@scenario("0-9-1/prose/2.2.1.replies-found-among-notices")
@broken_by("forgets the reply", withholds(Queue.DeclareOk, skip=1))
@broken_by("replies twice", repeats(Queue.DeclareOk, skip=1))
@broken_by("forgets a notice", withholds(Basic.Deliver, skip=TWENTY - 1))
def reply_comes_once_among_deliveries(broker: Broker) -> None:
    """Consume and Declare are sent at once: a reply to each and twenty whole deliveries come, no more."""
    channel = broker.channel()
    full, other = channel.declare_queue(), channel.new_name("queue")
    for number in range(TWENTY):
        channel.publish(f"{number}", key=full)
    requests = (Basic.Consume(full, "tag", no_ack=True), Queue.Declare(other))
    channel.connection.send_frames(*(method_frame(channel.number, each) for each in requests))
    wanted = answered(Basic.ConsumeOk, Queue.DeclareOk, Basic.Deliver)
    came = [channel.expect(wanted) for _ in range(TWENTY + 2)]
    counts = Counter(each.full_name for each in came)
    once = all(counts[each.full_name] == 1 for each in (Queue.DeclareOk, Basic.ConsumeOk))
    broker.judge("Consume-Ok and Declare-Ok once each", "not each of them once", once)
    channel.stays_quiet()


@scenario("0-9-1/prose/2.2.3.success-is-silent")
@broken_by("confirms what is published", confirms(Basic.Publish, Basic.Ack(1)))
@broken_by("confirms an acknowledgement", confirms(Basic.Ack, Basic.Ack(1)))
@broken_by("confirms a rejection", confirms(Basic.Reject, Basic.CancelOk("")))
def publishing_and_acknowledging_have_no_answer(broker: Broker) -> None:
    """After Publish, Ack and Reject the answer to a later Declare is the first that comes."""
    channel, queue = broker.queue()
    for body in (b"acknowledged", b"rejected"):
        channel.publish(body, key=queue)
        channel.stays_quiet()
    tags = [channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag for _ in range(2)]
    for settles in (Basic.Ack(tags[0]), Basic.Reject(tags[1], requeue=False)):
        channel.send(settles)
        channel.stays_quiet()


MISSING = "queue.declare: passive refuses one that does not exist"


@scenario("0-9-1/prose/2.2.5.channels-independent")
@broken_by("ends all consumers", changes(MISSING, cancel_all_consumers))
@broken_by("stops all deliveries", changes(MISSING, stop_all_flow))
@broken_by("hears no other channel any more", ignores(Exchange.Declare))
@broken_by("holds back all deliveries until Close-Ok", swaps(hears=hears_while_none_is_closing))
@broken_by("hears no other channel until Close-Ok", Fault(deaf_while_one_is_closing))
def exception_on_one_channel_leaves_another_alone(broker: Broker) -> None:
    """A channel is closed for a 404; another one, with a consumer, still delivers and answers.

    It does so before our Close-Ok, and behind it.
    """
    failing, other = broker.channel(), broker.channel()
    queue = other.declare_queue()
    other.consume(queue, no_ack=True)
    failing.ask(Queue.Declare(broker.name("queue"), passive=True), Channel.Close)
    is_alive(other, queue)
    failing.send(Channel.CloseOk())
    is_alive(other, queue)


def is_alive(channel: AmqpChannel, queue: str) -> None:
    """Judge that a channel delivers what is published to the queue it consumes from, and answers."""
    channel.hears(b"alive", key=queue)
    channel.stays_quiet()


LAST = "consumer end: the last one deletes an auto-delete queue"
CHANNEL_END = "channel end: cancels its consumers"
CLOSE = "connection.close: is answered"
HANGING_UP = "connection: hanging up ends it"


@scenario("0-9-1/prose/2.2.7.unused-queue-deleted")
@broken_by("keeps it", drops(LAST))
@broken_by("goes by the first", changes(LAST, condition=lambda turn: turn.subject.auto_delete))
@broken_by("does not wait for a consumer", changes("queue.declare: creates it", becomes_current))
def queue_goes_with_its_last_consumer(broker: Broker) -> None:
    """An auto-delete queue is there before its first consumer and with one of two left, then it goes."""
    channel = broker.channel().misses("queue")
    queue = channel.declare_queue(auto_delete=True)
    channel.tries(Queue.Declare(queue, passive=True), Queue.DeclareOk)
    first, second = channel.consume(queue), channel.consume(queue)
    channel.ask(Basic.Cancel(first))
    channel.tries(Queue.Declare(queue, passive=True), Queue.DeclareOk)
    channel.ask(Basic.Cancel(second))
    queue_goes(channel, queue)


@scenario("0-9-1/prose/2.2.7.unused-queue-deleted", slow=True)
@broken_by("keeps it when a channel ends", changes(CHANNEL_END, end_consumer_unseen))
@broken_by("keeps it when a connection is closed", changes(CLOSE, end_consumers_unseen, end_connection))
@broken_by("keeps it when a socket is dropped", changes(HANGING_UP, end_consumers_unseen, end_connection))
@broken_by(
    "goes when any channel with a consumer ends",
    changes(CHANNEL_END, cancel_consumer, delete_what_it_consumed),
)
def queue_goes_however_its_last_consumer_ends(broker: Broker) -> None:
    """So it does when channel or connection of its consumer is closed, or the socket dropped.

    With a consumer of another connection left it stays, and goes when that one is cancelled.
    """
    witness = broker.channel()
    for ends in WAYS:
        channel = broker.channel(new_connection=True)
        alone, shared = (channel.declare_queue(durable=True, auto_delete=True) for _ in range(2))
        for queue in (alone, shared):
            channel.send(Queue.Declare(queue, passive=True))
            channel.expect(Queue.DeclareOk)
            channel.consume(queue)
        tag = witness.consume(shared)
        ends(channel)
        queue_goes(broker.channel(), alone)
        witness.tries(Queue.Declare(shared, passive=True), Queue.DeclareOk)
        witness.ask(Basic.Cancel(tag))
        queue_goes(broker.channel(), shared)
