"""The fixture of the 0-9-1 scenarios that judge clients: the client under test, told what to do by its shim.

Methods come in two kinds. *Controls* (`connection`, `channel`, `call`, …) do what must work for a rule to be
judged at all; when they fail the scenario ends as an error of its set-up. `expect` judges the rule, by what
the client has sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from harness.amqp0_9_1.client.outcomes import (
    Closed,
    HeaderReceived,
    Observation,
    Received,
    Silence,
    signature,
)
from harness.amqp0_9_1.peer import Peer
from harness.amqp0_9_1.peer.policy import DEFAULT
from harness.amqp0_9_1.server.link import Link
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import CODEC, Channel
from harness.peers.interposer import Interposer
from harness.play.context import Context
from harness.play.expect import ControlFailed, Outcome
from harness.play.link import EVERYWHERE
from harness.shims.contract import Refused, ShimLost
from harness.targets.client.target import ClientTarget, Place

LENIENT = replace(DEFAULT, illegal_field_name="accept")
"""What our server bears so that the rest can be seen: most clients' properties have a dot in a name."""
LOGIN: Mapping[str, str] = {"user": "guest", "password": "guest", "vhost": "/"}


class Client:
    """The client under test, for one scenario; of its connections nothing is left behind."""

    def __init__(self, target: ClientTarget, context: Context, protocol: str) -> None:
        self.context = context
        self._target, self._protocol = target, protocol
        self._links: list[Link] = []
        self._serving = ExitStack()

    def connection(self, meets: Interposer | None = None) -> JudgedConnection:
        """Have the client connect to our server, which deviates as said by what it `meets`."""
        with self._served(meets) as (host, port):
            on = str(self.told("connect", host=host, port=port, **LOGIN)["on"])
        return JudgedConnection(self, self._links[-1], on)

    def connecting(self, meets: Interposer) -> JudgedConnection:
        """Have the client try to connect to a server that it may not bear; its protocol header has come."""
        with self._served(meets) as (host, port):
            self.attempted("connect", host=host, port=port, **LOGIN)
        if not self._links:
            raise ControlFailed("connect", "nobody")
        seen = self._links[-1].next(EVERYWHERE, self.context.patience.answer)
        if not isinstance(seen, HeaderReceived):
            raise ControlFailed("connect", signature(seen))
        return JudgedConnection(self, self._links[-1], "")

    @contextmanager
    def _served(self, meets: Interposer | None) -> Iterator[Place]:
        """Serve the client at a place, up to the end of the scenario; what connects within is heard."""
        peer = Peer(LENIENT)
        server = peer if meets is None else meets.before(peer)
        place, tap = self._serving.enter_context(self._target.serves(server))
        try:
            yield place
        finally:
            for heard in tap.accepted:
                name = f"{self.context.label}.{len(self._links) + 1}"
                self._links.append(Link(heard, self.context, name, self._protocol))

    def told(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """Have the client do something that must work. Raises ControlFailed."""
        try:
            return self._target.shim.do(command, **arguments)
        except Refused as failure:
            raise ControlFailed(command, f"{failure.kind} {failure.native}".strip()) from failure
        except ShimLost as failure:
            raise ControlFailed(command, str(failure)) from failure

    def attempted(self, command: str, **arguments: Any) -> Refused | None:
        """Have the client do something that may fail, and say why it did. Raises ControlFailed."""
        try:
            self._target.shim.do(command, **arguments)
        except Refused as failure:
            return failure
        except ShimLost as failure:
            raise ControlFailed(command, str(failure)) from failure
        return None

    def name(self, kind: str) -> str:
        """Make a name that nobody else uses; what has it is gone with our server."""
        return f"{self.context.prefix}-{kind}-{next(self.context.numbers)}"

    # -- leaving ---------------------------------------------------------------------------------------

    def hang_up(self) -> None:
        """Drop the client's connections, and show what went over them to the passive rules."""
        with ExitStack() as every:
            every.callback(self._links.clear)
            every.callback(self._finish)
            every.push(self._serving.pop_all())
            self.attempted("reset")

    def _finish(self) -> None:
        for link in self._links:
            link.finish()

    drop = leave = hang_up


class JudgedConnection:
    """A connection that the client has opened, called `on` by its shim."""

    def __init__(self, client: Client, link: Link, on: str) -> None:
        self.client, self.link, self.on = client, link, on

    def channel(self) -> JudgedChannel:
        """Have the client open a channel."""
        on = str(self.client.told("open", on=self.on)["on"])
        self._came(Channel.Open)
        return JudgedChannel(self, on)

    def close(self, on: str = "") -> None:
        """Have the client close the connection, or a channel of it, and wait for the answer."""
        self.client.told("close", on=on or self.on)

    def ask(self, on: str, method: str, args: Mapping[str, Any]) -> Refused | None:
        """Have the client call a method, which must come, and say why it was refused, if it was."""
        named = {name.replace("_", "-"): each for name, each in args.items()}
        refused = self.client.attempted("call", on=on, method=method, args=named)
        self._came(CODEC.methods[method])
        return refused

    def _came(self, kind: type[Method]) -> None:
        seen = self.link.taken(kind)
        if not isinstance(seen, Received):
            raise ControlFailed(f"being asked for {kind.full_name}", signature(seen))

    def hear_out(self) -> None:
        """Leave behind what the client has sent up to now."""
        while not isinstance(self.link.next(EVERYWHERE, 0.0), Silence | Closed):
            pass

    def expect(self, *outcomes: Outcome | type[Method]) -> Observation:
        """Judge what the client sends next, on whatever channel. Raises Unmet."""
        return self.link.expect(EVERYWHERE, *outcomes)


class JudgedChannel:
    """A channel that the client has opened, called `on` by its shim."""

    def __init__(self, connection: JudgedConnection, on: str) -> None:
        self.connection, self.on = connection, on

    def call(self, method: str, **args: Any) -> None:
        """Have the client call a method, which must succeed."""
        if refused := self.connection.ask(self.on, method, args):
            raise ControlFailed(method, f"{refused.kind} {refused.native}".strip())

    def attempt(self, method: str, **args: Any) -> None:
        """Have the client call a method; what that comes to on its side is another matter."""
        self.connection.ask(self.on, method, args)

    def publish(self, body: str | Mapping[str, int], exchange: str, key: str, **properties: Any) -> None:
        """Have the client publish a message."""
        told = {"exchange": exchange, "key": key, "body": body, "properties": properties}
        self.connection.client.told("send", on=self.on, **told)

    def get(self, queue: str) -> int | None:
        """Have the client get a message, and give the size it tells; None when it tells of none."""
        message = self.connection.client.told("get", on=self.on, queue=queue)["message"]
        return None if message is None else int(message["size"])

    def close(self) -> None:
        """Have the client close the channel, and wait for the answer."""
        self.connection.close(self.on)
