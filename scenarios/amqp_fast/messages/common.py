"""What checks of messages have in common: how they are cut, and what refuses them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.amqp_fast.client.channel import FastHandle, carrying
from harness.amqp_fast.client.outcomes import (
    answered,
    closed_anyhow,
    is_error,
    message,
    replied,
    stream_ends,
    that,
)
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.frames import Frame
from harness.amqp_fast.wire.vocabulary import QUEUE, Handle, MessageHead
from harness.play.expect import Outcome

SMALL: dict[str, Any] = {"FRAME_MAX": 4096}
"""What we tune to where a message is to come in several fragments."""
DAY = 24 * 3600
WORDLESS = "the stream ends without a command that tells the error"
TOLD: Outcome = closed_anyhow() | that(
    answered(Handle.Reply), "with an error", lambda seen: is_error(seen.command.reply_code)
)
"""A close of whatever level, or a reply with an error: what refuses a message no sentence names."""
ENDED: Outcome = stream_ends().under(WORDLESS)


def small_reader(server: Server, queue: str) -> FastHandle:
    """Give a handle that consumes a queue, on a new connection that takes fragments of 4096 octets."""
    return server.connection(SMALL).channel().handle().consume(queue, no_ack=True)


def cut_at(handle: FastHandle, dest: str, octets: bytes, *places: int, tag: int = 0) -> list[Frame]:
    """Give the frames that send a message of these octets, cut at these places."""
    said = Handle.Send(handle.id, tag, QUEUE, dest_name=dest)
    starts = (0, *places)
    pieces = [octets[start:end] for start, end in zip(starts, (*places, len(octets)), strict=True)]
    last = len(pieces) - 1
    return [carrying(said.replace(partial=place < last), piece) for place, piece in enumerate(pieces)]


def octets_of(body: bytes, **head: Any) -> bytes:
    """Give the octets of a message, whose body-size is told unless given."""
    return MessageHead(**{"body_size": len(body), **head}).encode() + body


def sends(handle: FastHandle, queue: str, body: bytes, **how: Any) -> None:
    """Judge that a message is taken: its HANDLE SEND is confirmed. Raises Unmet."""
    tag = handle.connection.tag()
    handle.send(*handle.carries(queue, body, tag=tag, **how))
    handle.expect(replied(Handle.Reply, tag))


def passed_on(server: Server, *messages: tuple[bytes, Mapping[str, Any]]) -> None:
    """Judge that messages, each a body and fields of its header, come as they were sent. Raises Unmet."""
    queue, sender = server.queue(), server.handle()
    reader = server.handle(new_connection=True).consume(queue, no_ack=True)
    for body, head in messages:
        sends(sender, queue, body, **head)
        reader.observe(message(body, head=head))
