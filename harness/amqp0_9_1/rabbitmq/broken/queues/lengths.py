"""Conditions and effects that are wrong about the limits of queues."""

from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.peer.deliveries import enqueue
from harness.amqp0_9_1.rabbitmq.arguments import asked
from harness.amqp0_9_1.rabbitmq.queues.lengths import drops_its_head, is_too_much, octets, would_be_too_much

DROPS = "limit: drops the oldest"
TURNS_AWAY = "limit: turns away what is too much"
TURNS_AWAY_DEAD = "limit: turns away what is too much, to another exchange"


def drop_the_last(turn: Turn) -> None:
    """Drops what came last."""
    queue = turn.subject
    queue.remove(list(queue)[-1])


def one_more_fits(turn: Turn) -> bool:
    queue = turn.subject
    return drops_its_head(queue) and is_too_much(queue, len(queue) - 1, octets(queue))


def by_messages_alone(turn: Turn) -> bool:
    return drops_its_head(turn.subject) and is_too_much(turn.subject, len(turn.subject), 0)


def by_messages_alone_here(turn: Turn) -> bool:
    """Sees that there would be too many messages, whatever their size."""
    queue = turn.subject.queue
    return not drops_its_head(queue) and is_too_much(queue, len(queue) + 1, 0)


def by_octets_alone(turn: Turn) -> bool:
    return drops_its_head(turn.subject) and is_too_much(turn.subject, 0, octets(turn.subject))


def by_octets_of_all(turn: Turn) -> bool:
    """Counts content headers as well; only of what comes with more than one, so that one is dropped."""
    queue = turn.subject
    size = octets(queue) + sum(len(each.message.header) for each in queue)
    most = asked(queue, "max-length-bytes")
    if isinstance(most, int) and size > most and drops_its_head(queue):
        queue.remove(next(iter(queue)))
    return False


def by_ready_and_delivered(turn: Turn) -> bool:
    """Counts what is delivered as well."""
    queue = turn.subject
    if drops_its_head(queue) and is_too_much(queue, len(queue) + queue.unacknowledged, octets(queue)):
        queue.remove(next(iter(queue)))
    return False


def is_any_text(turn: Turn) -> bool:
    return "x-overflow" in turn.event.arguments


def drop_the_oldest_for_it(turn: Turn) -> None:
    """Makes room by dropping what is there."""
    queue = turn.subject.queue
    queue.remove(next(iter(queue)))


def forget_to_tell(turn: Turn) -> None:
    """Turns a message away, and nobody hears of it."""
    turn.subject.turned_away = True


def go_nowhere_if_one_is_full(turn: Turn) -> None:
    """Puts a message on no queue where one of them rejects it."""
    message = turn.subject.message
    full = [
        each
        for each in turn.targets
        if not drops_its_head(each) and is_too_much(each, len(each) + 1, octets(each) + len(message.body))
    ]
    for queue in full or turn.targets:
        enqueue(turn, queue, message)


def would_be_too_much_of_any(turn: Turn) -> bool:
    return would_be_too_much(turn)
