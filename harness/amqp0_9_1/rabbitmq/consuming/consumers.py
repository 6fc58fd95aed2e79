"""Who gets a message: the higher priority, and of a queue with a single active consumer that one alone."""

from collections.abc import Iterable

from harness.amqp0_9_1.peer import strategies
from harness.amqp0_9_1.peer.entities import Connection, Consumer, Entry, Queue
from harness.amqp0_9_1.peer.events import ChannelState, QueueDeleted
from harness.amqp0_9_1.peer.life import orphan_consumer
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn, LifeRow, LifeTurn, meet_on_channel
from harness.amqp0_9_1.wire.vocabulary import ACCESS_REFUSED, PRECONDITION_FAILED, Basic

# -- consumers whose queue goes ------------------------------------------------------------------------


def told(connection: Connection, capability: str) -> bool:
    """Say whether the client of a connection told this capability as true."""
    capabilities = connection.properties.get("capabilities")
    return isinstance(capabilities, dict) and capabilities.get(capability) is True


def is_to_be_notified(turn: LifeTurn[QueueDeleted, Consumer]) -> bool:
    """Say whether the consumer's client understands a Cancel, and its channel is there to take it."""
    channel = turn.subject.channel
    return channel.delivers and told(channel.connection, "consumer_cancel_notify")


def notify(turn: LifeTurn[QueueDeleted, Consumer]) -> None:
    """Tell the client that its consumer is gone; it owes no answer."""
    channel = turn.subject.channel
    channel.connection.send(channel.number, Basic.Cancel(turn.subject.tag, no_wait=True))


# -- priorities ----------------------------------------------------------------------------------------


def priority(consumer: Consumer) -> int:
    """Give the priority of a consumer; without one it is zero."""
    given = consumer.arguments.get("x-priority", 0)
    return given if isinstance(given, int) else 0


def priority_is_no_integer(turn: ChannelTurn[Basic.Consume]) -> bool:
    given = turn.event.arguments.get("x-priority", 0)
    return isinstance(given, bool) or not isinstance(given, int)


def highest_in_turn(queue: Queue, entry: Entry, candidates: Iterable[Consumer]) -> Consumer | None:
    """Give the one whose turn it is among those of the highest priority.

    A queue with a single active consumer keeps its consumers in the order in which they came.
    """
    able = list(candidates)
    if has_a_single_active_consumer(queue):
        return able[0]
    highest = max(map(priority, able))
    return strategies.in_turn(queue, entry, [each for each in able if priority(each) == highest])


# -- a single active consumer --------------------------------------------------------------------------


def has_a_single_active_consumer(queue: Queue) -> bool:
    """Say whether the queue was declared to serve one consumer at a time; no policy asks for that."""
    return queue.arguments.get("x-single-active-consumer") is True


def is_quorum(queue: Queue) -> bool:
    """Say whether the queue was declared as a replicated one."""
    return queue.arguments.get("x-queue-type") == "quorum"


def active(queue: Queue) -> Consumer | None:
    """Give the only consumer to serve: the first that is there, of a quorum queue that of highest priority.

    While something is out to another one, nobody is served.
    """
    if not is_quorum(queue):
        return queue.consumers[0]
    highest = max(queue.consumers, key=priority)
    others = (each for each in queue.consumers if each is not highest)
    return None if any(each.window.messages for each in others) else highest


def is_active(consumer: Consumer) -> bool:
    """Say whether its queue serves a consumer, or only another one."""
    queue = consumer.queue
    return not has_a_single_active_consumer(queue) or active(queue) is consumer


def hears(consumer: Consumer) -> bool:
    """Say whether a consumer can be sent anything now, and is served at all."""
    return is_active(consumer) and strategies.hears(consumer)


def wants_to_be_alone_beside_others(turn: ChannelTurn[Basic.Consume]) -> bool:
    """Say whether exclusive access is asked for to a queue made for several consumers."""
    queue = turn.find_queue()
    return turn.event.exclusive and queue is not None and has_a_single_active_consumer(queue)


def overlooks_exclusive(turn: ChannelTurn[Basic.Consume]) -> bool:
    """Say whether exclusive access is asked for to a queue that knows none."""
    queue = turn.find_queue()
    return turn.event.exclusive and queue is not None and is_quorum(queue)


def consume_beside_others(turn: ChannelTurn[Basic.Consume]) -> None:
    """Let the other rows decide about the method as it is without exclusive."""
    turn.event = turn.event.replace(exclusive=False)
    meet_on_channel(turn)


_consume = Row("basic.consume", ChannelState.OPEN, Basic.Consume)
CONSUMERS = (
    _consume(
        "refuses a priority that is no integer", priority_is_no_integer, answer=refuse(PRECONDITION_FAILED)
    ),
    _consume(
        "refuses exclusive access to a queue with a single active consumer",
        wants_to_be_alone_beside_others,
        answer=refuse(ACCESS_REFUSED),
    ),
    _consume("a quorum queue does not look at exclusive", overlooks_exclusive, (consume_beside_others,)),
    LifeRow(
        "queue end: tells its consumers",
        Consumer,
        QueueDeleted,
        is_to_be_notified,
        (orphan_consumer, notify),
    ),
)
