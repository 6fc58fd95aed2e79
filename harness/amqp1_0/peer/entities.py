"""Nodes, sessions and links as the peer sees them: what the rows of the session table work on."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.amqp1_0.peer.events import LinkState, SessionState

if TYPE_CHECKING:
    from harness.amqp1_0.peer.driver import Connection


OVERHEAD = 256
"""Octets that a message costs beside its own."""


@dataclass(slots=True)
class Message:
    """A message as it was transferred: its format and its octets, which nobody looks into."""

    format: int
    octets: bytes


@dataclass(slots=True, eq=False)
class Node:
    """A place that messages are sent to and received from, in order."""

    name: str
    messages: deque[Message] = field(default_factory=deque)
    receivers: deque[Link] = field(default_factory=deque)


@dataclass(slots=True, eq=False)
class Link:
    """One attached link; `handle` is the client's for it and `number` ours."""

    session: Session
    handle: int
    number: int
    sends: bool = False
    """Whether the peer is the sender."""
    node: Node | None = None
    settles: bool = False
    """Whether what the peer sends is settled."""
    state: LinkState = LinkState.DETACHED
    credit: int = 0
    delivery_count: int = 0
    partial: bytearray = field(default_factory=bytearray)
    first: tuple[int, int, bool] | None = None
    """Delivery id, message format and settlement of the delivery that is arriving."""


@dataclass(slots=True, eq=False)
class Session:
    """One session; `number` is the client's channel for it and `channel` ours."""

    connection: Connection
    number: int
    channel: int = 0
    state: SessionState = SessionState.UNMAPPED
    next_incoming_id: int = 0
    next_outgoing_id: int = 0
    remote_window: int = 0
    """Transfers the client is ready to take."""
    links: dict[int, Link] = field(default_factory=dict)
    """By the client's handle."""
    unsettled: dict[int, tuple[Link, Message]] = field(default_factory=dict)
    """What the peer has sent, by delivery id."""

    def free_handle(self) -> int:
        """The lowest handle of ours that no link has."""
        taken = {each.number for each in self.links.values()}
        return next(number for number in range(len(taken) + 1) if number not in taken)


@dataclass(slots=True)
class Nodes:
    """All nodes of a peer, which come into being when a link names them."""

    most: int
    """How many there may be."""
    most_octets: int
    """Octets of all messages together, those that are arriving and those that are not settled included."""
    by_name: dict[str, Node] = field(default_factory=dict)
    octets: int = 0

    def named(self, name: str) -> Node | None:
        """The node of that name; None when there is no room for another one."""
        if name not in self.by_name and len(self.by_name) < self.most:
            self.by_name[name] = Node(name)
        return self.by_name.get(name)

    def keep(self, node: Node, message: Message) -> None:
        """Add a message at the end of a node. Its octets have been counted as they came."""
        self.octets += OVERHEAD
        node.messages.append(message)

    def drop(self, message: Message) -> None:
        """A message is done with."""
        self.octets -= len(message.octets) + OVERHEAD

    def clear(self) -> None:
        """Forget everything."""
        self.by_name.clear()
        self.octets = 0
