"""x-priority of basic.consume: who gets messages first."""

from collections import Counter

from harness.amqp0_9_1.broken.deviations import changes, drops, forwards, swaps
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import EXCEPTION, answered, channel_closed, message
from harness.amqp0_9_1.peer.strategies import in_turn
from harness.amqp0_9_1.rabbitmq.broken.consuming import (
    by,
    first_of_the_highest,
    never_opened,
    none_is,
    priority_is_a_text,
    priority_is_below_zero,
    priority_is_given,
    stick_to_the_first,
    stick_to_the_last,
    wait_for_the_highest,
)
from harness.amqp0_9_1.rabbitmq.consuming.consumers import priority
from harness.amqp0_9_1.wire.vocabulary import PRECONDITION_FAILED, Basic
from scenarios.rabbitmq.consuming.consumers import QUORUM, declared
from scenarios.rabbitmq.consuming.prefetch import limit
from scenarios.registry import broken_by, scenario

IS_REFUSED = "basic.consume: refuses a priority that is no integer"


def consuming(channel: AmqpChannel, queue: str, given: int | None = None) -> str:
    """Judge that a consumer of this priority, or of none, can be started; give its tag."""
    arguments = {} if given is None else {"x-priority": given}
    return str(channel.tries(Basic.Consume(queue, arguments=arguments), Basic.ConsumeOk).consumer_tag)


def goes_to(channel: AmqpChannel, queue: str, *tags: str) -> None:
    """Publish a message for each tag, one after the other, and judge that it comes under that tag."""
    for number, tag in enumerate(tags):
        channel.hears(f"{number}", key=queue, consumer_tag=tag)


def served(channel: AmqpChannel, queue: str, count: int) -> Counter[str]:
    """Publish so many messages, one after the other; count who gets them."""
    found = Counter[str]()
    for number in range(count):
        channel.publish(f"{number}", key=queue)
        found[channel.expect(message(Basic.Deliver, f"{number}".encode())).consumer_tag] += 1
    return found


@scenario("rabbitmq/consumer-priority.higher-first")
@broken_by("serves all in turn", swaps(choose=in_turn))
@broken_by("serves the lowest first", swaps(choose=by(lambda each: -priority(each))))
@broken_by("serves whoever came first", swaps(choose=stick_to_the_first))
@broken_by("serves whoever came last", swaps(choose=stick_to_the_last))
def highest_priority_gets_all(broker: Broker) -> None:
    """Of consumers with priorities 1, 10 and 5 that with 10 gets all six messages."""
    channel, queue = broker.queue()
    _, highest, _ = (consuming(channel, queue, each) for each in (1, 10, 5))
    goes_to(channel, queue, *6 * (highest,))


@scenario("rabbitmq/consumer-priority.higher-first")
@broken_by("serves all of a quorum queue in turn", swaps(choose=in_turn))
def highest_priority_gets_all_of_a_quorum_queue(broker: Broker) -> None:
    """As before, of a quorum queue."""
    channel = broker.channel()
    queue = declared(channel, QUORUM)
    _, highest, _ = (consuming(channel, queue, each) for each in (1, 10, 5))
    goes_to(channel, queue, *6 * (highest,))


@scenario("rabbitmq/consumer-priority.lower-when-blocked")
@broken_by("waits for the highest", swaps(choose=wait_for_the_highest))
@broken_by("serves all in turn", swaps(choose=in_turn))
@broken_by("takes nobody for blocked", forwards(Basic.Qos, prefetch_count=0))
def lower_priority_gets_what_the_higher_cannot_take(broker: Broker) -> None:
    """The higher consumer may have two messages out: of five the other three come to the lower one."""
    channel, queue = broker.queue()
    limit(channel, 2)
    high = consuming(channel, queue, 10)
    limit(channel, 0)
    low = consuming(channel, queue, 0)
    goes_to(channel, queue, high, high, low, low, low)


