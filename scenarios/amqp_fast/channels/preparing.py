"""How a large message is prepared, and sent from where its recipient has it (3.3.2.2, 3.5.12, 3.5.13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha1
from typing import Any

from harness.amqp_fast.client.channel import FastHandle, carrying
from harness.amqp_fast.client.outcomes import Received
from harness.amqp_fast.client.server import Server
from harness.amqp_fast.wire.frames import Frame
from harness.amqp_fast.wire.vocabulary import QUEUE, Handle, MessageHead
from harness.play.expect import Outcome

LARGEST = 1 << 20
"""Octets of the largest message that is sent to a server only because its FRAME_MAX is so high."""
OWN: Mapping[str, Any] = {"mime_type": b"text/plain", "encoding": b"x-own"}
"""Fields of a header that may be filled in where they are empty."""


@lru_cache(maxsize=8)
def pattern(octets: int) -> bytes:
    """Give so many octets of which no stretch is like another one near."""
    return b"".join(b"%08d" % number for number in range(octets // 8 + 1))[:octets]


def beyond_a_fragment(server: Server, handle: FastHandle) -> bytes:
    """Give a body that does not fit into one fragment of what the server takes. Raises Inapplicable."""
    if handle.connection.frame_max > LARGEST:
        server.inapplicable(f"a message beyond one fragment has more than {LARGEST} octets")
    return pattern(handle.connection.frame_max + 4000)


@dataclass(frozen=True)
class Large:
    """A message that is prepared: to which `queue`, its `body`, its header and the hash that is told."""

    queue: str
    body: bytes
    head: MessageHead
    content_hash: bytes = b""

    @property
    def header(self) -> bytes:
        """The octets of its header."""
        return self.head.encode()

    def prepared(self, handle: FastHandle, octets: int) -> Frame:
        """Give the HANDLE PREPARE that carries so many octets of the body."""
        command = Handle.Prepare(handle.id, content_hash=self.content_hash)
        return carrying(command, self.header + self.body[:octets])

    def rest(self, handle: FastHandle, start: int, tag: int = 0, most: int = 0) -> list[Frame]:
        """Give the frames that send the body from `start` on, in fragments of `most` octets."""
        size = most or handle.connection.frame_max
        said = Handle.Send(handle.id, tag, QUEUE, recovery=True, dest_name=self.queue)
        places = range(start, max(len(self.body), start + 1), size)
        return [
            carrying(said.replace(partial=place + size < len(self.body)), self.body[place : place + size])
            for place in places
        ]


def large(server: Server, handle: FastHandle, queue: str = "", **head: Any) -> Large:
    """Give a message beyond one fragment that nobody has sent yet; its identifier is its own."""
    body = beyond_a_fragment(server, handle)
    told = {**OWN, "body_size": len(body), "identifier": server.name("message").encode(), **head}
    return Large(queue, body, MessageHead(**told))


def hashed(message: Large, body: bytes | None = None) -> Large:
    """Give the message with a content hash: of its own body, or of another one."""
    octets = message.body if body is None else body
    return Large(message.queue, message.body, message.head, sha1(octets).hexdigest().encode())


def ready_for(handle: FastHandle, **head: Any) -> Frame:
    """Give a HANDLE PREPARE for a message beyond one fragment that nobody has sent yet, with no body."""
    size = handle.connection.frame_max + 4000
    told = {"body_size": size, "identifier": handle.context.name("message", "", 0.0), **head}
    return carrying(Handle.Prepare(handle.id), MessageHead(**told).encode())


def uploads(handle: FastHandle, message: Large, first: int = 200, **how: Any) -> None:
    """Prepare a message, and send what the server has not got, with a tag. Raises ControlFailed."""
    handle.send(message.prepared(handle, first))
    held = handle.control("HANDLE PREPARE", Handle.Ready).message_size
    handle.send(*message.rest(handle, held, handle.connection.tag(), **how))


def uploaded(handle: FastHandle, message: Large, first: int = 200, **how: Any) -> None:
    """Send a message as `uploads` does, and take its confirmation. Raises ControlFailed."""
    uploads(handle, message, first, **how)
    handle.control("HANDLE SEND", Handle.Reply)


def downloads(handle: FastHandle, *legal: Outcome | type[Any], has: int | None = None) -> Received:
    """Judge what comes first of a message; where it is prepared, say that we have `has` octets of its body.

    Without `has` that is all that came. Gives HANDLE NOTIFY with header and body; HANDLE
    PREPARE, if it came, is the first of its parts. Raises Unmet.
    """
    first: Received = handle.observe(*legal)
    if not isinstance(first.command, Handle.Prepare):
        return first
    body = first.body or b""
    held = len(body) if has is None else has
    handle.send(Handle.Ready(handle.id, held))
    rest: Received = handle.observe(Handle.Notify)
    whole = first.octets[: len(first.octets) - len(body) + held] + rest.octets
    return Received(rest.command, whole, (first.command, *rest.parts), rest.frame)
