"""A turn: one event being answered, with what conditions, effects and answers may look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.amqp0_9_1.peer.entities import Exchange, Message, Queue, VirtualHost
from harness.amqp0_9_1.wire.compiled import Method

if TYPE_CHECKING:
    from harness.amqp0_9_1.peer import Peer
    from harness.amqp0_9_1.peer.driver import Channel, Connection
    from harness.amqp0_9_1.peer.policy import Policy
    from harness.amqp0_9_1.peer.rows import Row
    from harness.amqp0_9_1.peer.strategies import Strategies


@dataclass(frozen=True, slots=True)
class WithContent:
    """A method that carries a content: the message's, as it was received."""

    method: Method
    message: Message


Reply = Method | WithContent | None


@dataclass(slots=True)
class Publication:
    """A published content on its way to its exchange."""

    method: Any
    message: Message
    channel: Channel


class Turn:
    """One event, where it happened, and the row that was taken for it.

    `event` is a method or one of `peer.events`. `subject` is the thing a row of the life table is about,
    or the delivery a Get makes.
    """

    __slots__ = ("channel", "connection", "event", "peer", "policy", "row", "subject", "targets")

    def __init__(
        self, connection: Connection, channel: Channel | None, event: Any, subject: Any = None
    ) -> None:
        self.peer: Peer = connection.peer
        self.policy: Policy = self.peer.policy
        self.connection = connection
        self.channel: Any = channel
        self.event = event
        self.subject = subject
        self.row: Row | None = None
        self.targets: list[Queue] = []

    @property
    def host(self) -> VirtualHost:
        """The connection's virtual host."""
        return self.connection.host

    @property
    def strategies(self) -> Strategies:
        """The peer's algorithms."""
        return self.peer.tables.strategies

    @property
    def queue_name(self) -> str:
        """The queue the method names; blank stands for the one declared last on the channel."""
        name: str = self.event.queue or self.channel.current_queue
        return name

    @property
    def queue(self) -> Any:
        """That queue, or None."""
        return self.host.queues.get(self.queue_name)

    @property
    def exchange(self) -> Exchange | None:
        """The exchange the method names, or None; blank is the default exchange."""
        return self.host.exchanges.get(self.event.exchange)

    def note(self, what: str) -> None:
        """Put a line into the log."""
        self.peer.noted.append(f"connection {self.connection.number}: {what}")

    def about(self, event: Any, subject: Any = None) -> Turn:
        """A turn for something that happens in consequence of this one."""
        return Turn(self.connection, self.channel, event, subject)

    @property
    def failing(self) -> tuple[int, int]:
        """Class and index of the method that a Close blames; zeros where no method is to blame."""
        event = self.event
        method = event if isinstance(event, Method) else getattr(event, "method", None)
        if method is None and self.channel is not None:
            method = self.channel.publishing
        return (method.spec.class_index, method.spec.index) if method is not None else (0, 0)
