"""Limits of queues: how many messages they hold, and what becomes of the others."""

from harness.amqp0_9_1.broken.deviations import changes, drops
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import answered
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.rabbitmq.broken.queues.expiry import is_no_number
from harness.amqp0_9_1.rabbitmq.broken.queues.lengths import (
    DROPS,
    TURNS_AWAY,
    TURNS_AWAY_DEAD,
    by_messages_alone,
    by_messages_alone_here,
    by_octets_alone,
    by_octets_of_all,
    by_ready_and_delivered,
    drop_the_last,
    drop_the_oldest_for_it,
    forget_to_tell,
    go_nowhere_if_one_is_full,
    is_any_text,
    one_more_fits,
    would_be_too_much_of_any,
)
from harness.amqp0_9_1.rabbitmq.queues.lengths import pass_on, turn_away
from harness.amqp0_9_1.wire.vocabulary import INTERNAL_ERROR, Basic, Confirm
from scenarios.rabbitmq.queues.time_to_live import declares_alone, finds_nothing
from scenarios.registry import broken_by, scenario

ACK, NACK = answered(Basic.Ack), answered(Basic.Nack)
SIZE = b"1234"
"""A body of which two are within a limit of ten octets, and three are not."""
WRONG_LENGTH = "queue.declare: refuses a wrong x-max-length"
WRONG_OCTETS = "queue.declare: refuses a wrong x-max-length-bytes"
WRONG_OVERFLOW = "queue.declare: refuses a wrong x-overflow"


def limited(**arguments: object) -> dict[str, object]:
    """Give the arguments of a queue with limits, by their names without "x-"."""
    return {f"x-{name.replace('_', '-')}": value for name, value in arguments.items()}


def rejecting(**more: object) -> dict[str, object]:
    """Give the arguments of a queue that holds one message and rejects others."""
    return limited(**({"max_length": 1, "overflow": "reject-publish"} | more))


def has(channel: AmqpChannel, queue: str, *bodies: bytes) -> None:
    """Judge that a queue has just these messages, in this order."""
    channel.gets(queue, *bodies)
    finds_nothing(channel, queue)


@scenario("rabbitmq/maxlength.drops-the-oldest")
@broken_by("knows no limit", drops(DROPS))
@broken_by("drops what came last", changes(DROPS, drop_the_last))
@broken_by("lets one more in", changes(DROPS, condition=one_more_fits))
def oldest_is_dropped(broker: Broker) -> None:
    """Of three messages a queue that holds two has the last two; a queue without a limit has all."""
    channel = broker.channel()
    has(channel, channel.queue_with("1", "2", "3"), b"1", b"2", b"3")
    has(channel, channel.queue_with("1", "2", "3", arguments=limited(max_length=2)), b"2", b"3")


@scenario("rabbitmq/maxlength.drop-head")
@broken_by("drops what came last", changes(DROPS, drop_the_last))
@broken_by("knows no limit", drops(DROPS))
def oldest_is_dropped_by_request(broker: Broker) -> None:
    """With drop-head said, a queue that holds two has the last two of three messages."""
    channel = broker.channel()
    has(
        channel,
        channel.queue_with("1", "2", "3", arguments=limited(max_length=2, overflow="drop-head")),
        b"2",
        b"3",
    )


@scenario("rabbitmq/maxlength.octets")
@broken_by("counts messages alone", changes(DROPS, condition=by_messages_alone))
@broken_by("drops what came last", changes(DROPS, drop_the_last))
def octets_are_limited(broker: Broker) -> None:
    """Of three messages of four octets a queue that holds ten has the last two."""
    channel = broker.channel()
    queue = channel.queue_with(SIZE, SIZE[::-1], SIZE, arguments=limited(max_length_bytes=10))
    has(channel, queue, SIZE[::-1], SIZE)


@scenario("rabbitmq/maxlength.bodies-alone")
@broken_by("counts headers", changes(DROPS, condition=by_octets_of_all))
def properties_do_not_count(broker: Broker) -> None:
    """Two messages of four octets with long headers are on a queue that holds ten."""
    channel = broker.channel()
    queue = channel.declare_queue(arguments=limited(max_length_bytes=10))
    for _ in range(2):
        channel.publish(SIZE, key=queue, headers={"long": "x" * 100}, content_type="text/plain")
    has(channel, queue, SIZE, SIZE)


