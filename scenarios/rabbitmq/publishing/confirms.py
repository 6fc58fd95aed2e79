"""confirms: what publishers are told of their messages; and what of acknowledgements 0-9-1 leaves open."""

from collections.abc import Callable, Iterator

from harness.amqp0_9_1.broken.deviations import (
    answers,
    changes,
    confirms,
    drops,
    ignores,
    repeats,
    replaces,
    rewrites,
    swaps,
    withholds,
)
from harness.amqp0_9_1.broken.faults import always_redelivered, never_redelivered, tags_from_zero
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import REFUSES
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import EXCEPTION, answered, channel_closed, fields, message
from harness.amqp0_9_1.peer.tables.basic import route_now
from harness.amqp0_9_1.rabbitmq.broken.publishing.confirms import (
    CONFIRMED,
    confirm_for_each_queue,
    count_all_of_the_connection,
    count_from_zero,
    count_with_the_deliveries,
    forget_the_count,
    is_routable,
    nack_the_persistent,
    nack_the_unroutable,
    publishes_anything,
    refuse_already,
    route_late,
    tell_of_ten_more,
)
from harness.amqp0_9_1.rabbitmq.publishing.confirms import count_it
from harness.amqp0_9_1.wire.vocabulary import PRECONDITION_FAILED, Basic, Confirm, Tx
from harness.play.context import RESTART, Restart
from scenarios.amqp0_9_1.tx.common import transacted
from scenarios.registry import broken_by, scenario

BEGINS = "confirm.select: begins"
WITHOUT = "confirm.select: begins without an answer"
TRANSACTED = "confirm.select: refuses a transacted channel"
CONFIRMING = "tx.select: refuses a channel that confirms"
KEPT = "restart: keeps persistent messages"
REQUEUED = "channel end: requeues what is not acknowledged"
REFUSED = (
    channel_closed(PRECONDITION_FAILED),
    EXCEPTION.under("the guide names no code, nor a level"),
)
SEVERAL = 300
HUNDRED = 100


@scenario("rabbitmq/confirms.selected")
@broken_by("knows no confirms", ignores(Confirm.Select))
@broken_by("answers and confirms nothing", answers(Confirm.Select, Confirm.SelectOk()))
@broken_by("confirms whatever is published", changes(CONFIRMED, condition=publishes_anything))
def channel_confirms_when_it_is_asked_to(broker: Broker) -> None:
    """Nothing comes of a publication until Confirm.Select is answered; then it is confirmed."""
    channel = broker.channel()
    queue = channel.queue_with("before")
    channel.stays_quiet()
    channel.confirming()
    channel.publish("after", key=queue)
    channel.confirmed(1)


@scenario("rabbitmq/confirms.no-wait")
@broken_by("answers all the same", confirms(Confirm.Select, Confirm.SelectOk()))
@broken_by("does not hear it", drops(WITHOUT))
@broken_by("does nothing", ignores(Confirm.Select))
def select_without_an_answer_has_none(broker: Broker) -> None:
    """Behind Confirm.Select with no-wait, the confirm of a message is the first that comes."""
    channel = broker.channel()
    queue = channel.declare_queue()
    channel.send(Confirm.Select(nowait=True))
    channel.publish("1", key=queue)
    channel.confirmed(1)


@scenario("rabbitmq/confirms.not-transacted")
@broken_by("confirms and has transactions", drops(TRANSACTED))
@broken_by("passes it over", changes(TRANSACTED, answer=None))
def transacted_channel_does_not_confirm(broker: Broker) -> None:
    """Confirm.Select is answered on one channel, and refused on another that has transactions."""
    broker.channel().confirming()
    transacted(broker).tries(Confirm.Select(), *REFUSED)


@scenario("rabbitmq/confirms.no-transactions")
@broken_by("has transactions and confirms", drops(CONFIRMING))
@broken_by("passes it over", changes(CONFIRMING, answer=None))
def channel_that_confirms_has_no_transactions(broker: Broker) -> None:
    """Tx.Select is answered on one channel, and refused on another that confirms."""
    transacted(broker)
    broker.channel().confirming().tries(Tx.Select(), *REFUSED)


@scenario("rabbitmq/confirms.numbers-from-one")
@broken_by("counts from zero", changes(CONFIRMED, count_from_zero, route_now))
@broken_by("counts what came before", rewrites(Basic.Ack, delivery_tag=lambda tag: tag + 2))
@broken_by("gives each the same number", rewrites(Basic.Ack, delivery_tag=1))
def first_message_after_select_is_number_one(broker: Broker) -> None:
    """Of four messages the last two, behind Confirm.Select, are confirmed as 1 and 2."""
    channel = broker.channel()
    queue = channel.queue_with("-1", "0")
    channel.confirming()
    for body in ("1", "2"):
        channel.publish(body, key=queue)
    channel.confirmed(2)
    channel.stays_quiet()


