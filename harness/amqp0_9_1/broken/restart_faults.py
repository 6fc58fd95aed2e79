"""Faults about what a server keeps over a restart, and what it brings back that was gone."""

from collections.abc import Callable

from harness.amqp0_9_1.broken.deviations import Fault
from harness.amqp0_9_1.broken.loose import Turn
from harness.amqp0_9_1.peer.entities import Delivery
from harness.amqp0_9_1.peer.tables.queue import find_binding
from harness.amqp0_9_1.peer.tables.tx import commit
from harness.amqp0_9_1.peer.turn import Tables

Undoing = Callable[[Turn], Callable[[], None]]
"""What has to be done to undo what a turn is about to do."""


def brings_back(row: str, undoing: Undoing) -> Fault:
    """Undoes with a restart what was done by a row: it had never reached the disk."""

    def change(tables: Tables) -> Tables:
        undone: list[Callable[[], None]] = []

        def remember(turn: Turn) -> None:
            undone.append(undoing(turn))

        def undo(_: Turn) -> None:
            while undone:
                undone.pop()()

        kept = tables.replacing(row, effects=(remember, *tables[row].effects))
        return kept.replacing("restart: keeps pre-declared exchanges", effects=(undo,))

    return Fault(change)


def queue_again(turn: Turn) -> Callable[[], None]:
    """Give what brings the deleted queue back."""
    queue, host = turn.queue, turn.host

    def undo() -> None:
        queue.alive = True
        host.queues[queue.name] = queue

    return undo


def exchange_again(turn: Turn) -> Callable[[], None]:
    """Give what brings the deleted exchange back."""
    exchange, host = turn.exchange, turn.host

    def undo() -> None:
        if exchange is not None:
            host.exchanges[exchange.name] = exchange

    return undo


def binding_again(turn: Turn) -> Callable[[], None]:
    """Give what brings the removed binding back."""
    binding, host = find_binding(turn), turn.host

    def undo() -> None:
        if binding is not None:
            host.bound_to(binding.exchange).append(binding)

    return undo


def forget_on_disk(turn: Turn) -> None:
    """Takes a message off the disk when it is delivered, before it is acknowledged."""
    turn.subject.entry.message.persistent = False


def forget_on_disk_what_was_got(turn: Turn) -> None:
    """Takes what Get has taken off the queue off the disk as well."""
    assert turn.delivery is not None
    turn.delivery.entry.message.persistent = False


def commit_in_memory(turn: Turn) -> None:
    """Commits publications, and puts none of them on the disk."""
    for each in turn.channel.transaction:
        if not isinstance(each, Delivery):
            each.message.persistent = False
    commit(turn)


def keep_in_memory_unless(kind: str) -> Callable[[Turn], None]:
    """Puts only what comes through exchanges of one type on the disk."""

    def forget(turn: Turn) -> None:
        exchange = turn.host.exchanges[turn.subject.method.exchange]
        turn.subject.message.persistent &= exchange.type == kind

    return forget
