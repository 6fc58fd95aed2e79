"""Quorum queues: durable whatever a message says, with two priorities, and a limit for what comes back."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.amqp0_9_1.peer.entities import Delivery, Entry
from harness.amqp0_9_1.peer.entities import Queue as Entity
from harness.amqp0_9_1.peer.events import ChannelState, Requeued
from harness.amqp0_9_1.peer.life import mark_redelivered, prefer_original_client, put_back
from harness.amqp0_9_1.peer.policy import Level
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.strategies import in_order_of_arrival, two_levels
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn, LifeRow, LifeTurn, Tables
from harness.amqp0_9_1.rabbitmq.arguments import asked
from harness.amqp0_9_1.rabbitmq.contents import changed
from harness.amqp0_9_1.rabbitmq.queues.dead_letters import dead
from harness.amqp0_9_1.wire.vocabulary import NOT_IMPLEMENTED, PRECONDITION_FAILED, Basic, Queue
from harness.peers.events import Restarting

TYPE: Final = "x-queue-type"
COUNT: Final = "x-delivery-count"
"""The header that tells how often a message was delivered in vain."""
LIMIT: Final = 20
"""How often a message is redelivered where its queue does not say."""
SHARE: Final = 2
"""How many messages of the high priority go before one of the normal priority that waits."""


@dataclass(slots=True, eq=False)
class QuorumQueue(Entity):
    """A queue with messages of normal and of high priority; `favoured` high ones went since a normal one."""

    favoured: int = 0

    def __iter__(self) -> Iterator[Entry]:
        """Yield entries in the order they are due: a normal one in its turn, but no earlier than it came."""
        normal, high = (deque(level) for level in self.levels)
        favoured = self.favoured
        while normal or high:
            in_turn = bool(normal) and (not high or (favoured >= SHARE and normal[0].serial < high[0].serial))
            favoured = 0 if in_turn else favoured + 1
            yield (normal if in_turn else high).popleft()

    def remove(self, entry: Entry) -> None:
        self.favoured = self.favoured + 1 if entry in self.levels[1] else 0
        Entity.remove(self, entry)


def is_quorum(queue: Entity) -> bool:
    return isinstance(queue, QuorumQueue)


def in_its_level(queue: Entity, level: int, entry: Entry) -> None:
    """Put an entry where it belongs; a quorum queue has two levels, whatever others have."""
    in_order_of_arrival(queue, two_levels(entry.message.priority) if is_quorum(queue) else level, entry)


# -- declaring -----------------------------------------------------------------------------------------


def wants_one(turn: ChannelTurn[Queue.Declare]) -> bool:
    return not turn.event.passive and turn.event.arguments.get(TYPE) == "quorum"


def wants_it_transient(turn: ChannelTurn[Queue.Declare]) -> bool:
    return wants_one(turn) and not turn.event.durable


def wants_it_alone(turn: ChannelTurn[Queue.Declare]) -> bool:
    return wants_one(turn) and turn.event.exclusive


def wants_it_without_a_name(turn: ChannelTurn[Queue.Declare]) -> bool:
    return wants_one(turn) and not turn.event.queue


def make_it_one(turn: ChannelTurn[Queue.Declare]) -> None:
    """Make a quorum queue of the queue that was just made, if it is to be one."""
    made = turn.host.queues[turn.event.queue]
    if wants_one(turn):
        turn.host.queues[made.name] = QuorumQueue(
            made.name, made.durable, made.auto_delete, made.owner, made.arguments, [deque(), deque()]
        )


def making_quorum_queues(tables: Tables) -> Tables:
    """Let Declare make quorum queues, too."""
    row = tables["queue.declare: creates it"]
    made, *others = row.effects
    return tables.replacing(row.name, effects=(made, make_it_one, *others))


def is_limited_with_others(turn: ChannelTurn[Basic.Consume]) -> bool:
    """Say whether a quorum queue is to be consumed from under a limit for the whole channel."""
    queue = turn.find_queue()
    return queue is not None and is_quorum(queue) and turn.channel.window.limited


# -- what comes back -----------------------------------------------------------------------------------


def limit_of(queue: Entity) -> int | None:
    """Give how often a queue redelivers a message; None for ever."""
    limit = asked(queue, "delivery-limit")
    if not isinstance(limit, int):
        return LIMIT
    return None if limit < 0 else limit


def came_back_too_often(turn: LifeTurn[Requeued, Delivery]) -> bool:
    entry = turn.subject.entry
    limit = limit_of(entry.queue)
    return _comes_back(turn) and limit is not None and entry.deliveries > limit


def bury_what_came_back(turn: LifeTurn[Requeued, Delivery]) -> None:
    dead(turn, turn.subject.entry, "delivery_limit")


def _comes_back(turn: LifeTurn[Requeued, Delivery]) -> bool:
    queue = turn.subject.entry.queue
    return queue.alive and is_quorum(queue)


def comes_back_for_ever(turn: LifeTurn[Requeued, Delivery]) -> bool:
    return _comes_back(turn) and limit_of(turn.subject.entry.queue) is None


def count_it(turn: LifeTurn[Requeued, Delivery]) -> None:
    """Write on the message how often it was delivered in vain."""
    entry = turn.subject.entry
    entry.message = changed(entry.message, headers={**entry.message.headers, COUNT: entry.deliveries})


def go_behind_others(turn: LifeTurn[Requeued, Delivery]) -> None:
    """Let the message be the last one of its queue."""
    entry = turn.subject.entry
    entry.serial = entry.queue.arrived
    entry.queue.arrived += 1


def is_kept_anyway(turn: LifeTurn[Restarting, Entry]) -> bool:
    return is_quorum(turn.subject.queue)


_declare = Row("queue.declare", ChannelState.OPEN, Queue.Declare)
_requeue = LifeRow("requeue", Delivery, Requeued)
QUORUM = (
    _declare("refuses a transient quorum queue", wants_it_transient, answer=refuse(PRECONDITION_FAILED)),
    _declare("refuses an exclusive quorum queue", wants_it_alone, answer=refuse(PRECONDITION_FAILED)),
    _declare("refuses a nameless quorum queue", wants_it_without_a_name, answer=refuse(PRECONDITION_FAILED)),
    Row(
        "basic.consume: refuses a quorum queue under a limit of the channel",
        ChannelState.OPEN,
        Basic.Consume,
        is_limited_with_others,
        answer=refuse(NOT_IMPLEMENTED, Level.CHANNEL),
    ),
    _requeue("too often to a quorum queue is a death", came_back_too_often, (bury_what_came_back,)),
    _requeue(
        "to a quorum queue without a limit is behind others",
        comes_back_for_ever,
        (mark_redelivered, prefer_original_client, count_it, go_behind_others, put_back),
    ),
    _requeue(
        "to a quorum queue is counted",
        _comes_back,
        (mark_redelivered, prefer_original_client, count_it, put_back),
    ),
    LifeRow("restart: keeps all messages of quorum queues", Entry, Restarting, is_kept_anyway),
)
