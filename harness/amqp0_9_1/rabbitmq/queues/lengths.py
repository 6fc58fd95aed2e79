"""Limits of queues: what is dropped, or turned away, when there would be too much."""

from harness.amqp0_9_1.peer.entities import Entry, Queue
from harness.amqp0_9_1.peer.events import Arriving, Lengthened, Shortened
from harness.amqp0_9_1.peer.turn import LifeRow, LifeTurn
from harness.amqp0_9_1.rabbitmq.arguments import asked
from harness.amqp0_9_1.rabbitmq.queues.dead_letters import dead


def octets(queue: Queue) -> int:
    """Count the octets of the bodies that are ready: neither properties nor anything else counts."""
    return sum(len(each.message.body) for each in queue)


def is_too_much(queue: Queue, messages: int, size: int) -> bool:
    """Say whether so many messages, or so many octets of bodies, are more than a queue may hold."""
    most, largest = asked(queue, "max-length"), asked(queue, "max-length-bytes")
    too_many = isinstance(most, int) and messages > most
    return too_many or (isinstance(largest, int) and size > largest)


def drops_its_head(queue: Queue) -> bool:
    return asked(queue, "overflow") in (None, "drop-head")


def has_too_much(turn: LifeTurn[Lengthened, Queue]) -> bool:
    queue = turn.subject
    return drops_its_head(queue) and is_too_much(queue, len(queue), octets(queue))


def drop_from_the_head(turn: LifeTurn[Lengthened, Queue]) -> None:
    """Drop the oldest messages until what is left is within the limits."""
    queue = turn.subject
    while len(queue) and is_too_much(queue, len(queue), octets(queue)):
        entry = next(iter(queue))
        queue.remove(entry)
        dead(turn, entry, "maxlen")
    turn.peer.meet(Queue, turn.about(Shortened(), queue))


def would_be_too_much(turn: LifeTurn[Arriving, Entry]) -> bool:
    queue = turn.subject.queue
    size = octets(queue) + len(turn.subject.message.body)
    return not drops_its_head(queue) and is_too_much(queue, len(queue) + 1, size)


def is_turned_away_for_another_queue(turn: LifeTurn[Arriving, Entry]) -> bool:
    return would_be_too_much(turn) and asked(turn.subject.queue, "overflow") == "reject-publish-dlx"


def turn_away(turn: LifeTurn[Arriving, Entry]) -> None:
    """Let the message join no queue, and remember it for who waits for a confirm."""
    turn.subject.turned_away = turn.subject.message.turned_away = True


def pass_on(turn: LifeTurn[Arriving, Entry]) -> None:
    dead(turn, turn.subject, "maxlen")


_arriving = LifeRow("limit", Entry, Arriving)
LENGTHS = (
    LifeRow("limit: drops the oldest", Queue, Lengthened, has_too_much, (drop_from_the_head,)),
    _arriving(
        "turns away what is too much, to another exchange",
        is_turned_away_for_another_queue,
        (turn_away, pass_on),
    ),
    _arriving("turns away what is too much", would_be_too_much, (turn_away,)),
)
