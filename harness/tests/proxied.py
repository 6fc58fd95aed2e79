"""A started target behind an interposer of a test's own."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from harness.peers.peer import PeerServer
from harness.peers.proxy import Broker
from harness.peers.serve import TcpPeer
from harness.targets.client.target import BeforeServer
from harness.targets.target import Endpoint, Target
from harness.wire.transport import TcpTransport, Transport


class ProxiedTarget(Target):
    """A started target behind an interposer; its facilities stay the same."""

    ephemeral = True

    def __init__(self, behind: Target, change: BeforeServer | None) -> None:
        super().__init__()
        self.name = f"{behind.name} behind a proxy"
        self.facilities = behind.facilities
        self._behind, self._change = behind, change
        self._stack = ExitStack()
        self._ports: dict[str, int] = {}

    def endpoint(self) -> Endpoint:
        """Give that of the target behind, of which user, password and virtual host count."""
        return self._behind.endpoint()

    def connect(self, document: str) -> Transport:
        if document not in self._ports:
            server: PeerServer = Broker(lambda: self._behind.connect(document))
            if self._change is not None:
                server = self._change.before(server)
            self._ports[document] = self._stack.enter_context(TcpPeer(server)).port
        return TcpTransport("127.0.0.1", self._ports[document], time.monotonic())

    def secure_port(self, document: str) -> Transport:
        """Connect to that of the target behind: nothing stands before it."""
        return self._behind.secure_port(document)

    def use(self, facility: str) -> Mapping[str, str]:
        return self._behind.use(facility)

    def stop(self) -> None:
        """Stop the proxy, not the target behind it."""
        self._stack.close()
        self._ports.clear()

    def attachment(self) -> dict[str, Any]:
        """A proxy stays in the process that made it."""
        raise NotImplementedError("a proxied target does not travel")
