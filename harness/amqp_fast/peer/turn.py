"""A turn: one event being answered, with what conditions, effects and answers may look at; and their rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

from harness.amqp_fast.peer.entities import Channel, Connection, Handle, Host, Partial
from harness.amqp_fast.peer.limits import Limits
from harness.amqp_fast.peer.policy import DEFAULT, Policy
from harness.amqp_fast.peer.strategies import Strategies
from harness.amqp_fast.wire.commands import Command
from harness.peers import events, rows
from harness.peers.reference import ReferencePeer

Reply: TypeAlias = tuple[Command, ...]
"""What a row answers, in order."""
Tables: TypeAlias = rows.Tables[Strategies]
HOME = "/"
"""The virtual path that everybody may open."""


class Server(ReferencePeer[Policy, Strategies, Limits]):
    """The peer as rows see it: what all its connections share."""

    default = DEFAULT
    generous = Limits()

    def begin(self) -> None:
        """Make what its connections share."""
        self.hosts: dict[bytes, Host] = {HOME.encode(): Host()}
        self.configured: set[bytes] = set()
        """Queues that somebody has configured: they are there after a restart, too."""
        self.restricted: set[str] = set()
        """Users who may use no other virtual host than that of everybody."""
        self.active: dict[bytes, Connection] = {}
        """The connection of each client that is there, by its name (1112)."""
        self.impatient: set[str] = set()
        """Users who are asked for a heartbeat that one can wait for."""
        self.unlimited: set[str] = set()
        """Users who have no limit to channels, handles and transactions."""
        self.partial: dict[bytes, Partial] = {}
        """Messages held in parts, by their headers (3.5.12)."""
        self.stored = 0
        """Octets of all messages."""

    def today(self) -> float:
        """Give the time of day, in seconds since 1970: what messages expire by."""
        return time.time()

    def connections(self) -> Iterator[Connection]:
        """Give the connections that are not over, in the order they came."""
        return (each for each in self.open_connections() if isinstance(each, Connection))

    def host(self, path: bytes) -> Host | None:
        """Find a virtual host by its path; the empty path is that of everybody."""
        return self.hosts.get(path or HOME.encode())


E = TypeVar("E", covariant=True)


class Turn(events.Turn[E], Generic[E]):
    """One event, where it happened, and the row that was taken for it.

    `event` is a command or one of `peer.events`. `channel` and `handle` are set where the event is about one
    that is there; `fragment` is what followed a command.
    """

    __slots__ = ("channel", "connection", "fragment", "handle", "peer", "policy")
    channel: Channel
    handle: Handle

    def __init__(self, peer: Server, connection: Connection, event: E, fragment: bytes = b"") -> None:
        self.event = event
        self.row = ""
        self.peer = peer
        self.policy = peer.policy
        self.connection = connection
        self.fragment = fragment

    def say(self, reply: Reply) -> None:
        """Say what a row answers."""
        for each in reply:
            self.connection.say(each)


E1 = TypeVar("E1")


class Confirmable(Protocol):
    """A command that asks for a confirmation where its tag is not zero (3.3.8, 3.5.14)."""

    @property
    def confirm_tag(self) -> int: ...


class Carrying(Protocol):
    """A command with a fragment of a message behind it."""

    @property
    def fragment_size(self) -> int: ...


@dataclass(frozen=True)
class Row(rows.Row[rows.State, E1, Turn[E1], Reply], Generic[E1]):
    """A row for what happens in a state of a connection, a channel or a handle."""


AnyTurn: TypeAlias = Turn[object]
