"""What a virtual host holds: exchanges, queues, bindings, messages; and the clients, by their channels.

They know nothing of frames: what goes over the wire, the driver's connection says.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import InitVar, dataclass, field

from harness.amqp0_9_1.peer.events import ChannelState, ConnectionState, ContentHeaderReceived
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.field_tables import Table
from harness.amqp0_9_1.wire.vocabulary import FRAME_MIN_SIZE, Basic
from harness.peers import connection

DEAD_LETTERS = 100
"""Messages the dead-letter area of a virtual host keeps, the latest."""


@dataclass(slots=True)
class Store:
    """Counts the octets of all messages alive, so that no client can exhaust the machine."""

    limit: int
    octets: int = 0


@dataclass(slots=True, eq=False)
class Message:
    """A published content, shared by all queues it went to. Header and body are kept as received."""

    store: Store
    publisher: Connection | None
    exchange: str
    routing_key: str
    header: bytes
    properties: InitVar[Basic.Properties]
    body: bytes
    headers: Table = field(init=False)
    persistent: bool = field(init=False)
    priority: int = field(init=False)
    deaths: tuple[Table, ...] = field(init=False, default=())
    """In which queues it died before, as its header x-death tells: latest first."""
    turned_away: bool = field(default=False, init=False)
    """Whether one of the queues it went to would not have it."""

    def __post_init__(self, properties: Basic.Properties) -> None:
        # Before anything that can fail: what is counted here is taken off again whatever becomes of it.
        self.store.octets += len(self.body) + len(self.header)
        self.headers = properties.headers or {}
        self.persistent = properties.delivery_mode == 2
        self.priority = properties.priority or 0

    def __del__(self) -> None:
        # Here and nowhere else: a message is dropped in many places.
        self.store.octets -= len(self.body) + len(self.header)


@dataclass(slots=True, eq=False)
class Entry:
    """A message's place on one queue. `serial` is its place in the order of arrival."""

    message: Message
    queue: Queue
    serial: int
    deliveries: int = 0
    redelivered: bool = False
    only: Consumer | None = None
    """Recover without requeue: nobody else may have it while this consumer lives."""
    original: Connection | None = None
    """The client it was delivered to before, which is preferred for redelivery."""
    avoid: tuple[Channel, ...] = ()
    """The channels that rejected it."""
    held_back: bool = False
    """Nobody may have it until the server was restarted."""
    expires: float | None = None
    """When it is dead, by the peer's clock; None for never."""
    turned_away: bool = False
    """Whether its queue would not have it: it does not join it."""


@dataclass(slots=True, eq=False)
class Delivery:
    """A message on its way: delivered with `tag`, not yet acknowledged."""

    tag: int
    channel: Channel
    entry: Entry
    consumer: Consumer | None
    """None for a message taken with Get."""
    rejected: bool | None = None
    """Rejected in a transaction, with requeue or without; never in 0-9-1."""


@dataclass(slots=True, eq=False)
class Consumer:
    """A consumer; `alive` ends with Cancel or its channel, `queue.alive` may end before."""

    tag: str
    channel: Channel
    queue: Queue
    no_ack: bool
    no_local: bool
    exclusive: bool
    arguments: Table = field(default_factory=dict)
    alive: bool = True
    window: Window = field(default_factory=lambda: Window())
    """What is out to this consumer."""


@dataclass(slots=True, eq=False)
class Binding:
    """A relation between an exchange and a queue, or another exchange, by their names."""

    exchange: str
    queue: str
    routing_key: str
    arguments: Table
    destination: str | None = None
    """The exchange it leads to; `queue` is blank then."""


@dataclass(slots=True, eq=False)
class Exchange:
    """An exchange. `predeclared` ones cannot be deleted."""

    name: str
    type: str
    durable: bool
    arguments: Table
    bindings: list[Binding]
    """Kept by the virtual host under the exchange's name."""
    predeclared: bool = False
    auto_delete: bool = False
    internal: bool = False
    """Both have no meaning in 0-9-1."""


@dataclass(frozen=True, slots=True, eq=False)
class Logged:
    """A message in a log, its place there, and when it was written, by the peer's clock."""

    message: Message
    offset: int
    at: float


@dataclass(slots=True, eq=False)
class Queue:
    """A queue: entries by priority level, within a level by order of arrival."""

    name: str
    durable: bool
    auto_delete: bool
    owner: Connection | None
    """The connection an exclusive queue belongs to; None for a shared one."""
    arguments: Table
    levels: list[deque[Entry]]
    alive: bool = True
    consumers: list[Consumer] = field(default_factory=list)
    """In the order their turn comes."""
    unacknowledged: int = 0
    arrived: int = 0
    seen: int = 0
    """How many had arrived when one was taken last."""
    used: float = 0.0
    """When it was used last, by the peer's clock."""
    policy: Mapping[str, object] = field(default_factory=dict)
    """What a policy asks of it that was set when it was there already."""
    log: list[Logged] = field(default_factory=list)
    """All that ever came, in a queue that keeps what is read."""

    @property
    def exclusive(self) -> bool:
        """Whether only its owner may use it."""
        return self.owner is not None

    def __len__(self) -> int:
        return sum(map(len, self.levels))

    def __iter__(self) -> Iterator[Entry]:
        """Yield entries in the order they are due: higher level first."""
        for level in reversed(self.levels):
            yield from level

    def remove(self, entry: Entry) -> None:
        for level in self.levels:
            if level and level[0] is entry:
                level.popleft()
                return
        for level in self.levels:
            if entry in level:
                level.remove(entry)
                return


