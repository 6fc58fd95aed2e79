"""Time-to-live: of messages, by their queue or by themselves, and of queues that nobody uses."""

from collections.abc import Callable
from typing import cast

from harness.amqp0_9_1.peer.entities import Delivery, Entry, Queue
from harness.amqp0_9_1.peer.events import (
    Arriving,
    ChannelState,
    ConsumerGone,
    ContentHeaderReceived,
    Requeued,
    Shortened,
)
from harness.amqp0_9_1.peer.life import delete_queue
from harness.amqp0_9_1.peer.refusals import refuse
from harness.amqp0_9_1.peer.turn import AnyTurn, ChannelRow, ChannelTurn, LifeRow, LifeTurn, Tables
from harness.amqp0_9_1.rabbitmq.arguments import asked
from harness.amqp0_9_1.rabbitmq.contents import properties_of
from harness.amqp0_9_1.rabbitmq.policy import Policy
from harness.amqp0_9_1.rabbitmq.queues.dead_letters import dead
from harness.amqp0_9_1.rabbitmq.timing import later
from harness.amqp0_9_1.wire import vocabulary as words
from harness.peers.events import Event


class TimeUp(Event):
    """The time of a message is over, or that of a queue may be."""


# -- of messages ---------------------------------------------------------------------------------------


def is_time(text: str) -> bool:
    """Say whether an expiration is a number of milliseconds, zero or more."""
    return text.isascii() and text.isdigit()


def expiration_is_no_time(turn: ChannelTurn[ContentHeaderReceived]) -> bool:
    properties = turn.event.properties
    expiration = getattr(properties, "expiration", None)
    return expiration is not None and not is_time(expiration)


def time_to_live(entry: Entry) -> float | None:
    """Give the seconds a message has on its queue, the lower of the queue's and its own; None for ever."""
    of_queue, own = asked(entry.queue, "message-ttl"), properties_of(entry.message).expiration
    limits = [of_queue] if isinstance(of_queue, int) else []
    limits += [int(own)] if own is not None and is_time(own) else []
    return min(limits) / 1000 if limits else None


def lives_for_a_time(turn: LifeTurn[Arriving, Entry]) -> bool:
    return time_to_live(turn.subject) is not None


def set_its_time(turn: LifeTurn[Arriving, Entry]) -> None:
    """Give a message the time that it has."""
    dies_in(turn, turn.subject, time_to_live(turn.subject))


def dies_in(turn: AnyTurn, entry: Entry, seconds: float | None) -> None:
    """Remember that a message is dead in so many seconds, and look at it then; with None it never is."""
    if seconds is not None:
        entry.expires = later(turn, seconds, _time_is_up_for(entry))


def _time_is_up_for(subject: Entry | Queue) -> Callable[[AnyTurn], None]:
    def look(turn: AnyTurn) -> None:
        turn.peer.meet(type(subject), turn.about(TimeUp(), subject))

    return look


def is_dead(turn: AnyTurn, entry: Entry) -> bool:
    """Say whether the time of a message is over."""
    return entry.expires is not None and entry.expires <= turn.peer.clock()


def head(queue: Queue) -> Entry | None:
    """Give the message that is due first."""
    return next(iter(queue), None)


def is_dead_at_the_head(turn: LifeTurn[TimeUp, Entry]) -> bool:
    return is_dead(turn, turn.subject) and head(turn.subject.queue) is turn.subject


def is_dead_behind_others(turn: LifeTurn[TimeUp, Entry]) -> bool:
    return is_dead(turn, turn.subject) and any(each is turn.subject for each in turn.subject.queue)


def is_dead_and_goes_at_once(turn: LifeTurn[TimeUp, Entry]) -> bool:
    return cast(Policy, turn.policy).expired == "at once" and is_dead_behind_others(turn)


def expire(turn: LifeTurn[TimeUp, Entry]) -> None:
    """Take a message off its queue, dead."""
    entry = turn.subject
    entry.queue.remove(entry)
    dead(turn, entry, "expired")
    turn.peer.meet(Queue, turn.about(Shortened(), entry.queue))


def keep_from_everybody(turn: LifeTurn[TimeUp, Entry]) -> None:
    turn.subject.held_back = True


def head_is_dead(turn: LifeTurn[Shortened, Queue]) -> bool:
    entry = head(turn.subject)
    return entry is not None and is_dead(turn, entry)


