"""The class queue: what its methods have in common."""

from typing import Any

from harness.amqp0_9_1.broken.deviations import changes
from harness.amqp0_9_1.broken.faults import current_everywhere
from harness.amqp0_9_1.client.outcomes import EXCEPTION, channel_closed, connection_closed, refused
from harness.amqp0_9_1.peer.tables.queue import bind_to_the_default_exchange, create_queue
from harness.amqp0_9_1.wire.vocabulary import NOT_FOUND, PRECONDITION_FAILED, SYNTAX_ERROR
from harness.play.expect import Outcome

CURRENT_EVERYWHERE = changes(
    "queue.declare: creates it", create_queue, bind_to_the_default_exchange, current_everywhere
)
"""Takes the queue declared last on any channel for that of every channel."""


def has_no_name(method: Any) -> bool:
    return not method.queue


def unknown_queue() -> tuple[Outcome, ...]:
    """Say what a method comes to that names no queue on a channel that has declared none."""
    syntax_error = channel_closed(SYNTAX_ERROR) | connection_closed(SYNTAX_ERROR)
    return *refused(NOT_FOUND), syntax_error.under("the domain queue-name speaks of 502 for a missing name")


def spared() -> tuple[Outcome, ...]:
    """Give what a Delete comes to that must not delete."""
    return *refused(PRECONDITION_FAILED), EXCEPTION.under(
        "only the on-failure names a code; MUST is the effect"
    )


def failed_unbind() -> Outcome:
    """Give what the rules of the fields prefer for an Unbind of something missing: 404 at either level."""
    # Its class makes 404 a channel exception, 0-9-1/queue.unbind.01 makes it one of the connection.
    return channel_closed(NOT_FOUND) | connection_closed(NOT_FOUND)
