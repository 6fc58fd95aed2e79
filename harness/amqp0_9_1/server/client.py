"""The fixture of the 0-9-1 scenarios that judge clients: the client under test, told what to do by its shim.

Methods come in two kinds. *Controls* (`connection`, `channel`, `call`, …) do what must work for a rule to
be judged at all; when they fail the scenario ends as an error of its set-up. What is tried (`attempt`,
`tries_…`, `closes`) may fail, and says how; a client that falls over there, or hangs, has missed its rule.
`expect` judges the rule, by what the client has sent. What its library has no way to do makes the rule
inapplicable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from harness.amqp0_9_1.client.outcomes import HeaderReceived, Observation, Received, signature
from harness.amqp0_9_1.peer import Peer
from harness.amqp0_9_1.peer.policy import Policy
from harness.amqp0_9_1.server.leniency import LENIENT, leniently
from harness.amqp0_9_1.server.link import Link
from harness.amqp0_9_1.server.told import Message
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.vocabulary import CODEC, Basic, Channel
from harness.play.context import Context
from harness.play.expect import ControlFailed, Inapplicable, Outcome
from harness.play.link import EVERYWHERE, Closed, Silence
from harness.play.opened import Event, Opened
from harness.play.telling import Telling
from harness.shims.contract import Refused, ShimLost
from harness.targets.client.target import BeforeServer, ClientTarget, Place

LOGIN: dict[str, Any] = {"user": "guest", "password": "guest", "vhost": "/"}
LIVES = 0.2
"""Seconds that a client is let live at once, where something is waited for."""


class Client(Telling[Link]):
    """The client under test, for one scenario; of its connections nothing is left behind."""

    def __init__(self, target: ClientTarget, context: Context, protocol: str) -> None:
        super().__init__(target, context, protocol, Link)

    def connection(self, *meets: BeforeServer, policy: Policy = LENIENT, **options: Any) -> JudgedConnection:
        """Have the client connect to our server, which deviates as said by what it `meets`.

        `policy` says what it chooses of what is legal. `options` are those of `connect`: heartbeat,
        frame_max, channel_max, mechanism.
        """
        with self._served(meets, policy) as (host, port):
            on = str(self.told("connect", host=host, port=port, **(LOGIN | options))["on"])
        return JudgedConnection(self, self._links[-1], on)

    def connecting(self, *meets: BeforeServer, policy: Policy = LENIENT, **options: Any) -> JudgedConnection:
        """Have the client try to connect to a server that it may not bear; its protocol header has come.

        What became of it is `refused`, None where it is connected.
        """
        told: dict[str, Any] = {}
        refused, lost = None, None
        with self._served(meets, policy) as (host, port):
            try:
                told.update(self._do("connect", host=host, port=port, **(LOGIN | options)))
            except Refused as failure:
                refused = failure
            except ShimLost as failure:
                lost = failure
        if lost and self._links:
            self._is_lost(lost)
        if not self._links:
            raise ControlFailed("connect", refused.told if refused else "nobody")
        seen = self._links[-1].next(EVERYWHERE, self.context.patience.answer)
        if not isinstance(seen, HeaderReceived):
            raise ControlFailed("connect", signature(seen))
        return JudgedConnection(self, self._links[-1], str(told.get("on", "")), refused)

    def tries_to_connect(self, **options: Any) -> Refused | None:
        """Have the client try to connect, though it may not even begin, and say why it did not."""
        with self._served((), LENIENT) as (host, port):
            return self.attempted("connect", host=host, port=port, **(LOGIN | options))

    @property
    def newest(self) -> Link:
        """The connection that was opened last, as it was heard."""
        return self._links[-1]

    @contextmanager
    def _served(self, meets: Sequence[BeforeServer], policy: Policy) -> Iterator[Place]:
        """Serve the client at a place, up to the end of the scenario; what connects within is heard."""
        server = leniently(Peer(policy))
        for each in meets:
            server = each.before(server)
        place, tap = self._serving.enter_context(self._target.serves(server))
        try:
            yield place
        finally:
            for heard in tap.accepted:
                self._listen(heard)

    def can(self, act: Callable[[], object]) -> bool:
        """Have the client do what adds to the picture; False where its library has no way to, or fails."""
        try:
            act()
        except Inapplicable:
            return False
        except ControlFailed as failure:
            if isinstance(failure.__cause__, ShimLost):
                raise
            return False
        return True


class JudgedConnection(Opened[Link]):
    """A connection of the client."""

    client: Client

    def __init__(self, client: Client, link: Link, on: str, refused: Refused | None = None) -> None:
        super().__init__(client, link, on, refused)
        if on:
            link.lives = self.lives

    def channel(self) -> JudgedChannel:
        """Have the client open a channel."""
        on = str(self.client.told("open", on=self.on)["on"])
        self.came(Channel.Open)
        return JudgedChannel(self, on)

    def tries_channel(self) -> JudgedChannel | Refused:
        """Have the client open a channel that it may not be allowed to have."""
        told: dict[str, Any] = {}
        refused = self.client.attempted("open", into=told, on=self.on)
        return refused or JudgedChannel(self, str(told["on"]))

    def ask(self, on: str, method: str, args: Mapping[str, Any]) -> Refused | None:
        """Have the client call a method, which must come, and say why it was refused, if it was."""
        named = {name.replace("_", "-"): each for name, each in args.items()}
        refused = self.client.attempted("call", on=on, method=method, args=named)
        self.came(CODEC.methods[method])
        return refused

    def came(self, kind: type[Method]) -> None:
        """Leave behind what the client has sent up to a method that must come. Raises ControlFailed."""
        seen = self.link.taken(kind)
        if not isinstance(seen, Received):
            raise ControlFailed(f"being asked for {kind.full_name}", signature(seen))

    # -- letting it live -------------------------------------------------------------------------------

    def outlives(self, seconds: float) -> bool:
        """Let the client live for so long, and say whether its connection is open at the end of it.

        One that the client tells to be lost is not, though its application may have yet to close the socket.
        """
        until = self.link.now() + seconds
        while not self.link.over_and_heard() and (left := until - self.link.now()) > 0:
            # A shim comes back at once where its library has given up, maybe before the end is heard.
            self.link.next(EVERYWHERE, left)
        self.hear_out()
        lost = any(each.event == "lost" and each.on == self.on for each in self.events)
        return not lost and not self.link.over_and_heard()

    def tells(self, event: str, count: int = 1) -> list[Event]:
        """Give the events of a kind, waiting for so many of them; fewer where no more come."""
        until = self.link.now() + self.client.context.patience.answer
        while len(found := [each for each in self.events if each.event == event]) < count:
            before, known = self.link.now(), len(self.events)
            if before >= until or not self.lives(LIVES, 1) or self.link.over_and_heard():
                break
            if self.link.now() <= before and len(self.events) == known:
                break  # it is over for the client, which lives no more
        return found

    def hear_out(self) -> None:
        """Leave behind what the client has sent up to now."""
        while not isinstance(self.link.heard_next(), Silence | Closed):
            pass

    def has_sent_nothing(self) -> bool:
        """Say whether nothing of the client's has come that was not looked at."""
        return isinstance(self.link.heard_next(), Silence)

    # -- judging ---------------------------------------------------------------------------------------

    def expect(self, *outcomes: Outcome | type[Method]) -> Observation:
        """Judge what the client sends next, on whatever channel; it is let live for that. Raises Unmet."""
        return self.link.expect(EVERYWHERE, *outcomes)

    def stays_quiet(self) -> None:
        """Judge that the client sends nothing for a while, and keeps its connection. Raises Unmet."""
        seen = self.link.next(EVERYWHERE, self.client.context.patience.quiet)
        self.client.judge("nothing is sent", signature(seen), isinstance(seen, Silence))


