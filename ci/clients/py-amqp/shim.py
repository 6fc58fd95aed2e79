"""py-amqp as a shim: it lives only in calls and in `wait`."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import amqp
from amqp.exceptions import AMQPError
from contract import Refused, Told, serve, unsupported
from contract_amqp091 import Amqp091, told_properties
from contract_values import called, taken
from values import MAKERS

NAMES = {"no-wait": "nowait", "global": "a_global"}
"""Arguments that py-amqp calls otherwise than the document."""
CONNECTING = {each: each for each in ("heartbeat", "frame_max", "channel_max")} | {
    "mechanism": "login_method"
}
NEEDED: Mapping[str, Told] = {"basic.qos": {"prefetch-size": 0, "prefetch-count": 0, "global": False}}
"""What py-amqp wants said."""
COUNTS = ("queue.purge", "queue.delete")
"""Methods of which py-amqp gives the count alone."""


class PyAmqp(Amqp091):
    """py-amqp's connection and channel."""

    library, version = "py-amqp", amqp.__version__
    makers, connecting = MAKERS, CONNECTING
    kinds = (("local", ("AMQPError",)),)

    def closed(self, failure: BaseException) -> Refused | None:
        """Give what the server said; which it closed shows only in where py-amqp throws."""
        trace = failure.__traceback__
        while isinstance(failure, AMQPError) and trace is not None:
            if trace.tb_frame.f_code.co_name == "_on_close":
                of = trace.tb_frame.f_locals["self"]
                level = "connection" if isinstance(of, amqp.Connection) else "channel"
                return Refused("closed", failure.reply_text, str(of.channel_id), level, failure.reply_code)
            trace = trace.tb_next
        return None

    def ended(self, on: str, why: Refused) -> None:
        """Remember that a connection is over. A channel is not: py-amqp opens it again by itself."""
        super().ended(on, why)
        if why.level == "channel":
            self.over.pop(on, None)

    def refused(self, failure: BaseException, on: str = "") -> Refused:
        """Say why something was not done, of the channel that py-amqp says it of."""
        said = self.closed(failure)
        if said and said.level == "channel" and on:
            on = f"{on.partition('/')[0]}/{said.native}"
        return super().refused(failure, on)

    def live(self, connection: str, seconds: float) -> None:
        """Pump, and do what py-amqp leaves to its user: heartbeats."""
        found = self.connections[connection]
        if found.heartbeat:
            found.heartbeat_tick()
            seconds = min(seconds, found.heartbeat / 4)
        with suppress(TimeoutError):
            found.drain_events(timeout=seconds or 0.001)

    def reach(self, host: str, port: int, user: str, password: str, vhost: str, given: Told) -> Any:
        """Open a connection."""
        if given.get("login_method", "PLAIN") not in ("PLAIN", "AMQPLAIN", "EXTERNAL", "GSSAPI"):
            raise unsupported(f"py-amqp has no {given['login_method']}")
        connection = amqp.Connection(
            f"{host}:{port}", user, password, virtual_host=vhost, connect_timeout=self.within, **given
        )
        connection.connect()
        return connection

    def open(self, on: str) -> Told:
        """Open a channel."""
        channel = self.found(on).channel()
        told = self.opened(on, channel.channel_id, channel)

        def returned(failure: AMQPError, exchange: str, key: str, message: amqp.Message) -> None:
            message.delivery_info = {"exchange": exchange, "routing_key": key}
            more = {"code": failure.reply_code, "text": failure.reply_text}
            self.happened("returned", told["on"], **more, message=self._message(message))

        channel.events["basic_return"].add(returned)
        return told

    def call(self, on: str, method: str, args: Mapping[str, Any]) -> Told:
        """Call the function that py-amqp has for a method."""
        name = "flow" if method == "channel.flow" else method.replace(".", "_").replace("-", "_")
        act = getattr(self.found(on), name, None)
        if act is None:
            raise unsupported(f"py-amqp has no function for {method}")
        answer = called(act, NEEDED.get(method, {}) | dict(args), NAMES, MAKERS)
        if hasattr(answer, "_asdict"):
            return {"reply": {each.replace("_", "-"): value for each, value in answer._asdict().items()}}
        if method == "channel.flow":
            return {"reply": {"active": answer}}
        return {"reply": {"message-count": answer} if method in COUNTS and isinstance(answer, int) else {}}

    def properties(self, given: Told) -> Any:
        """Make what py-amqp calls properties."""
        return {"application_headers" if name == "headers" else name: each for name, each in given.items()}

    def publish(
        self, on: str, exchange: str, key: str, body: bytes, properties: Any, mandatory: bool, immediate: bool
    ) -> None:
        """Publish a message."""
        message = amqp.Message(body, **properties)
        self.found(on).basic_publish(message, exchange, key, mandatory=mandatory, immediate=immediate)

    def get(self, on: str, queue: str, settled: bool = True) -> Told:
        """Get a message."""
        message = self.found(on).basic_get(queue, no_ack=settled)
        return {"message": self._message(message) if message else None}

    def receive(
        self, on: str, queue: str, settled: bool = True, tag: str = "", arguments: Told | None = None
    ) -> Told:
        """Start a consumer."""

        def got(message: amqp.Message) -> None:
            tag = message.delivery_info["consumer_tag"]
            self.happened("message", on, tag=tag, message=self._message(message))

        def cancelled(tag: str) -> None:
            self.happened("cancelled", on, tag=tag)

        how = {"no_ack": settled, "callback": got, "on_cancel": cancelled}
        given = taken(arguments, MAKERS)
        return {"tag": self.found(on).basic_consume(queue, tag, arguments=given, **how)}

    def again(self, on: str, message: Any, key: str) -> None:
        """Publish a message again, as py-amqp gave it."""
        self.found(on).basic_publish(message, "", key)

    def _message(self, message: Any) -> Told:
        of = message.delivery_info
        more = {"exchange": of["exchange"], "key": of["routing_key"]}
        if "redelivered" in of:
            more["redelivered"] = of["redelivered"]
        names = {"headers": "application_headers"}
        given = told_properties(lambda name: message.properties.get(names.get(name, name)))
        body = message.body.encode() if isinstance(message.body, str) else bytes(message.body)
        return self.keep(message, body, properties=given, **more)


if __name__ == "__main__":
    serve(PyAmqp())
