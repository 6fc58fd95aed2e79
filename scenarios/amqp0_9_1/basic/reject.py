"""basic.reject: a message is refused by its consumer."""

from collections.abc import Callable
from functools import partial

from harness.amqp0_9_1.broken.basic_faults import (
    hold_what_is_rejected,
    recipient_may_have,
    requeue_to_the_front_door,
)
from harness.amqp0_9_1.broken.deviations import changes, forwards, ignores, swaps
from harness.amqp0_9_1.broken.settling_faults import discard_what_was_consumed
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.channel import FENCE
from harness.amqp0_9_1.client.connection import AmqpConnection
from harness.amqp0_9_1.client.outcomes import Unreadable, message, silence
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.tables.basic import discard_rejected, requeue_rejected
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import NOT_IMPLEMENTED, UNEXPECTED_FRAME, Basic, Exchange
from harness.play.expect import Outcome
from scenarios.registry import broken_by, scenario

DISCARDS = "basic.reject: discards"
REQUEUES = "basic.reject: requeues for others"
FRAME = 8192
MANY = 100
"""Rejected messages: a server that takes turns, or chance, sends some of so many to the wrong place."""

LONG = bytes(1 << 19)
"""A body of many frames of that size, more than is read at once."""

CUT_SHORT = Outcome("a content that is cut short", lambda seen: isinstance(seen, Unreadable))


def small_frames(broker: Broker) -> AmqpConnection:
    """Give a connection with frames of 8 KiB, or less where the server proposes less."""
    connection = broker.tuned()
    proposed = connection.tune_ok().frame_max or FRAME
    connection.open(connection.tune_ok(frame_max=min(FRAME, proposed)))
    return connection


def refused_amid_its_content(broker: Broker, came: type[Method], refusal: Callable[[int], Method]) -> str:
    """Refuse a long message when its Deliver or Get-Ok has come, end the connection, and give the queue.

    Judges that its content comes whole or cut short, and that nothing ends by it.
    """
    channel = small_frames(broker).channel()
    queue = channel.queue_with(LONG)
    channel.consume(queue) if came is Basic.Deliver else channel.send(Basic.Get(queue))
    channel.send(refusal(channel.coming(came).delivery_tag), FENCE)
    channel.expect_each(message(came, LONG) | CUT_SHORT, Exchange.DeclareOk)
    channel.connection.close()
    return queue


@scenario("0-9-1/basic.reject.01")
@broken_by("does not hear it", ignores(Basic.Reject))
@broken_by("takes it and does nothing", changes(DISCARDS, hold_what_is_rejected))
@broken_by("brings the message back", changes(DISCARDS, requeue_rejected))
@broken_by("takes it for an intrusion", changes(DISCARDS, answer=refuse(UNEXPECTED_FRAME)))
def reject_is_processed_while_content_is_sent(broker: Broker) -> None:
    """Reject without requeue, sent when the Deliver of a long message has come, takes effect; nothing ends.

    The content may come whole or cut short. Afterwards the message is gone: another one is next.
    """
    queue = refused_amid_its_content(broker, Basic.Deliver, partial(Basic.Reject, requeue=False))
    channel = broker.channel()
    channel.publish(b"sentinel", key=queue)
    channel.consumes(queue, b"sentinel")


@scenario("0-9-1/basic.reject.01")
@broken_by("does not hear it for what was got", changes(DISCARDS, discard_what_was_consumed))
def reject_is_processed_while_content_is_got(broker: Broker) -> None:
    """As before, with Get: Reject sent when the Get-Ok of a long message has come takes effect."""
    queue = refused_amid_its_content(broker, Basic.GetOk, partial(Basic.Reject, requeue=False))
    channel = broker.channel()
    channel.publish(b"sentinel", key=queue)
    channel.gets(queue, b"sentinel")


@scenario("0-9-1/basic.reject.02")
@broken_by("discards it", changes(REQUEUES, discard_rejected))
@broken_by("takes it for processed", forwards(Basic.Reject, requeue=False))
@broken_by("does not hear it", ignores(Basic.Reject))
@broken_by("knows no Reject", changes(REQUEUES, answer=refuse(NOT_IMPLEMENTED)))
def rejected_message_is_there_for_another(broker: Broker) -> None:
    """A message taken with Get and rejected with requeue is delivered to a consumer on another connection."""
    channel, other = broker.channel(), broker.channel(new_connection=True)
    queue = channel.queue_with(b"not now")
    channel.depth(queue)
    taken = channel.ask(Basic.Get(queue), Basic.GetOk)
    other.consume(queue)
    channel.send(Basic.Reject(taken.delivery_tag, requeue=True))
    channel.stays_quiet()
    other.expect(message(Basic.Deliver, b"not now"))


@scenario("0-9-1/basic.reject.requeue.01", slow=True)
@broken_by("forgets who rejected it", changes(REQUEUES, requeue_rejected))
@broken_by("takes turns, whoever rejected it", changes(REQUEUES, requeue_to_the_front_door))
@broken_by("lets the same channel have it", swaps(may_have=recipient_may_have))
def rejected_messages_do_not_come_back_to_their_channel(broker: Broker) -> None:
    """Messages rejected with requeue while a second consumer waits: none comes to the channel again.

    The second consumer, on a connection of its own, gets them; that it gets none is legal.
    """
    channel, other = broker.channel(), broker.channel(new_connection=True)
    queue = channel.queue_with(*map(str, range(MANY)))
    channel.consume(queue)
    rejected = channel.deliveries(MANY)
    other.consume(queue)
    for delivery in rejected:
        channel.send(Basic.Reject(delivery.method.delivery_tag, requeue=True))
    channel.stays_quiet()
    channel.depth(queue)
    channel.stays_quiet()
    held = silence().under("the server holds the message or moves it to a dead-letter queue")
    for _ in rejected:
        if not isinstance(other.expect(message(Basic.Deliver), held), Basic.Deliver):
            break
    channel.stays_quiet()


@scenario("0-9-1/basic.reject.requeue.01", slow=True)
@broken_by("knows no requeue", changes(REQUEUES, answer=refuse(NOT_IMPLEMENTED)))
def what_becomes_of_a_message_without_alternative_is_recorded(broker: Broker) -> None:
    """Rejected with requeue by the only consumer, a message may come again to it or not: it is recorded."""
    channel, queue = broker.queue(b"rejected")
    channel.consume(queue)
    (delivery,) = channel.deliveries(1)
    channel.send(Basic.Reject(delivery.method.delivery_tag, requeue=True))
    again = message(Basic.Deliver, b"rejected").recorded("it is redelivered to the same client")
    channel.expect(again, silence().recorded("it is held, or moved to a dead-letter queue"))
