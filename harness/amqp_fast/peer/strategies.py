"""What rows do that is no single step: how messages are stored, chosen, kept. Faults swap them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha1

from harness.amqp_fast.peer.entities import Consumer, Delivery, Message, Queue, Stored
from harness.amqp_fast.wire.frames import FrameReader, Unit
from harness.amqp_fast.wire.tables import Table


def in_order(queue: Queue, consumer: Consumer) -> Stored | None:
    """Choose what a consumer gets next: the oldest of the highest priority that it selects (3.4.4)."""
    fit = [each for each in queue.messages if each.passed_over is not consumer]
    return min(fit, key=lambda each: (-is_high(each.message), each.id), default=None)


def is_high(message: Message) -> bool:
    """Say whether a priority is high: 5 to 9."""
    return message.head.priority >= 5


def in_turn(consumers: Sequence[Consumer]) -> Iterable[Consumer]:
    """Give the consumers of a queue in the order in which they are served: who has least first."""
    return sorted(consumers, key=lambda each: each.outstanding)


def selects(selector: Table, message: Message) -> bool:
    """Say whether a message has all fields of a selector, with their values where there are any (3.5.4)."""
    headers = message.head.headers
    return all(name in headers and value in (b"", headers[name]) for name, value in selector.items())


def up_to(unacknowledged: Sequence[Delivery], number: int) -> list[Delivery]:
    """Give the deliveries that an ACK covers: up to and including its number (3.3.3)."""
    return [each for each in unacknowledged if each.number <= number]


def expired(message: Message, now: float) -> bool:
    """Say whether a message has expired at a time, in seconds since 1970 (3.4.4)."""
    return bool(message.head.expiration) and message.head.expiration <= now


def survives(message: Message) -> bool:
    """Say whether a message outlives a restart (3.4.4)."""
    return message.head.persistent


def is_right(body: bytes, told: bytes) -> bool:
    """Say whether a body has the content hash that was told (3.5.12)."""
    return not told or sha1(body).hexdigest().encode() == told.lower()


def listed(ids: Sequence[int]) -> bytes:
    """Write message IDs as the text of HANDLE INDEX: numbers and ranges, delimited by spaces (3.5.11)."""
    ranges: list[list[int]] = []
    for each in ids:
        if ranges and ranges[-1][-1] == each - 1:
            ranges[-1][1:] = [each]
        else:
            ranges.append([each])
    return b" ".join(b"-".join(b"%d" % number for number in each) for each in ranges)


def is_text(octets: bytes) -> bool:
    """Say whether octets can be a short string: they have no zero (772)."""
    return 0 not in octets


def cut(reader: FrameReader, octets: bytes) -> Iterator[tuple[bytes, Unit]]:
    """Cut what has come into frames, wherever the network cut it into segments (176)."""
    yield from reader.feed(octets)


@dataclass(frozen=True)
class Strategies:
    """The one that the document asks for, of each."""

    next_message: Callable[[Queue, Consumer], Stored | None] = in_order
    next_consumer: Callable[[Sequence[Consumer]], Iterable[Consumer]] = in_turn
    selects: Callable[[Table, Message], bool] = selects
    covered: Callable[[Sequence[Delivery], int], list[Delivery]] = up_to
    expired: Callable[[Message, float], bool] = expired
    survives: Callable[[Message], bool] = survives
    is_right: Callable[[bytes, bytes], bool] = is_right
    listed: Callable[[Sequence[int]], bytes] = listed
    cut: Callable[[FrameReader, bytes], Iterator[tuple[bytes, Unit]]] = cut
    is_text: Callable[[bytes], bool] = is_text
    greeting: bytes = b""
    """What is said before the client has said anything: nothing (178)."""
