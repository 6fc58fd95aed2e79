"""The class basic: persistence, priorities, acknowledgement."""

from __future__ import annotations

from collections.abc import Iterator

from harness.amqp0_9_1.broker import Broker
from harness.amqp0_9_1.deviations import drops, ignores, rejects, swaps
from harness.amqp0_9_1.faults import persistent_first
from harness.amqp0_9_1.outcomes import message
from harness.amqp0_9_1.vocabulary import NOT_IMPLEMENTED, Basic
from harness.context import RESTART, Restart
from scenarios.registry import broken_by, scenario

TRANSIENT, PERSISTENT = 1, 2


@scenario("0-9-1/basic.01")
@broken_by("loses persistent messages", drops("restart: keeps persistent messages"))
def persistent_message_is_there_after_a_restart(broker: Broker) -> Iterator[Restart]:
    """A persistent message in a durable queue is delivered after the restart."""
    channel = broker.channel()
    queue = channel.declare_queue(durable=True)
    channel.publish(b"persistent", key=queue, delivery_mode=PERSISTENT)
    channel.fence()
    yield RESTART
    channel = broker.channel()
    channel.send(Basic.Get(queue, no_ack=True))
    channel.expect(message(Basic.GetOk, b"persistent"))


@scenario("0-9-1/basic.08")
@broken_by("puts persistent messages first", swaps(place=persistent_first))
def order_does_not_depend_on_persistence(broker: Broker) -> None:
    """Ten messages of one priority, alternately transient and persistent, arrive in the order sent."""
    channel = broker.channel()
    queue = channel.declare_queue(durable=True)
    for number in range(10):
        mode = PERSISTENT if number % 2 else TRANSIENT
        channel.publish(f"{number}", key=queue, delivery_mode=mode, priority=4)
    channel.consume(queue, no_ack=True)
    for number in range(10):
        channel.expect(message(Basic.Deliver, f"{number}".encode()))


@scenario("0-9-1/basic.09")
@broken_by(
    "waits for acknowledgements all the same", drops("delivery: of a no-ack consumer ends with sending")
)
@broken_by(
    "offers no such consumer", rejects(Basic.Consume, NOT_IMPLEMENTED, when=lambda consume: consume.no_ack)
)
def delivery_without_acknowledgement_is_supported(broker: Broker) -> None:
    """A consumer with no-ack receives; when it is gone, its message does not come again."""
    channel = broker.channel()
    queue = channel.declare_queue()
    channel.send(Basic.Consume(queue, no_ack=True))
    channel.expect(Basic.ConsumeOk)
    channel.publish(b"delivered", key=queue)
    channel.expect(message(Basic.Deliver, b"delivered"))
    channel.connection.close()
    channel = broker.channel()
    channel.publish(b"sentinel", key=queue)
    channel.send(Basic.Consume(queue, no_ack=True))
    channel.expect(Basic.ConsumeOk)
    channel.expect(message(Basic.Deliver, b"sentinel"))


@scenario("0-9-1/basic.10")
@broken_by("forgets what is not acknowledged", drops("channel end: requeues what is not acknowledged"))
@broken_by("does not hear acknowledgements", ignores(Basic.Ack))
def what_was_not_acknowledged_comes_again(broker: Broker) -> None:
    """Of four messages two are acknowledged; after a reconnect exactly the other two come again."""
    channel = broker.channel()
    queue = channel.declare_queue()
    for number in range(4):
        channel.publish(f"{number}", key=queue)
    channel.consume(queue)
    for delivery in channel.deliveries(4)[:2]:
        channel.send(Basic.Ack(delivery.method.delivery_tag))
    channel.fence()
    channel.connection.close()
    channel = broker.channel()
    channel.consume(queue)
    channel.expect(message(Basic.Deliver, b"2"))
    channel.expect(message(Basic.Deliver, b"3"))
    channel.publish(b"sentinel", key=queue)
    channel.expect(message(Basic.Deliver, b"sentinel"))