@scenario("rabbitmq/consumer-priority.higher-again")
@broken_by("stays with the lower one", swaps(window_allows=never_opened))
@broken_by("waits for the highest", swaps(choose=wait_for_the_highest))
@broken_by("serves all in turn", swaps(choose=in_turn))
def higher_priority_is_preferred_again(broker: Broker) -> None:
    """When the higher consumer has acknowledged what it had, the next messages come to it again."""
    channel, queue = broker.queue()
    limit(channel, 2)
    high = consuming(channel, queue, 10)
    limit(channel, 0)
    low = consuming(channel, queue, 0)
    goes_to(channel, queue, high, high, low, low)
    channel.send(Basic.Ack(2, multiple=True))
    channel.depth(queue)
    goes_to(channel, queue, high, high, low)


@scenario("rabbitmq/consumer-priority.round-robin")
@broken_by("serves whoever came first", swaps(choose=stick_to_the_first))
@broken_by("serves the first of the highest", swaps(choose=first_of_the_highest))
@broken_by("serves all in turn", swaps(choose=in_turn))
def equal_priorities_take_turns(broker: Broker) -> None:
    """Of two consumers with priority 5 each gets three of six messages, and one with 1 none."""
    channel, queue = broker.queue()
    first, _, second = (consuming(channel, queue, each) for each in (5, 1, 5))
    found = served(channel, queue, 6)
    told = "three messages for each of the two"
    broker.judge(told, f"{sorted(found.values())} messages for each", found == {first: 3, second: 3})


@scenario("rabbitmq/consumer-priority.default")
@broken_by("takes none for the lowest", swaps(choose=none_is(-9)))
@broken_by("takes none for the highest", swaps(choose=none_is(9)))
@broken_by("serves all in turn", swaps(choose=in_turn))
def no_priority_is_zero(broker: Broker) -> None:
    """A consumer without priority comes before one with -1, behind one with 1, and takes turns with 0."""
    channel, queue = broker.queue()
    plain, _ = consuming(channel, queue), consuming(channel, queue, -1)
    goes_to(channel, queue, plain, plain)
    zero = consuming(channel, queue, 0)
    found = served(channel, queue, 2)
    told = "a message for each of the two"
    broker.judge(told, f"{sorted(found.values())} messages for each", found == {plain: 1, zero: 1})
    goes_to(channel, queue, *2 * (consuming(channel, queue, 1),))


@scenario("rabbitmq/consumer-priority.negative")
@broken_by("refuses it", changes(IS_REFUSED, condition=priority_is_below_zero))
@broken_by("overlooks the sign", swaps(choose=by(lambda each: abs(priority(each)))))
@broken_by("serves all in turn", swaps(choose=in_turn))
def negative_priorities_are_in_order(broker: Broker) -> None:
    """Of consumers with -5, -1 and -3 that with -1 gets all messages."""
    channel, queue = broker.queue()
    tags = []
    for number, each in enumerate((-5, -1, -3)):
        consume = Basic.Consume(queue, f"consumer {number}", arguments={"x-priority": each})
        tags.append(channel.tries(consume, Basic.ConsumeOk).consumer_tag)
    goes_to(channel, queue, *3 * (tags[1],))


@scenario("rabbitmq/consumer-priority.integer")
@broken_by("takes anything", drops(IS_REFUSED))
@broken_by("takes a boolean for a number", changes(IS_REFUSED, condition=priority_is_a_text))
@broken_by("knows no priorities", changes(IS_REFUSED, condition=priority_is_given))
def priority_that_is_no_integer_is_refused(broker: Broker) -> None:
    """Consume with a priority of 5 is confirmed; with a text or a boolean it is refused."""
    otherwise = EXCEPTION | answered(Basic.ConsumeOk)
    for wrong in ("high", True):
        channel, queue = broker.queue()
        other = channel.connection.channel()
        channel.tries(Basic.Consume(queue, arguments={"x-priority": 5}), Basic.ConsumeOk)
        channel.tries(
            Basic.Consume(queue, arguments={"x-priority": wrong}),
            channel_closed(PRECONDITION_FAILED),
            otherwise.under("the guide does not say what becomes of another value"),
        )
        other.stays_quiet()
