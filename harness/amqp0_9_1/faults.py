"""Strategies that are wrong, to be swapped into the reference peer: what no table row can express."""

from __future__ import annotations

from harness.amqp0_9_1.peer.entities import Entry, Exchange, Message, Queue
from harness.amqp0_9_1.peer.routing import Matching


def queue_per_binding(exchange: Exchange, message: Message, matches: Matching) -> list[Queue]:
    """Finds a queue once for each of its bindings that match."""
    return [each.queue for each in exchange.bindings if matches(each, message)]


def persistent_first(queue: Queue, level: int, entry: Entry) -> None:
    """Puts persistent messages before transient ones of the same priority."""
    entries = queue.levels[level]
    if entry.message.persistent:
        entries.insert(0, entry)
    else:
        entries.append(entry)
