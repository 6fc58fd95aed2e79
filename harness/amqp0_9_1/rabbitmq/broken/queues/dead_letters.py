"""What is wrong with dead letters: who gets them, under which key, and what they tell of their history."""

from collections.abc import Callable, Mapping
from typing import Any

from harness.amqp0_9_1.broken.content_faults import delivers, header_with, with_properties
from harness.amqp0_9_1.broken.deviations import Interposer, mends, spoils
from harness.amqp0_9_1.broken.loose import Effect, Turn
from harness.amqp0_9_1.peer.entities import Entry
from harness.amqp0_9_1.peer.life import put_back
from harness.amqp0_9_1.peer.tables.basic import acknowledge, named
from harness.amqp0_9_1.rabbitmq.contents import changed, properties_of
from harness.amqp0_9_1.rabbitmq.queues.dead_letters import bury_rejected, dead

Table = Mapping[str, Any]


def without(*names: str) -> Callable[[Table | None], Table]:
    """Give what takes entries out of a table."""
    return lambda table: {name: value for name, value in (table or {}).items() if name not in names}


def takes(**values: Any) -> Interposer:
    """Takes contents that have these properties as if they had other values of them; None takes one away."""
    present = header_with(**dict.fromkeys(values, lambda _: True))
    return mends(present, lambda frame: with_properties(frame, values))


def tells(**fields: Any) -> Interposer:
    """Sends letters with other values in the first table of x-death; None takes one away.

    A value may be a function of the old one. An underscore in a name stands for a dash.
    """

    def told(headers: Table) -> Table:
        first, *others = headers.get("x-death", [{}])
        for name, value in fields.items():
            key = name.replace("_", "-")
            if key in first:
                first = {**first, key: value(first[key]) if callable(value) else value}
        return {**headers, "x-death": [{k: v for k, v in first.items() if v is not None}, *others]}

    return delivers(header_with(headers=lambda found: "x-death" in found), headers=told)


def rewrites_history(change: Callable[[list[Table]], Any]) -> Interposer:
    """Sends letters with another x-death than they should have."""
    has_history = header_with(headers=lambda found: "x-death" in found)
    return delivers(has_history, headers=lambda found: {**found, "x-death": change(list(found["x-death"]))})


def letters(**values: Any) -> Interposer:
    """Sends letters with other values of these properties, also where they have none."""
    has_history = header_with(headers=lambda found: "x-death" in found)
    return spoils(has_history, lambda frame: with_properties(frame, values))


def drop_it(_: Turn) -> None:
    """Drops what died."""


def bury_a_copy(turn: Turn) -> None:
    """Buries what was rejected and puts it back."""
    bury_rejected(turn)
    put_back(turn)


def expire_a_copy(turn: Turn) -> None:
    """Buries what expires and leaves it where it is."""
    dead(turn, turn.subject, "expired")


def expire_with_a_short_memory(turn: Turn) -> None:
    """Sends what expires on as if it had not died elsewhere."""
    entry = turn.subject
    entry.queue.remove(entry)
    entry.message.deaths = ()
    dead(turn, entry, "expired")


def bury_what_was_consumed(turn: Turn) -> None:
    """Drops what died after a Get."""
    if turn.subject.consumer is not None:
        bury_rejected(turn)


def bury_what_was_acknowledged(turn: Turn) -> None:
    """Takes every end of a delivery for a death."""
    for delivery in named(turn):
        dead(turn, delivery.entry, "rejected")
    acknowledge(turn)


def expire_unseen(turn: Turn) -> None:
    """Drops what expires."""
    turn.subject.queue.remove(turn.subject)


def expire_as_if_rejected(turn: Turn) -> None:
    """Takes what expires for rejected, so that no cycle ends."""
    entry = turn.subject
    entry.queue.remove(entry)
    dead(turn, entry, "rejected")


def bury_once_in_each_queue(turn: Turn) -> None:
    """Drops what died in the same queue before, for whatever reason."""
    entry = turn.subject.entry
    if all(each["queue"] != entry.queue.name for each in entry.message.deaths):
        bury_rejected(turn)


def bury_unless_a_letter(turn: Turn) -> None:
    """Drops what died before."""
    if not turn.subject.entry.message.deaths:
        bury_rejected(turn)


def with_key(key: Callable[[Entry], str]) -> Effect:
    """Give what buries a message under another key of its own."""

    def bury(turn: Turn) -> None:
        entry = turn.subject.entry
        entry.message = changed(entry.message, entry.message.exchange, key(entry))
        bury_rejected(turn)

    return bury


def forgetting(deaths: Callable[[tuple[Table, ...]], tuple[Table, ...]]) -> Effect:
    """Give what buries a message with another history."""

    def bury(turn: Turn) -> None:
        message = turn.subject.entry.message
        message.deaths = deaths(message.deaths)
        bury_rejected(turn)

    return bury


def leave_its_expiration(turn: Turn) -> None:
    """Buries a message with the expiration that it had."""
    entry = turn.subject.entry
    expiration = properties_of(entry.message).expiration
    bury_rejected(turn)
    for queue in turn.host.queues.values():
        for each in queue:
            if each.message.deaths and each.message.body == entry.message.body:
                each.message = changed(each.message, expiration=expiration)
