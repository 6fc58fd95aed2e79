"""Choices that are algorithms rather than rows: which message, which consumer, which flag, which tag.

Each is a named function in a field of `Strategies`, so that a fault can put another in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from harness.amqp0_9_1.peer.entities import (
    Channel,
    Consumer,
    Delivery,
    Entry,
    Exchange,
    Message,
    Queue,
    VirtualHost,
)
from harness.amqp0_9_1.peer.routing import ROUTING, Matching
from harness.amqp0_9_1.wire.vocabulary import GRAMMAR

CHOKED = 1 << 20
"""Octets a client may leave unread before its consumers get no more."""


def two_levels(priority: int) -> int:
    """Tell priorities 0 to 4 from 5 to 9 (0-9-1/basic.06)."""
    return 1 if priority > 4 else 0


def ten_levels(priority: int) -> int:
    """Give every priority its own level (0-9-1/basic.07)."""
    return min(priority, 9)


def by_levels(levels: int, priority: int) -> int:
    """Give the level of a priority where the policy wants `levels` of them."""
    return two_levels(priority) if levels == 2 else ten_levels(priority)


def each_queue_once(exchange: Exchange, message: Message, matches: Matching) -> list[str]:
    """Give the names of queues with a matching binding, none twice (queue.bind.unique)."""
    return list(dict.fromkeys(each.queue for each in exchange.bindings if matches(each, message)))


def by_its_exchange(host: VirtualHost, message: Message, strategies: Strategies) -> list[Queue]:
    """Give the queues that the exchange of a message leads to."""
    exchange = host.exchanges.get(message.exchange)
    if exchange is None:
        return []
    names = strategies.queues_for(exchange, message, strategies.routing[exchange.type])
    return [host.queues[name] for name in names if name in host.queues]


def in_order_of_arrival(queue: Queue, level: int, entry: Entry) -> None:
    """Put an entry where its serial number belongs: a new one last, a requeued one at its old place."""
    entries = queue.levels[level]
    if not entries or entries[-1].serial < entry.serial:
        entries.append(entry)
        return
    for place, other in enumerate(entries):
        if other.serial > entry.serial:
            entries.insert(place, entry)
            return


def may_have(channel: Channel, consumer: Consumer | None, entry: Entry) -> bool:
    """Say whether a message is for this channel at all, windows aside, and fits its client's frames."""
    if entry.held_back:
        return False
    if entry.only is not None and entry.only is not consumer and entry.only.alive:
        return False
    if channel in entry.avoid:
        return False
    message = entry.message
    if consumer is not None and consumer.no_local and message.publisher is channel.connection:
        return False
    limit = channel.connection.frame_max
    return not limit or len(message.header) + 8 <= limit


def window_allows(consumer: Consumer, entry: Entry) -> bool:
    """Say whether the prefetch windows of channel and connection admit one more message (basic.qos)."""
    if consumer.no_ack:
        return True
    channel = consumer.channel
    size = len(entry.message.body)
    for window in (channel.window, channel.connection.window):
        if window.count and window.messages >= window.count:
            return False
        # The size does not limit a single message, only what is sent in advance of it.
        if window.size and window.messages and window.octets + size > window.size:
            return False
    return True


def hears(consumer: Consumer) -> bool:
    """Say whether a consumer can be sent anything now: its channel is open and flowing, its client reads."""
    channel = consumer.channel
    return channel.delivers and channel.flowing and channel.connection.unread < CHOKED


def in_turn(queue: Queue, entry: Entry, candidates: Iterable[Consumer]) -> Consumer | None:
    """Give the original client if it is there (domain redelivered), else the one whose turn it is."""
    chosen = None
    for consumer in candidates:
        if entry.original is None or consumer.channel.connection is entry.original:
            chosen = consumer
            break
        chosen = chosen or consumer
    if chosen is not None and queue.consumers[-1] is not chosen:
        queue.consumers.remove(chosen)
        queue.consumers.append(chosen)
    return chosen


def first_due(queue: Queue, channel: Channel) -> Entry | None:
    """Give the first message of the highest priority that Get on this channel may have."""
    return next((entry for entry in queue if may_have(channel, None, entry)), None)


def delivered_before(entry: Entry) -> bool:
    """Give the redelivered flag."""
    return entry.redelivered


def counting(channel: Channel) -> int:
    """Give the next delivery tag of a channel: from one upwards, never zero (domain delivery-tag)."""
    channel.last_tag += 1
    return channel.last_tag


def named_deliveries(unacknowledged: Mapping[int, Delivery], tag: int, multiple: bool) -> list[Delivery]:
    """Give the deliveries an Ack or Reject names; zero with multiple is all of them (basic.ack)."""
    if not multiple:
        return [unacknowledged[tag]] if tag in unacknowledged else []
    return [each for each in unacknowledged.values() if not tag or each.tag <= tag]


def as_received(message: Message) -> bytes:
    """Give the octets of the content header of a message: those that were published."""
    return message.header


def cut_to_frames(body: bytes, frame_max: int) -> list[bytes]:
    """Give the payloads of the body frames: none larger than agreed, overhead included (4.2.3)."""
    room = (frame_max or 131072) - 8
    return [body[start : start + room] for start in range(0, len(body), room)]


def all_that_is_noted(notes: Iterable[str]) -> Iterable[str]:
    """Give the lines of the log: every end of a connection without the hand-shake."""
    return notes


@dataclass(frozen=True, slots=True)
class Strategies:
    """The algorithms the peer uses."""

    routing: Mapping[str, Matching] = field(default_factory=lambda: ROUTING)
    queues_for: Callable[[Exchange, Message, Matching], list[str]] = each_queue_once
    reached: Callable[[VirtualHost, Message, Strategies], list[Queue]] = by_its_exchange
    level: Callable[[int, int], int] = by_levels
    place: Callable[[Queue, int, Entry], None] = in_order_of_arrival
    may_have: Callable[[Channel, Consumer | None, Entry], bool] = may_have
    window_allows: Callable[[Consumer, Entry], bool] = window_allows
    hears: Callable[[Consumer], bool] = hears
    choose: Callable[[Queue, Entry, Iterable[Consumer]], Consumer | None] = in_turn
    due: Callable[[Queue, Channel], Entry | None] = first_due
    redelivered: Callable[[Entry], bool] = delivered_before
    tag: Callable[[Channel], int] = counting
    named: Callable[[Mapping[int, Delivery], int, bool], list[Delivery]] = named_deliveries
    shown: Callable[[Message], bytes] = as_received
    cut: Callable[[bytes, int], list[bytes]] = cut_to_frames
    logged: Callable[[Iterable[str]], Iterable[str]] = all_that_is_noted
    port: int = GRAMMAR.port
    """Where it would listen if it had to."""
