"""validated-user-id: a message names the user who has published it, or nobody."""

from harness.amqp0_9_1.broken.content_faults import bare, delivers, is_header, with_properties
from harness.amqp0_9_1.broken.deviations import changes, drops, ignores, spoils
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import EXCEPTION, channel_closed, message
from harness.amqp0_9_1.rabbitmq.broken.connections.logins import (
    carries_a_name,
    is_another_and_not_empty,
    is_another_of_the_same_length,
)
from harness.amqp0_9_1.wire.frames import Frame
from harness.amqp0_9_1.wire.vocabulary import PRECONDITION_FAILED, Basic
from harness.wire.sasl import mechanism
from scenarios.registry import broken_by, scenario

CHECKED = "content header: refuses another user's name"


def signed(frame: Frame) -> Frame:
    """Give the content header with a name in it."""
    return with_properties(frame, {"user_id": "guest"})


def user_of(broker: Broker) -> str:
    """Give the name that connections are opened with. Raises Inapplicable where there is none."""
    if not mechanism(broker.endpoint.mechanism).by_password:
        broker.inapplicable("the connection is opened without a user name")
    return broker.endpoint.user


@scenario("rabbitmq/validated-user-id.own-name")
@broken_by("takes no name", changes(CHECKED, condition=carries_a_name))
@broken_by("removes it", bare(Basic.Deliver))
@broken_by("writes another", delivers(behind=Basic.Deliver, user_id=lambda old: old and old.upper()))
def own_name_comes_to_the_consumer(broker: Broker) -> None:
    """What is published with the user's own name is delivered with it."""
    channel = broker.channel()
    user, queue = user_of(broker), channel.declare_queue()
    channel.consume(queue, no_ack=True)
    channel.publish("signed", key=queue, user_id=user)
    channel.expect(message(Basic.Deliver, b"signed", carrying={"user_id": user}))


@scenario("rabbitmq/validated-user-id.another-name")
@broken_by("checks nothing", drops(CHECKED))
@broken_by("drops it in silence", ignores(Basic.Publish))
@broken_by("looks at the length", changes(CHECKED, condition=is_another_of_the_same_length))
@broken_by("takes the empty one", changes(CHECKED, condition=is_another_and_not_empty))
def another_name_is_refused(broker: Broker) -> None:
    """What is published with another name is refused, and not in the queue."""
    user = user_of(broker)
    queue = broker.channel().declare_queue()
    for name in (f"not-{user}", "", user[:-1] + ("x" if user[-1:] != "x" else "y")):
        channel = broker.channel()
        channel.publish("forged", key=queue, user_id=name)
        channel.expect(
            channel_closed(PRECONDITION_FAILED), EXCEPTION.under("the guide names no code, nor a level")
        )
        found = broker.channel().depth(queue)
        broker.judge("nothing in the queue", f"{found} messages", not found)


@scenario("rabbitmq/validated-user-id.no-name")
@broken_by("signs what is not signed", spoils(is_header, signed, Basic.Deliver))
@broken_by("wants a name", changes(CHECKED, condition=lambda turn: not carries_a_name(turn)))
def no_name_stays_none(broker: Broker) -> None:
    """What is published without a name is delivered without one."""
    channel = broker.channel()
    queue = channel.declare_queue()
    channel.consume(queue, no_ack=True)
    channel.publish("unsigned", key=queue, content_type="text/plain")
    channel.expect(message(Basic.Deliver, b"unsigned", carrying={"user_id": None}))
