"""A library on asyncio: its event loop runs in a thread of its own, as it would in a program."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import TimeoutError as Late
from typing import Any

import contract
import contract_amqp091


class Looped(contract_amqp091.Amqp091):
    """A shim whose library works in the loop, while commands wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.new_event_loop()
        self._something = threading.Event()
        self._dropped: list[Any] = []
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def run(self, what: Coroutine[Any, Any, Any]) -> Any:
        """Do something in the loop, and give up after `within`."""
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(what, self.within), self._loop)
        try:
            return future.result(self.within + contract.GRACE / 2)
        except Late:
            future.cancel()
            raise

    def live(self, connection: str, seconds: float) -> None:  # noqa: ARG002
        """Wait until something happens in the loop."""
        self._something.wait(seconds)
        self._something.clear()

    def happened(self, event: str, on: str, **more: Any) -> None:
        """Keep an event and wake who waits."""
        super().happened(event, on, **more)
        self._something.set()

    def reset(self) -> None:
        """Drop everything; what the loop still holds must not be closed by the end of its objects."""
        self._dropped += [*self.connections.values(), *self.inner.values()]
        super().reset()
