"""What an operator asks of queues and exchanges by their names."""

from harness.amqp0_9_1.broken.deviations import changes, drops, swaps
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import Conversation
from harness.amqp0_9_1.client.outcomes import message, refused
from harness.amqp0_9_1.rabbitmq.broken.queues.expiry import BEGINS
from harness.amqp0_9_1.rabbitmq.broken.queues.lengths import DROPS, TURNS_AWAY, drop_the_oldest_for_it
from harness.amqp0_9_1.rabbitmq.broken.queues.policies import (
    COMPARES,
    argument_counts,
    by_argument_alone,
    differs_from_what_holds,
    drop_by_arguments,
    drop_to_nowhere,
    drop_to_the_policy,
    ends_by_argument,
    for_names_that_begin_with_it,
    for_names_that_contain_it,
    has_time_by_argument,
    higher_counts,
    is_never_other,
    lives_by_any_policy,
    lowest_of_all_counts,
    policy_counts,
    set_time_by_any_policy,
    stay_in_force,
    would_be_too_much_by_argument,
)
from harness.amqp0_9_1.rabbitmq.routing.reaching import through_exchanges
from harness.amqp0_9_1.wire.vocabulary import PRECONDITION_FAILED, Basic, Exchange, Queue
from scenarios.rabbitmq.queues.length_limits import has, limited
from scenarios.rabbitmq.queues.time_to_live import AFTER, finds_nothing
from scenarios.rabbitmq.queues.unused_queues import ENDS, goes
from scenarios.registry import broken_by, scenario

NEEDS = ["policies"]
SET = "policy: comes into force on a queue that is there"


def matching(broker: Broker, key: str) -> str:
    """Give a name of its own for a queue that the policy for this key is for."""
    return broker.name("queue", broker.facility("policies")[key] + "{}")


def filled(channel: Conversation, queue: str, *bodies: str, **arguments: object) -> str:
    """Declare a queue of this name and publish these messages to it; give the name."""
    channel.declare_queue(queue, arguments=limited(**arguments))
    for body in bodies:
        channel.publish(body, key=queue)
    return queue


@scenario("rabbitmq/policies.of-its-names", needs=NEEDS)
@broken_by("goes by arguments alone", changes(DROPS, condition=argument_counts))
@broken_by("knows no limit", drops(DROPS))
def policy_holds_for_its_names(broker: Broker) -> None:
    """A queue whose name is one for a policy of two messages has the last two of three."""
    channel = broker.channel()
    has(channel, filled(channel, matching(broker, "max-length"), "1", "2", "3"), b"2", b"3")


@scenario("rabbitmq/policies.no-other-names", needs=NEEDS)
@broken_by("looks for the pattern anywhere", changes(DROPS, condition=for_names_that_contain_it))
def policy_does_not_hold_for_other_names(broker: Broker) -> None:
    """A queue whose name has the beginning for the policy in its middle has all three messages."""
    channel = broker.channel()
    queue = broker.name("queue", "{}-" + broker.facility("policies")["max-length"])
    has(channel, filled(channel, queue, "1", "2", "3"), b"1", b"2", b"3")


@scenario("rabbitmq/policies.pattern", needs=NEEDS)
@broken_by("looks at the beginning alone", changes(DROPS, condition=for_names_that_begin_with_it))
def pattern_is_found_anywhere(broker: Broker) -> None:
    """A queue whose name has in its middle what a pattern without an anchor is for keeps to the policy."""
    channel = broker.channel()
    queue = broker.name("queue", "{}" + broker.facility("policies")["anywhere"] + "end")
    has(channel, filled(channel, queue, "1", "2"), b"2")


@scenario("rabbitmq/policies.overflow", needs=NEEDS)
@broken_by("goes by arguments alone", changes(TURNS_AWAY, condition=would_be_too_much_by_argument))
@broken_by("drops the oldest", changes(TURNS_AWAY, drop_the_oldest_for_it))
def policy_says_what_is_too_much(broker: Broker) -> None:
    """A queue whose name is one for a policy of one message and reject-publish has the first of two."""
    channel = broker.channel()
    has(channel, filled(channel, matching(broker, "overflow"), "1", "2"), b"1")


@scenario("rabbitmq/policies.message-ttl", needs=NEEDS)
@broken_by("goes by arguments alone", changes(BEGINS, condition=has_time_by_argument))
def policy_gives_messages_their_time(broker: Broker) -> None:
    """A message on a queue whose name is one for a policy of message-ttl is gone when that is over."""
    channel = broker.channel()
    queue = filled(channel, matching(broker, "message-ttl"), "1")
    channel.wait(AFTER)
    finds_nothing(channel, queue)


@scenario("rabbitmq/policies.expires", slow=True, needs=NEEDS)
@broken_by("goes by arguments alone", changes(ENDS, condition=ends_by_argument))
def policy_gives_queues_their_time(broker: Broker) -> None:
    """A queue whose name is one for a policy of expires is gone when that is over."""
    goes(broker, filled(broker.channel(), matching(broker, "expires")))


@scenario("rabbitmq/policies.lower-number", needs=NEEDS)
@broken_by("goes by the argument", changes(DROPS, condition=argument_counts))
@broken_by("goes by the policy", changes(DROPS, condition=policy_counts))
@broken_by("takes the higher one", changes(DROPS, condition=higher_counts))
def lower_of_argument_and_policy_holds(broker: Broker) -> None:
    """With a policy of two messages, an argument of one leaves the last, and one of five the last two."""
    channel = broker.channel()
    has(channel, filled(channel, matching(broker, "max-length"), "1", "2", "3", max_length=1), b"3")
    has(channel, filled(channel, matching(broker, "max-length"), "1", "2", "3", max_length=5), b"2", b"3")


