"""Our own client as a shim: `python -m harness.amqp0_9_1.shims.own`, or in this process."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from importlib.metadata import version
from platform import python_version, system
from typing import Any
from zlib import crc32

from harness.amqp0_9_1.library.channel import ClientChannel
from harness.amqp0_9_1.library.connection import ClientConnection
from harness.amqp0_9_1.library.contents import Content
from harness.amqp0_9_1.shims.methods import made, replies, told_fields
from harness.amqp0_9_1.shims.values import taken_properties, told_properties
from harness.amqp0_9_1.wire.vocabulary import Basic
from harness.shims import contract
from harness.shims.contract import CONTRACT, Kind, Refused
from harness.shims.serving import EVERYWHERE, Commands, serve
from harness.wire.transport import TcpTransport, Transport, Unreachable

ABOUT = {
    "product": "amqp-conformance",
    "version": version("amqp-conformance"),
    "platform": f"Python {python_version()}, {system()}",
    "copyright": "the authors of amqp-conformance",
    "information": "the client of the suite itself",
}
WITHIN = 5.0
"""Seconds that an answer may take where nobody says."""
SHORT = 1024
"""Octets of a body that is told as text."""


class Own(Commands):
    """Our own client; `reach` opens the transport to a host and port."""

    commands = (*EVERYWHERE, "call", "get", "receive", "stop")

    def __init__(self, reach: Callable[[str, int], Transport] | None = None) -> None:
        self._reach = reach or (lambda host, port: TcpTransport(host, port, time.monotonic()))
        self._connections: dict[str, ClientConnection] = {}
        self._transports: dict[str, Transport] = {}
        self._channels: dict[str, ClientChannel] = {}
        self._messages: dict[str, tuple[ClientChannel, Content]] = {}
        self._events: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._opened = self._tokens = 0

    def hello(self) -> Mapping[str, Any]:
        """Say who we are."""
        named = {"library": ABOUT["product"], "version": ABOUT["version"], "language": "Python"}
        return {"contract": CONTRACT, **named, "protocol": "0-9-1"}

    # -- connections and channels ----------------------------------------------------------------------

    def connect(
        self,
        host: str,
        port: int,
        user: str,
        password: str,
        vhost: str,
        heartbeat: int | None = None,
        frame_max: int = 0,
        channel_max: int = 0,
        mechanism: str = "",
        within: float = WITHIN,
    ) -> Mapping[str, Any]:
        """Open a connection."""
        try:
            transport = self._reach(host, port)
        except Unreachable as failure:
            raise Refused(Kind.LOST, str(failure)) from None
        name = f"c{self._opened}"
        self._opened += 1
        connection = ClientConnection(transport, _Events(self, name), within)
        self._connections[name], self._transports[name] = connection, transport
        connection.begin(mechanism, ABOUT, user, password)
        connection.open(vhost, frame_max, channel_max, heartbeat)
        return {"on": name}

    def open(self, on: str) -> Mapping[str, Any]:
        """Open a channel."""
        channel = self._connections[on].channel()
        self._channels[f"{on}/{channel.number}"] = channel
        return {"on": f"{on}/{channel.number}"}

    def wait(self, on: str, count: int = 1 << 30, **how: float) -> Mapping[str, Any]:
        """Live until so many events are there, or so long."""
        name = on.partition("/")[0]
        connection, transport = self._connections[name], self._transports[name]
        deadline = transport.now() + how["for"]
        while len(self._events[name]) < count and connection.live(deadline):
            pass
        return {"events": self._events.pop(name, [])[:]}

    def close(self, on: str) -> None:
        """Close a channel or a connection, and wait for the answer."""
        if on in self._connections:
            self._connections[on].close()
        else:
            self._channels[on].close()

    def reset(self) -> None:
        """Drop everything."""
        for connection in self._connections.values():
            connection.drop()
        for each in (self._connections, self._transports, self._channels, self._messages, self._events):
            each.clear()

    # -- methods and messages --------------------------------------------------------------------------

    def call(self, on: str, method: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call a method."""
        asked = made(method, args)
        channel = self._channels[on]
        if not (due := replies(asked)):
            channel.say(asked)
            return {"reply": {}}
        answer, _ = channel.ask(asked, *due)
        return {"reply": told_fields(answer)}

    def send(
        self,
        on: str,
        exchange: str,
        key: str,
        body: str | Mapping[str, Any],
        properties: Mapping[str, Any] | None = None,
        mandatory: bool = False,
        immediate: bool = False,
        count: int = 1,
    ) -> None:
        """Publish a message, so many times."""
        method = Basic.Publish(exchange=exchange, routing_key=key, mandatory=mandatory, immediate=immediate)
        given = taken_properties(properties or {})
        for _ in range(count):
            self._channels[on].publish(method, given, contract.body(body))

    def get(self, on: str, queue: str, settled: bool = True) -> Mapping[str, Any]:
        """Get a message."""
        channel = self._channels[on]
        asked = made("basic.get", {"queue": queue, "no-ack": settled})
        _, content = channel.ask(asked, Basic.GetOk, Basic.GetEmpty)
        return {"message": content and self.keep(channel, content)}

    def receive(
        self,
        on: str,
        queue: str,
        settled: bool = True,
        tag: str = "",
        arguments: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        """Start a consumer."""
        more = {"arguments": arguments} if arguments else {}
        asked = made("basic.consume", {"queue": queue, "no-ack": settled, "consumer-tag": tag, **more})
        answer, _ = self._channels[on].ask(asked, Basic.ConsumeOk)
        return {"tag": answer.consumer_tag}

    def stop(self, on: str, tag: str) -> None:
        """End a consumer."""
        self._channels[on].ask(Basic.Cancel(tag), Basic.CancelOk)
        self._channels[on].consumers.discard(tag)

    def settle(self, on: str, token: str, outcome: str, multiple: bool = False) -> None:
        """Settle a message."""
        channel, content = self._messages[token]
        tag = int(getattr(content.method, "delivery_tag", 0))
        if outcome == "accept":
            self._channels[on].say(Basic.Ack(tag, multiple))
        elif outcome in ("release", "reject") and not multiple:
            channel.say(Basic.Reject(tag, outcome == "release"))
        else:
            raise Refused(Kind.UNSUPPORTED, f"0-9-1 cannot {outcome} it so")

    def echo(self, on: str, token: str, key: str) -> None:
        """Send a message again: the octets of its properties as they came."""
        _, content = self._messages[token]
        self._channels[on].publish_as(Basic.Publish(routing_key=key), content.header, bytes(content.body))

    def keep(self, channel: ClientChannel, content: Content) -> dict[str, Any]:
        """Give a message a token, and tell it."""
        token = f"m{self._tokens}"
        self._tokens += 1
        self._messages[token] = channel, content
        body, method = bytes(content.body), content.method
        message = {"token": token, "size": len(body), "crc32": crc32(body)}
        if len(body) <= SHORT and (text := _text(body)) is not None:
            message["text"] = text
        names = {"redelivered": "redelivered", "exchange": "exchange", "key": "routing_key"}
        message |= {each: getattr(method, name) for each, name in names.items() if name in method.names}
        return message | {"properties": told_properties(content.properties)}

    def happened(self, name: str, event: dict[str, Any]) -> None:
        """Keep an event of a connection until somebody waits for it."""
        self._events[name].append(event)


class _Events:
    """What happens on one connection; implements harness.amqp0_9_1.library.connection.Listener."""

    def __init__(self, shim: Own, name: str) -> None:
        self._shim, self._name = shim, name

    def event(self, event: str, channel: int, **told: Any) -> None:
        on = f"{self._name}/{channel}" if channel else self._name
        self._shim.happened(self._name, {"event": event, "on": on, **told})

    def content(self, event: str, channel: ClientChannel, content: Content) -> None:
        method: Any = content.method
        by = (
            {"code": method.reply_code, "text": method.reply_text}
            if event == "returned"
            else {"tag": method.consumer_tag}
        )
        self.event(event, channel.number, **by, message=self._shim.keep(channel, content))


def _text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


if __name__ == "__main__":
    serve(Own())
