"""basic.ack: messages are acknowledged."""

from __future__ import annotations

from harness.amqp0_9_1.basic_faults import (
    is_unknown_and_not_transacted,
    is_unknown_and_single,
    tag_was_never_given,
)
from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.connection import AmqpChannel
from harness.amqp0_9_1.deviations import changes, drops, ignores
from harness.amqp0_9_1.outcomes import channel_closed, refused
from harness.amqp0_9_1.vocabulary import PRECONDITION_FAILED, Basic
from scenarios.amqp0_9_1.tx import transacted
from scenarios.registry import broken_by, scenario

REFUSED = (
    *refused(PRECONDITION_FAILED),
    channel_closed().under("on-failure alone names the code: another one is a SHOULD missed"),
)
FAR = 1000
"""As much above a tag that was given no other has been given."""


def taken(channel: AmqpChannel) -> int:
    """The tag of a message taken from a queue; another channel sends it, for this one may be transacted."""
    queue = channel.declare_queue()
    sender = channel.connection.channel()
    sender.publish(b"taken", key=queue)
    sender.depth(queue)
    sender.close()
    return int(channel.ask(Basic.Get(queue), Basic.GetOk).delivery_tag)


@scenario("0-9-1/basic.ack.multiple.exists")
@broken_by("takes any tag", drops("basic.ack: refuses a tag of no delivered message"))
@broken_by("overlooks strange tags", ignores(Basic.Ack, when=lambda ack: ack.delivery_tag > FAR))
def tag_that_was_never_delivered_is_refused(broker: Broker) -> None:
    """Ack with the tag of a delivered message is taken, with one far above it refused: 406."""
    channel = broker.channel()
    channel.send(Basic.Ack(taken(channel)))
    channel.fence()
    channel.send(Basic.Ack(taken(channel) + FAR))
    channel.expect(*REFUSED)


@scenario("0-9-1/basic.ack.multiple.exists")
@broken_by(
    "takes any tag as an upper bound",
    changes("basic.ack: refuses a tag of no delivered message", condition=is_unknown_and_single),
)
@broken_by(
    "overlooks strange upper bounds",
    ignores(Basic.Ack, when=lambda ack: ack.multiple and ack.delivery_tag > FAR),
)
def upper_bound_that_was_never_delivered_is_refused(broker: Broker) -> None:
    """As before with multiple set: the tag must be that of a delivered message all the same, else 406."""
    channel = broker.channel()
    channel.send(Basic.Ack(taken(channel), multiple=True))
    channel.fence()
    channel.send(Basic.Ack(taken(channel) + FAR, multiple=True))
    channel.expect(*REFUSED)


@scenario("0-9-1/basic.ack.multiple.exists")
@broken_by(
    "lets a message be acknowledged twice",
    changes("basic.ack: refuses a tag of no delivered message", condition=tag_was_never_given),
)
@broken_by("overlooks the second one", ignores(Basic.Ack, skip=1))
def message_cannot_be_acknowledged_twice(broker: Broker) -> None:
    """The first Ack of a delivered message is taken, the second one refused: 406."""
    channel = broker.channel()
    tag = taken(channel)
    channel.send(Basic.Ack(tag))
    channel.fence()
    channel.send(Basic.Ack(tag))
    channel.expect(*REFUSED)


@scenario("0-9-1/basic.ack.multiple.exists")
@broken_by(
    "leaves it to the commit",
    changes("basic.ack: refuses a tag of no delivered message", condition=is_unknown_and_not_transacted),
)
def tag_is_checked_before_the_commit(broker: Broker) -> None:
    """On a transacted channel the unknown tag is refused without a Commit: 406."""
    channel = transacted(broker)
    channel.send(Basic.Ack(taken(channel)))
    channel.fence()
    channel.send(Basic.Ack(taken(channel) + FAR))
    channel.expect(*REFUSED)
