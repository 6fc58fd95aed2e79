"""A reference peer that is late with what it says; a way of timing is no change that it takes by itself."""

from __future__ import annotations

from harness.amqp0_9_1.broken.provocations import delays
from harness.amqp0_9_1.wire.compiled import Method
from harness.peers.peer import PeerServer
from harness.targets.embedded import EmbeddedTarget


class SlowToSend(EmbeddedTarget):
    """The reference peer that sends a method, and all behind it, so many `seconds` late."""

    def __init__(self, method: type[Method], seconds: float) -> None:
        super().__init__()
        self._late = delays(method, seconds)

    def make(self, document: str) -> PeerServer:
        return self._late.before(super().make(document))
