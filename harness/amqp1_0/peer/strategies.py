"""Choices that are algorithms rather than rows: how octets are cut, read and written.

Each is a named function in a field of `Strategies`, so that a fault can put another in its place.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.amqp1_0.peer.policy import Policy
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import Frame, FrameReader, Unit
from harness.amqp1_0.wire.types import Symbol
from harness.peers.peer import PeerConnection
from harness.peers.tls_server import behind_tls


def cut(reader: FrameReader, octets: bytes) -> Iterator[tuple[bytes, Unit]]:
    """Cut frames out of a stream, wherever its segments end (2.1.2)."""
    return reader.feed(octets)


def body_by_offset(_: bytes, frame: Frame) -> bytes:
    """Give the body from where DOFF says; what stands before it is ignored (2.3.1, 2.3.2)."""
    return frame.body


def channel_in_network_order(frame: Frame) -> int:
    """Read the channel from bytes 6 and 7 (2.3.2)."""
    return frame.channel


def where_it_belongs(_: object, channel: int) -> int:
    """Choose the session's channel, or 0 for what concerns the connection (2.4.3, 2.4.5)."""
    return channel


def spell(performative: Composite, policy: Policy) -> bytes:
    """Write a performative in the form the policy has chosen of those that mean the same."""
    descriptor = Symbol(performative.spec.descriptor) if policy.descriptors == "symbols" else None
    width = len(performative.spec.fields) if policy.absent_fields == "null" else None
    return performative.sent_as(descriptor=descriptor, width=width).encode()


def pieces(payload: bytes, room: int) -> list[bytes]:
    """Cut a payload so that no frame is larger than the client accepts; `room` octets fit into one."""
    return [payload[start : start + room] for start in range(0, max(len(payload), 1), max(room, 1))]


def kept_alive() -> bool:
    """Say whether TCP keep-alive is on for its sockets (2.4.5)."""
    return True


def secured(connection: PeerConnection) -> PeerConnection:
    """Let TLS come first on its port, with no protocol header before it (2.8.19)."""
    return behind_tls(connection)


@dataclass(frozen=True, slots=True)
class Strategies:
    """The algorithms the peer uses."""

    cut: Callable[[FrameReader, bytes], Iterator[tuple[bytes, Unit]]] = cut
    body: Callable[[bytes, Frame], bytes] = body_by_offset
    """Takes all octets of the frame and the frame; gives what is read as performative and payload."""
    channel: Callable[[Frame], int] = channel_in_network_order
    place: Callable[[object, int], int] = where_it_belongs
    """Takes a performative or an empty frame and its channel; gives the channel it is written on."""
    spell: Callable[[Composite, Policy], bytes] = spell
    pieces: Callable[[bytes, int], list[bytes]] = pieces
    keep_alive: Callable[[], bool] = kept_alive
    secured: Callable[[PeerConnection], PeerConnection] = secured
