"""pika as a shim: `python -m harness.amqp0_9_1.shims.pika`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from zlib import crc32

import pika
from pika.adapters.blocking_connection import BlockingChannel

from harness.shims.contract import CONTRACT, Kind, Refused, body
from harness.shims.serving import Act, Commands, serve

WITHIN = 5.0
"""Seconds that pika waits."""
NAMES = {"type": "exchange_type"}
"""Arguments that pika calls otherwise than the document."""
KINDS = (
    (("ChannelClosedByBroker", "ConnectionClosedByBroker"), Kind.CLOSED),
    (("ProbableAuthenticationError", "ProbableAccessDeniedError"), Kind.CLOSED),
    (("AMQPHeartbeatTimeout", "ConnectionBlockedTimeout"), Kind.TIMEOUT),
    (("IncompatibleProtocolError", "ProtocolVersionMismatch", "ProtocolSyntaxError"), Kind.LOCAL),
    (("AMQPConnectionError", "ConnectionWrongStateError"), Kind.LOST),
    (("AMQPError", "AssertionError", "TypeError", "ValueError"), Kind.LOCAL),
)
"""What pika's exceptions mean, by the names of their classes and of those above them."""


class Pika(Commands):
    """pika's blocking connection."""

    def __init__(self) -> None:
        self._connections: dict[str, pika.BlockingConnection] = {}
        self._channels: dict[str, BlockingChannel] = {}
        self._opened = 0

    def acts(self) -> Mapping[str, Act]:
        every = (self.hello, self.connect, self.open, self.call, self.send, self.get, self.close, self.reset)
        return {each.__name__: each for each in every}

    def hello(self) -> Mapping[str, Any]:
        """Say who we are."""
        named = {"library": "pika", "version": pika.__version__, "language": "Python"}
        return {"contract": CONTRACT, **named, "protocol": "0-9-1"}

    def connect(self, host: str, port: int, user: str, password: str, vhost: str) -> Mapping[str, Any]:
        """Open a connection, once."""
        wanted = pika.ConnectionParameters(
            host,
            port,
            vhost,
            pika.PlainCredentials(user, password),
            connection_attempts=1,
            stack_timeout=WITHIN,
            socket_timeout=WITHIN,
        )
        with _told():
            connection = pika.BlockingConnection(wanted)
        name = f"c{self._opened}"
        self._opened += 1
        self._connections[name] = connection
        return {"on": name}

    def open(self, on: str) -> Mapping[str, Any]:
        """Open a channel."""
        with _told():
            channel = self._connections[on].channel()
        name = f"{on}/{channel.channel_number}"
        self._channels[name] = channel
        return {"on": name}

    def call(self, on: str, method: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call the function that pika has for a method."""
        act: Callable[..., Any] | None = getattr(self._channels[on], method.replace(".", "_"), None)
        if act is None:
            raise Refused(Kind.UNSUPPORTED, f"pika has no function for {method}")
        with _told():
            answer = act(**{NAMES.get(name, name.replace("-", "_")): each for name, each in args.items()})
        told = vars(getattr(answer, "method", None) or object) if answer else {}
        return {"reply": {name: each for name, each in told.items() if isinstance(each, str | int)}}

    def send(
        self,
        on: str,
        exchange: str,
        key: str,
        body: str | Mapping[str, int],
        properties: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        """Publish a message."""
        with _told():
            told = pika.BasicProperties(**dict(properties or {}))
            self._channels[on].basic_publish(exchange, key, _octets(body), told)
        return {}

    def get(self, on: str, queue: str) -> Mapping[str, Any]:
        """Get a message, without acknowledgement."""
        with _told():
            method, _, octets = self._channels[on].basic_get(queue, auto_ack=True)
        return {"message": {"size": len(octets), "crc32": crc32(octets)} if method else None}

    def close(self, on: str) -> Mapping[str, Any]:
        """Close a channel or a connection, and wait for the answer."""
        with _told():
            (self._connections if on in self._connections else self._channels).pop(on).close()
        return {}

    def reset(self) -> Mapping[str, Any]:
        """Drop the sockets; what pika says about it means nothing."""
        for connection in self._connections.values():
            if connection.is_open:
                connection._impl._transport.abort()
        self._connections.clear()
        self._channels.clear()
        return {}


@contextmanager
def _told() -> Iterator[None]:
    """Say in the contract's words why pika did not do something. Raises Refused."""
    try:
        yield
    except Exception as failure:
        classes = {each.__name__ for each in type(failure).__mro__}
        native = f"{type(failure).__module__}.{type(failure).__name__}"
        for names, kind in KINDS:
            if not classes.isdisjoint(names):
                raise Refused(kind, repr(failure), native) from None
        raise


_octets = body

if __name__ == "__main__":
    serve(Pika())