@scenario("rabbitmq/confirms.select-again")
@broken_by("begins again", changes(BEGINS, forget_the_count))
@broken_by("overlooks the second one", ignores(Confirm.Select, skip=1))
def counting_goes_on_when_it_is_selected_again(broker: Broker) -> None:
    """A second Confirm.Select is answered; the next message has the next number."""
    channel = broker.channel()
    queue = channel.declare_queue()
    channel.confirming()
    for number in (1, 2, 3):
        channel.publish(f"{number}", key=queue)
        channel.confirmed(number, number)
        channel.confirming()


@scenario("rabbitmq/confirms.own-channel")
@broken_by("counts for the connection", changes(CONFIRMED, count_all_of_the_connection, route_now))
@broken_by("knows one channel", answers(Confirm.Select, Confirm.SelectOk(), skip=1))
def channels_count_for_themselves(broker: Broker) -> None:
    """On three channels, one of them on another connection, each message is confirmed where it was sent."""
    channels = [broker.channel(), broker.channel(), broker.channel(new_connection=True)]
    queue = channels[0].declare_queue()
    for channel in channels:
        channel.confirming()
    for number in (1, 2, 3):
        for channel in channels:
            channel.publish(f"{number}", key=queue)
        for channel in channels:
            channel.confirmed(number, number)
            channel.stays_quiet()


@scenario("rabbitmq/confirms.once")
@broken_by("confirms for each queue", changes(CONFIRMED, count_it, route_now, confirm_for_each_queue))
@broken_by("confirms twice", repeats(Basic.Ack))
@broken_by("refuses what it has confirmed", changes(CONFIRMED, count_it, route_now, refuse_already))
@broken_by("confirms nothing", withholds(Basic.Ack))
def message_is_confirmed_once(broker: Broker) -> None:
    """Messages that go to three queues, to one, and to none are each confirmed once."""
    channel = broker.channel()
    exchange = channel.declare_exchange("fanout")
    queues = [channel.declare_queue() for _ in range(3)]
    for queue in queues:
        channel.bind(queue, exchange)
    channel.confirming()
    channel.publish("to three", exchange=exchange)
    channel.publish("to one", key=queues[0])
    channel.publish("to none", key=broker.name("queue"))
    channel.confirmed(3)
    channel.depth(queues[-1])
    channel.stays_quiet()


@scenario("rabbitmq/confirms.multiple")
@broken_by("confirms what may come", changes(CONFIRMED, count_it, route_now, tell_of_ten_more, answer=None))
@broken_by("has yet to route it", changes(CONFIRMED, count_it, route_late, tell_of_ten_more, answer=None))
@broken_by("answers and confirms nothing", answers(Confirm.Select, Confirm.SelectOk()))
def confirm_of_several_is_for_messages_that_are_there(broker: Broker) -> None:
    """At the first confirm for several messages so many are in the queue; one for each is as good."""
    channel, other = broker.channel(), broker.channel(new_connection=True)
    queue = channel.declare_queue(durable=True)
    channel.confirming()
    told = 0
    for number in range(1, SEVERAL + 1):
        channel.publish(f"{number}", key=queue, delivery_mode=2)
        while told < number and (seen := newest(channel, last=number == SEVERAL)) is not None:
            told += 1
            if seen.multiple:
                there, tag = len(other.drain(queue)), seen.delivery_tag
                broker.judge("so many messages in the queue", "fewer of them", there >= tag)
                return
    broker.note("each message was confirmed by a method of its own")


def newest(channel: AmqpChannel, *, last: bool) -> Basic.Ack | Basic.Nack | None:
    """Give the confirm that has come; it is waited for, and judged, when the `last` message is out."""
    if last:
        told: Basic.Ack | Basic.Nack = channel.expect(Basic.Ack, answered(Basic.Nack).under(REFUSES))
        return told
    seen = channel.connection.link.next(channel.number, 0.0)
    confirm = getattr(seen, "method", None)
    return confirm if isinstance(confirm, Basic.Ack | Basic.Nack) else None


@scenario("rabbitmq/confirms.unroutable")
@broken_by("confirms what some queue takes", changes(CONFIRMED, condition=is_routable))
@broken_by("refuses it", changes(CONFIRMED, count_it, route_now, nack_the_unroutable))
@broken_by("knows no confirms", ignores(Confirm.Select))
def message_for_no_queue_is_confirmed(broker: Broker) -> None:
    """What is published, without mandatory, to exchanges that lead nowhere is confirmed by Ack."""
    channel = broker.channel()
    exchanges = [channel.declare_exchange(kind) for kind in ("direct", "fanout", "topic", "headers")]
    channel.confirming()
    for exchange in ("", *exchanges):
        channel.publish("nowhere", exchange=exchange, key=broker.name("queue"))
        channel.expect(Basic.Ack)


@scenario("rabbitmq/confirms.exceptional-nack")
@broken_by("refuses persistent messages", changes(CONFIRMED, count_it, nack_the_persistent, route_now))
@broken_by("refuses all", replaces(Basic.Ack, Basic.Nack(1)))
@broken_by("answers and confirms nothing", answers(Confirm.Select, Confirm.SelectOk()))
def message_with_room_is_not_refused(broker: Broker) -> None:
    """Messages of both delivery modes to queues with room are each confirmed by Ack."""
    channel = broker.channel()
    queues = [channel.declare_queue(), channel.declare_queue(durable=True)]
    channel.confirming()
    for mode in (1, 2):
        for queue in queues:
            channel.publish("room", key=queue, delivery_mode=mode)
            channel.expect(Basic.Ack)