def expire_what_is_dead_at_the_head(turn: LifeTurn[Shortened, Queue]) -> None:
    queue = turn.subject
    while (entry := head(queue)) is not None and is_dead(turn, entry):
        queue.remove(entry)
        dead(turn, entry, "expired")
    turn.peer.meet(Queue, turn.about(Shortened(), queue))


def is_put_back_too_late(turn: LifeTurn[Requeued, Delivery]) -> bool:
    entry = turn.subject.entry
    return entry.queue.alive and is_dead(turn, entry)


def expire_what_was_put_back(turn: LifeTurn[Requeued, Delivery]) -> None:
    dead(turn, turn.subject.entry, "expired")


_time_up = LifeRow("time-to-live", Entry, TimeUp)
_MESSAGES = (
    ChannelRow(
        "content: refuses an expiration that is no time",
        ChannelState.EXPECT_CONTENT_HEADER,
        ContentHeaderReceived,
        expiration_is_no_time,
        answer=refuse(words.PRECONDITION_FAILED),
    ),
    LifeRow(
        "time-to-live: begins when it joins its queue", Entry, Arriving, lives_for_a_time, (set_its_time,)
    ),
    _time_up("what is dead at the head goes", is_dead_at_the_head, (expire,)),
    _time_up("what is dead goes at once", is_dead_and_goes_at_once, (expire,)),
    _time_up("what is dead behind others is nobody's", is_dead_behind_others, (keep_from_everybody,)),
    LifeRow(
        "time-to-live: what is dead goes when it comes to the head",
        Queue,
        Shortened,
        head_is_dead,
        (expire_what_is_dead_at_the_head,),
    ),
    LifeRow(
        "time-to-live: what is put back too late goes",
        Delivery,
        Requeued,
        is_put_back_too_late,
        (expire_what_was_put_back,),
    ),
)

# -- of queues -----------------------------------------------------------------------------------------


def leased_for(queue: Queue) -> float | None:
    """Give the seconds a queue stays unused; None for ever."""
    milliseconds = asked(queue, "expires")
    return milliseconds / 1000 if isinstance(milliseconds, int) else None


def renew(turn: ChannelTurn[words.Queue.Declare | words.Basic.Get]) -> None:
    """Let the time of the queue that the method names begin again."""
    _renew(turn, turn.queue)


def renew_its_lease(turn: LifeTurn[ConsumerGone, Queue]) -> None:
    _renew(turn, turn.subject)


def _renew(turn: AnyTurn, queue: Queue) -> None:
    queue.used = turn.peer.clock()
    if (seconds := leased_for(queue)) is not None:
        later(turn, seconds, _time_is_up_for(queue))


def has_a_lease_and_lost_its_last(turn: LifeTurn[ConsumerGone, Queue]) -> bool:
    queue = turn.subject
    return not queue.auto_delete and not queue.consumers and leased_for(queue) is not None


def was_not_used(turn: LifeTurn[TimeUp, Queue]) -> bool:
    """Say whether a queue has no consumers, and nobody asked for it for as long as its lease is."""
    queue, seconds = turn.subject, leased_for(turn.subject)
    if not queue.alive or queue.consumers or seconds is None:
        return False
    return turn.peer.clock() >= queue.used + seconds


def lose_its_messages(turn: LifeTurn[TimeUp, Queue]) -> None:
    """Drop what waits in a queue, which is no death of messages (rabbitmq/dlx.expired-queue)."""
    for level in turn.subject.levels:
        level.clear()


_QUEUES = (
    LifeRow(
        "lease: begins when the last consumer is gone",
        Queue,
        ConsumerGone,
        has_a_lease_and_lost_its_last,
        (renew_its_lease,),
    ),
    LifeRow(
        "lease: what was not used is deleted", Queue, TimeUp, was_not_used, (lose_its_messages, delete_queue)
    ),
)
EXPIRY = (*_MESSAGES, *_QUEUES)
_USES = (
    "queue.declare: confirms the same again",
    "queue.declare: creates one with a generated name",
    "queue.declare: creates it",
    "basic.get: answers that the queue is empty",
    "basic.get: without acknowledgement",
    "basic.get: awaits acknowledgement",
)


def renewing(tables: Tables) -> Tables:
    """Let the rows by which a queue is used renew its lease."""
    for name in _USES:
        tables = tables.replacing(name, effects=(*tables[name].effects, renew))
    return tables
