"""basic.ack: messages are acknowledged."""

from collections.abc import Callable
from functools import partial
from itertools import product

from harness.amqp0_9_1.broken.basic_faults import (
    hold_what_is_rejected,
    is_unknown_and_not_transacted,
    is_unknown_and_single,
    tag_was_never_given,
)
from harness.amqp0_9_1.broken.deviations import changes, drops, ignores
from harness.amqp0_9_1.broken.settling_faults import is_far_away, is_not_of_the_transaction
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.connection import AmqpChannel
from harness.amqp0_9_1.client.outcomes import channel_closed, refused
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import PRECONDITION_FAILED, Basic
from scenarios.amqp0_9_1.tx.common import transacted
from scenarios.registry import broken_by, scenario

REFUSED = (
    *refused(PRECONDITION_FAILED),
    channel_closed().under("on-failure alone names the code: another one is a SHOULD missed"),
)
UNKNOWN = "basic.ack: refuses a tag of no delivered message"
NEXT, FAR = 1, 1000
"""As much above the last tag that was given no other has been given."""
Settling = Callable[[int], Method]
AGAIN: tuple[Settling, ...] = (Basic.Ack, partial(Basic.Ack, multiple=True))
SETTLED_BY: tuple[Settling, ...] = (*AGAIN, partial(Basic.Reject, requeue=False))


def taken(channel: AmqpChannel) -> int:
    """Give the tag of a message from a queue; another channel sends it, for this one may be transacted."""
    queue = channel.declare_queue()
    sender = channel.connection.channel()
    sender.publish(b"taken", key=queue)
    sender.depth(queue)
    sender.close()
    return int(channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag)


@scenario("0-9-1/basic.ack.multiple.exists")
@broken_by("takes any tag", drops(UNKNOWN))
@broken_by("overlooks strange tags", ignores(Basic.Ack, when=lambda ack: ack.delivery_tag > FAR))
@broken_by("takes the tag that comes next", changes(UNKNOWN, condition=is_far_away))
def tag_that_was_never_delivered_is_refused(broker: Broker) -> None:
    """Ack with the tag of a delivered message is taken, with the next one or one far above refused: 406."""
    for beyond in (NEXT, FAR):
        channel = broker.channel()
        channel.send(Basic.Ack(taken(channel)))
        channel.fence()
        channel.tries(Basic.Ack(taken(channel) + beyond), *REFUSED)


@scenario("0-9-1/basic.ack.multiple.exists")
@broken_by("takes any tag as an upper bound", changes(UNKNOWN, condition=is_unknown_and_single))
@broken_by("takes the next tag for an upper bound", changes(UNKNOWN, condition=is_far_away))
@broken_by(
    "overlooks strange upper bounds",
    ignores(Basic.Ack, when=lambda ack: ack.multiple and ack.delivery_tag > FAR),
)
def upper_bound_that_was_never_delivered_is_refused(broker: Broker) -> None:
    """As before with multiple set: the tag must be that of a delivered message all the same, else 406."""
    for beyond in (NEXT, FAR):
        channel = broker.channel()
        channel.send(Basic.Ack(taken(channel), multiple=True))
        channel.fence()
        channel.tries(Basic.Ack(taken(channel) + beyond, multiple=True), *REFUSED)


@scenario("0-9-1/basic.ack.multiple.exists")
@broken_by("lets a message be acknowledged twice", changes(UNKNOWN, condition=tag_was_never_given))
@broken_by("overlooks the second one", ignores(Basic.Ack, skip=1))
@broken_by("lets it be acknowledged twice up to a tag", changes(UNKNOWN, condition=is_unknown_and_single))
@broken_by("lets what was rejected be acknowledged", changes("basic.reject: discards", hold_what_is_rejected))
def message_cannot_be_acknowledged_twice(broker: Broker) -> None:
    """The first Ack of a delivered message is taken, the second one refused: 406.

    With multiple or without, and where the first was a Reject.
    """
    for first, second in product(SETTLED_BY, AGAIN):
        channel = broker.channel()
        tag = taken(channel)
        channel.send(first(tag))
        channel.fence()
        channel.tries(second(tag), *REFUSED)


@scenario("0-9-1/basic.ack.multiple.exists")
@broken_by("leaves it to the commit", changes(UNKNOWN, condition=is_unknown_and_not_transacted))
@broken_by("lets a tag twice into a transaction", changes(UNKNOWN, condition=is_not_of_the_transaction))
def tag_is_checked_before_the_commit(broker: Broker) -> None:
    """On a transacted channel an unknown tag, or one acknowledged already, is refused at once: 406."""
    for multiple in (False, True):
        for beyond in (0, NEXT, FAR):
            channel = transacted(broker)
            tag = taken(channel)
            channel.send(Basic.Ack(tag, multiple))
            channel.fence()
            channel.tries(Basic.Ack(tag + beyond, multiple), *REFUSED)
