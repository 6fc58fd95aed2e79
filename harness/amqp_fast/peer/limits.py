"""What one server bears of its clients, as data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What keeps a hostile client from exhausting the machine; the first three are told in TUNE."""

    frame: int = 70_000
    """Octets of a frame, and of a fragment: more than the short form of a size can tell (209)."""
    channels: int = 32
    """Channels of one connection."""
    handles: int = 64
    """Handles of one connection."""
    transaction: int = 64
    """Messages that one transaction sends."""
    message: int = 1 << 24
    """Octets of one message."""
    stored: int = 1 << 26
    """Octets of all messages together."""
    queues: int = 10_000
    """Queues of one virtual host."""
    partial: int = 64
    """Messages held in parts; the oldest is forgotten for another."""
    listed: int = 60
    """Messages that one HANDLE INDEX lists."""
    handshake: int = 4096
    """Octets of a frame of the negotiation (3.2.3)."""
    unread: int = 1 << 24
    """Octets said that a client leaves unread, beyond which it counts as gone."""
