"""Conditions and effects that are wrong about time-to-live."""

from collections.abc import Callable

from harness.amqp0_9_1.broken.deviations import Fault
from harness.amqp0_9_1.broken.loose import Condition, Effect, Turn
from harness.amqp0_9_1.peer.entities import Delivery, Entry
from harness.amqp0_9_1.peer.life import put_back
from harness.amqp0_9_1.peer.turn import Tables
from harness.amqp0_9_1.rabbitmq.arguments import asked
from harness.amqp0_9_1.rabbitmq.contents import properties_of
from harness.amqp0_9_1.rabbitmq.queues.expiry import dies_in, expire, leased_for, time_to_live, was_not_used

BEGINS = "time-to-live: begins when it joins its queue"


def _of_queue(entry: Entry) -> float | None:
    milliseconds = asked(entry.queue, "message-ttl")
    return milliseconds / 1000 if isinstance(milliseconds, int) else None


def _own(entry: Entry) -> float | None:
    expiration = properties_of(entry.message).expiration
    return int(expiration) / 1000 if expiration else None


def _dies(chosen: Callable[[Entry], float | None]) -> Effect:
    return lambda turn: dies_in(turn, turn.subject, chosen(turn.subject))


def _either(first: float | None, second: float | None) -> float | None:
    return second if first is None else first


by_its_queue_alone = _dies(_of_queue)
by_itself_alone = _dies(_own)
by_its_queue_first = _dies(lambda entry: _either(_of_queue(entry), _own(entry)))
by_itself_first = _dies(lambda entry: _either(_own(entry), _of_queue(entry)))
in_seconds = _dies(lambda entry: 1000 * (time_to_live(entry) or 0.0))
zero_is_no_limit = _dies(lambda entry: time_to_live(entry) or None)
at_once = _dies(lambda _: 0.0)


def not_of_fanout(turn: Turn) -> None:
    """Gives no time to what came by an exchange of type fanout."""
    if not turn.subject.message.exchange:
        dies_in(turn, turn.subject, time_to_live(turn.subject))


def everywhere_with_the_first(turn: Turn) -> None:
    """Takes a message off all its queues when it is dead in one of them."""
    entry = turn.subject
    for queue in turn.host.queues.values():
        for each in [other for other in queue if other.message is entry.message and other is not entry]:
            queue.remove(each)
    expire(turn)


def turn_away_what_has_no_time(turn: Turn) -> None:
    """Discards what has a time-to-live of zero, whoever is there to take it."""
    seconds = time_to_live(turn.subject)
    turn.subject.turned_away = seconds == 0
    dies_in(turn, turn.subject, seconds)


def leave_it(_: Turn) -> None:
    """Leaves what is dead where it is, for everybody to have."""


def expire_and_lose(turn: Turn) -> None:
    """Takes what is dead off its queue, for nobody to have."""
    turn.subject.queue.remove(turn.subject)


def live_anew(turn: Turn) -> None:
    """Puts back what is dead, with all its time before it again."""
    delivery: Delivery = turn.subject
    dies_in(turn, delivery.entry, time_to_live(delivery.entry))
    put_back(turn)


def is_no_number(name: str) -> Condition:
    """Sees that an argument is there and is a text, and takes every number."""
    return lambda turn: not isinstance(turn.event.arguments.get(name, 0), int)


def is_no_number_or_negative(name: str) -> Condition:
    """Sees that an argument is there and is a text or below zero, and takes every other number."""
    return lambda turn: is_no_number(name)(turn) or turn.event.arguments.get(name, 0) < 0


# -- of queues -----------------------------------------------------------------------------------------


def time_is_over(turn: Turn) -> bool:
    """Sees when a queue was used last, and not whether it has consumers."""
    queue, seconds = turn.subject, leased_for(turn.subject)
    return seconds is not None and turn.peer.clock() >= queue.used + seconds


def is_empty_and_was_not_used(turn: Turn) -> bool:
    return not len(turn.subject) and was_not_used(turn)


def has_nothing(turn: Turn) -> bool:
    """Sees that a queue has neither consumers nor messages, whenever it was used."""
    return not turn.subject.consumers


def not_renewed_by(*names: str) -> Fault:
    """Does not count some uses of a queue: those rows end without what they do last."""

    def change(tables: Tables) -> Tables:
        for name in names:
            tables = tables.replacing(name, effects=tables[name].effects[:-1])
        return tables

    return Fault(change)
