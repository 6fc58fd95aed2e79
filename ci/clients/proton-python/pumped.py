"""Proton's containers, which live only while somebody pumps them."""

from collections.abc import Callable
from time import monotonic
from typing import Any

import proton
from contract import Refused, Shim
from proton.reactor import Container


class Pumped(Shim):
    """Connections of which each has a container, and pumping up to what is waited for."""

    library, version, protocol = "proton-python", ".".join(map(str, proton.VERSION)), "1-0"
    kinds = (("timeout", ("Timeout",)), ("local", ("ProtonException",)))

    def __init__(self) -> None:
        super().__init__()
        self.containers: dict[str, Container] = {}
        self.closing: set[str] = set()
        """What is about to end because we said so; what has, of connections, is in `closed_by_us`."""
        self.closed_by_us: set[str] = set()

    def forget(self) -> None:
        """Forget all containers."""
        for each in (self.closing, self.closed_by_us, self.containers):
            each.clear()

    def closed(self, failure: BaseException) -> Refused | None:  # noqa: ARG002
        """Give nothing: Proton tells it by events."""
        return None

    def live(self, connection: str, seconds: float) -> None:
        """Pump once."""
        container = self.containers[connection]
        container.timeout = seconds
        running = container.process()
        # What an event has made Proton say goes out before the shim looks at what is over.
        while running and self._to_say(connection):
            container.timeout = 0
            running = container.process()
        if not running:
            self.over.setdefault(connection, Refused("local", "the container has ended"))

    def _to_say(self, connection: str) -> bool:
        found = self.connections.get(connection)
        transport = found.transport if found is not None else None
        return transport is not None and not transport.closed and transport.pending() > 0

    def until(self, on: str, ready: Callable[[], Any]) -> None:
        """Pump until something is so. Raises Refused when what it is about is over, or the time is."""
        deadline, name = monotonic() + self.within, on.partition("/")[0]
        while not ready():
            for each in (on, on.rpartition("/")[0], name):
                if each in self.over:
                    raise self.over[each]
            if (left := deadline - monotonic()) <= 0:
                raise Refused("timeout", f"{on}: no answer in time")
            self.live(name, left)

    def alive(self, on: str) -> Any:
        """Give an endpoint that is not over. Raises Refused."""
        for each in (on, on.rpartition("/")[0], on.partition("/")[0]):
            if each in self.over:
                raise self.over[each]
        return self.found(on)
