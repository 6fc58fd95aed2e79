"""A turn: one event being answered, with what conditions, effects and answers may look at; and their rows.

A row's event and its state say what its turn is about: a `ChannelRow` for `Queue.Declare` has conditions,
effects and answers that take a `ChannelTurn[Queue.Declare]`, a `LifeRow` for `Queue` and `Restarting` such
that take a `LifeTurn[Restarting, Queue]`. Where no row is, nothing happens, but the last rows of connection
and channel refuse every method that is left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from harness.amqp0_9_1.peer.entities import (
    Channel,
    Connection,
    Delivery,
    Exchange,
    Message,
    Queue,
    Store,
    VirtualHost,
)
from harness.amqp0_9_1.peer.events import ChannelState, ConnectionState
from harness.amqp0_9_1.peer.policy import DEFAULT, Policy
from harness.amqp0_9_1.peer.routing import Matching
from harness.amqp0_9_1.peer.strategies import Strategies
from harness.amqp0_9_1.wire import vocabulary as words
from harness.amqp0_9_1.wire.compiled import Method
from harness.peers import events, rows
from harness.peers.reference import ReferencePeer
from spec.readers.amqp0_9_1 import grammar

OWN = grammar().methods.keys()
"""The methods that 0-9-1 itself has, by their full names."""
NOTED = 1000
"""Lines of its log that a peer remembers."""


@dataclass(frozen=True, slots=True)
class WithContent:
    """A method that carries a content: the message's, as it was received."""

    method: Method
    message: Message


Reply: TypeAlias = Method | WithContent | None
_CLOSES = (words.Channel.Close, words.Connection.Close)

