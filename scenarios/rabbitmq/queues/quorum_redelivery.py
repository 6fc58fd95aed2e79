"""Quorum queues: what becomes of messages that come back, and the two priorities."""

from harness.amqp0_9_1.broken.basic_faults import last_come_last
from harness.amqp0_9_1.broken.content_faults import delivers
from harness.amqp0_9_1.broken.deviations import changes, drops, forwards, swaps
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import Received
from harness.amqp0_9_1.rabbitmq.broken.queues.dead_letters import tells, without
from harness.amqp0_9_1.rabbitmq.broken.queues.quorum import (
    IN_TURNS,
    WITHOUT_A_SHARE,
    all_alike,
    bury_it_as_rejected,
    counts,
    forget_it,
    from_on,
    low_is_high,
)
from harness.amqp0_9_1.wire.vocabulary import Basic
from scenarios.rabbitmq.queues.dead_letter_history import tell
from scenarios.rabbitmq.queues.dead_lettering import grave, headers_of, letter
from scenarios.rabbitmq.queues.quorum_queues import CLASSIC, UNKNOWN, quorum
from scenarios.registry import broken_by, scenario

COUNT = "x-delivery-count"
TOO_OFTEN = "requeue: too often to a quorum queue is a death"
CREATES = "queue.declare: creates it"
COUNTED = "requeue: to a quorum queue is counted"
DEFAULT = 20
"""How often a message is redelivered where the queue does not say."""
MANY = 10


def comes(broker: Broker, queue: str, body: str) -> Received:
    """Judge that a message comes to a consumer for one, put it back when that is cancelled, and give it."""
    channel = broker.channel()
    channel.ask(Basic.Qos(0, 1), Basic.QosOk)
    tag = channel.consume(queue)
    seen = letter(channel, body)
    channel.ask(Basic.Cancel(tag), Basic.CancelOk)
    channel.send(Basic.Reject(seen.method.delivery_tag, requeue=True))
    channel.fence().close()
    return seen


@scenario("rabbitmq/quorum-queues.delivery-count")
@broken_by("has none", UNKNOWN)
@broken_by("makes a classic queue", CLASSIC)
@broken_by("does not count", delivers(headers=counts(lambda _: 1)))
@broken_by("counts deliveries", delivers(headers=counts(lambda number: number + 1)))
@broken_by("discards it", forwards(Basic.Reject, requeue=False))
def redelivered_message_tells_how_often_it_came_back(broker: Broker) -> None:
    """A message that is put back three times tells 1, 2 and 3; when it comes first it tells nothing, or 0."""
    queue = quorum(broker.channel(), "again")
    for number in range(4):
        told = headers_of(comes(broker, queue, "again")).get(COUNT)
        first = number == 0 and told is None
        broker.judge(f"{COUNT} {number}", f"another {COUNT}", first or (told == number and told is not False))


@scenario("rabbitmq/quorum-queues.delivery-count")
@broken_by("counts what is rejected alone", drops(COUNTED))
def message_of_a_channel_that_ended_tells_so(broker: Broker) -> None:
    """A message that was out to a consumer when its channel was closed tells 1 when it comes again."""
    channel = broker.channel()
    channel.consume(queue := quorum(channel, "again"))
    letter(channel, "again")
    channel.close()
    told = headers_of(comes(broker, queue, "again")).get(COUNT)
    broker.judge(f"{COUNT} 1", f"another {COUNT}", told == 1)


@scenario("rabbitmq/quorum-queues.delivery-count.on-got")
@broken_by("has none", UNKNOWN)
@broken_by("makes a classic queue", CLASSIC)
@broken_by("tells consumers alone", delivers(behind=Basic.GetOk, headers=without(COUNT)))
def message_that_is_got_again_tells_how_often(broker: Broker) -> None:
    """A message that was got, put back and is got again tells 1."""
    channel, other = broker.channel(), broker.channel()
    queue = quorum(channel, "again")
    channel.depth(queue)
    channel.send(Basic.Reject(channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag, requeue=True))
    channel.fence().close()
    seen = other.get(queue)
    broker.judge(f"{COUNT} 1", f"another {COUNT}", seen is not None and headers_of(seen).get(COUNT) == 1)


