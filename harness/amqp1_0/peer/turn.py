"""A turn: one event being answered, with what conditions, effects and answers may look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from harness.amqp1_0.peer.strategies import Strategies
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import Frame
from harness.peers import rows
from harness.wire.units import Header

if TYPE_CHECKING:
    from harness.amqp1_0.peer import Peer
    from harness.amqp1_0.peer.driver import Connection
    from harness.amqp1_0.peer.entities import Link, Session
    from harness.amqp1_0.peer.policy import Policy

Said: TypeAlias = Composite | Frame | Header
Reply: TypeAlias = tuple[Said, ...]
"""What a row answers, in order."""


class Turn:
    """One event, where it happened, and the row that was taken for it.

    `event` is a performative or one of `peer.events`, `channel` that of the frame, `payload` what followed
    the performative. `session` and `link` are set where the event is about one.
    """

    __slots__ = ("channel", "connection", "event", "link", "payload", "peer", "policy", "row", "session")

    def __init__(
        self,
        connection: Connection,
        event: Any,
        channel: int = 0,
        payload: bytes = b"",
        session: Session | None = None,
        link: Link | None = None,
    ) -> None:
        self.peer: Peer = connection.peer
        self.policy: Policy = connection.peer.policy
        self.connection = connection
        self.event: Any = event
        self.channel = channel
        self.payload = payload
        self.session: Any = session
        self.link: Any = link
        self.row: Row | None = None

    def about(self, event: Any) -> Turn:
        """A turn for something that happens in consequence of this one, in the same place."""
        return Turn(self.connection, event, self.channel, self.payload, self.session, self.link)


Row: TypeAlias = rows.Row[Turn, Reply]
Tables: TypeAlias = rows.Tables[Turn, Reply, Strategies]
