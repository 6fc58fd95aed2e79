"""4.4, 4.6, 4.7: what is told is so for everybody, effects follow answers, contents stay in order."""

from harness.amqp0_9_1.broken.basic_faults import deliver_at_once, last_come_first, recipient_may_have
from harness.amqp0_9_1.broken.deviations import answers, changes, ignores, swaps
from harness.amqp0_9_1.broken.faults import never_redelivered
from harness.amqp0_9_1.broken.settling_faults import has_nothing_out, latest_due
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import (
    answered,
    channel_closed,
    connection_closed,
    message,
    refused,
    silence,
)
from harness.amqp0_9_1.peer.consumers import generate_tag, start_consumer
from harness.amqp0_9_1.peer.tables.basic import requeue_all
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, NOT_IMPLEMENTED, Basic, Exchange, Queue
from scenarios.amqp0_9_1.prose.chapter_4.s4_3_channels import in_order
from scenarios.registry import broken_by, scenario

MAKES_A_TAG = "basic.consume: starts a consumer with a generated tag"
CANCELS = "basic.cancel: ends the consumer"
RECOVERS = "basic.recover: requeues"
FIFTY = 50


@scenario("0-9-1/prose/4.4.observations-consistent")
@broken_by(
    "confirms a queue before it is there",
    answers(Queue.Declare, Queue.DeclareOk("soon"), when=lambda it: not it.passive, skip=FIFTY - 1),
)
@broken_by("confirms a Delete before it is done", answers(Queue.Delete, Queue.DeleteOk(), skip=FIFTY - 1))
@broken_by("is late with a message", ignores(Basic.Publish, skip=FIFTY - 1))
def what_one_client_is_told_others_see(broker: Broker) -> None:
    """Fifty times: a queue that one client has declared, filled and deleted is so for another at once."""
    here, there = broker.channel(), broker.channel(new_connection=True)
    for _ in range(FIFTY):
        queue = here.declare_queue()
        there.tries(Queue.Declare(queue, passive=True), Queue.DeclareOk)
        here.publish(b"told", key=queue)
        here.fence()
        there.gets(queue, b"told")
        here.ask(Queue.Delete(queue))
        there.tries(Queue.Declare(queue, passive=True), *refused(NOT_FOUND))
        there = reopened(broker, there)


TWENTY = 20


@scenario("0-9-1/prose/4.4.observations-consistent")
@broken_by(
    "confirms an exchange before it is there",
    answers(Exchange.Declare, Exchange.DeclareOk(), when=lambda it: not it.passive, skip=TWENTY - 1),
)
@broken_by("confirms a binding before it is there", answers(Queue.Bind, Queue.BindOk(), skip=TWENTY - 1))
@broken_by("confirms an Unbind before it is done", answers(Queue.Unbind, Queue.UnbindOk(), skip=TWENTY - 1))
@broken_by("confirms a Purge before it is done", answers(Queue.Purge, Queue.PurgeOk(1), skip=TWENTY - 1))
@broken_by(
    "confirms that an exchange is deleted before it is",
    answers(Exchange.Delete, Exchange.DeleteOk(), skip=TWENTY - 1),
)
def wiring_by_one_client_holds_for_others(broker: Broker) -> None:
    """Twenty times: an exchange, a binding, its end and a purge are so for another client at once."""
    here, there = broker.channel(), broker.channel(new_connection=True)
    queue = here.declare_queue()
    for _ in range(TWENTY):
        exchange = here.declare_exchange()
        there.tries(Exchange.Declare(exchange, "direct", passive=True), Exchange.DeclareOk)
        here.bind(queue, exchange, "key")
        for body in (b"bound", b"purged"):
            there.publish(body, exchange=exchange, key="key")
        there.gets(queue, b"bound")
        here.ask(Queue.Purge(queue))
        there.tries(Basic.Get(queue, no_ack=True), Basic.GetEmpty)
        here.ask(Queue.Unbind(queue, exchange, "key"))
        there.publish(b"unbound", exchange=exchange, key="key")
        there.tries(Basic.Get(queue, no_ack=True), Basic.GetEmpty)
        here.send(Exchange.Delete(exchange))
        untold = silence().recorded("who is told nothing of a deletion has observed none")
        if not isinstance(here.expect(answered(Exchange.DeleteOk), untold), Exchange.DeleteOk):
            return
        there.tries(Exchange.Declare(exchange, "direct", passive=True), *refused(NOT_FOUND))
        there = reopened(broker, there)


def reopened(broker: Broker, channel: AmqpChannel) -> AmqpChannel:
    """Give the channel opened anew, on another connection if its own has ended with it."""
    if not channel.connection.usable:
        return broker.channel(new_connection=True)
    return channel.connection.channel(channel.number)


# -- content synchronisation ---------------------------------------------------------------------------

TEN = 10


