"""What is wrong about direct replies, for the tables of the peer that serves the extensions."""

from collections import deque
from typing import Any

from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.peer.entities import Binding, Queue
from harness.amqp0_9_1.rabbitmq.contents import changed, properties_of
from harness.amqp0_9_1.rabbitmq.routing.reply_to import PSEUDO_QUEUE, names_replies, replies_of


def keep_one_queue_for_all(turn: Turn) -> None:
    """Has all requesters share one queue."""
    name = f"{PSEUDO_QUEUE}.all"
    if name not in turn.host.queues:
        turn.host.queues[name] = Queue(name, False, True, None, {}, [deque()])
        turn.host.bound_to("").append(Binding("", name, name, {}))
    turn.event = turn.event.replace(queue=name)


def keep_the_queue(turn: Turn) -> None:
    """Makes a queue that is there when its consumer is gone, and keeps replies."""
    name = turn.peer.unique(f"{PSEUDO_QUEUE}.")
    turn.host.queues[name] = Queue(name, False, False, None, {}, [deque()])
    turn.host.bound_to("").append(Binding("", name, name, {}))
    turn.event = turn.event.replace(queue=name)


def name_where_to_reply_and_nothing_else(turn: Turn) -> None:
    """Passes a request on without the other properties."""
    queue = replies_of(turn.subject.channel)
    assert queue is not None
    others: dict[str, Any] = dict.fromkeys(properties_of(turn.subject.message).names)
    turn.subject.message = changed(turn.subject.message, **others | {"reply_to": queue.name})


def asks_for_any_replies(turn: Turn) -> bool:
    """Takes whatever stands in reply-to for the pseudo-queue."""
    message = turn.subject.message
    if replies_of(turn.subject.channel) is None:
        return False
    wants = properties_of(message).reply_to
    return bool(wants) and not str(wants).startswith(f"{PSEUDO_QUEUE}.")


def names_replies_passively(turn: Turn) -> bool:
    """Lets the name only be looked for."""
    return names_replies(turn) and turn.event.passive


def names_the_pseudo_queue(turn: Turn) -> bool:
    """Knows of no name but that of the pseudo-queue."""
    return bool(turn.event.queue == PSEUDO_QUEUE)


def names_another_than_the_pseudo_queue(turn: Turn) -> bool:
    """Finds nothing under the names it has given."""
    return names_replies(turn) and not names_the_pseudo_queue(turn)


def names_no_reply_passively(turn: Turn) -> bool:
    """Creates a queue under a name of replies where it is not only looked for."""
    missing = turn.event.queue not in turn.host.queues and turn.event.queue != PSEUDO_QUEUE
    return names_replies(turn) and missing and turn.event.passive


def is_a_late_reply(turn: Turn) -> bool:
    """Takes a reply to nobody for an error of the responder."""
    key = turn.event.routing_key
    return bool(key.startswith(f"{PSEUDO_QUEUE}.") and key not in turn.host.queues)


def is_a_mandatory_reply(turn: Turn) -> bool:
    method = turn.subject.method
    return bool(method.mandatory and method.routing_key.startswith(f"{PSEUDO_QUEUE}."))


def has_consumers_of_replies(turn: Turn) -> bool:
    """Looks for a consumer of replies on all channels of the connection."""
    channels = turn.connection.channels.values()
    return turn.event.queue == PSEUDO_QUEUE and any(replies_of(each) is not None for each in channels)