@dataclass(slots=True)
class Publication:
    """A published content on its way to its exchange."""

    method: Basic.Publish
    message: Message
    channel: Channel
    number: int = 0
    """Its number on a channel that confirms."""


class VirtualHost:
    """A name space of exchanges and queues, separate from all others."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.exchanges: dict[str, Exchange] = {}
        self.queues: dict[str, Queue] = {}
        self.bindings: dict[str, list[Binding]] = {}
        """By the name of the exchange."""
        self.dead_letters: deque[Message] = deque(maxlen=DEAD_LETTERS)
        self.stirred: dict[Queue, None] = {}
        """Queues where a delivery may have become possible, in the order it happened."""
        self.paused: set[Channel] = set()
        """Channels that were asked to stop publishing."""

    def bound_to(self, exchange: str) -> list[Binding]:
        return self.bindings.setdefault(exchange, [])

    def leading_to(self, exchange: str) -> list[Binding]:
        """Give the bindings of other exchanges that lead to this one."""
        others = [bound for name, bound in self.bindings.items() if name != exchange]
        return [each for bound in others for each in bound if each.destination == exchange]

    def stir(self, queue: Queue) -> None:
        """Remember that `queue` has to be looked at."""
        self.stirred[queue] = None

    def predeclare(self, durable: bool, headers: tuple[str, ...]) -> None:
        """Make the exchanges every virtual host has (exchange.required-instances)."""
        instances = {"": "direct", "amq.direct": "direct", "amq.fanout": "fanout", "amq.topic": "topic"}
        for name, kind in {**instances, **dict.fromkeys(headers, "headers")}.items():
            if name not in self.exchanges:
                self.exchanges[name] = Exchange(
                    name, kind, durable or not name, {}, self.bound_to(name), True
                )


@dataclass(slots=True)
class Window:
    """A prefetch window (basic.qos): its limits, zero for none, and what fills it."""

    count: int = 0
    size: int = 0
    messages: int = 0
    octets: int = 0

    @property
    def limited(self) -> bool:
        """Whether the window can hold anything back."""
        return bool(self.count or self.size)


class Channel:
    """One channel as the peer sees it."""

    def __init__(self, connection: Connection, number: int) -> None:
        self.connection = connection
        self.number = number
        self.state: ChannelState = ChannelState.UNOPENED
        self.flowing = True
        self.flow_asked = 0
        self.current_queue = ""
        self.window = Window()
        self.prefetch = 0
        """The limit of each consumer that starts from now on; none in 0-9-1."""
        self.last_tag = 0
        self.unacknowledged: dict[int, Delivery] = {}
        self.consumers: dict[str, Consumer] = {}
        self.transacted = False
        self.transaction: list[Publication | Delivery] = []
        self.withheld: list[Delivery] = []
        self.confirming = False
        """Whether what is published on it is confirmed; never in 0-9-1."""
        self.published = 0
        """How many publications it has counted."""
        self.unconfirmed: list[Publication] = []
        self.publishing: Basic.Publish | None = None
        self.content: ContentHeaderReceived | None = None
        self.body = bytearray()

    @property
    def delivers(self) -> bool:
        """Whether the channel is open, in whatever state of receiving."""
        return self.state in _DELIVERING

    def forget_content(self) -> None:
        """Receive no content any more."""
        self.publishing, self.content, self.body = None, None, bytearray()


_DELIVERING = (ChannelState.OPEN, ChannelState.EXPECT_CONTENT_HEADER, ChannelState.EXPECT_BODY)


class Connection(connection.Connection):
    """One connection as rows see it: what was agreed upon, its channels, and what can be said on it."""

    def __init__(self, host: VirtualHost, now: float, number: int) -> None:
        super().__init__(now, number)
        self.state: ConnectionState = ConnectionState.EXPECT_HEADER
        self.ended = False
        self.opened = False
        self.properties: Table = {}
        """What the client said of itself in Start-Ok."""
        self.claimed = b""
        """What Start-Ok said, where Secure asked for more."""
        self.host = host
        self.publishes = False
        """Whether it has published anything."""
        self.blocked = False
        """Whether it was told that what it publishes has to wait."""
        self.channels: dict[int, Channel] = {}
        self.window = Window()
        self.frame_max = FRAME_MIN_SIZE

    @property
    @abstractmethod
    def receiving(self) -> bool:
        """Whether a frame has begun to come and is not complete."""

    @abstractmethod
    def close(self) -> None:
        """Close the socket."""

    @abstractmethod
    def tune(self, channel_max: int, frame_max: int, heartbeat: int) -> None:
        """Take over what was negotiated; zero is no limit, or no heartbeat (in seconds)."""

    @abstractmethod
    def send(self, channel: int, method: Method) -> None:
        """Say a method; those of the Connection class always on channel zero."""

    @abstractmethod
    def send_content(self, channel: int, method: Method, message: Message) -> None:
        """Say a method with its content, cut to the size of frame agreed upon."""

    @abstractmethod
    def send_heartbeat(self) -> None:
        """Say a heartbeat frame."""

    @abstractmethod
    def send_header(self) -> None:
        """Say the protocol header this peer supports."""
