"""What a server holds: messages, queues and topics of its virtual hosts, consumers, connections, their parts.

They know nothing of octets: what goes over the wire, the driver's connection says.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.amqp_fast.peer.events import ChannelState, ConnectionState, HandleState
from harness.amqp_fast.peer.limits import Limits
from harness.amqp_fast.peer.policy import Policy
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.tables import Table
from harness.amqp_fast.wire.vocabulary import Handle as Said
from harness.amqp_fast.wire.vocabulary import MessageHead
from harness.peers import connection


@dataclass(slots=True, eq=False)
class Message:
    """A message: its header as octets and as read, its body, and who sent it (a connection's number)."""

    header: bytes
    head: MessageHead
    body: bytes
    sender: int = 0

    @property
    def octets(self) -> bytes:
        """Header and body, as they are cut into fragments."""
        return self.header + self.body


@dataclass(slots=True, eq=False)
class Stored:
    """A message in a queue, with the ID it has there; `passed_over` is the consumer who gave it back.

    `seen_by` are the connections that it was delivered to, and came back from.
    """

    message: Message
    id: int
    seen_by: list[Connection] = field(default_factory=list)
    passed_over: Consumer | None = None

    def is_redelivered(self, connection: Connection) -> bool:
        """Say whether a connection is told that it has been delivered before (2165)."""
        match connection.policy.redelivered:
            case "to anybody":
                return bool(self.seen_by)
            case "to the connection":
                return connection in self.seen_by
            case "to the client":
                return any(each.is_of_the_client_of(connection) for each in self.seen_by)


@dataclass(slots=True, eq=False)
class Delivery:
    """A message sent to a client by a consumer; `number` is that of its channel."""

    number: int
    stored: Stored
    consumer: Consumer
    acknowledged: bool = False


@dataclass(slots=True, eq=False)
class Queue:
    """A queue: messages in the order they came. `owner` is the connection that made a dynamic one."""

    name: bytes
    owner: int = 0
    messages: deque[Stored] = field(default_factory=deque)
    consumers: list[Consumer] = field(default_factory=list)
    exclusive: bool = False
    ids: int = 0

    def store(self, message: Message) -> None:
        """Keep a message behind all others."""
        self.messages.append(Stored(message, self.ids))
        self.ids += 1

    def put_back(self, stored: Stored) -> None:
        """Give a message its place again, by its ID."""
        behind = [each for each in self.messages if each.id < stored.id]
        self.messages.insert(len(behind), stored)


@dataclass(slots=True, eq=False)
class Consumer:
    """What HANDLE CONSUME made: it takes from a queue, its own one where it subscribes to a `topic`."""

    handle: Handle
    queue: Queue
    prefetch: int
    no_ack: bool
    no_local: bool
    selector: Table
    topic: bytes = b""
    outstanding: int = 0

    @property
    def free(self) -> bool:
        """Whether it may be sent another message."""
        channel = self.handle.channel
        open_ = self.handle.state is HandleState.OPEN and channel.state is ChannelState.OPEN
        window = self.no_ack or self.outstanding < self.prefetch
        return open_ and window and not self.handle.paused and channel.waits_for is None


@dataclass(slots=True, eq=False)
class Assembly:
    """A message of which fragments are still to come: the octets so far."""

    octets: bytearray


@dataclass(slots=True, eq=False)
class Handle:
    """A handle of a channel; `command` is what opened it."""

    channel: Channel
    command: Said.Open
    state: HandleState = HandleState.OPEN
    paused: bool = False
    consumers: list[Consumer] = field(default_factory=list)
    asked: bytes = b""
    """The destination it asked about last."""
    prepared: Partial | None = None
    """What it prepared, and has not been sent yet."""

    @property
    def id(self) -> int:
        """Its number on the connection."""
        return self.command.handle_id


@dataclass(slots=True, eq=False)
class Partial:
    """A message that is held in parts, by its header; `sha1` is what its body should hash to, if told."""

    header: bytes
    body: bytearray = field(default_factory=bytearray)
    sha1: bytes = b""


@dataclass(slots=True, eq=False)
class Outgoing:
    """A delivery that was prepared (3.5.12), and waits for HANDLE READY."""

    delivery: Delivery
    header: bytes
    body: bytes


@dataclass(slots=True, eq=False)
class Channel:
    """A channel: what is delivered on it and not acknowledged, and the transaction that is open.

    `number` is that of the next message on it.
    """

    connection: Connection
    id: int
    transacted: bool = False
    restartable: bool = False
    number: int = 0
    state: ChannelState = ChannelState.OPEN
    handles: dict[int, Handle] = field(default_factory=dict)
    unacknowledged: list[Delivery] = field(default_factory=list)
    assembly: Assembly | None = None
    assembling: Handle | None = None
    sent: list[tuple[int, bytes, Message]] = field(default_factory=list)
    """What the open transaction has sent: service type, destination, message."""
    waits_for: Outgoing | None = None

    def take_number(self) -> int:
        """Give the next message the number it has on this channel."""
        self.number += 1
        return self.number - 1


class Host:
    """A virtual host: its queues, and who subscribes to its topics."""

    def __init__(self) -> None:
        self.queues: dict[bytes, Queue] = {}
        self.subscribers: list[Consumer] = []

    def to_topic(self, name: bytes) -> Iterator[Consumer]:
        """Give those who subscribe to a topic."""
        return (each for each in self.subscribers if each.topic == name)


class Connection(connection.Connection):
    """What rows see of a connection: how far it is, what was agreed upon, its channels and handles.

    `limits` are those that hold for its client; `challenges` are those that are still to come.
    """

    def __init__(self, now: float, number: int, policy: Policy, limits: Limits) -> None:
        super().__init__(now, number)
        self.state = ConnectionState.START
        self.host: Host | None = None
        self.client_name = b""
        self.policy = policy
        self.limits = limits
        self.challenges = policy.challenges
        self.frame_max = limits.frame
        """The largest frame and fragment that the client takes."""
        self.channels: dict[int, Channel] = {}
        self.handles: dict[int, Handle] = {}
        self.heartbeat = policy.heartbeat
        """Seconds of the heartbeat that the client is asked for."""
        self.pings = False
        """Whether the client sends heartbeats."""
        self.asked = False
        """Whether the client has been asked to show that it is there."""

    def is_of_the_client_of(self, other: Connection) -> bool:
        """Say whether it is one client's with another: the same, or of one name (1111)."""
        return self is other or self.client_name == other.client_name != b""

    @abstractmethod
    def say(self, command: Command, fragment: bytes = b"") -> None:
        """Say a command, with a fragment of a message behind it."""

    @abstractmethod
    def pause(self, seconds: float) -> None:
        """Let Waited happen after so many seconds from now, whenever that is told."""

    @abstractmethod
    def end(self) -> None:
        """End our stream."""