class JudgedChannel:
    """A channel that the client has opened, called `on` by its shim."""

    def __init__(self, connection: JudgedConnection, on: str) -> None:
        self.connection, self.on = connection, on
        self.client = connection.client

    def call(self, method: str, **args: Any) -> Mapping[str, Any]:
        """Have the client call a method, which must succeed; gives what its library tells of the reply."""
        named = {name.replace("_", "-"): each for name, each in args.items()}
        told: Mapping[str, Any] = self.client.told("call", on=self.on, method=method, args=named)
        self.connection.came(CODEC.methods[method])
        return dict(told.get("reply") or {})

    def declares(self, queue: str) -> None:
        """Have the client declare a queue that stays: libraries differ in what they ask for by themselves."""
        self.call("queue.declare", queue=queue, durable=False, exclusive=False, auto_delete=False)

    def declares_exchange(self, exchange: str, kind: str = "direct") -> None:
        """Have the client declare an exchange."""
        self.call("exchange.declare", exchange=exchange, type=kind)

    def attempt(self, method: str, **args: Any) -> Refused | None:
        """Have the client call a method, which must come, and say why it failed, if it did."""
        return self.connection.ask(self.on, method, args)

    def tries(self, method: str, **args: Any) -> Refused | Mapping[str, Any]:
        """Have the client call a method that it may refuse itself; gives the reply as told, or why not."""
        named = {name.replace("_", "-"): each for name, each in args.items()}
        told: dict[str, Any] = {}
        refused = self.client.attempted("call", into=told, on=self.on, method=method, args=named)
        return refused or dict(told.get("reply") or {})

    def publish(
        self,
        body: str | Mapping[str, int],
        exchange: str = "",
        key: str = "",
        properties: Mapping[str, Any] | None = None,
        **how: Any,
    ) -> None:
        """Have the client publish a message; `how` has mandatory, immediate, count."""
        self.client.told("send", **self._message(body, exchange, key, properties), **how)
        for _ in range(how.get("count", 1)):
            self.connection.came(Basic.Publish)

    def tries_to_publish(
        self,
        body: str | Mapping[str, int],
        exchange: str = "",
        key: str = "",
        properties: Mapping[str, Any] | None = None,
        **how: Any,
    ) -> Refused | None:
        """Have the client publish a message that it may refuse."""
        return self.client.attempted("send", **self._message(body, exchange, key, properties), **how)

    def _message(self, body: object, exchange: str, key: str, properties: object) -> dict[str, Any]:
        return {"on": self.on, "exchange": exchange, "key": key, "body": body, "properties": properties or {}}

    def get(self, queue: str, settled: bool = True) -> Message | None:
        """Have the client get a message, and give what it tells of it; None where there is none."""
        told = self.client.told("get", on=self.on, queue=queue, settled=settled)["message"]
        self.connection.came(Basic.Get)
        return None if told is None else Message.of(told)

    def tries_to_get(self, queue: str, settled: bool = True) -> Message | Refused | None:
        """Have the client get a message from a server that may answer wrongly."""
        told: dict[str, Any] = {}
        refused = self.client.attempted("get", into=told, on=self.on, queue=queue, settled=settled)
        return refused or (None if told["message"] is None else Message.of(told["message"]))

    def receive(self, queue: str, settled: bool = True, tag: str = "") -> str:
        """Have the client start a consumer, and give its tag."""
        named = {"tag": tag} if tag else {}
        told = self.client.told("receive", on=self.on, queue=queue, settled=settled, **named)
        self.connection.came(Basic.Consume)
        return str(told["tag"])

    def tries_to_receive(
        self,
        queue: str,
        settled: bool = True,
        tag: str = "",
        arguments: Mapping[str, Any] | None = None,
    ) -> Refused | None:
        """Have the client start a consumer that it may not get; `arguments` are its own, by their names."""
        named: dict[str, Any] = {"tag": tag} if tag else {}
        if arguments:
            named["arguments"] = {"map": [[name, each] for name, each in arguments.items()]}
        return self.client.attempted("receive", on=self.on, queue=queue, settled=settled, **named)

    def messages(self, count: int = 1) -> list[Message]:
        """Give what consumers of the connection have got, waiting for so many; fewer where no more come."""
        return [Message.of(each.told["message"]) for each in self.connection.tells("message", count)]

    def stop(self, tag: str) -> None:
        """Have the client end a consumer."""
        self.client.told("stop", on=self.on, tag=tag)
        self.connection.came(Basic.Cancel)

    def settle(self, message: Message, outcome: str = "accept", **how: Any) -> None:
        """Have the client accept, reject or release a message."""
        self.client.told("settle", on=self.on, token=message.token, outcome=outcome, **how)

    def tries_to_settle(self, message: Message, outcome: str = "accept", **how: Any) -> Refused | None:
        """Have the client settle a message that it may not settle."""
        return self.client.attempted("settle", on=self.on, token=message.token, outcome=outcome, **how)

    def echo(self, message: Message, key: str) -> None:
        """Have the client publish a message again as its library gave it."""
        self.client.told("echo", on=self.on, token=message.token, key=key)

    def tries_to_echo(self, message: Message, key: str) -> Refused | None:
        """Have the client publish a message again, though its library may not be able to."""
        return self.client.attempted("echo", on=self.on, token=message.token, key=key)

    def close(self) -> None:
        """Have the client close the channel, and wait for the answer."""
        self.connection.close(self.on)

    def closes(self) -> Refused | None:
        """Have the client close the channel, though it may get no answer, and say why it gave up."""
        return self.connection.closes(self.on)