def policy_s_dead_letters(channel: Conversation, key: str) -> str:
    """Give a queue that consumes what the exchange of the policy for dead messages gets with this key."""
    queue = channel.declare_queue()
    channel.bind(queue, "amq.direct", key)
    return queue


@scenario("rabbitmq/policies.dead-letter-exchange", needs=NEEDS)
@broken_by("goes by arguments alone", changes(DROPS, drop_by_arguments))
@broken_by("drops it", changes(DROPS, drop_to_nowhere))
def policy_gives_the_dead_their_exchange(broker: Broker) -> None:
    """The message that is dropped is on a queue behind the exchange that the policy names."""
    channel, other = broker.channel(), broker.channel()
    queue = matching(broker, "dead-letter-exchange")
    other.consume(policy_s_dead_letters(channel, queue), no_ack=True)
    filled(channel, queue, "1", "2")
    other.expect(message(Basic.Deliver, b"1"))
    has(channel, queue, b"2")


@scenario("rabbitmq/policies.argument-first", needs=NEEDS)
@broken_by("goes by the policy", changes(DROPS, drop_to_the_policy))
def argument_goes_before_the_policy(broker: Broker) -> None:
    """The message that is dropped is where an argument sends it, not where the policy does."""
    channel, other = broker.channel(), broker.channel()
    queue, dead = matching(broker, "dead-letter-exchange"), channel.declare_queue()
    by_policy = policy_s_dead_letters(channel, queue)
    other.consume(dead, no_ack=True)
    filled(channel, queue, "1", "2", dead_letter_exchange="", dead_letter_routing_key=dead)
    other.expect(message(Basic.Deliver, b"1"))
    has(channel, queue, b"2")
    finds_nothing(channel, by_policy)


@scenario("rabbitmq/policies.operator", needs=NEEDS)
@broken_by("goes by arguments alone", changes(DROPS, condition=argument_counts))
@broken_by("takes the higher one", changes(DROPS, condition=higher_counts))
def operator_s_limit_holds(broker: Broker) -> None:
    """With an operator policy of two, a policy and an argument of five leave the last two messages."""
    channel = broker.channel()
    bodies = [str(number) for number in range(6)]
    has(channel, filled(channel, matching(broker, "operator"), *bodies), b"4", b"5")
    has(channel, filled(channel, matching(broker, "operator"), *bodies, max_length=5), b"4", b"5")


@scenario("rabbitmq/policies.highest-priority", needs=NEEDS)
@broken_by("takes the lowest one", changes(DROPS, condition=lowest_of_all_counts))
@broken_by(
    "takes what the other one says as well",
    changes(BEGINS, set_time_by_any_policy, condition=lives_by_any_policy),
)
def policy_of_the_highest_priority_holds(broker: Broker) -> None:
    """A queue that two policies match has the messages that the one with the higher priority allows."""
    channel = broker.channel()
    has(channel, filled(channel, matching(broker, "two"), "1", "2", "3", "4"), b"2", b"3", b"4")


@scenario("rabbitmq/policies.of-exchanges", needs=NEEDS)
@broken_by("goes by arguments alone", swaps(reached=through_exchanges(instead=by_argument_alone)))
def policy_holds_for_exchanges(broker: Broker) -> None:
    """What an exchange has no queue for is on one behind the alternate exchange that the policy names."""
    channel = broker.channel()
    exchange = broker.name("exchange", broker.facility("policies")["alternate-exchange"] + "{}")
    channel.ask(Exchange.Declare(exchange, "fanout"))
    queue = policy_s_dead_letters(channel, exchange)
    channel.consume(queue, no_ack=True)
    channel.hears("1", exchange=exchange, key=exchange)


@scenario("rabbitmq/policies.queues-there", slow=True, needs=["late-policy", "no-late-policy"])
@broken_by("holds for new queues alone", drops(SET))
@broken_by("holds once it was set", changes(SET, stay_in_force))
def policy_finds_queues_that_are_there(broker: Broker) -> None:
    """A queue with three messages keeps to a policy of one that is set then, until it is taken back."""
    channel = broker.channel()
    queue = broker.name("queue", broker.facility("no-late-policy")["begins"] + "{}")
    filled(channel, queue, "1", "2", "3")
    channel.depth(queue)
    broker.facility("late-policy")
    channel.publish("4", key=queue)
    has(channel, queue, b"4")
    broker.facility("no-late-policy")
    for body in ("5", "6"):
        channel.publish(body, key=queue)
    has(channel, queue, b"5", b"6")


@scenario("rabbitmq/policies.not-in-declare", needs=NEEDS)
@broken_by("compares what holds", changes(COMPARES, condition=differs_from_what_holds))
@broken_by("compares nothing", changes(COMPARES, condition=is_never_other))
def policy_is_not_compared(broker: Broker) -> None:
    """A queue under a policy is declared again as it was, and not with what the policy says."""
    channel = broker.channel()
    queue = matching(broker, "max-length")
    channel.declare_queue(queue)
    channel.tries(Queue.Declare(queue), Queue.DeclareOk)
    channel.tries(Queue.Declare(queue, arguments=limited(max_length=2)), *refused(PRECONDITION_FAILED))
