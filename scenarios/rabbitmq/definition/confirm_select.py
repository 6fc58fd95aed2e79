"""confirm.select: what is published is confirmed."""

from harness.amqp0_9_1.broken.deviations import answers, changes, ignores, repeats, withholds
from harness.amqp0_9_1.client.broker import Broker
from harness.amqp0_9_1.client.outcomes import message
from harness.amqp0_9_1.peer.tables.basic import route_now
from harness.amqp0_9_1.rabbitmq.broken.publishing.confirms import (
    CONFIRMED,
    confirm_already,
    has_a_body,
    is_routable,
    route_late,
)
from harness.amqp0_9_1.rabbitmq.publishing.confirms import count_it
from harness.amqp0_9_1.wire.vocabulary import Basic, Channel, Confirm
from scenarios.registry import broken_by, scenario

BODIES = (b"", b"short", b"long" * 2000)
MANY = 60
QUEUES = 3


@scenario("rabbitmq/confirm.select.all-messages-acknowledged")
@broken_by("knows no confirms", ignores(Confirm.Select))
@broken_by("answers and confirms nothing", answers(Confirm.Select, Confirm.SelectOk()))
@broken_by("forgets one", withholds(Basic.Ack, skip=MANY - 1))
@broken_by("confirms one twice", repeats(Basic.Ack, skip=MANY - 2))
@broken_by("confirms what some queue takes", changes(CONFIRMED, condition=is_routable))
@broken_by("confirms what has a body", changes(CONFIRMED, condition=has_a_body))
def every_message_is_confirmed(broker: Broker) -> None:
    """Of many messages, to a queue and to none, empty, short and long ones, each is confirmed, and once."""
    channel = broker.channel()
    queue, nowhere = channel.declare_queue(), broker.name("queue")
    channel.confirming()
    for number in range(MANY):
        channel.publish(BODIES[number % len(BODIES)], key=queue if number % 2 else nowhere)
    channel.confirmed(MANY)
    channel.stays_quiet()


@scenario("rabbitmq/confirm.select.all-queues")
@broken_by("confirms what it has yet to route", changes(CONFIRMED, count_it, route_late))
@broken_by("loses what it confirms", changes(CONFIRMED, count_it))
@broken_by("answers and confirms nothing", answers(Confirm.Select, Confirm.SelectOk()))
def message_is_in_all_its_queues_when_it_is_confirmed(broker: Broker) -> None:
    """Whenever a message to three queues is confirmed, another connection finds it in each of them."""
    channel, other = broker.channel(), broker.channel(new_connection=True)
    exchange = channel.declare_exchange("fanout")
    queues = [channel.declare_queue(durable=bool(number % 2)) for number in range(QUEUES)]
    for queue in queues:
        channel.bind(queue, exchange)
    channel.confirming()
    for number in range(1, 6):
        channel.publish(f"{number}", exchange=exchange, delivery_mode=1 + number % 2)
        channel.confirmed(number, number)
        for queue in queues:
            other.gets(queue, f"{number}".encode())


@scenario("rabbitmq/confirm.select.unroutable-messages")
@broken_by(
    "confirms before it returns", changes(CONFIRMED, count_it, confirm_already, route_now, answer=None)
)
@broken_by("returns nothing", withholds(Basic.Return))
@broken_by("confirms what some queue takes", changes(CONFIRMED, condition=is_routable))
@broken_by("closes the channel", answers(Basic.Publish, Channel.Close(404, "no queue", 60, 40)))
def message_is_returned_before_it_is_confirmed(broker: Broker) -> None:
    """What is mandatory and goes to no queue is returned, and then confirmed."""
    channel = broker.channel()
    exchange = channel.declare_exchange("fanout")
    channel.confirming()
    for number in range(1, 4):
        channel.publish(f"{number}", exchange=exchange, mandatory=True)
        channel.expect(message(Basic.Return, f"{number}".encode()))
        channel.confirmed(number, number)
