"""aio-pika as a shim: its event loop runs in a thread of its own, as it would in a program."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import aio_pika
import contract_values
from contract import Refused, Told, serve, unsupported
from contract_values import called, taken
from failures import KINDS, closed
from loop import Looped
from names import CONNECTING, NAMES
from properties import came, sent


class AioPika(Looped):
    """aio-pika's connection, channel and message; other methods by the channel of aiormq beneath."""

    library, version = "aio-pika", aio_pika.__version__
    makers, connecting = contract_values.PAMQP, CONNECTING
    kinds, stamp = KINDS, staticmethod(contract_values.moment)

    def closed(self, failure: BaseException) -> Refused | None:
        """Give what the server said."""
        return closed(failure)

    def properties(self, given: Told) -> Any:
        """Make what aio-pika calls properties."""
        return sent(given)

    def _over(self, name: str, _: Any, failure: BaseException | None) -> None:
        if name in self.connections or name in self.inner:
            why = self.refused(failure) if failure else None
            if why and why.kind in ("closed", "lost"):
                self.ended(name, why)

    def reach(self, host: str, port: int, user: str, password: str, vhost: str, given: Told) -> Any:
        """Open a connection that does not come back by itself."""
        if given.get("auth", "PLAIN") not in ("PLAIN", "EXTERNAL"):
            raise unsupported(f"aio-pika has no {given['auth']}")
        named = {"host": host, "port": port, "login": user, "password": password, "virtualhost": vhost}
        return self.run(aio_pika.connect(**named, **given, timeout=self.within))

    def connect(self, *given: Any, **optional: Any) -> Told:
        """Open a connection, and hear of its end."""
        told = super().connect(*given, **optional)
        self.connections[told["on"]].close_callbacks.add(partial(self._over, told["on"]))
        return told

    def open(self, on: str) -> Told:
        """Open a channel, without confirms, which are no part of 0-9-1; so it tells no returns."""

        async def opening() -> Any:
            channel = self.found(on).channel(publisher_confirms=False)
            await channel.initialize(timeout=self.within)
            return channel

        channel = self.run(opening())
        told = self.opened(on, channel.number, channel)
        channel.close_callbacks.add(partial(self._over, told["on"]))
        return told

    def call(self, on: str, method: str, args: Mapping[str, Any]) -> Told:
        """Call the function that the channel beneath has for a method."""
        name = "flow" if method == "channel.flow" else method.replace(".", "_")
        if method == "basic.recover-async":
            name, args = "basic_recover", {**args, "no-wait": True}

        async def calling() -> Any:
            act = getattr(await self.found(on).get_underlay_channel(), name, None)
            if act is None:
                raise unsupported(f"aiormq has no function for {method}")
            return await called(act, args, NAMES, contract_values.PAMQP)

        answer = dict(self.run(calling()) or {})
        return {"reply": {each.replace("_", "-"): value for each, value in answer.items()}}

    def publish(
        self, on: str, exchange: str, key: str, body: bytes, properties: Any, mandatory: bool, immediate: bool
    ) -> None:
        """Publish a message."""
        message = aio_pika.Message(body, **properties)
        self._publish(on, exchange, key, message, mandatory=mandatory, immediate=immediate)

    def _publish(self, on: str, exchange: str, key: str, message: Any, **how: bool) -> None:
        async def publishing() -> None:
            found = await self.found(on).get_exchange(exchange, ensure=False)
            await found.publish(message, key, timeout=self.within, **how)

        self.run(publishing())

    def get(self, on: str, queue: str, settled: bool = True) -> Told:
        """Get a message."""

        async def getting() -> Any:
            found = await self.found(on).get_queue(queue, ensure=False)
            return await found.get(no_ack=settled, fail=False, timeout=self.within)

        message = self.run(getting())
        return {"message": self._message(message) if message else None}

    def receive(
        self, on: str, queue: str, settled: bool = True, tag: str | None = None, arguments: Told | None = None
    ) -> Told:
        """Start a consumer."""

        async def got(message: Any) -> None:
            self.happened("message", on, tag=message.consumer_tag, message=self._message(message))

        async def starting() -> Any:
            found = await self.found(on).get_queue(queue, ensure=False)
            how = {"no_ack": settled, "consumer_tag": tag, "arguments": taken(arguments, self.makers)}
            return await found.consume(got, timeout=self.within, **how)

        return {"tag": self.run(starting())}

    def stop(self, on: str, tag: str) -> None:
        """End a consumer."""

        async def stopping() -> None:
            channel = await self.found(on).get_underlay_channel()
            await channel.basic_cancel(tag, timeout=self.within)

        self.run(stopping())

    def acknowledge(self, on: str, message: Any, multiple: bool) -> None:  # noqa: ARG002
        """Send Basic.Ack."""
        self.run(message.ack(multiple))

    def reject(self, on: str, message: Any, requeue: bool) -> None:  # noqa: ARG002
        """Send Basic.Reject."""
        self.run(message.reject(requeue))

    def again(self, on: str, message: Any, key: str) -> None:
        """Publish a message again, as aio-pika gave it."""
        self._publish(on, "", key, message, mandatory=False, immediate=False)

    def close(self, on: str) -> None:
        """Close a channel or a connection."""
        self.run(self.found(on).close())

    def _message(self, message: Any) -> Told:
        more = {"exchange": message.exchange, "key": message.routing_key}
        redelivered = bool(message.redelivered)
        return self.keep(message, message.body, properties=came(message), redelivered=redelivered, **more)


if __name__ == "__main__":
    serve(AioPika())
