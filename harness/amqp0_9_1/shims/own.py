"""Our own frame-level client as a shim: `python -m harness.amqp0_9_1.shims.own`, or in this process."""

import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from platform import python_version, system
from typing import Any
from zlib import crc32

from harness.amqp0_9_1.client.connection import AmqpChannel, AmqpConnection
from harness.amqp0_9_1.client.link import Link
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import CODEC
from harness.play.context import Context
from harness.play.expect import SILENCE, ControlFailed
from harness.shims import contract
from harness.shims.contract import Kind, Refused
from harness.shims.serving import Library, serve
from harness.targets.target import Endpoint
from harness.wire.journal import Unkept
from harness.wire.transport import TcpTransport, Transport, Unreachable

ABOUT = {
    "product": "amqp-conformance",
    "version": version("amqp-conformance"),
    "platform": f"Python {python_version()}, {system()}",
    "copyright": "the authors of amqp-conformance",
    "information": "the frame-level client of the suite itself",
}


class Own(Library[AmqpConnection, AmqpChannel]):
    """Our own client; `reach` opens the transport to a host and port."""

    library, version = ABOUT["product"], ABOUT["version"]

    def __init__(self, reach: Callable[[str, int], Transport] | None = None) -> None:
        super().__init__()
        self._reach = reach or (lambda host, port: TcpTransport(host, port, time.monotonic()))

    def connect(self, host: str, port: int, user: str, password: str, vhost: str) -> Mapping[str, Any]:
        """Open a connection."""
        context = Context(Unkept(), "own")
        try:
            link = Link(self._reach(host, port), context, "own", "0-9-1")
        except Unreachable as failure:
            raise Refused(Kind.LOST, str(failure)) from None
        connection = AmqpConnection(link, context, Endpoint(host, port, user, password, vhost))
        name = self.keep(connection)
        self._try(connection, lambda: self._shake_hands(connection))
        return name

    @staticmethod
    def _shake_hands(connection: AmqpConnection) -> None:
        connection.begin()
        suggested = connection.start.version_major, connection.start.version_minor
        if suggested != (0, 9):
            connection.drop()
            raise Refused(Kind.LOCAL, f"the server suggests version {suggested[0]}-{suggested[1]}")
        connection.authenticate(connection.start_ok(client_properties=ABOUT))
        connection.open()

    def open(self, on: str) -> Mapping[str, Any]:
        """Open a channel."""
        connection = self._connections[on]
        channel = self._try(connection, connection.channel)
        name = f"{on}/{channel.number}"
        self._channels[name] = channel
        return {"on": name}

    def call(self, on: str, method: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call a method that is answered."""
        channel = self._channels[on]
        asked: Method = CODEC.methods[method](**{name.replace("-", "_"): each for name, each in args.items()})
        answer = self._try(channel.connection, lambda: channel.ask(asked))
        told = {name: getattr(answer, name) for name in answer.names}
        return {"reply": {name: each for name, each in told.items() if isinstance(each, str | int)}}

    def send(
        self,
        on: str,
        exchange: str,
        key: str,
        body: str | Mapping[str, int],
        properties: Mapping[str, Any] | None = None,
    ) -> None:
        """Publish a message."""
        self._channels[on].publish(contract.body(body), exchange=exchange, key=key, **dict(properties or {}))

    def get(self, on: str, queue: str) -> Mapping[str, Any]:
        """Get a message, without acknowledgement."""
        channel = self._channels[on]
        got = self._try(channel.connection, lambda: channel.get(queue))
        return {"message": None if got is None else {"size": len(got.body), "crc32": crc32(got.body)}}

    def close(self, on: str) -> None:
        """Close a channel or a connection, and wait for the answer."""
        if on in self._connections:
            self._connections.pop(on).close()
        else:
            channel = self._channels.pop(on)
            self._try(channel.connection, channel.close)

    def drop(self, connection: AmqpConnection) -> None:
        connection.drop()

    @staticmethod
    def _try(connection: AmqpConnection, act: Callable[[], Any]) -> Any:
        """Do it. Raises Refused; a connection that the server has closed is gone then."""
        try:
            return act()
        except ControlFailed as failure:
            if connection.link.over or connection.link.ended is not None:
                connection.drop()
            kind = Kind.CLOSED if ".close" in failure.actual else Kind.LOST
            raise Refused(Kind.TIMEOUT if failure.actual == SILENCE else kind, str(failure)) from None


if __name__ == "__main__":
    serve(Own())