@scenario("rabbitmq/maxlength.either")
@broken_by("counts messages alone", changes(DROPS, condition=by_messages_alone))
@broken_by("counts octets alone", changes(DROPS, condition=by_octets_alone))
def first_limit_holds(broker: Broker) -> None:
    """A queue that holds two messages of ten octets in all keeps to the limit that is reached first."""
    channel = broker.channel()
    limits = limited(max_length=2, max_length_bytes=10)
    has(channel, channel.queue_with("1", "2", "3", arguments=limits), b"2", b"3")
    has(channel, channel.queue_with("123456", "654321", arguments=limits), b"654321")


@scenario("rabbitmq/maxlength.ready-alone")
@broken_by("counts what is delivered", changes(DROPS, condition=by_ready_and_delivered))
def delivered_messages_do_not_count(broker: Broker) -> None:
    """While one message is out, a queue that holds one has another one; the first is acknowledged."""
    channel = broker.channel()
    queue = channel.queue_with("1", arguments=limited(max_length=1))
    tag = channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag
    channel.publish("2", key=queue)
    channel.gets(queue, b"2")
    channel.send(Basic.Ack(tag))
    channel.stays_quiet()


@scenario("rabbitmq/maxlength.illegal-limit")
@broken_by("takes any length", drops(WRONG_LENGTH))
@broken_by("takes any number", changes(WRONG_LENGTH, condition=is_no_number("x-max-length")))
@broken_by("calls it an error of its own", changes(WRONG_LENGTH, answer=refuse(INTERNAL_ERROR)))
def length_is_a_number(broker: Broker) -> None:
    """A queue may hold no message, or a hundred; -1, a text and the like are refused: 406."""
    declares_alone(broker, "x-max-length", good=(0, 100), bad=(-1, "100", 1.5, True))


@scenario("rabbitmq/maxlength.illegal-limit")
@broken_by("takes any size", drops(WRONG_OCTETS))
@broken_by("takes any number of octets", changes(WRONG_OCTETS, condition=is_no_number("x-max-length-bytes")))
def size_is_a_number(broker: Broker) -> None:
    """A queue may hold no octet, or a hundred; -1, a text and the like are refused: 406."""
    declares_alone(broker, "x-max-length-bytes", good=(0, 100), bad=(-1, "100", 1.5, True))


@scenario("rabbitmq/maxlength.illegal-overflow")
@broken_by("takes any value", drops(WRONG_OVERFLOW))
@broken_by("refuses any value", changes(WRONG_OVERFLOW, condition=is_any_text))
@broken_by("calls it an error of its own", changes(WRONG_OVERFLOW, answer=refuse(INTERNAL_ERROR)))
def overflow_is_one_of_three(broker: Broker) -> None:
    """The three values of x-overflow are taken, another text and a number are refused: 406."""
    good = "drop-head", "reject-publish", "reject-publish-dlx"
    declares_alone(broker, "x-overflow", good=good, bad=("drop-tail", 1))


@scenario("rabbitmq/maxlength.reject-publish")
@broken_by("drops the oldest", changes(TURNS_AWAY, drop_the_oldest_for_it))
@broken_by("knows no limit", drops(TURNS_AWAY))
def newest_is_rejected(broker: Broker) -> None:
    """A queue that holds one message rejects the second one, and has room again when the first was got."""
    channel = broker.channel()
    queue = channel.queue_with("1", "2", arguments=rejecting())
    channel.gets(queue, b"1")
    channel.publish("3", key=queue)
    has(channel, queue, b"3")


@scenario("rabbitmq/maxlength.reject-publish")
@broken_by("knows no limit of octets", changes(TURNS_AWAY, condition=by_messages_alone_here))
def newest_is_rejected_by_its_size(broker: Broker) -> None:
    """Of three messages of four octets a queue that holds ten and rejects has the first two."""
    channel = broker.channel()
    limits = limited(max_length_bytes=10, overflow="reject-publish")
    has(channel, channel.queue_with(SIZE, SIZE, SIZE[::-1], arguments=limits), SIZE, SIZE)


