"""Nodes, and connections with their sessions and links: what rows work on.

They know nothing of octets: what goes over the wire, the driver's connection says.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from dataclasses import dataclass, field
from typing import TypeAlias

from harness.amqp1_0.peer.events import ConnectionState, LinkState, SaslState, SessionState
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import Frame
from harness.amqp1_0.wire.performatives import (
    MIN_MAX_FRAME_SIZE,
    Disposition,
    Open,
    ReceiverSettleMode,
    SenderSettleMode,
    Transfer,
)
from harness.amqp1_0.wire.serial import Serial
from harness.peers import connection
from harness.wire.units import Header

Said: TypeAlias = Composite | Frame | Header

ZERO = Serial(0)
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
    gone: bool = False
    """Whether it was removed: what comes back to it is lost."""


@dataclass(slots=True, eq=False)
class Delivery:
    """A delivery that is not settled, or still arriving, with what both sides have said of it (2.6.12)."""

    link: Link
    id: Serial
    tag: bytes
    format: int
    settled: bool = False
    """Whether the sender has settled it."""
    octets: bytearray = field(default_factory=bytearray)
    message: Message | None = None
    """What was sent, where the peer is the sender."""
    state: object = None
    """What the receiver has said of it (2.6.12)."""


Key: TypeAlias = tuple[str, bool, str]
"""What a link is known by: container and role of the client, and its name (2.6.1)."""


@dataclass(slots=True, eq=False)
class Link:
    """One link; `handle` is the client's for it and `number` ours."""

    session: Session
    handle: int
    number: int
    key: Key | None = None
    """Set while the peer keeps the link under its name."""
    sends: bool = False
    """Whether the peer is the sender."""
    node: Node | None = None
    largest: int | None = None
    """Octets of a message that the client takes, where it says so (2.7.3)."""
    sender_mode: int = SenderSettleMode.MIXED
    receiver_mode: int = ReceiverSettleMode.FIRST
    state: LinkState = LinkState.DETACHED
    credit: int = 0
    initial_delivery_count: Serial = ZERO
    delivery_count: Serial = ZERO
    drain: bool = False
    arriving: Delivery | None = None
    """The delivery of which more is to come."""
    ignoring: bool = False
    """Whether what arrives belongs to a resumed delivery that the peer knows nothing of."""
    outlives: bool = False
    """Whether its terminus outlives the session: it never expires, as the attach has asked."""
    kept: dict[bytes, Delivery] = field(default_factory=dict)
    """Deliveries by tag that are unsettled and have no delivery-id until they are resumed (2.6.13)."""
    due: deque[Delivery] = field(default_factory=deque)
    """Those of them that the peer has to resume."""
    taking: Delivery | None = None
    """The one of them that the client is resuming, of which more is to come."""
    only_resumes: bool = False
    """Whether an unsettled map of the client or of ours was incomplete: no new delivery comes or goes."""


@dataclass(slots=True)
class Piece:
    """A transfer that waits for the client's window, and its payload."""

    link: Link
    transfer: Transfer
    payload: bytes


@dataclass(slots=True, eq=False)
class Session:
    """One session; `number` is the client's channel for it and `channel` ours; with the state of 2.5.6."""

    connection: Connection
    number: int
    channel: int = 0
    state: SessionState = SessionState.UNMAPPED
    next_incoming_id: Serial = ZERO
    incoming_window: int = 0
    initial_outgoing_id: Serial = ZERO
    next_outgoing_id: Serial = ZERO
    next_delivery_id: Serial = ZERO
    remote_incoming_window: int = 0
    """Transfers the client is ready to take."""
    handle_max: int = 0
    """The highest handle the client accepts."""
    links: dict[int, Link] = field(default_factory=dict)
    """By the client's handle."""
    outbox: deque[Piece] = field(default_factory=deque)
    unsettled: dict[int, Delivery] = field(default_factory=dict)
    """What the peer has sent, by delivery-id, also on links that are detached but not closed."""
    received: dict[int, Delivery] = field(default_factory=dict)
    """What the client has sent and not settled, by delivery-id."""
    gathered: list[Disposition] = field(default_factory=list)
    """What is to be said of deliveries of the client in a moment."""
    suspended: list[Link] = field(default_factory=list)
    """Links that are detached and not closed."""
    errant: set[str] = field(default_factory=set)
    """Names of links that were detached with an error, and not closed by the client since (2.6.5)."""

    def free_handle(self) -> int:
        """Give the lowest handle of ours that no link has."""
        taken = {each.number for each in self.links.values()}
        return next(number for number in range(len(taken) + 1) if number not in taken)


class Connection(connection.Connection):
    """One connection as rows see it: its state, what the client's open states, and what can be done."""

    def __init__(self, now: float, number: int) -> None:
        super().__init__(now, number)
        self.state: ConnectionState | SaslState = ConnectionState.START
        self.reads_on = True
        """Whether what comes behind the end of our stream is read, and dropped, or meets a reset."""
        self.header = b""
        """The protocol header that came last."""
        self.partner: Open | None = None
        self.sessions: dict[int, Session] = {}
        """By the client's channel."""
        self.frame_max = MIN_MAX_FRAME_SIZE

    @abstractmethod
    def go(self, state: ConnectionState | SaslState, by: object = None) -> None:
        """Come into another state by an event, and do there what the document has a peer do by itself."""

    @abstractmethod
    def end_stream(self, how: str) -> None:
        """End our stream: "fin" or "rst"."""

    @abstractmethod
    def stand_by_our_open(self) -> None:
        """Hold to our limits from here on: the client may know them."""

    @abstractmethod
    def take_limits(self, theirs: Open) -> None:
        """Keep within what the client's open states."""

    @abstractmethod
    def gather(self) -> None:
        """Let OutcomesDue happen to the sessions in a moment, unless it will."""

    @abstractmethod
    def say(self, said: Said, channel: int = 0, payload: bytes = b"") -> None:
        """Say something, if there is a row for saying it in this state."""

    @abstractmethod
    def say_on(
        self, session: Session, said: Composite, link: Link | None = None, payload: bytes = b""
    ) -> None:
        """Say something on a session, and of a link of it, if there are rows for that in their states."""

    @abstractmethod
    def meet_frame(self, frame: Frame) -> None:
        """Meet what a frame holds, taking it for one of this layer whatever its type."""


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
        if name not in self.by_name and len(self.by_name) < self.most:
            self.by_name[name] = Node(name)
        return self.by_name.get(name)

    def keep(self, node: Node, message: Message) -> None:
        """Add a message at the end of a node. Its octets have been counted as they came."""
        self.octets += OVERHEAD
        node.messages.append(message)

    def drop(self, message: Message) -> None:
        """Forget a message that is done with."""
        self.octets -= len(message.octets) + OVERHEAD

    def remove(self, name: str) -> Node | None:
        """Remove a node with its messages, if it is there, and give it."""
        node = self.by_name.pop(name, None)
        if node is not None:
            node.gone = True
            while node.messages:
                self.drop(node.messages.popleft())
        return node

    def clear(self) -> None:
        self.by_name.clear()
        self.octets = 0
