"""pika as a shim: `python -m harness.amqp0_9_1.shims.pika`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from zlib import crc32

import pika
from pika.adapters.blocking_connection import BlockingChannel

from harness.shims import contract
from harness.shims.contract import Kind, Refused
from harness.shims.serving import Library, serve

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


class Pika(Library[pika.BlockingConnection, BlockingChannel]):
    """pika's blocking connection."""

    library, version = "pika", pika.__version__

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
            return self.keep(pika.BlockingConnection(wanted))

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
    ) -> None:
        """Publish a message."""
        with _told():
            told = pika.BasicProperties(**dict(properties or {}))
            self._channels[on].basic_publish(exchange, key, contract.body(body), told)

    def get(self, on: str, queue: str) -> Mapping[str, Any]:
        """Get a message, without acknowledgement."""
        with _told():
            method, _, octets = self._channels[on].basic_get(queue, auto_ack=True)
        return {"message": {"size": len(octets), "crc32": crc32(octets)} if method else None}

    def close(self, on: str) -> None:
        """Close a channel or a connection, and wait for the answer."""
        with _told():
            (self._connections if on in self._connections else self._channels).pop(on).close()

    def drop(self, connection: pika.BlockingConnection) -> None:
        """Abort the transport; what pika says about it means nothing."""
        if connection.is_open:
            connection._impl._transport.abort()


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


if __name__ == "__main__":
    serve(Pika())
