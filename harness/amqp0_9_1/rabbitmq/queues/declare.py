"""Arguments of Declare whose values are looked at before a queue is made."""

from collections.abc import Callable, Mapping
from typing import Final

from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.peer.policy import PRIORITIES
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.tables import queue
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.peer.turn import ChannelTurn, Tables
from harness.amqp0_9_1.wire.vocabulary import PRECONDITION_FAILED, Queue

HIGHEST = 255
"""The highest priority that a queue can be declared with."""
LONGEST_NAME = 255
"""Octets that the name of a queue may have; a short string has no more."""
OVERFLOWS = ("drop-head", "reject-publish", "reject-publish-dlx")


def _number(lowest: int, highest: int | None = None) -> Callable[[object], bool]:
    def fits(value: object) -> bool:
        # In Python a truth value is a number.
        return type(value) is int and lowest <= value and (highest is None or value <= highest)

    return fits


LEGAL: Final[Mapping[str, Callable[[object], bool]]] = {
    "x-message-ttl": _number(0),
    "x-expires": _number(1),
    "x-max-length": _number(0),
    "x-max-length-bytes": _number(0),
    "x-overflow": lambda value: value in OVERFLOWS,
    PRIORITIES: _number(0, HIGHEST),
    "x-quorum-initial-group-size": _number(1),
    "x-dead-letter-exchange": lambda value: isinstance(value, str),
    "x-dead-letter-routing-key": lambda value: isinstance(value, str),
}
"""By the name of an argument which values it may have."""


def is_illegal(name: str) -> Callable[[ChannelTurn[Queue.Declare]], bool]:
    """Make a condition: this argument is there, with a value that it may not have."""

    def condition(turn: ChannelTurn[Queue.Declare]) -> bool:
        arguments = {} if turn.event.passive else turn.event.arguments
        return name in arguments and not LEGAL[name](arguments[name])

    return condition


def name_is_illegal(turn: ChannelTurn[Queue.Declare]) -> bool:
    """Say whether the policy wants the names of 0-9-1, and this is none."""
    return turn.policy.name_limit < LONGEST_NAME and queue.name_is_illegal(turn)


DECLARE = tuple(
    Row(
        f"queue.declare: refuses a wrong {name}",
        ChannelState.OPEN,
        Queue.Declare,
        is_illegal(name),
        answer=refuse(PRECONDITION_FAILED),
    )
    for name in LEGAL
)


def naming(tables: Tables) -> Tables:
    """Let queues have every name of UTF-8."""
    return tables.replacing("queue.declare: refuses an illegal name", condition=name_is_illegal)


def every_priority(_: int, priority: int) -> int:
    """Give every priority a level of its own; of a queue with fewer the highest is for all above it."""
    return priority
