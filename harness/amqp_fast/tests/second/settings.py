"""What the document leaves to a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Settings:
    """What the document leaves to a server; `restart` is naive, minimal or full."""

    users: Mapping[str, str] = field(default_factory=lambda: {"guest": "guest"})
    paths: Iterable[str] = ("/",)
    queues: Iterable[str] = ()
    frame_max: int = 32768
    channel_max: int = 0
    handle_max: int = 0
    txn_limit: int = 0
    heartbeat: int = 0
    largest: int = 2**32 - 1
    restart: str = "minimal"
    prepares: bool = False

    def options(self) -> dict[str, int]:
        """What CONNECTION TUNE proposes."""
        return {
            "FRAME_MAX": self.frame_max,
            "CHANNEL_MAX": self.channel_max,
            "HANDLE_MAX": self.handle_max,
            "HEARTBEAT": self.heartbeat,
            "TXN_LIMIT": self.txn_limit,
        }
