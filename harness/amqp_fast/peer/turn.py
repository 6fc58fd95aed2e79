"""A turn: one event being answered, with what conditions, effects and answers may look at; and their rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from harness.amqp_fast.peer.entities import Channel, Handle, Host, Partial
from harness.amqp_fast.peer.policy import DEFAULT, Policy
from harness.amqp_fast.peer.strategies import Strategies
from harness.amqp_fast.wire.commands import Command
from harness.peers import events, rows
from harness.peers.reference import ReferencePeer

if TYPE_CHECKING:
    from harness.amqp_fast.peer.driver import Connection

Reply: TypeAlias = tuple[Command, ...]
"""What a row answers, in order."""
Tables: TypeAlias = rows.Tables[Strategies]
HOME = "/"
"""The virtual path that everybody may open."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What keeps a hostile client from exhausting the machine; the first three are told in TUNE."""

    frame: int = 70_000
    """Octets of a frame, and of a fragment: more than the short form of a size can tell (209)."""
    channels: int = 32
    """Channels of one connection."""
    handles: int = 64
    """Handles of one connection."""
    transaction: int = 64
    """Messages that one transaction sends."""
    message: int = 1 << 24
    """Octets of one message."""
    stored: int = 1 << 26
    """Octets of all messages together."""
    queues: int = 10_000
    """Queues of one virtual host."""
    partial: int = 64
    """Messages held in parts; the oldest is forgotten for another."""
    listed: int = 60
    """Messages that one HANDLE INDEX lists."""
    handshake: int = 4096
    """Octets of a frame of the negotiation (3.2.3)."""
    unread: int = 1 << 24
    """Octets said that a client leaves unread, beyond which it counts as gone."""


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


@dataclass(frozen=True)
class Row(rows.Row[rows.State, E1, Turn[E1], Reply], Generic[E1]):
    """A row for what happens in a state of a connection, a channel or a handle."""


AnyTurn: TypeAlias = Turn[Any]
