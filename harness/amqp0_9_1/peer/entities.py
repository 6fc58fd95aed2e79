"""What a virtual host holds: exchanges, queues, bindings, messages. They know nothing of the wire."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.amqp0_9_1.wire.field_tables import Table

if TYPE_CHECKING:
    from harness.amqp0_9_1.peer.driver import Channel, Connection

DEAD_LETTERS = 100
"""Messages the dead-letter area of a virtual host keeps, the latest."""


@dataclass(slots=True)
class Store:
    """Counts the octets of all messages alive, so that no client can exhaust the machine."""

    limit: int
    octets: int = 0


class Message:
    """A published content, shared by all queues it went to. Header and body are kept as received."""

    __slots__ = (
        "body",
        "exchange",
        "header",
        "headers",
        "persistent",
        "priority",
        "publisher",
        "routing_key",
        "store",
    )

    def __init__(
        self,
        store: Store,
        publisher: Connection | None,
        exchange: str,
        routing_key: str,
        header: bytes,
        properties: Any,
        body: bytes,
    ) -> None:
        self.store = store
        self.header = header
        self.body = body
        # Before anything that can fail: what is counted here is taken off again whatever becomes of it.
        store.octets += len(body) + len(header)
        self.publisher = publisher
        self.exchange = exchange
        self.routing_key = routing_key
        self.headers: Table = properties.headers or {}
        self.persistent = properties.delivery_mode == 2
        self.priority: int = properties.priority or 0

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


@dataclass(slots=True, eq=False)
class Delivery:
    """A message on its way: delivered with `tag`, not yet acknowledged."""

    tag: int
    entry: Entry
    consumer: Consumer | None
    """None for a message taken with Get."""


@dataclass(slots=True, eq=False)
class Consumer:
    """A consumer; `alive` ends with Cancel or its channel, `queue.alive` may end before."""

    tag: str
    channel: Channel
    queue: Queue
    no_ack: bool
    no_local: bool
    exclusive: bool
    alive: bool = True


@dataclass(slots=True, eq=False)
class Binding:
    """A relation between an exchange and a queue, by their names."""

    exchange: str
    queue: str
    routing_key: str
    arguments: Table


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

    @property
    def exclusive(self) -> bool:
        """Whether only its owner may use it."""
        return self.owner is not None

    def __len__(self) -> int:
        return sum(map(len, self.levels))

    def __iter__(self) -> Iterator[Entry]:
        """Entries in the order they are due: higher level first."""
        for level in reversed(self.levels):
            yield from level

    def remove(self, entry: Entry) -> None:
        """Take one entry off the queue."""
        for level in self.levels:
            if level and level[0] is entry:
                level.popleft()
                return
        for level in self.levels:
            if entry in level:
                level.remove(entry)
                return


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
        """The bindings of an exchange, to be read and changed."""
        return self.bindings.setdefault(exchange, [])

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
