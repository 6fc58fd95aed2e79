"""The fixture of the 1.0 scenarios that judge clients: the client under test, told what to do by its shim.

Methods come in three kinds. *Controls* (`connection`, `session`, `sender`, `send`, …) do what must work for
a rule to be judged at all; when they fail the scenario ends as an error of its set-up. What is tried
(`tries_…`, `closes`, `ends`, …) may fail, and says how. `expect` judges the rule by what the client has sent.
What its library has no way to do makes the rule inapplicable. What `server_…` says is done by our server
itself, which knows of it then; `says` puts words into its mouth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from harness.amqp1_0.client.outcomes import HeaderReceived, signature
from harness.amqp1_0.peer import Policy
from harness.amqp1_0.server.connection import Connection
from harness.amqp1_0.server.leniency import LENIENT
from harness.amqp1_0.server.link import Link
from harness.amqp1_0.server.session import JudgedSession
from harness.amqp1_0.server.voice import Ending, Stage, Voiced
from harness.amqp1_0.wire.performatives import Begin
from harness.peers.peer import PeerServer
from harness.play.context import Context
from harness.play.expect import ControlFailed, NotRun
from harness.play.link import EVERYWHERE
from harness.play.telling import Telling
from harness.shims.contract import Refused
from harness.targets.client.tap import Tap
from harness.targets.client.target import BeforeServer, ClientTarget, Place

LOGIN: dict[str, Any] = {"user": "guest", "password": "guest", "vhost": "/"}
LOOK = 0.1
"""Seconds between two looks at the client's socket."""


class Served:
    """A server of ours at a `place`, to which clients connect; `heard` are their connections so far."""

    def __init__(self, place: Place, tap: Tap, stage: Stage, voiced: Voiced) -> None:
        self.place = place
        self.heard: list[Link] = []
        self.stage, self.voiced = stage, voiced
        self._tap = tap
        voiced.looks = place[0] != "memory"

    def hear(self, listen: Callable[[Any], Link]) -> None:
        """Listen to what has connected meanwhile."""
        while self._tap.accepted:
            self.heard.append(listen(self._tap.accepted.popleft()))


class JudgedConnection(Connection):
    """A connection that the client has opened, on which it can be told to open sessions."""

    def session(self) -> JudgedSession:
        """Have the client open a session."""
        before = self.link.waiting(Begin)
        on = str(self.client.told("open", on=self.on)["on"])
        return self._session(on, before)

    def tries_session(self) -> JudgedSession | Refused:
        """Have the client open a session that it may not get."""
        told: dict[str, Any] = {}
        before = self.link.waiting(Begin)
        refused = self.client.attempted("open", into=told, on=self.on)
        return refused or self._session(str(told["on"]), before)

    def _session(self, on: str, before: int) -> JudgedSession:
        """Give the session whose begin comes behind those `before`, which the library began for itself."""
        for _ in range(before):
            self.came(Begin)
        return JudgedSession(self, on, self.came(Begin).channel)


class Client(Telling[Link]):
    """The client under test, for one scenario; of its connections nothing is left behind."""

    def __init__(self, target: ClientTarget, context: Context, protocol: str) -> None:
        super().__init__(target, context, protocol, Link)
        self._servers: list[Served] = []

    # -- connections -----------------------------------------------------------------------------------

    def connection(self, *meets: BeforeServer, policy: Policy = LENIENT, **options: Any) -> JudgedConnection:
        """Have the client connect to our server, which deviates as said by what it `meets`.

        `options` are those of `connect`: container, hostname, idle (ms), frame_max, channel_max, mechanism.
        """
        served = self.server(*meets, policy=policy)
        refused, on = self.tries_to_connect(served, **options)
        if refused is not None:
            raise ControlFailed("connect", refused.told)
        return self.at(served, on)

    def connecting(self, *meets: BeforeServer, policy: Policy = LENIENT, **options: Any) -> JudgedConnection:
        """Have the client try to connect to a server that it may not bear; its protocol header has come.

        What became of it is `refused`, None where it is connected.
        """
        served = self.server(*meets, policy=policy)
        refused, on = self.tries_to_connect(served, **options)
        connection = self.at(served, on, refused)
        seen = connection.link.next(EVERYWHERE, self.context.patience.answer)
        if not isinstance(seen, HeaderReceived):
            raise ControlFailed("connect", signature(seen))
        return connection

    def tries_to_connect(self, served: Served, **options: Any) -> tuple[Refused | None, str]:
        """Have the client try to connect to a server; give why it did not, and what it calls it if it did."""
        host, port = served.place
        told: dict[str, Any] = {}
        refused = self.attempted("connect", into=told, host=host, port=port, **(LOGIN | options))
        served.hear(self._listen)
        return refused, str(told.get("on", ""))

    def session(self, *meets: BeforeServer, policy: Policy = LENIENT, **options: Any) -> JudgedSession:
        """Have the client connect and open a session."""
        return self.connection(*meets, policy=policy, **options).session()

    def server(self, *meets: BeforeServer, policy: Policy = LENIENT) -> Served:
        """Serve the client at a place of its own, up to the end of the scenario."""
        stage = Stage(policy)
        server: PeerServer = Ending(stage)
        for each in meets:
            server = each.before(server)
        voiced = Voiced(server)
        place, tap = self._serving.enter_context(self._target.serves(voiced))
        self._servers.append(Served(place, tap, stage, voiced))
        return self._servers[-1]

    def at(self, served: Served, on: str = "", refused: Refused | None = None) -> JudgedConnection:
        """Give the last connection that came to a server. Raises ControlFailed where none has come."""
        served.hear(self._listen)
        if not served.heard:
            raise ControlFailed("connect", refused.told if refused else "nobody")
        number = len(served.heard) - 1
        voice, inner = served.voiced.voices[number], served.stage.accepted[number]
        return JudgedConnection(self, served.heard[number], on, refused, voice, inner)

    def came_to(self, served: Served) -> bool:
        """Say whether anybody has connected to a server."""
        served.hear(self._listen)
        return bool(served.heard)

    @property
    def last(self) -> JudgedConnection:
        """The last connection that the client has opened, or has tried to."""
        return self.at(self._servers[-1])

    @contextmanager
    def halted(self) -> Iterator[None]:
        """Give the client no time inside."""
        with self._target.halted():
            yield

    def keeps_alive(self) -> bool:
        """Say whether TCP keep-alive is on for its last connection. Raises NotRun where nobody can tell."""
        connection, place = self.last, self._servers[-1].place
        until = connection.link.now() + self.context.patience.answer
        while not (told := self._target.keeps_alive(place)):
            if told is None:
                raise NotRun("the client's socket cannot be seen")
            # What is not acknowledged yet hides it.
            if connection.link.now() >= until:
                return False
            connection.hear_out()
            connection.link.listen(LOOK)
        return True

    @contextmanager
    def works(self, expected: str) -> Iterator[None]:
        """Judge that what is done inside works: a control that fails there decides. Raises Unmet."""
        otherwise = ""
        try:
            yield
        except ControlFailed as failure:
            otherwise = str(failure)
        self.judge(expected, otherwise, not otherwise)

    def fails(self, act: Callable[[], object]) -> bool:
        """Have something done that may not work, and say whether it did not."""
        try:
            act()
        except ControlFailed:
            return True
        return False

    def _hear_all(self) -> None:
        for served in self._servers:
            served.hear(self._listen)