UsesQueue: TypeAlias = (
    words.Queue.Bind
    | words.Queue.Unbind
    | words.Queue.Purge
    | words.Queue.Delete
    | words.Basic.Get
    | words.Basic.Consume
)
"""Methods that name a queue which must be there."""
NamesQueue: TypeAlias = UsesQueue | words.Queue.Declare
NamesExchange: TypeAlias = (
    words.Exchange.Declare
    | words.Exchange.Delete
    | words.Queue.Bind
    | words.Queue.Unbind
    | words.Basic.Publish
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What keeps a hostile client from exhausting the machine."""

    frame: int = 1 << 20
    """Octets of a frame where no frame-max was agreed upon."""
    content: int = 1 << 25
    """Octets of one content."""
    stored: int = 1 << 28
    """Octets of all messages together."""
    entities: int = 10_000
    """Queues or exchanges of a virtual host, bindings of an exchange, consumers of a queue or channel."""
    unread: int = 1 << 27
    """Octets said that a client leaves unread, beyond which it counts as gone."""


class Server(ReferencePeer[Policy, Strategies, Limits]):
    """The peer as rows see it: what all its connections share."""

    default = DEFAULT
    generous = Limits()

    def begin(self) -> None:
        """Make what its connections share."""
        self.permissions: dict[str, frozenset[str]] = {}
        """The virtual hosts a user may open, where that is not all of them."""
        self.store = Store(self.limits.stored)
        self.checks_names = self.policy.illegal_field_name != "accept"
        self.reads_contested_types = self.policy.contested_types == "read"
        self.alarm = False
        """Whether memory counts as exhausted, so that every queue is over its limit."""
        self.virtual_hosts: dict[str, VirtualHost] = {}
        self.nowhere = VirtualHost("")
        """Where connections are before they open a virtual host."""
        self.noted: deque[str] = deque(["the peer has started"], NOTED)
        """What a log may hold: how connections ended that were not closed by the hand-shake."""
        self.add_virtual_host("/")

    def add_virtual_host(self, name: str) -> None:
        """Make a virtual host with the pre-declared exchanges."""
        host = self.virtual_hosts.setdefault(name, VirtualHost(name))
        host.predeclare(self.policy.predeclared_durable, self.policy.headers_instances)

    def in_the_grammar(self, header: bytes) -> bytes:
        """Give a content header as the grammar has it, where this peer reads some letters otherwise."""
        return header

    def knows(self, method: type[Method]) -> bool:
        """Say whether it serves a method or refuses it by name; others are some products' only."""
        return method.full_name in OWN or self.policy.extensions == "serve"


E = TypeVar("E", covariant=True)
C = TypeVar("C", bound=Channel | None, covariant=True)
S = TypeVar("S", covariant=True)
E1 = TypeVar("E1")
S1 = TypeVar("S1")


class Turn(events.Turn[E], Generic[E, C, S]):
    """One event, where it happened, and what it is about.

    `event` is a method or one of `peer.events`, `channel` None where it concerns the connection. `subject`
    is the thing a row of the life table is about, None in other rows.
    """

    __slots__ = ("channel", "connection", "count", "delivery", "peer", "policy", "subject", "targets")

    def __init__(self, peer: Server, connection: Connection, channel: C, event: E, subject: S) -> None:
        self.event = event
        self.row = ""
        self.peer = peer
        self.policy = peer.policy
        self.connection = connection
        self.channel = channel
        self.subject = subject
        self.targets: Sequence[Queue] = ()
        """The queues a publication goes to."""
        self.delivery: Delivery | None = None
        """What Get has taken off its queue."""
        self.count = 0
        """How many messages were purged or deleted."""

    @property
    def host(self) -> VirtualHost:
        return self.connection.host

    @property
    def strategies(self) -> Strategies:
        """The peer's algorithms."""
        return self.peer.tables.strategies

    @property
    def queue_name(self: Turn[NamesQueue, Channel, object]) -> str:
        """The queue the method names; blank stands for the one declared last on the channel."""
        return self.event.queue or self.channel.current_queue

    @property
    def queue(self: Turn[NamesQueue, Channel, object]) -> Queue:
        """Give the queue of `queue_name`, which no earlier row has found missing. Raises KeyError."""
        return self.host.queues[self.queue_name]

    def find_queue(self: Turn[NamesQueue, Channel, object]) -> Queue | None:
        return self.host.queues.get(self.queue_name)

    @property
    def exchange(self: Turn[NamesExchange, Channel, object]) -> Exchange | None:
        """The exchange the method names, or None; blank is the default exchange."""
        return self.host.exchanges.get(self.event.exchange)

    def note(self, what: str) -> None:
        """Put a line into the log."""
        self.peer.noted.append(f"connection {self.connection.number}: {what}")

    def about(self, event: E1, subject: S1) -> Turn[E1, C, S1]:
        """Give a turn for something that happens to `subject` in consequence of this one."""
        return Turn(self.peer, self.connection, self.channel, event, subject)

    def on(self, channel: Channel) -> Turn[E, Channel, S]:
        """Give a turn for the same event on this channel, whichever connection it belongs to."""
        return Turn(self.peer, channel.connection, channel, self.event, self.subject)

    @property
    def failing(self) -> tuple[int, int]:
        """Class and index of the method that a Close blames; zeros where no method is to blame."""
        event = self.event
        method = event if isinstance(event, Method) else getattr(event, "method", None)
        if method is None and self.channel is not None:
            method = self.channel.publishing
        return (method.spec.class_index, method.spec.index) if method is not None else (0, 0)

    def say(self, reply: Reply) -> None:
        """Say what a row answers: nothing for a method with no-wait, unless it is an exception."""
        if reply is None:
            return
        number = self.channel.number if self.channel is not None else 0
        if isinstance(reply, WithContent):
            self.connection.send_content(number, reply.method, reply.message)
        elif isinstance(reply, _CLOSES) or not getattr(self.event, "no_wait", False):
            self.connection.send(number, reply)


ConnectionTurn: TypeAlias = Turn[E1, None, None]
ChannelTurn: TypeAlias = Turn[E1, Channel, None]
LifeTurn: TypeAlias = Turn[E1, Channel | None, S1]
AnyTurn: TypeAlias = Turn[object, Channel | None, object]


@dataclass(frozen=True)
class ConnectionRow(rows.Row[ConnectionState, E1, Turn[E1, None, None], Reply], Generic[E1]):
    """A row for what concerns the whole connection."""


@dataclass(frozen=True)
class ChannelRow(rows.Row[ChannelState, E1, Turn[E1, Channel, None], Reply], Generic[E1]):
    """A row for what happens on a channel."""


@dataclass(frozen=True)
class LifeRow(rows.Row[type[S1], E1, Turn[E1, Channel | None, S1], Reply], Generic[E1, S1]):
    """A row for what happens to a thing in consequence; its state is the class of the thing."""


@dataclass(frozen=True)
class Tables(rows.Tables[Strategies]):
    """All rows in the order they are tried, and the strategies they refer to."""

    strategies: Strategies = field(default_factory=Strategies)

    def routing(self, **types: Matching) -> Tables:
        """Give the tables with other routing for some exchange types (`direct=...`)."""
        return self.swapping(routing={**self.strategies.routing, **types})


def meet_on_channel(turn: Turn[object, Channel, None]) -> None:
    """Take the row for an event on a channel, and its next state."""
    channel, channels = turn.channel, turn.connection.channels
    row = turn.peer.meet(channel.state, turn)
    if row is not None and isinstance(row.next, ChannelState):
        channel.state = row.next
    if channel.state is ChannelState.UNOPENED:
        channels.pop(channel.number, None)
    else:
        channels[channel.number] = channel