@scenario("rabbitmq/quorum-queues.delivery-limit.dropped")
@broken_by("has none", UNKNOWN)
@broken_by("knows no limit", drops(TOO_OFTEN))
@broken_by("counts deliveries", changes(TOO_OFTEN, condition=lambda turn: turn.subject.entry.deliveries > 1))
@broken_by("drops it at once", changes(COUNTED, forget_it))
def message_that_comes_back_too_often_is_dropped(broker: Broker) -> None:
    """With a limit of two a message is delivered three times; then the next message is."""
    queue = quorum(broker.channel(), "again", delivery_limit=2)
    for _ in range(3):
        comes(broker, queue, "again")
    channel = broker.channel()
    channel.publish("next", key=queue)
    channel.consumes(queue, b"next")


@scenario("rabbitmq/quorum-queues.delivery-limit.dead-lettered")
@broken_by("has none", UNKNOWN)
@broken_by("knows no limit", drops(TOO_OFTEN))
@broken_by("drops it", changes(TOO_OFTEN, forget_it))
def message_that_comes_back_too_often_is_a_dead_letter(broker: Broker) -> None:
    """With a limit of one a message that came back twice comes from the dead-letter exchange."""
    exchange, reader = grave(broker)
    queue = quorum(broker.channel(), "again", delivery_limit=1, dead_letter_exchange=exchange)
    for _ in range(2):
        comes(broker, queue, "again")
    letter(reader, "again")


@scenario("rabbitmq/dlx.history.reason.delivery-limit")
@broken_by("has none", UNKNOWN)
@broken_by("tells of a rejection", changes(TOO_OFTEN, bury_it_as_rejected))
@broken_by("tells none", tells(reason=None))
def history_tells_of_too_many_deliveries(broker: Broker) -> None:
    """reason is delivery_limit where a message came back to a quorum queue more often than that allows."""
    exchange, reader = grave(broker)
    queue = quorum(broker.channel(), "again", delivery_limit=1, dead_letter_exchange=exchange)
    for _ in range(2):
        comes(broker, queue, "again")
    tell(broker, letter(reader, "again"), {"queue": queue, "reason": "delivery_limit"})


@scenario("rabbitmq/quorum-queues.delivery-limit.default")
@broken_by("has none", UNKNOWN)
@broken_by("has no limit", drops(TOO_OFTEN))
@broken_by(
    "has a lower one", changes(TOO_OFTEN, condition=lambda turn: turn.subject.entry.deliveries == DEFAULT)
)
def limit_is_twenty_without_another(broker: Broker) -> None:
    """Without a limit of its queue a message is delivered 21 times, and then comes as a dead letter."""
    exchange, reader = grave(broker)
    queue = quorum(broker.channel(), "again", dead_letter_exchange=exchange)
    for _ in range(1 + DEFAULT):
        reader.stays_quiet()
        comes(broker, queue, "again")
    letter(reader, "again")


@scenario("rabbitmq/quorum-queues.delivery-limit.none")
@broken_by("has none", UNKNOWN)
@broken_by(
    "has the usual one", changes(TOO_OFTEN, condition=lambda turn: turn.subject.entry.deliveries > DEFAULT)
)
def limit_can_be_taken_away(broker: Broker) -> None:
    """With a limit of -1 a message that comes back is redelivered 25 times."""
    queue = quorum(broker.channel(), "again", delivery_limit=-1)
    for _ in range(6 + DEFAULT):
        comes(broker, queue, "again")