@scenario("rabbitmq/maxlength.nack")
@broken_by("confirms it all the same", changes(TURNS_AWAY, forget_to_tell))
@broken_by("knows no limit", drops(TURNS_AWAY))
def publisher_hears_of_a_rejection(broker: Broker) -> None:
    """The first message is confirmed, the second is not; when there is room again, the third is."""
    channel = broker.channel()
    queue = channel.declare_queue(arguments=rejecting())
    channel.tries(Confirm.Select(), Confirm.SelectOk)
    for body, expected in (("1", ACK), ("2", NACK)):
        channel.publish(body, key=queue)
        channel.expect(expected)
    channel.gets(queue, b"1")
    channel.publish("3", key=queue)
    channel.expect(ACK)


@scenario("rabbitmq/maxlength.any-queue-nacks")
@broken_by("confirms it all the same", changes(TURNS_AWAY, forget_to_tell))
def publisher_hears_of_one_rejection(broker: Broker) -> None:
    """A message that one of two queues rejects is not confirmed; before, one that both have room for is."""
    channel = broker.channel()
    exchange, _, _ = full_and_empty(channel, "0")
    channel.tries(Confirm.Select(), Confirm.SelectOk)
    channel.publish("1", exchange=exchange)
    channel.expect(NACK)


def full_and_empty(channel: AmqpChannel, *bodies: str) -> tuple[str, str, str]:
    """Give a fanout exchange, a queue bound to it that rejects all but these messages, and an empty one."""
    exchange = channel.declare_exchange("fanout")
    full, empty = channel.queue_with(*bodies, arguments=rejecting()), channel.declare_queue()
    for queue in (full, empty):
        channel.bind(queue, exchange)
    return exchange, full, empty


@scenario("rabbitmq/maxlength.others-take-it")
@broken_by("rejects it for all", changes("routing: goes to every queue found", go_nowhere_if_one_is_full))
@broken_by("knows no limit", drops(TURNS_AWAY))
def other_queues_have_what_one_rejects(broker: Broker) -> None:
    """A message that one of two queues rejects is on the other one alone."""
    channel = broker.channel()
    exchange, full, empty = full_and_empty(channel, "0")
    channel.publish("1", exchange=exchange)
    has(channel, empty, b"1")
    has(channel, full, b"0")


def with_dead_letters(channel: AmqpChannel, overflow: str) -> tuple[str, str]:
    """Give a queue with one message, which rejects others, and the queue its dead messages go to."""
    dead = channel.declare_queue()
    more = {"dead_letter_exchange": "", "dead_letter_routing_key": dead, "overflow": overflow}
    return channel.queue_with("1", arguments=rejecting(**more)), dead


@scenario("rabbitmq/maxlength.reject-publish-dlx")
@broken_by("forgets what it rejects", changes(TURNS_AWAY_DEAD, turn_away))
@broken_by("takes it for reject-publish", drops(TURNS_AWAY_DEAD))
def rejected_message_is_dead(broker: Broker) -> None:
    """With reject-publish-dlx the second message is on the queue for dead ones, the first where it was."""
    channel = broker.channel()
    queue, dead = with_dead_letters(channel, "reject-publish-dlx")
    dead_channel = broker.channel()
    dead_channel.consume(dead, no_ack=True)
    channel.publish("2", key=queue)
    dead_channel.expect(answered(Basic.Deliver))
    has(channel, queue, b"1")


@scenario("rabbitmq/maxlength.reject-publish-not-dead")
@broken_by("sends it on", changes(TURNS_AWAY, turn_away, pass_on))
@broken_by("takes it for reject-publish-dlx", changes(TURNS_AWAY_DEAD, condition=would_be_too_much_of_any))
def rejected_message_is_gone(broker: Broker) -> None:
    """With reject-publish the second message is not on the queue for dead ones."""
    channel = broker.channel()
    queue, dead = with_dead_letters(channel, "reject-publish")
    channel.publish("2", key=queue)
    channel.gets(queue, b"1")
    channel.publish("3", key=dead)
    has(channel, dead, b"3")