@scenario("rabbitmq/confirms.persistent")
@broken_by("loses persistent messages", drops(KEPT))
@broken_by("answers and confirms nothing", answers(Confirm.Select, Confirm.SelectOk()))
def confirmed_message_is_there_after_a_restart(broker: Broker) -> Iterator[Restart]:
    """Persistent messages in a durable queue are there after a restart that follows their confirms."""
    channel = broker.channel()
    queue = channel.declare_queue(durable=True)
    channel.confirming()
    for number in range(10):
        channel.publish(f"{number}", key=queue, delivery_mode=2)
    channel.confirmed(10)
    yield RESTART
    broker.channel().consumes(queue, *(f"{number}".encode() for number in range(10)))


@scenario("rabbitmq/confirms.not-by-consumers")
@broken_by("counts with the deliveries", changes(CONFIRMED, count_with_the_deliveries, route_now))
@broken_by("waits for the acknowledgement", withholds(Basic.Ack))
@broken_by("confirms an acknowledgement, too", confirms(Basic.Ack, Basic.Ack(1)))
def confirms_and_deliveries_are_two_things(broker: Broker) -> None:
    """Messages to a consumer of their own channel are confirmed from 1 on; no acknowledgement is."""
    channel = broker.channel()
    queue = channel.declare_queue()
    channel.consume(queue)
    channel.confirming()
    for number in (1, 2, 3):
        channel.publish(f"{number}", key=queue)
        confirm = fields(Basic.Ack, delivery_tag=number, multiple=False) | fields(
            Basic.Ack, delivery_tag=number, multiple=True
        )
        delivery = message(Basic.Deliver, f"{number}".encode())
        first = channel.expect(confirm | delivery)
        second = channel.expect(delivery if isinstance(first, Basic.Ack) else confirm)
        delivered = first if isinstance(first, Basic.Deliver) else second
        channel.send(Basic.Ack(delivered.delivery_tag))
        channel.stays_quiet()


@scenario("rabbitmq/confirms.order")
@broken_by("confirms none", withholds(Basic.Ack))
@broken_by("answers and confirms nothing", answers(Confirm.Select, Confirm.SelectOk()))
def messages_are_confirmed_in_their_order(broker: Broker) -> None:
    """A hundred messages of one kind to one queue are confirmed in rising order; another one is legal."""
    channel = broker.channel()
    queue = channel.declare_queue()
    channel.confirming()
    for number in range(HUNDRED):
        channel.publish(f"{number}", key=queue)
    tags = channel.confirmed(HUNDRED)
    broker.judge(
        "rising numbers", "another order", tags == sorted(tags), "confirms may come in another order"
    )


@scenario("rabbitmq/confirms.delivery-tags")
@broken_by("begins with zero", swaps(tag=tags_from_zero))
@broken_by("counts for each consumer", rewrites(Basic.Deliver, delivery_tag=1))
@broken_by("gives each message one tag", rewrites(Basic.GetOk, delivery_tag=1))
def tags_rise_from_delivery_to_delivery(broker: Broker) -> None:
    """Of what is got, and delivered to two consumers, each has a higher tag than what came before."""
    channel = broker.channel()
    queues = [channel.queue_with("1", "2", "3") for _ in range(2)]
    tags = [channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag for queue in queues * 2]
    channel.send(Basic.Ack(tags[-1]))
    for queue in queues:
        channel.consume(queue)
    tags += [each.method.delivery_tag for each in channel.deliveries(2)]
    rising = all(0 < one < other for one, other in zip([0.5, *tags], tags, strict=False))
    broker.judge("rising tags", f"{tags}", rising)


ENDS: tuple[Callable[[AmqpChannel], object], ...] = (
    lambda channel: channel.close(),
    lambda channel: channel.tries(Basic.Ack(9999), EXCEPTION),
    lambda channel: channel.connection.close(),
    lambda channel: channel.connection.drop(),
)


@scenario("rabbitmq/confirms.requeued-with-channel", slow=True)
@broken_by("loses it", drops(REQUEUED))
@broken_by("marks nothing", swaps(redelivered=never_redelivered))
@broken_by("marks what comes for the first time", swaps(redelivered=always_redelivered))
def what_was_out_comes_back_when_its_channel_ends(broker: Broker) -> None:
    """What was delivered and got is there again, marked, when channel, connection or socket has ended."""
    for ends in ENDS:
        other, channel = broker.channel(), broker.channel(new_connection=True)
        queue = other.queue_with("1", "2")
        other.depth(queue)
        channel.tries(Basic.Get(queue), message(Basic.GetOk, b"1", redelivered=False))
        channel.consume(queue)
        channel.expect(message(Basic.Deliver, b"2", redelivered=False))
        other.consume(queue)
        ends(channel)
        for body in (b"1", b"2"):
            other.expect(message(Basic.Deliver, body, redelivered=True))
