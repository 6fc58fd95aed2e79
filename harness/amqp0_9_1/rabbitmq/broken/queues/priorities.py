"""Strategies and conditions that are wrong about priorities."""

from harness.amqp0_9_1.broken.deviations import Fault
from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.peer.entities import Entry, Queue
from harness.amqp0_9_1.peer.policy import PRIORITIES
from harness.amqp0_9_1.peer.strategies import in_order_of_arrival
from harness.amqp0_9_1.peer.turn import Tables
from harness.amqp0_9_1.rabbitmq.contents import properties_of
from harness.amqp0_9_1.rabbitmq.queues.declare import LEGAL


def lowest_first(_: int, priority: int) -> int:
    return max(0, 5 - priority)


def too_high_is_lowest(_: int, priority: int) -> int:
    return priority if priority < 10 else 0


def first_comes_last(queue: Queue, level: int, entry: Entry) -> None:
    """Puts what came last first within its priority, on queues with priorities."""
    if len(queue.levels) > 1:
        queue.levels[level].appendleft(entry)
    else:
        in_order_of_arrival(queue, level, entry)


def none_is_highest(queue: Queue, level: int, entry: Entry) -> None:
    none = properties_of(entry.message).priority is None
    in_order_of_arrival(queue, len(queue.levels) - 1 if none else level, entry)


def all_alike(queue: Queue, _: int, entry: Entry) -> None:
    in_order_of_arrival(queue, 0, entry)


def in_reverse(queue: Queue, level: int, entry: Entry) -> None:
    """Puts what has a priority behind what has less, where a queue asked for none."""
    entries = list(queue)
    if len(queue.levels) > 1:
        in_order_of_arrival(queue, level, entry)
    else:
        entries.append(entry)
        queue.levels[0].clear()
        queue.levels[0].extend(sorted(entries, key=lambda each: each.message.priority))


def up_to_two_hundred(turn: Turn) -> bool:
    value = turn.event.arguments.get(PRIORITIES, 0)
    return not LEGAL[PRIORITIES](value) or value > 200


of_no_queue = Fault(lambda tables: _placing(tables, all_alike))
of_every_queue = Fault(lambda tables: _placing(tables, in_reverse))


def _placing(tables: Tables, place: object) -> Tables:
    return tables.swapping(place=place)
