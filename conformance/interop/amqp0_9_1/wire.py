"""0-9-1 as measuring legs needs it, and how a shim of it is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.interop.amqp0_9_1.content import form_of, key, readings, with_value
from conformance.interop.amqp0_9_1.own import Own
from conformance.interop.amqp0_9_1.stream import Stream
from conformance.interop.play.protocol import Wire
from conformance.interop.play.shims import next_message
from harness.shims.contract import Kind, Refused, Shim


class Talk:
    """One connection with one channel of a client; implements conformance.interop.play.protocol.Talk."""

    def __init__(self, shim: Shim, where: Mapping[str, Any]) -> None:
        self._shim = shim
        connection = shim.do("connect", **where)["on"]
        self._channel = shim.do("open", on=connection)["on"]
        self._gets = True

    def send(self, message: Mapping[str, Any], address: str, **how: Any) -> None:
        told = {"body": message.get("body", ""), "properties": message.get("properties", {}), **how}
        self._shim.do("send", on=self._channel, exchange="", key=address, **told)

    def get(self, address: str, settled: bool, within: float) -> Mapping[str, Any] | None:
        """Get it; where the library cannot do that, or is not to, by a consumer for this one message."""
        if self._gets:
            try:
                got: Mapping[str, Any] | None
                got = self._shim.do("get", on=self._channel, queue=address, settled=settled)["message"]
                return got
            except Refused as refusal:
                if refusal.kind not in (Kind.UNSUPPORTED, Kind.UNKNOWN):
                    raise
                self._gets = False
        return self.receive(address, settled, within)

    def receive(self, address: str, settled: bool, within: float) -> Mapping[str, Any] | None:
        """Get it by a consumer, which is stopped when it has come."""
        tag = self._shim.do("receive", on=self._channel, queue=address, settled=settled)["tag"]
        message = next_message(self._shim, self._channel, within)
        if message is not None:
            self._shim.do("stop", on=self._channel, tag=tag)
        return message

    def echo(self, token: str, address: str) -> None:
        self._shim.do("echo", on=self._channel, token=token, key=address)

    def settle(self, token: str) -> None:
        self._shim.do("settle", on=self._channel, token=token, outcome="accept")

    def fence(self, address: str) -> None:
        self._shim.do(
            "call", on=self._channel, method="queue.declare", args={"queue": address, "passive": True}
        )


WIRE = Wire("0-9-1", Stream, Own, Talk, form_of, with_value, readings, "interop-nobody-has-this", key, dict)
