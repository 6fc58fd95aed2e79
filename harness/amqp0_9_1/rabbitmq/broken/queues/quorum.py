"""What is wrong with quorum queues: their priorities, and what becomes of messages that come back."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness.amqp0_9_1.broken.loose import Effect, Turn
from harness.amqp0_9_1.peer.entities import Entry, Queue
from harness.amqp0_9_1.peer.strategies import in_order_of_arrival
from harness.amqp0_9_1.peer.tables.queue import becomes_current, bind_to_the_default_exchange, create_queue
from harness.amqp0_9_1.rabbitmq.queues.dead_letters import dead
from harness.amqp0_9_1.rabbitmq.queues.quorum import COUNT, SHARE, QuorumQueue, wants_one

Table = Mapping[str, Any]


def counts(change: Callable[[int], int]) -> Callable[[Table], Table]:
    """Give what changes the count of deliveries in headers that have one."""
    return lambda found: {**found, COUNT: change(found[COUNT])} if COUNT in found else found


def forget_it(_: Turn) -> None:
    """Drops what came back."""


def bury_it_as_rejected(turn: Turn) -> None:
    """Tells of a message that came back too often that it was rejected."""
    dead(turn, turn.subject.entry, "rejected")


def all_alike(queue: Queue, _: int, entry: Entry) -> None:
    """Puts every message where it arrived, whatever its priority."""
    in_order_of_arrival(queue, 0, entry)


def low_is_high(queue: Queue, _: int, entry: Entry) -> None:
    """Takes high priorities for normal ones, and the other way round."""
    in_order_of_arrival(queue, min(1 if entry.message.priority < 5 else 0, len(queue.levels) - 1), entry)


def from_on(first: int) -> Callable[[Queue, int, Entry], None]:
    """Give what takes priorities from this one on for high."""

    def place(queue: Queue, _: int, entry: Entry) -> None:
        high = entry.message.priority >= first
        in_order_of_arrival(queue, min(int(high), len(queue.levels) - 1), entry)

    return place


class Strict(QuorumQueue):
    """Prefers high priorities as long as there are any."""

    def __iter__(self) -> Iterator[Entry]:
        return Queue.__iter__(self)


class Alternating(QuorumQueue):
    """Gives a normal message its turn, also before high ones that came earlier."""

    def __iter__(self) -> Iterator[Entry]:
        normal, high = (deque(level) for level in self.levels)
        favoured = self.favoured
        while normal or high:
            in_turn = bool(normal) and (not high or favoured >= SHARE)
            favoured = 0 if in_turn else favoured + 1
            yield (normal if in_turn else high).popleft()


def _making(kind: type[QuorumQueue]) -> tuple[Effect, ...]:
    def make(turn: Turn) -> None:
        create_queue(turn)
        made = turn.host.queues[turn.event.queue]
        if wants_one(turn):
            turn.host.queues[made.name] = kind(
                made.name, made.durable, made.auto_delete, made.owner, made.arguments, [deque(), deque()]
            )

    return make, bind_to_the_default_exchange, becomes_current


WITHOUT_A_SHARE, IN_TURNS = _making(Strict), _making(Alternating)
"""Effects of Declare that make such queues."""
