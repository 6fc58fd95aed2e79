"""pika as a shim, by its blocking connection: it lives only in calls and in `wait`."""

import re
from collections.abc import Mapping
from typing import Any

import pika
from contract import Refused, Told, serve, unsupported
from contract_amqp091 import Amqp091, told_properties
from contract_values import called, taken
from pika import exceptions
from values import MAKERS

NAMES = {"type": "exchange_type", "global": "global_qos"}
"""Arguments that pika calls otherwise than the document."""
OTHERWISE = {"channel.flow": "flow", "confirm.select": "confirm_delivery"}
"""Methods whose functions pika calls otherwise."""
CONNECTING = {each: each for each in ("heartbeat", "frame_max", "channel_max", "mechanism")}


class Pika(Amqp091):
    """pika's blocking connection."""

    library, version = "pika", pika.__version__
    makers, connecting = MAKERS, CONNECTING
    kinds = (
        ("timeout", ("AMQPConnectorStackTimeout", "ConnectionBlockedTimeout")),
        ("local", ("AMQPHeartbeatTimeout", "IncompatibleProtocolError", "ProtocolSyntaxError")),
        ("local", ("AuthenticationError", "NoFreeChannels", "ConnectionWrongStateError")),
        ("lost", ("AMQPConnectionError",)),
        ("local", ("AMQPError", "ChannelError", "ReentrancyError")),
    )

    def closed(self, failure: BaseException) -> Refused | None:
        """Give what the server said."""
        if isinstance(failure, exceptions.ConnectionClosedByBroker | exceptions.ChannelClosedByBroker):
            level = "channel" if isinstance(failure, exceptions.AMQPChannelError) else "connection"
            return Refused("closed", failure.reply_text, "", level, failure.reply_code)
        # While it connects pika guesses the reason, and tells what happened only in the text.
        if said := re.match(r"ConnectionClosedByBroker: \((\d+)\) (.*)", str(failure)):
            return Refused("closed", said[2].strip("'"), "", "connection", int(said[1]))
        return Refused("lost", str(failure)) if str(failure).startswith("StreamLostError") else None

    def live(self, connection: str, seconds: float) -> None:
        """Pump, and look whether a channel was closed: pika tells that only when it is used."""
        self.connections[connection].process_data_events(seconds)
        for name, channel in self.inner.items():
            if name.startswith(f"{connection}/") and channel.is_closed and name not in self.over:
                reason = channel._closing_reason
                if isinstance(reason, exceptions.ChannelClosedByBroker):
                    self.ended(name, self.refused(reason))

    def reach(self, host: str, port: int, user: str, password: str, vhost: str, given: Told) -> Any:
        """Open a connection, once."""
        mechanism = given.pop("mechanism", "PLAIN")
        if mechanism not in ("PLAIN", "EXTERNAL"):
            raise unsupported(f"pika has no {mechanism}")
        plain = pika.PlainCredentials(user, password)
        wanted = pika.ConnectionParameters(
            host=host,
            port=port,
            virtual_host=vhost,
            credentials=plain if mechanism == "PLAIN" else pika.credentials.ExternalCredentials(),
            connection_attempts=1,
            socket_timeout=self.within,
            stack_timeout=self.within,
            **given,
        )
        return pika.BlockingConnection(wanted)

    def open(self, on: str) -> Told:
        """Open a channel."""
        channel = self.found(on).channel()
        name = f"{on}/{channel.channel_number}"
        channel.add_on_cancel_callback(
            lambda frame: self.happened("cancelled", name, tag=frame.method.consumer_tag)
        )
        channel.add_on_return_callback(lambda _, *got: self._returned(name, *got))
        return self.opened(on, channel.channel_number, channel)

    def _returned(self, on: str, method: Any, properties: Any, body: bytes) -> None:
        message = self._message(method, properties, body)
        self.happened("returned", on, code=method.reply_code, text=method.reply_text, message=message)

    def call(self, on: str, method: str, args: Mapping[str, Any]) -> Told:
        """Call the function that pika has for a method."""
        name = OTHERWISE.get(method) or method.replace(".", "_").replace("-", "_")
        act = getattr(self.found(on), name, None)
        if act is None:
            raise unsupported(f"pika has no function for {method}")
        answer = called(act, args, NAMES, MAKERS)
        if isinstance(answer, bool):
            return {"reply": {"active": answer}}
        fields = vars(answer.method) if answer is not None and hasattr(answer, "method") else {}
        return {"reply": {each.replace("_", "-"): value for each, value in fields.items()}}

    def properties(self, given: Told) -> Any:
        """Make pika's properties."""
        return pika.BasicProperties(**given)

    def publish(
        self, on: str, exchange: str, key: str, body: bytes, properties: Any, mandatory: bool, immediate: bool
    ) -> None:
        """Publish a message."""
        if immediate:
            raise unsupported("pika has no immediate")
        self.found(on).basic_publish(exchange, key, body, properties, mandatory)

    def get(self, on: str, queue: str, settled: bool = True) -> Told:
        """Get a message."""
        method, properties, body = self.found(on).basic_get(queue, auto_ack=settled)
        return {"message": self._message(method, properties, body) if method else None}

    def receive(
        self, on: str, queue: str, settled: bool = True, tag: str | None = None, arguments: Told | None = None
    ) -> Told:
        """Start a consumer."""

        def got(_: Any, method: Any, properties: Any, body: bytes) -> None:
            message = self._message(method, properties, body)
            self.happened("message", on, tag=method.consumer_tag, message=message)

        given = taken(arguments, MAKERS)
        channel = self.found(on)
        return {"tag": channel.basic_consume(queue, got, settled, consumer_tag=tag, arguments=given)}

    def delivery(self, message: Any) -> int:
        """Give the delivery tag of what was kept."""
        tag: int = message[0].delivery_tag
        return tag

    def again(self, on: str, message: Any, key: str) -> None:
        """Publish a message again, as pika gave it."""
        _, properties, body = message
        self.found(on).basic_publish("", key, body, properties)

    def _message(self, method: Any, properties: Any, body: bytes) -> Told:
        more = {"exchange": method.exchange, "key": method.routing_key}
        if hasattr(method, "redelivered"):
            more["redelivered"] = method.redelivered
        given = told_properties(lambda name: getattr(properties, name))
        return self.keep((method, properties, body), body, properties=given, **more)


if __name__ == "__main__":
    serve(Pika())
