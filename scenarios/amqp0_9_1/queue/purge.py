"""queue.purge."""

from harness.amqp0_9_1.broken.deviations import answers, changes, rejects, rewrites, withholds
from harness.amqp0_9_1.broken.entity_faults import purge_what_was_got
from harness.amqp0_9_1.broken.faults import forget_what_is_out
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import Received, answered, fields, message, refused
from harness.amqp0_9_1.peer.tables.queue import purge_queue
from harness.amqp0_9_1.wire.vocabulary import ACCESS_REFUSED, NOT_FOUND, Basic, Channel, Queue
from scenarios.amqp0_9_1.queue.common import CURRENT_EVERYWHERE, has_no_name, unknown_queue
from scenarios.registry import broken_by, scenario

REMOVES = "queue.purge: removes what awaits no acknowledgement"


@scenario("0-9-1/queue.purge.02")
@broken_by("purges what is out too", changes(REMOVES, purge_queue, forget_what_is_out))
@broken_by("does not give it back", withholds(Basic.Deliver, when=lambda deliver: deliver.redelivered))
@broken_by("purges what was got", changes(REMOVES, purge_what_was_got))
def purge_spares_what_awaits_acknowledgement(broker: Broker) -> None:
    """Of four messages one is delivered, one got: Purge-Ok counts two, and those that are out come back."""
    channel, other = broker.channel(), broker.channel()
    queue = other.queue_with(b"delivered", durable=True)
    tag = channel.consume(queue)
    channel.deliveries(1)
    channel.ask(Basic.Cancel(tag))
    for body in (b"got", b"waiting", b"waiting"):
        other.publish(body, key=queue)
    other.fence()
    channel.ask(Basic.Get(queue), Basic.GetOk)
    other.send(Queue.Purge(queue))
    miscounted = answered(Queue.PurgeOk).under("the count is said of the field message-count only")
    other.expect(fields(Queue.PurgeOk, message_count=2), miscounted)
    channel.close()
    other.send(Basic.Consume(queue, no_ack=True))
    other.expect_answer(Basic.ConsumeOk)
    seen = [other.observe(message(Basic.Deliver)) for _ in range(2)]
    came = {each.body for each in seen if isinstance(each, Received)}
    broker.judge("what was delivered and what was got", "other messages", came == {b"delivered", b"got"})


@scenario("0-9-1/queue.purge.queue.queue-known")
@broken_by("finds nothing to purge", answers(Queue.Purge, Queue.PurgeOk(0), when=has_no_name, skip=1))
@broken_by("always wants a name", rejects(Queue.Purge, NOT_FOUND, when=has_no_name))
@broken_by("takes a queue of another channel", CURRENT_EVERYWHERE)
@broken_by("gives another code", rewrites(Channel.Close, reply_code=ACCESS_REFUSED))
def purge_without_a_name_needs_a_declared_queue(broker: Broker) -> None:
    """Without a name the queue declared on the channel is purged; where none was declared it is 404."""
    channel, stranger = broker.channel(), broker.channel()
    channel.declare_queue(exclusive=True)
    channel.tries(Queue.Purge(""), Queue.PurgeOk)
    stranger.tries(Queue.Purge(""), *unknown_queue())


@scenario("0-9-1/queue.purge.queue.must-exist")
@broken_by("finds nothing to purge", answers(Queue.Purge, Queue.PurgeOk(0), skip=1))
@broken_by("gives another code", rewrites(Channel.Close, reply_code=ACCESS_REFUSED))
def purge_of_a_missing_queue_is_not_found(broker: Broker) -> None:
    """A queue that exists can be purged; one that does not is refused with 404."""
    channel = broker.channel()
    channel.ask(Queue.Purge(channel.declare_queue(exclusive=True)))
    channel.tries(Queue.Purge(broker.name("queue")), *refused(NOT_FOUND))