@scenario("rabbitmq/quorum-queues.requeued.near-the-head")
@broken_by("has none", UNKNOWN)
@broken_by("puts it behind all others", swaps(place=last_come_last))
def message_comes_back_near_the_head(broker: Broker) -> None:
    """Of ten messages the first is put back: it comes again first, or at least not last."""
    channel = broker.channel()
    queue = quorum(channel, *map(str, range(MANY)), delivery_limit=5)
    channel.depth(queue)
    comes(broker, queue, "0")
    reader = broker.channel().consuming(queue, no_ack=True)
    came = [letter(reader).body for _ in range(MANY)]
    broker.judge("not last", "last", came[-1] != b"0")
    broker.judge("first", "not first", came[0] == b"0", "near the head is no certain place")


@scenario("rabbitmq/quorum-queues.requeued.to-the-back")
@broken_by("has none", UNKNOWN)
@broken_by("puts it to its old place", drops("requeue: to a quorum queue without a limit is behind others"))
def message_comes_back_to_the_back(broker: Broker) -> None:
    """Without any limit, of three messages the first is put back: it comes again as the last."""
    queue = quorum(broker.channel(), "1", "2", "3", delivery_limit=-1)
    comes(broker, queue, "1")
    broker.channel().consumes(queue, b"2", b"3", b"1")


# -- priorities ----------------------------------------------------------------------------------------


def comes_in_order(broker: Broker, *priorities: int | None, order: tuple[int, ...]) -> None:
    """Publish messages with these priorities; judge that they come in an order, given by their places."""
    channel = broker.channel()
    queue = quorum(channel)
    for place, priority in enumerate(priorities):
        channel.publish(f"{place}", key=queue, priority=priority)
    channel.depth(queue)
    for place in order:
        channel.gets(queue, f"{place}".encode())


@scenario("rabbitmq/quorum-queues.priorities.high-first")
@broken_by("has none", UNKNOWN)
@broken_by("has no priorities", swaps(place=all_alike))
@broken_by("prefers low ones", swaps(place=low_is_high))
def high_priority_goes_first(broker: Broker) -> None:
    """A message with priority 9 that was published after one with priority 0 comes before it."""
    comes_in_order(broker, 0, 9, order=(1, 0))


@scenario("rabbitmq/quorum-queues.priorities.two")
@broken_by("has none", UNKNOWN)
@broken_by("takes 4 for high", swaps(place=from_on(4)))
@broken_by("takes 5 for normal", swaps(place=from_on(6)))
@broken_by("has no priorities", swaps(place=all_alike))
def there_are_two_priorities(broker: Broker) -> None:
    """Messages with priority 0, 4 and none come in this order, and so do such with 9, 5 and 6; 5 before 4."""
    comes_in_order(broker, 0, 4, None, order=(0, 1, 2))
    comes_in_order(broker, 5, 9, 6, order=(0, 1, 2))
    comes_in_order(broker, 4, 5, order=(1, 0))
    comes_in_order(broker, None, 6, order=(1, 0))


@scenario("rabbitmq/quorum-queues.priorities.fair-share")
@broken_by("has none", UNKNOWN)
@broken_by("has no priorities", swaps(place=all_alike))
@broken_by("always prefers high ones", changes(CREATES, *WITHOUT_A_SHARE))
def normal_priority_has_its_share(broker: Broker) -> None:
    """Of three normal messages and six high ones two high ones come, then a normal one, and so on."""
    comes_in_order(broker, *[1] * 3, *[8] * 6, order=(3, 4, 0, 5, 6, 1, 7, 8, 2))


@scenario("rabbitmq/quorum-queues.priorities.earlier-high-first")
@broken_by("has none", UNKNOWN)
@broken_by("prefers low ones", swaps(place=low_is_high))
@broken_by("keeps to turns", changes(CREATES, *IN_TURNS))
def high_priority_that_came_first_goes_first(broker: Broker) -> None:
    """Of four high messages and a normal one after them the normal one comes last."""
    comes_in_order(broker, *[8] * 4, 1, order=(0, 1, 2, 3, 4))
