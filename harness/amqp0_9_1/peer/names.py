"""Conditions on the names a method carries, shared by the tables of all classes."""

import re
from collections.abc import Callable, Collection
from typing import TypeVar

from harness.amqp0_9_1.peer.events import ChannelState
from harness.amqp0_9_1.peer.refusals import refuse, refuse_by
from harness.amqp0_9_1.peer.turn import AnyTurn, ChannelTurn, NamesExchange, NamesQueue, Reply, UsesQueue
from harness.amqp0_9_1.peer.turn import ChannelRow as Row
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, RESOURCE_LOCKED, Queue

Used = TypeVar("Used", bound=UsesQueue)
Taken = TypeVar("Taken")

_NAME = re.compile(r"[a-zA-Z0-9\-_.:]*")


def has_name_syntax(name: str, limit: int) -> bool:
    """Say whether a name is letters, digits, - _ . : and at most `limit` octets (prose/4.2.5.3)."""
    return len(name) <= limit and _NAME.fullmatch(name) is not None


def is_reserved(name: str) -> bool:
    return name.startswith("amq.")


def first_free(prefix: str, taken: Collection[str]) -> str:
    """Give the first free name of this prefix and a number from zero on."""
    names = (f"{prefix}{number}" for number in range(len(taken) + 1))
    return next(each for each in names if each not in taken)


def generate_name(turn: ChannelTurn[Queue.Declare]) -> None:
    """Make a unique name for a queue without one, by the policy one that is free (default-name)."""
    free = turn.policy.queue_names == "free"
    name = first_free("amq.gen-", turn.host.queues) if free else turn.peer.unique("amq.gen-")
    turn.event = turn.event.replace(queue=name)


def exchange_is_missing(turn: ChannelTurn[NamesExchange]) -> bool:
    return turn.exchange is None


def default_exchange_is_kept(turn: ChannelTurn[Queue.Unbind]) -> bool:
    return not turn.event.exchange and turn.policy.default_unbind != "serve"


def no_queue_is_named(turn: ChannelTurn[NamesQueue]) -> bool:
    """Say whether the name is blank and no queue was declared on this channel."""
    return not turn.queue_name


def queue_is_missing(turn: ChannelTurn[NamesQueue]) -> bool:
    return turn.find_queue() is None


def queue_is_locked(turn: ChannelTurn[NamesQueue]) -> bool:
    """Say whether the queue is exclusive to another connection that is still open."""
    queue = turn.find_queue()
    return queue is not None and queue.exclusive and queue.owner is not turn.connection


def use_of_a_queue(
    event: type[Used],
    unknown: Callable[[AnyTurn], Reply] | None = None,
    missing: Callable[[AnyTurn], Reply] | None = None,
    locked: Callable[[AnyTurn], Reply] | None = None,
) -> tuple[Row[Used], Row[Used], Row[Used]]:
    """Give the three refusals every method has that uses a queue by name."""
    used = Row(event.full_name, ChannelState.OPEN, event)
    return (
        used(
            "refuses a blank name with no queue declared",
            no_queue_is_named,
            answer=unknown or refuse_by(lambda policy: policy.current_queue_unknown),
        ),
        used("refuses a queue that does not exist", queue_is_missing, answer=missing or refuse(NOT_FOUND)),
        used(
            "refuses a queue locked by another connection",
            queue_is_locked,
            answer=locked or refuse(RESOURCE_LOCKED),
        ),
    )


def both(one: Callable[[Taken], bool], other: Callable[[Taken], bool]) -> Callable[[Taken], bool]:
    """Join two conditions."""
    return lambda turn: one(turn) and other(turn)
