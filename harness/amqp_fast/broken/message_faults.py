"""Faults of messages: how fragments are put together, held and handed on in peers that do it wrong.

Each is an effect or an answer for a row of `harness.amqp_fast.peer.tables.sending`, or of one beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.amqp_fast.broken.loose import AnyTurn
from harness.amqp_fast.peer.entities import Consumer, Message, Queue, Stored
from harness.amqp_fast.peer.tables import sending
from harness.amqp_fast.peer.traffic import route
from harness.amqp_fast.peer.turn import Reply
from harness.amqp_fast.wire.vocabulary import Handle, MessageHead
from harness.peers.interposer import changed
from harness.wire.units import DecodeError


def read(octets: bytes) -> Message | None:
    """Read a message, whole or not; None where it has no header."""
    try:
        head, behind = MessageHead.decode(octets)
    except DecodeError:
        return None
    return Message(octets[:behind], head, octets[behind:])


def hand_on(turn: AnyTurn, message: Message | None) -> None:
    """Hand a message to the destination of the command, as it is."""
    assert turn.connection.host is not None
    if message is not None:
        route(turn.peer, turn.connection.host, turn.event.service_type, turn.event.dest_name, message)


def hand_on_parts(turn: AnyTurn) -> None:
    """Keep a fragment, and hand on what there is so far as well."""
    sending.gather(turn)
    assert turn.channel.assembly is not None
    hand_on(turn, read(bytes(turn.channel.assembly.octets)))


def hand_on_whatever(turn: AnyTurn) -> None:
    """Hand on what there is, whether or not it is whole."""
    hand_on(turn, read(sending.gathered(turn)))


def deliver_what_is_held(turn: AnyTurn) -> None:
    """Put all parts that are held into all queues, as if they were messages."""
    for partial in turn.peer.partial.values():
        message = read(partial.header + bytes(partial.body))
        for host in turn.peer.hosts.values():
            for queue in host.queues.values():
                if message is not None:
                    queue.store(message)


def ready_with_header(turn: AnyTurn) -> Reply:
    """Tell how much is held, and count the header, too."""
    held = turn.handle.prepared
    assert held is not None
    return (Handle.Ready(turn.handle.id, len(held.header) + len(held.body)),)


def passes_over(turn: AnyTurn) -> Reply:
    """Confirm what was not done."""
    return (Handle.Reply(turn.handle.id, turn.event.confirm_tag, 200),)


# -- octets of messages, for interposers -----------------------------------------------------------------


def with_head(**values: Any) -> Callable[[bytes], bytes]:
    """Change fields of the header that a fragment begins with; a value may be a function of the old one."""

    def change(octets: bytes) -> bytes:
        message = read(octets)
        if message is None:
            return octets
        return bytes(changed(values, message.head).encode()) + message.body

    return change


def with_body(by: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Change what is behind the header that a fragment begins with."""

    def change(octets: bytes) -> bytes:
        message = read(octets)
        return octets if message is None else message.header + by(message.body)

    return change


def turned_round(octets: int) -> Callable[[int], int]:
    """Take a number of so many octets for one whose low octet comes first."""
    return lambda number: int.from_bytes(number.to_bytes(octets, "big"), "little")


# -- which message comes next ----------------------------------------------------------------------------


def lose_beyond_nine(turn: AnyTurn) -> None:
    """Hand a message on, unless its priority is one that there is not."""
    message = sending.whole(turn)
    if message is not None and message.head.priority <= 9:
        sending.send(turn)


def oldest(queue: Queue, _: Consumer) -> Stored | None:
    """Choose what has been there for the longest time."""
    return next(iter(queue.messages), None)


def lowest(queue: Queue, _: Consumer) -> Stored | None:
    """Choose what has the lowest priority."""
    return min(queue.messages, key=lambda each: each.message.head.priority, default=None)
