"""Effects and conditions that are wrong about publisher confirms."""

from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.peer.tables.basic import route_now
from harness.amqp0_9_1.rabbitmq.publishing.confirms import confirmation
from harness.amqp0_9_1.rabbitmq.timing import later
from harness.amqp0_9_1.wire.vocabulary import Basic

CONFIRMED = "publication: is confirmed"
LATE = 0.05


def forget_the_count(turn: Turn) -> None:
    turn.channel.confirming, turn.channel.published = True, 0


def count_all_of_the_connection(turn: Turn) -> None:
    """Counts what is published on every channel of the connection together."""
    channels = turn.connection.channels.values()
    turn.subject.channel.published += 1
    turn.subject.number = sum(each.published for each in channels)


def count_from_zero(turn: Turn) -> None:
    turn.subject.number = turn.subject.channel.published
    turn.subject.channel.published += 1


def count_with_the_deliveries(turn: Turn) -> None:
    """Takes the number of a confirm from the tags of deliveries."""
    turn.subject.channel.last_tag += 1
    turn.subject.number = turn.subject.channel.last_tag


def confirm_already(turn: Turn) -> None:
    turn.say(confirmation(turn))


def refuse_already(turn: Turn) -> None:
    turn.say(Basic.Nack(turn.subject.number))


def confirm_for_each_queue(turn: Turn) -> None:
    for _ in turn.strategies.reached(turn.host, turn.subject.message, turn.strategies)[1:]:
        turn.say(confirmation(turn))


def route_late(turn: Turn) -> None:
    """Brings the message to its queues a while later."""
    later(turn, LATE, lambda _: route_now(turn))


def tell_of_ten_more(turn: Turn) -> None:
    """Confirms, with every tenth message, ten that may not have come."""
    number = turn.subject.number
    if number % 10 == 1:
        turn.say(Basic.Ack(number + 9, multiple=True))


def is_routable(turn: Turn) -> bool:
    reached = turn.strategies.reached(turn.host, turn.subject.message, turn.strategies)
    return bool(turn.subject.channel.confirming and reached)


def has_a_body(turn: Turn) -> bool:
    return bool(turn.subject.channel.confirming and turn.subject.message.body)


def publishes_anything(_: Turn) -> bool:
    return True


def nack_the_unroutable(turn: Turn) -> None:
    """Says of what no queue takes that it could not be taken."""
    if not is_routable(turn):
        turn.subject.message.turned_away = True


def nack_the_persistent(turn: Turn) -> None:
    turn.subject.message.turned_away = turn.subject.message.persistent
