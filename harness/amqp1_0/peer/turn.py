"""A turn: one event being answered, with what conditions, effects and answers may look at; and their rows.

A row's event and its state say what its turn is about: a `LinkRow` for `Transfer` has conditions, effects and
answers that take a `LinkTurn[Transfer]`, which has a session and a link.
"""

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from harness.amqp1_0.peer.entities import Connection, Key, Link, Nodes, Said, Session
from harness.amqp1_0.peer.events import ConnectionState, LinkState, SaslState, SessionState
from harness.amqp1_0.peer.policy import DEFAULT, Policy
from harness.amqp1_0.peer.strategies import Strategies
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.performatives import Close, Open
from harness.peers import events, rows
from harness.peers.reference import ReferencePeer

Reply: TypeAlias = tuple[Said, ...]
"""What a row answers, in order."""
Tables: TypeAlias = rows.Tables[Strategies]
WHOLE_CONNECTION = (Open, Close)
"""What concerns the connection, wherever it is said."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What keeps a hostile client from exhausting the machine."""

    frame: int = 1 << 20
    """Octets of a frame where our open states no limit."""
    content: int = 1 << 24
    """Octets of one message."""
    stored: int = 1 << 27
    """Octets of all messages together."""
    nodes: int = 10_000
    """Nodes of the peer."""
    sessions: int = 256
    """Sessions of one connection."""
    links: int = 256
    """Links of one session."""
    unsettled: int = 1024
    """Deliveries of a client on one session that wait for it to settle, beyond which it gets no credit."""
    termini: int = 64
    """Links that outlive their sessions; the oldest is forgotten for another."""
    address: int = 1024
    """Characters of an address."""
    unread: int = 1 << 24
    """Octets said that a client leaves unread, beyond which it counts as gone."""


class Server(ReferencePeer[Policy, Strategies, Limits]):
    """The peer as rows see it: what all its connections share."""

    default = DEFAULT
    generous = Limits()

    def begin(self) -> None:
        """Make what its connections share."""
        self.restricted: set[str] = set()
        """Users who may open connections and sessions, but attach to no node."""
        self.absent: set[str] = set()
        """Addresses that name nothing, and make nothing."""
        self.removable: set[str] = set()
        """Addresses of the nodes that somebody will remove."""
        self.alarm = False
        """Whether no messages can be taken."""
        self.nodes = Nodes(self.limits.nodes, self.limits.stored)
        self.termini: dict[Key, Link] = {}
        """Links by their names, attached or suspended (2.6.1)."""
        self.outliving: list[Link] = []
        """Links whose sessions have ended, and that can be resumed (2.6.13)."""


E = TypeVar("E", covariant=True)
S = TypeVar("S", bound=Session | None, covariant=True)
L = TypeVar("L", bound=Link | None, covariant=True)
E1 = TypeVar("E1")


class Turn(events.Turn[E], Generic[E, S, L]):
    """One event, where it happened, and the row that was taken for it.

    `event` is a performative or one of `peer.events`, `channel` that of the frame, `payload` what followed
    the performative. `session` and `link` are set where the event is about one.
    """

    __slots__ = ("channel", "connection", "link", "payload", "peer", "policy", "session")

    def __init__(
        self,
        peer: Server,
        connection: Connection,
        event: E,
        channel: int,
        payload: bytes,
        session: S,
        link: L,
    ) -> None:
        self.event = event
        self.row = ""
        self.peer = peer
        self.policy = peer.policy
        self.connection = connection
        self.channel = channel
        self.payload = payload
        self.session = session
        self.link = link

    def say(self, reply: Reply) -> None:
        """Say what a row answers: on the session's channel, but for what concerns the connection."""
        session: Session | None = self.session
        for said in reply:
            if session is None or isinstance(said, WHOLE_CONNECTION):
                self.connection.say(said)
            elif isinstance(said, Composite):
                self.connection.say_on(session, said, self.link)
            else:
                self.connection.say(said, session.channel)


ConnectionTurn: TypeAlias = Turn[E1, None, None]
SessionTurn: TypeAlias = Turn[E1, Session, None]
LinkTurn: TypeAlias = Turn[E1, Session, Link]
AnyTurn: TypeAlias = Turn[object, Session | None, Link | None]


@dataclass(frozen=True)
class ConnectionRow(rows.Row[ConnectionState | SaslState, E1, Turn[E1, None, None], Reply], Generic[E1]):
    """A row for what concerns the whole connection."""


@dataclass(frozen=True)
class SessionRow(rows.Row[SessionState, E1, Turn[E1, Session, None], Reply], Generic[E1]):
    """A row for what happens on a session, but for what is about a link that is there."""


@dataclass(frozen=True)
class LinkRow(rows.Row[LinkState, E1, Turn[E1, Session, Link], Reply], Generic[E1]):
    """A row for what happens on a link."""
