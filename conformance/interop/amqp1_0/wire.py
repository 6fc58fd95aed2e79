"""1.0 as measuring legs needs it, and how a shim of it is told."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from conformance.interop.amqp1_0.message import asked, form_of, key, readings, with_value
from conformance.interop.amqp1_0.own import Own
from conformance.interop.amqp1_0.stream import Stream
from conformance.interop.comparing import SECTIONS
from conformance.interop.play.protocol import Wire
from conformance.interop.play.shims import next_message
from harness.shims.contract import Kind, Refused, Shim


class Talk:
    """One connection with one session of a client; implements conformance.interop.play.protocol.Talk."""

    def __init__(self, shim: Shim, where: Mapping[str, Any]) -> None:
        self._shim = shim
        told = {name: each for name, each in where.items() if name != "heartbeat"}
        told["container"] = f"interop-{secrets.token_hex(6)}"  # some libraries would have none
        connection = shim.do("connect", **told)["on"]
        self._session = shim.do("open", on=connection)["on"]
        self._links: dict[tuple[str, str, bool], str] = {}
        self._from = ""
        """The link from which the last message came."""

    def _link(self, role: str, address: str, settled: bool) -> str:
        """Give a link to or from an address, attached once."""
        if (role, address, settled) not in self._links:
            how: dict[str, Any] = {"snd": "settled"} if settled else {}
            if role == "receiver":
                how["credit"] = 0
            told = self._shim.do("attach", on=self._session, role=role, address=address, **how)
            self._links[role, address, settled] = str(told["on"])
        return self._links[role, address, settled]

    def send(self, message: Mapping[str, Any], address: str, **how: Any) -> None:
        """Send it. Raises Refused, also where the broker has not accepted it."""
        told = {"body": message.get("body", "")} | {
            each: message[each] for each in SECTIONS if each in message
        }
        link = self._link("sender", address, how.get("settled", False))
        outcome = self._shim.do("send", on=link, **told, **how).get("outcome")
        if outcome not in (None, "accepted"):
            raise Refused(Kind.CLOSED, f"the outcome is {outcome}")

    def get(self, address: str, settled: bool, within: float) -> Mapping[str, Any] | None:
        """Give credit for one message, and wait for it."""
        self._from = self._link("receiver", address, settled)
        self._shim.do("credit", on=self._from, credit=1)
        return next_message(self._shim, self._from, within)

    receive = get

    def echo(self, token: str, address: str) -> None:
        self._shim.do("echo", on=self._link("sender", address, False), token=token)

    def settle(self, token: str) -> None:
        self._shim.do("settle", on=self._from, token=token, outcome="accept")

    def fence(self, address: str) -> None:
        """Do nothing: what is sent again is answered."""


WIRE = Wire("1-0", Stream, Own, Talk, form_of, with_value, readings, "", key, asked)
