"""AMQPStorm as a shim: it reads in a thread, and gives messages only to who asks, which is `wait`."""

import re
import time
from collections.abc import Mapping
from typing import Any

import amqpstorm
import contract_values
from amqpstorm import AMQPChannelError, AMQPConnectionError, AMQPMessageError
from contract import Refused, Told, serve, unsupported
from contract_amqp091 import Amqp091, told_properties
from contract_values import called, taken

NAMES = {"type": "exchange_type", "global": "global_"}
"""Arguments that AMQPStorm calls otherwise than the document."""
CONNECTING = {"heartbeat": "heartbeat"}
IDLE = 0.01
"""Seconds between two looks, as AMQPStorm itself takes them."""
WORDS = (
    (AMQPChannelError, "channel", r"Channel \d+ was closed by remote server: (.*)"),
    (AMQPConnectionError, "connection", r"Connection was closed by remote server: (.*)"),
)
"""How AMQPStorm says that the server closed something."""


class AmqpStorm(Amqp091):
    """AMQPStorm's connection and channel."""

    library, version = "amqpstorm", amqpstorm.__version__
    makers = contract_values.PAMQP
    connecting = CONNECTING
    stamp = staticmethod(contract_values.moment)
    kinds = (("local", ("AMQPChannelError", "AMQPInvalidArgument")),)

    def closed(self, failure: BaseException) -> Refused | None:
        """Give what the server said; the reply text stands only in the message of an exception."""
        for kind, level, words in WORDS:
            if isinstance(failure, kind) and (said := re.match(words, str(failure), re.DOTALL)):
                return Refused("closed", said[1], "", level, failure.error_code or 0)
        if re.search("took too long|timed out", str(failure)):
            return Refused("timeout", str(failure))
        return Refused("local", str(failure)) if str(failure) == "connection closed" else None

    def refused(self, failure: BaseException, on: str = "") -> Refused:
        """Say why something was not done. A message that comes back is an exception to AMQPStorm."""
        if isinstance(failure, AMQPMessageError):
            said = re.match(r"Message not delivered: (.*) \(\d+\) to queue ", str(failure), re.DOTALL)
            text = said[1] if said else str(failure)
            self.happened("returned", on, code=failure.error_code, text=text, message={})
        return super().refused(failure, on)

    def live(self, connection: str, seconds: float) -> None:
        """Ask all channels for messages and for what went wrong."""
        self.connections[connection].check_for_errors()
        for name, channel in list(self.inner.items()):
            if name.startswith(f"{connection}/") and name not in self.over:
                try:
                    channel.check_for_errors()
                    if channel.consumer_tags:
                        channel.process_data_events(auto_decode=False)
                except AMQPChannelError as failure:
                    self.refused(failure, name)
        time.sleep(min(seconds, IDLE))

    def reach(self, host: str, port: int, user: str, password: str, vhost: str, given: Told) -> Any:
        """Open a connection."""
        return amqpstorm.Connection(
            host, user, password, port, virtual_host=vhost, timeout=self.within, **given
        )

    def open(self, on: str) -> Told:
        """Open a channel; AMQPStorm takes its time-out in whole seconds."""
        channel = self.found(on).channel(rpc_timeout=max(round(self.within), 1))
        return self.opened(on, channel.channel_id, channel)

    def call(self, on: str, method: str, args: Mapping[str, Any]) -> Told:
        """Call the function that AMQPStorm has for a method."""
        of, _, name = method.partition(".")
        act = getattr(getattr(self.found(on), of, None), name.replace("-", "_"), None)
        if act is None:
            raise unsupported(f"AMQPStorm has no function for {method}")
        answer = called(act, args, NAMES, contract_values.PAMQP)
        return {"reply": {each.replace("_", "-"): value for each, value in (answer or {}).items()}}

    def properties(self, given: Told) -> Any:
        """Make what AMQPStorm calls properties."""
        return {"message_type" if name == "type" else name: each for name, each in given.items()}

    def publish(
        self, on: str, exchange: str, key: str, body: bytes, properties: Any, mandatory: bool, immediate: bool
    ) -> None:
        """Publish a message."""
        self.found(on).basic.publish(body, key, exchange, dict(properties), mandatory, immediate)

    def get(self, on: str, queue: str, settled: bool = True) -> Told:
        """Get a message."""
        message = self.found(on).basic.get(queue, no_ack=settled, auto_decode=False)
        return {"message": self._message(message) if message else None}

    def receive(
        self,
        on: str,
        queue: str,
        settled: bool = True,
        tag: str = "",
        arguments: Mapping[str, Any] | None = None,
    ) -> Told:
        """Start a consumer."""

        def got(message: amqpstorm.Message) -> None:
            tag = message.method["consumer_tag"]
            self.happened("message", on, tag=tag, message=self._message(message))

        given = taken(arguments, self.makers)
        return {"tag": self.found(on).basic.consume(got, queue, tag, no_ack=settled, arguments=given)}

    def stop(self, on: str, tag: str) -> None:
        """End a consumer."""
        self.found(on).basic.cancel(tag)

    def acknowledge(self, on: str, message: Any, multiple: bool) -> None:
        """Send Basic.Ack."""
        self.found(on).basic.ack(message.delivery_tag, multiple)

    def reject(self, on: str, message: Any, requeue: bool) -> None:
        """Send Basic.Reject."""
        self.found(on).basic.reject(message.delivery_tag, requeue)

    def again(self, on: str, message: Any, key: str) -> None:
        """Publish a message again, as AMQPStorm gave it."""
        self.found(on).basic.publish(message.body, key, "", message.properties)

    def _message(self, message: Any) -> Told:
        of, names = message.method, {"type": "message_type"}
        more = {"exchange": of["exchange"], "key": of["routing_key"], "redelivered": of["redelivered"]}
        given = told_properties(lambda name: message.properties.get(names.get(name, name)))
        return self.keep(message, message.body, properties=given, **more)


if __name__ == "__main__":
    serve(AmqpStorm())
