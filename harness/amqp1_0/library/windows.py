"""Our own client's session as its links see it: what it says, windows, delivery-ids (2.5.6)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

from harness.amqp1_0.library.stream import Stream
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.performatives import Disposition, End, Flow, Transfer
from harness.amqp1_0.wire.serial import Serial

WINDOW = 2048
"""Transfers that we are ready to take; stated anew when half of them have come."""


class Sending(Protocol):
    """A link that sends."""

    def take_outcome(self, delivery: Outgoing, said: Disposition) -> None:
        """Take what the server says of a delivery."""


@dataclass(slots=True, eq=False)
class Outgoing:
    """A delivery of ours; `outcome` is what the server has said of it, once `done`."""

    link: Sending
    tag: bytes
    payload: bytes
    settled: bool
    told: bool
    """Whether its outcome is an event."""
    outcome: str | None = None
    done: bool = False
    resumed: bool = False
    """Whether both sides had it unsettled when its link was attached again."""
    state: Composite | None = None
    """What the server's map has said became of it, where that is its last word."""


class Windows:
    """A session on a `channel` of ours, its windows, and what is `sent` and not settled, by delivery-id."""

    def __init__(self, connection: Stream, channel: int) -> None:
        self.connection = connection
        self.channel = channel
        self.next_delivery_id = Serial(0)
        self.sent: dict[int, Outgoing] = {}
        self.errant: set[str] = set()
        """Names of links that we have detached because of an error."""
        self._said_end = False
        self._next_outgoing_id = Serial(0)
        self._next_incoming_id = Serial(0)
        self._window = WINDOW
        self._remote_window = 0
        self._outbox: deque[tuple[object, Transfer, bytes]] = deque()

    def say(self, performative: Composite, payload: bytes = b"") -> None:
        """Say something, unless we have ended the session."""
        if not self._said_end:
            self._said_end = isinstance(performative, End)
            self.connection.say(performative, self.channel, payload)

    def flow(self) -> Flow:
        """Give a flow that states the session."""
        return Flow(self._next_incoming_id, self._window, self._next_outgoing_id, WINDOW)

    def send(self, link: object, transfer: Transfer, payload: bytes) -> None:
        """Send a transfer as soon as the server's window has room."""
        self._outbox.append((link, transfer, payload))

    def flush(self) -> None:
        """Send as many transfers as the server's window has room for."""
        while self._outbox and self._remote_window > 0 and not self._said_end:
            _, transfer, payload = self._outbox.popleft()
            self._next_outgoing_id += 1
            self._remote_window -= 1
            self.say(transfer, payload)

    def drop(self, link: object) -> None:
        """Forget what a link has not sent."""
        self._outbox = deque(each for each in self._outbox if each[0] is not link)

    def forget(self, link: object) -> list[Outgoing]:
        """Forget what is not settled of a link, and give it."""
        found = [each for each in self.sent.values() if each.link is link]
        self.sent = {number: each for number, each in self.sent.items() if each.link is not link}
        return found
