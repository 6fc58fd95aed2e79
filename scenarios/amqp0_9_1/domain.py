"""Domains: values that have a meaning wherever they occur."""

from harness.amqp0_9_1.broken.deviations import changes, ignores, rewrites, swaps
from harness.amqp0_9_1.broken.faults import (
    always_redelivered,
    never_redelivered,
    settle_on_any_channel,
    tags_from_zero,
)
from harness.amqp0_9_1.broken.settling_faults import reject_on_any_channel
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.outcomes import EXCEPTION, answered, channel_closed, message
from harness.amqp0_9_1.client.transcript import Passage
from harness.amqp0_9_1.wire.vocabulary import PRECONDITION_FAILED, Basic, Exchange
from harness.play.watching import Found, came
from scenarios.registry import broken_by, scenario, watch

UNKNOWN_TAG = "basic.reject: refuses a tag of no delivered message"
UNKNOWN = "basic.ack: refuses a tag of no delivered message"


@scenario("0-9-1/domain.delivery-tag.channel-local")
@broken_by("takes acknowledgements on any channel", changes(UNKNOWN, settle_on_any_channel, answer=None))
@broken_by("refuses and acknowledges all the same", changes(UNKNOWN, settle_on_any_channel))
@broken_by("passes over unknown tags", ignores(Basic.Ack, when=lambda ack: ack.delivery_tag == 2))
def tag_is_unknown_on_another_channel(broker: Broker) -> None:
    """An Ack for a message of another channel is refused, and the message stays unacknowledged.

    The first of two messages is acknowledged where it was received, the second on a channel that has
    received nothing. When the first channel is closed, the second message comes again.
    """
    holder, stranger = broker.channel(), broker.channel()
    queue = holder.queue_with(b"acknowledged", b"held")
    holder.consume(queue)
    first, second = (each.method.delivery_tag for each in holder.deliveries(2))
    holder.send(Basic.Ack(first))
    holder.fence()
    stranger.send(Basic.Ack(second))
    stranger.expect(
        channel_closed(PRECONDITION_FAILED),
        channel_closed().under("basic.ack.multiple.exists: the server raises a channel exception"),
    )
    holder.close()
    broker.channel().consumes(queue, b"held")


@scenario("0-9-1/domain.delivery-tag.channel-local")
@broken_by("rejects on any channel", changes(UNKNOWN_TAG, reject_on_any_channel))
def tag_cannot_be_rejected_on_another_channel(broker: Broker) -> None:
    """A Reject for a message of another channel does not touch it: that channel ends, and it comes again.

    How the Reject is answered no sentence says.
    """
    holder, stranger = broker.channel(), broker.channel()
    queue = holder.queue_with(b"held")
    tag = holder.ask(Basic.Get(queue), Basic.GetOk).delivery_tag
    stranger.send(Basic.Reject(tag, requeue=False))
    stranger.tries(FENCE, EXCEPTION | answered(Exchange.DeclareOk))
    if holder.connection.usable:
        holder.close()
    broker.channel().consumes(queue, b"held")


@watch(
    "0-9-1/domain.delivery-tag.non-zero",
    during="0-9-1/basic.10",
    looks_at=came(Basic.Deliver, Basic.GetOk),
)
@broken_by("counts deliveries from zero", swaps(tag=tags_from_zero))
@broken_by("says one less than it counts", rewrites(Basic.Deliver, delivery_tag=lambda tag: tag - 1))
def no_delivery_tag_is_zero(each: Passage) -> Found:
    """Every Deliver and Get-Ok of the run carries a delivery-tag other than zero."""
    if each.said.delivery_tag:
        return True
    return f"{each.said.full_name} with delivery-tag 0 at {each.at:.4f} s"


@scenario("0-9-1/domain.redelivered.implementation")
@broken_by("clears the redelivered flag", rewrites(Basic.Deliver, redelivered=False))
@broken_by("does not remember what it has delivered", swaps(redelivered=never_redelivered))
@broken_by("takes every delivery for another one", swaps(redelivered=always_redelivered))
def message_that_comes_again_says_so(broker: Broker) -> None:
    """A message that was not acknowledged comes again after a reconnect, with the redelivered flag.

    The first time it comes without: a flag that is always set signals nothing.
    """
    channel, queue = broker.queue(b"twice")
    channel.consume(queue)
    channel.expect(message(Basic.Deliver, b"twice", redelivered=False))
    channel.connection.close()
    channel = broker.channel().consuming(queue)
    channel.expect(message(Basic.Deliver, b"twice", redelivered=True))


@scenario("0-9-1/domain.redelivered.implementation")
@broken_by("tells consumers alone", rewrites(Basic.GetOk, redelivered=False))
@broken_by("tells Get always", rewrites(Basic.GetOk, redelivered=True))
def message_that_is_got_again_says_so(broker: Broker) -> None:
    """A message that was got and left unacknowledged is got again with the redelivered flag."""
    channel, queue = broker.queue(b"twice")
    channel.tries(Basic.Get(queue), message(Basic.GetOk, b"twice", redelivered=False))
    channel.connection.close()
    channel = broker.channel()
    channel.settle()  # no sentence says when what a connection leaves is put back
    channel.tries(Basic.Get(queue, no_ack=True), message(Basic.GetOk, b"twice", redelivered=True))
