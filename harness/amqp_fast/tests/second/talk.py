"""Clients and a server in one room."""

from __future__ import annotations

from typing import Any

from harness.amqp_fast.tests.second.client import Client
from harness.amqp_fast.tests.second.server import Connection, Server

LARGE = bytes(range(256)) * 12
"""A body of three frames of 1024 octets, without the header."""


class Talk:
    """Clients of one server, which has the queue `q`; they hear at once what concerns them."""

    def __init__(self, **settings: Any) -> None:
        self.server = Server(**({"queues": ["q"]} | settings))
        self._pairs: list[tuple[Client, Connection]] = []

    def client(
        self, *, opened: bool = True, channel: dict[str, Any] | None = None, **settings: Any
    ) -> Client:
        """Connect a client; it opens channel 1 and handle 1 on it, unless it shall not."""
        client = Client(**settings)
        self._pairs.append((client, self.server.connect()))
        self()
        if opened:
            client.open_channel(**(channel or {}))
            client.open_handle()
        self()
        return client

    def connection(self, client: Client) -> Connection:
        """The server's side of it."""
        return next(connection for each, connection in self._pairs if each is client)

    def lose(self, client: Client) -> None:
        """Cut the network of a client."""
        self.connection(client).lost()
        self._pairs = [pair for pair in self._pairs if pair[0] is not client]

    def __call__(self) -> None:
        """Let them talk until nobody has anything to say."""
        while any(_converse(*pair) for pair in self._pairs):
            pass


def _converse(client: Client, connection: Connection) -> bool:
    said, spoke = client.take(), False
    heard = connection.receive(said)
    while said or heard:
        spoke = True
        said = client.receive(heard)
        heard = connection.receive(said)
    return spoke
