"""A connection that a client under test has opened: what it tells of it, and how it lives; of no protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic

from harness.play.telling import AnyLink, Telling
from harness.shims.contract import Refused


@dataclass(frozen=True, slots=True)
class Event:
    """What happened on a connection as the client tells it; `told` is what the contract has for it."""

    event: str
    on: str
    told: Mapping[str, Any]


class Opened(Generic[AnyLink]):
    """A connection of a client, called `on` by its shim; empty where it is not open, and why is `refused`."""

    def __init__(self, client: Telling[AnyLink], link: AnyLink, on: str, refused: Refused | None) -> None:
        self.client, self.link, self.on, self.refused = client, link, on, refused
        self.events: list[Event] = []
        """What the client has told so far of what happened, oldest first."""

    def close(self, on: str = "") -> None:
        """Have the client close the connection, or a part of it, and wait for the answer."""
        self.client.told("close", on=on or self.on)

    def closes(self, on: str = "") -> Refused | None:
        """Have the client close it, though it may get no answer, and say why it gave up."""
        return self.client.attempted("close", on=on or self.on)

    def lives(self, seconds: float, count: int | None = None) -> bool:
        """Let the client live for so long, or until so many events more have come; False if it cannot."""
        counted = {} if count is None else {"count": count}
        told: dict[str, Any] = {}
        refused = self.client.attempted("wait", into=told, on=self.on, **{"for": seconds}, **counted)
        for each in told.get("events", ()):
            plain = {name: value for name, value in each.items() if name not in ("event", "on")}
            self.events.append(Event(str(each["event"]), str(each.get("on", "")), plain))
        return refused is None

    def works_on(self) -> None:
        """Judge that the client can still use the connection, by another channel or session. Raises Unmet."""
        told: dict[str, Any] = {}
        refused = self.client.attempted("open", into=told, on=self.on)
        self.client.judge("the connection can be used", refused.told if refused else "", refused is None)
