"""A whole connection as a scenario uses it: the steps of its opening, heartbeats, its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.amqp_fast.client.link import Link, Said
from harness.amqp_fast.client.outcomes import Observation, Received
from harness.amqp_fast.wire.commands import Command
from harness.amqp_fast.wire.frames import Initiation
from harness.amqp_fast.wire.vocabulary import OK, Connection
from harness.play.context import Context
from harness.play.expect import Outcome
from harness.targets.target import Endpoint

INITIATION = "the initiation"
"""What the control of the first step is called."""


class Whole:
    """What a connection is without its channels: the steps of its opening one by one, and what comes later.

    `challenge` and `tune` are what the server has said; `own` is a client-name that nobody else has.
    """

    def __init__(self, link: Link, context: Context, endpoint: Endpoint, own: str) -> None:
        self.link = link
        self.context = context
        self.endpoint = endpoint
        self.own = own
        self.challenge = Connection.Challenge()
        self.tune = Connection.Tune()
        self.frame_max = 1024
        """The largest fragment that the server takes."""
        self.opened = False
        self._handles = self._tags = 0

    # -- sending and expecting -------------------------------------------------------------------------

    def send(self, *what: Said) -> None:
        """Send commands, frames, octets in one write."""
        self.link.send(*what)

    def expect(self, *outcomes: Outcome | type[Command], acknowledge: bool = True) -> Any:
        """Judge the next observation that concerns the whole connection; give its command. Raises Unmet."""
        seen = self.link.expect(0, *outcomes, acknowledge=acknowledge)
        return seen.command if isinstance(seen, Received) else seen

    def tries(self, what: Said, *outcomes: Outcome | type[Command]) -> Any:
        """Send something and judge what comes next, as `expect` does. Raises Unmet."""
        self.send(what)
        return self.expect(*outcomes)

    def control(self, what: str, *kinds: type[Command]) -> Any:
        """Take the next command of the connection, one of these. Raises ControlFailed."""
        seen: Observation = self.link.next(0, self.context.due(what, self.context.patience.close))
        if isinstance(seen, Received) and isinstance(seen.command, kinds):
            return seen.command
        self.link.acknowledge_close(seen)
        raise self.link.failed(what, seen)

    # -- the opening, step by step ---------------------------------------------------------------------

    def begin(self, version: int = 1) -> None:
        """Send the initiation; the server answers with CONNECTION CHALLENGE."""
        self.send(Initiation(version=version))
        self.challenge = self.control(INITIATION, Connection.Challenge)

    def response(self, **changes: Any) -> Connection.Response:
        """Give a CONNECTION RESPONSE with good credentials, altered as given."""
        told = {"LOGIN": self.endpoint.user, "PASSWORD": self.endpoint.password}
        return Connection.Response("PLAIN", told).replace(**changes)

    def authenticate(self) -> None:
        """Log in, as often as the server asks; it answers with CONNECTION TUNE."""
        for _ in range(4):
            self.send(self.response())
            answer = self.control("CONNECTION RESPONSE", Connection.Tune, Connection.Challenge)
            if isinstance(answer, Connection.Tune):
                self.tune = answer
                return
        raise self.link.failed("CONNECTION RESPONSE", Received(answer))

    def opening(self, **changes: Any) -> Connection.Open:
        """Give a CONNECTION OPEN that asks for a confirmation, altered as given."""
        path = self.endpoint.virtual_host
        return Connection.Open(self.tag(), path, self.own).replace(**changes)

    def open(self, *tunes: Mapping[str, Any], **changes: Any) -> None:
        """Send a CONNECTION TUNE for each of `tunes`, then CONNECTION OPEN, which is confirmed."""
        self.send(*(Connection.Tune(each) for each in tunes), self.opening(**changes))
        self.control("CONNECTION OPEN", Connection.Reply)
        self.is_open()

    def is_open(self) -> None:
        """Take note that the connection is open."""
        self.opened = True
        told = self.tune.options.get("FRAME_MAX", self.frame_max)
        self.frame_max = told if isinstance(told, int) and told > 0 else self.frame_max

    # -- use -------------------------------------------------------------------------------------------

    def tag(self) -> int:
        """Give a confirm-tag that has not been used on this connection."""
        self._tags += 1
        return self._tags

    def next_handle(self) -> int:
        """Give a number that no handle has had on this connection."""
        self._handles += 1
        return self._handles

    def alive(self) -> None:
        """Make sure that the server answers on this connection. Raises ControlFailed."""
        self.send(Connection.Ping(respond=True))
        self.control("CONNECTION PING", Connection.Ping)

    def lives(self) -> None:
        """Judge that the connection is open: a PING that asks for one is answered. Raises Unmet."""
        self.tries(Connection.Ping(respond=True), Connection.Ping)

    @property
    def usable(self) -> bool:
        """Whether commands can be sent on it."""
        return self.opened and not self.link.over and self.link.ended is None

    def close(self) -> None:
        """End the connection by the handshake if it is open, in any case close the socket."""
        try:
            if self.usable:
                self.opened = False
                self.send(Connection.Close(OK, "done"))
                self._drain()
        finally:
            self.link.finish()

    def _drain(self) -> None:
        until = self.link.now() + self.context.patience.answer
        while (left := until - self.link.now()) > 0:
            seen = self.link.next(0, left)
            if not isinstance(seen, Received) or isinstance(seen.command, Connection.Close):
                return

    def drop(self) -> None:
        """Close the socket without a word."""
        self.opened = False
        self.link.finish()