@scenario("0-9-1/prose/4.6.effects-not-before-response")
@broken_by(
    "delivers before Consume-Ok", changes("basic.consume: starts a consumer", start_consumer, deliver_at_once)
)
@broken_by("delivers again before Recover-Ok", changes(RECOVERS, requeue_all, deliver_at_once))
def deliveries_follow_the_response(broker: Broker) -> None:
    """Consume-Ok comes before any delivery, Recover-Ok before any message that it brings back."""
    channel, queue = broker.queue(*map(str, range(TEN)))
    channel.tries(Basic.Consume(queue, "tag"), Basic.ConsumeOk)
    tags = [each.method.delivery_tag for each in channel.deliveries(TEN)]
    channel.send(Basic.Ack(tags[TEN // 2 - 1], multiple=True), Basic.Recover(requeue=True))
    absent = channel_closed(NOT_IMPLEMENTED) | connection_closed(NOT_IMPLEMENTED)
    channel.expect(answered(Basic.RecoverOk) | absent)


@scenario("0-9-1/prose/4.6.effects-after-response")
@broken_by("does not bind", changes("queue.bind: binds", effects=()))
@broken_by("does not unbind", changes("queue.unbind: unbinds", effects=()))
@broken_by("does not purge", changes("queue.purge: removes what awaits no acknowledgement", effects=()))
@broken_by("does not cancel", changes(CANCELS, effects=()))
def effect_is_there_with_the_response(broker: Broker) -> None:
    """Messages come from Bind-Ok on, none from Unbind-Ok on; Purge-Ok leaves none, Cancel-Ok sends none."""
    channel = broker.channel()
    queue, exchange = channel.declare_queue(), channel.declare_exchange("direct")
    look = Basic.Get(queue, no_ack=True)
    channel.bind(queue, exchange, "key")
    channel.publish(b"bound", exchange=exchange, key="key")
    channel.tries(look, message(Basic.GetOk, b"bound"))
    channel.ask(Queue.Unbind(queue, exchange, "key"))
    channel.publish(b"not bound", exchange=exchange, key="key")
    channel.tries(look, Basic.GetEmpty)
    channel.publish(b"purged", key=queue)
    channel.ask(Queue.Purge(queue))
    channel.tries(look, Basic.GetEmpty)
    channel.ask(Basic.Cancel(channel.consume(queue, no_ack=True)))
    channel.publish(b"for nobody", key=queue)
    channel.stays_quiet()


@scenario("0-9-1/prose/4.6.effects-after-response")
@broken_by("does not start a consumer", changes(MAKES_A_TAG, generate_tag))
@broken_by("does not cancel a consumer that is busy", changes(CANCELS, condition=has_nothing_out))
def busy_consumer_ends_with_the_response(broker: Broker) -> None:
    """A consumer of fifty messages, ten in advance, is cancelled amid them: none comes behind Cancel-Ok.

    Not even when all that have come are acknowledged. With no-ack as well, where nothing holds them back.
    """
    for window, no_ack in ((TEN, False), (0, True)):
        channel, queue = broker.queue(*map(str, range(FIFTY)))
        channel.ask(Basic.Qos(prefetch_count=window))
        tag = channel.consume(queue, no_ack=no_ack)
        channel.expect(message(Basic.Deliver))
        channel.ask(Basic.Cancel(tag))
        if not no_ack:
            channel.send(Basic.Ack(0, multiple=True))
        channel.publish(b"for nobody", key=queue)
        channel.ask(FENCE)
        came = [name for number, name in in_order(channel.connection) if number == channel.number]
        ended = came.index(Basic.CancelOk.full_name)
        late = Basic.Deliver.full_name in came[ended:]
        broker.judge("no delivery behind cancel-ok", "a delivery behind cancel-ok", not late)


@scenario("0-9-1/prose/4.6.effects-after-response")
@broken_by("brings nothing back", changes(RECOVERS, effects=()))
def messages_are_back_with_the_response(broker: Broker) -> None:
    """Behind Recover-Ok with requeue Get finds the message that was taken and not acknowledged."""
    channel, queue = broker.queue(b"taken")
    channel.ask(Basic.Get(queue), Basic.GetOk)
    channel.send(Basic.Recover(requeue=True))
    absent = channel_closed(NOT_IMPLEMENTED) | connection_closed(NOT_IMPLEMENTED)
    if not isinstance(channel.expect(answered(Basic.RecoverOk) | absent), Basic.RecoverOk):
        broker.inapplicable("the server answers Recover with 540")
    channel.tries(Basic.Get(queue), message(Basic.GetOk, b"taken"))


# -- content ordering ----------------------------------------------------------------------------------

MANY, REJECTED = 190, b"100"


@scenario("0-9-1/prose/4.7.order-kept")
@broken_by("delivers the latest first", swaps(place=last_come_first))
@broken_by(
    "brings back what is rejected without a mark",
    swaps(redelivered=never_redelivered, may_have=recipient_may_have),
)
def messages_keep_their_order(broker: Broker) -> None:
    """Numbered messages come in order, though one is rejected on the way; if it comes again it is marked."""
    publisher, consumer = broker.channel(), broker.channel()
    queue = publisher.declare_queue()
    numbered = [f"{number}".encode() for number in range(MANY)]
    for body in numbered:
        publisher.publish(body, key=queue)
    publisher.fence()
    consumer.ask(Basic.Qos(prefetch_count=20))
    consumer.consume(queue)
    fresh: list[bytes] = []
    while len(set(fresh)) < MANY:
        came = consumer.deliveries(1)[0]
        again, tag = came.method.redelivered, came.method.delivery_tag
        if not again:
            fresh.append(came.body)
        back = came.body == REJECTED and not again
        consumer.send(Basic.Reject(tag, requeue=True) if back else Basic.Ack(tag))
    same = [one == other for one, other in zip(fresh, numbered, strict=False)]
    broker.note(f"{sum(same)} of {MANY} messages came in their place")
    broker.judge("all messages in order", "messages out of order", fresh == numbered)


@scenario("0-9-1/prose/4.7.order-kept")
@broken_by("gives the latest to Get", swaps(due=latest_due))
def messages_are_got_in_their_order(broker: Broker) -> None:
    """Numbered messages are got in order, with and without acknowledgement."""
    channel, queue = broker.queue(*map(str, range(FIFTY)))
    for number in range(FIFTY):
        channel.tries(Basic.Get(queue, no_ack=number % 2 == 0), message(Basic.GetOk, f"{number}".encode()))
