"""What a virtual host holds: messages, queues, topics."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from harness.amqp_fast.tests.second.types import Pairs, first

QUEUE, TOPIC, ANY = 1, 2, 3
NORMAL, HIGH = 0, 5


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """A message: the octets of its header and body, what its header says, who sent it."""

    header: bytes
    body: bytes
    fields: dict[str, Any]
    sender: Hashable = None

    @property
    def octets(self) -> bytes:
        """The whole of it, as it goes over the wire."""
        return self.header + self.body


def selects(selector: Pairs, message: Message) -> bool:
    """Whether a message has every field of a selector, and the value where one is named."""
    headers = first(message.fields["headers"])
    return all(
        name in headers and (value == b"" or _same(value, headers[name]))
        for name, value in first(selector).items()
    )


def _same(one: object, other: object) -> bool:
    return isinstance(one, Decimal) == isinstance(other, Decimal) and one == other


@dataclass(slots=True, eq=False)
class Entry:
    """A message in a queue: its ID, who has seen it, who gave it back."""

    id: int
    message: Message
    seen: set[Hashable] = field(default_factory=set)
    unwanted: set[Consumer] = field(default_factory=set)

    def place(self) -> tuple[bool, int]:
        """Those of high priority come first, then the oldest."""
        return self.message.fields["priority"] < HIGH, self.id


class Consumer(Protocol):
    """Who takes messages out of a queue."""

    exclusive: bool

    def ready(self) -> bool:
        """Whether it takes another."""

    def accepts(self, message: Message) -> bool:
        """Whether it wants this one."""

    def deliver(self, entry: Entry) -> None:
        """Take it."""


class Queue:
    """Messages in order, each for one consumer; those who consume take turns."""

    def __init__(self, name: bytes, service: int = QUEUE, owner: Hashable = None) -> None:
        self.name, self.service, self.owner = name, service, owner
        self.entries: list[Entry] = []
        self.consumers: list[Consumer] = []

    def put(self, entry: Entry) -> None:
        """Put a message in its place, also one that was out."""
        insort(self.entries, entry, key=Entry.place)

    def dispatch(self) -> None:
        """Deliver what somebody is ready for."""
        for entry in list(self.entries):
            if not any(consumer.ready() for consumer in self.consumers):
                break
            consumer = next(filter(self._takes(entry), self.consumers), None)
            if consumer:
                self.entries.remove(entry)
                self.consumers.remove(consumer)
                self.consumers.append(consumer)
                consumer.deliver(entry)

    def _takes(self, entry: Entry) -> Callable[[Consumer], bool]:
        """Who gave it back gets it again only when there is nobody else."""
        want = [each for each in self.consumers if each.accepts(entry.message)]
        others = [each for each in want if each not in entry.unwanted]
        return lambda consumer: consumer in (others or want) and consumer.ready()


class Host:
    """A virtual host. A subscription of a topic is a queue of its own."""

    def __init__(self, queues: Iterable[bytes] = ()) -> None:
        self.queues = {name: Queue(name) for name in queues}
        self.subscriptions: list[Queue] = []
        self.partials: dict[bytes, bytes] = {}
        """Bodies that were not sent to their end, by the octets of the header."""
        self._last = 0
        self._generated = 0

    def service(self, service: int, name: bytes) -> int:
        """Decide which service is meant where any is."""
        return (QUEUE if name in self.queues else TOPIC) if service == ANY else service

    def publish(self, service: int, name: bytes, message: Message) -> None:
        """Put a message into a queue, or into each subscription that wants it."""
        if service == QUEUE:
            self._enter(self.queues[name], message)
            return
        for queue in self.subscriptions:
            if queue.name == name and queue.consumers[0].accepts(message):
                self._enter(queue, message)

    def _enter(self, queue: Queue, message: Message) -> None:
        self._last += 1
        queue.put(Entry(self._last, message))

    def create(self, name: bytes, owner: Hashable) -> Queue:
        """Find or create a queue; one without a name gets one, and goes with its owner."""
        if name:
            return self.queues.setdefault(name, Queue(name))
        while not name or name in self.queues:
            self._generated += 1
            name = b"dynamic-%d" % self._generated
        self.queues[name] = Queue(name, owner=owner)
        return self.queues[name]

    def subscribe(self, name: bytes) -> Queue:
        """Create what holds the messages of a topic for one subscriber."""
        queue = Queue(name, TOPIC)
        self.subscriptions.append(queue)
        return queue

    def leave(self, queue: Queue, consumer: Consumer) -> None:
        """Take a consumer away, and with it its subscription."""
        queue.consumers.remove(consumer)
        if queue.service == TOPIC:
            self.subscriptions.remove(queue)

    def drop(self, owner: Hashable) -> None:
        """Delete the temporary queues of a connection."""
        self.queues = {name: queue for name, queue in self.queues.items() if queue.owner is not owner}

    def dispatch(self) -> None:
        """Deliver what somebody is ready for."""
        for queue in [*self.queues.values(), *self.subscriptions]:
            queue.dispatch()
