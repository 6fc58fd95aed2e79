"""The fixture of the 1.0 scenarios that judge clients: the client under test, told what to do by its shim.

Methods come in three kinds. *Controls* (`connection`, `session`, `sender`, `send`, …) do what must work for
a rule to be judged at all; when they fail the scenario ends as an error of its set-up. What is tried
(`tries_…`, `closes`, `ends`, …) may fail, and says how. `expect` judges the rule by what the client has sent.
What its library has no way to do makes the rule inapplicable. What `server_…` says is done by our server
itself, which knows of it then; `says` puts words into its mouth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from harness.amqp1_0.broken.deviations import Said, octets_said
from harness.amqp1_0.client.outcomes import ENDINGS, HeaderReceived, Observation, Received, signature
from harness.amqp1_0.peer import Policy, driver
from harness.amqp1_0.peer.entities import Message as Stored
from harness.amqp1_0.server.leniency import LENIENT
from harness.amqp1_0.server.link import AT_ANY_TIME, Link
from harness.amqp1_0.server.session import JudgedSession
from harness.amqp1_0.server.told import Event
from harness.amqp1_0.server.voice import Stage, Voice, Voiced
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.performatives import Begin, Close, Detach, Error, Open
from harness.play.context import Context
from harness.play.expect import ControlFailed, Inapplicable, Outcome
from harness.play.link import EVERYWHERE, Closed, Silence, Unreadable
from harness.shims.contract import Kind, Refused, ShimLost
from harness.targets.client.tap import Tap
from harness.targets.client.target import BeforeServer, ClientTarget, Place

LOGIN: dict[str, Any] = {"user": "guest", "password": "guest", "vhost": "/"}
LIVES = 0.2
"""Seconds that a client is let live at once, where something is waited for."""


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


class Client:
    """The client under test, for one scenario; of its connections nothing is left behind."""

    def __init__(self, target: ClientTarget, context: Context, protocol: str) -> None:
        self.context = context
        self._target, self._protocol = target, protocol
        self._links: list[Link] = []
        self._servers: list[Served] = []
        self._serving = ExitStack()

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
        server: Any = stage
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

    def _listen(self, heard: Any) -> Link:
        name = f"{self.context.label}.{len(self._links) + 1}"
        self._links.append(Link(heard, self.context, name, self._protocol))
        return self._links[-1]

    # -- telling it what to do -------------------------------------------------------------------------

    def _do(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """Have the client do something. Raises Refused, ShimLost, or Inapplicable."""
        try:
            return self._target.shim.do(command, **arguments)
        except Refused as failure:
            if failure.kind is Kind.UNSUPPORTED:
                raise Inapplicable(f"the library has no way to do it: {failure.text}") from None
            raise

    def told(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        """Have the client do something that must work. Raises ControlFailed, or Inapplicable."""
        try:
            return self._do(command, **arguments)
        except Refused as failure:
            raise ControlFailed(command, failure.told) from failure
        except ShimLost as failure:
            raise ControlFailed(command, str(failure)) from failure

    def attempted(self, command: str, into: dict[str, Any] | None = None, **arguments: Any) -> Refused | None:
        """Have the client do something that may fail, and say why it did; what is told goes `into`.

        Raises Unmet where the client falls over or hangs.
        """
        try:
            told = self._do(command, **arguments)
        except Refused as failure:
            return failure
        except ShimLost as failure:
            self._hear_all()
            if not self._links:
                raise ControlFailed(command, str(failure)) from failure
            self.judge("the client lives on", str(failure), False)
            raise
        if into is not None:
            into.update(told)
        return None

    def judge(self, expected: str, otherwise: str, holds: bool, reading: str = "") -> None:
        """Judge a fact: `expected` if it `holds`, else `otherwise`; legal all the same under a `reading`."""
        self._links[-1].judged(expected, otherwise, holds, reading)

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

    @property
    def last(self) -> JudgedConnection:
        """The last connection that the client has opened, or has tried to."""
        return self.at(self._servers[-1])

    def note(self, text: str) -> None:
        """Keep a fact worth reporting."""
        self.context.note(text, self._links[-1].name, self._links[-1].now())

    def name(self, kind: str) -> str:
        """Make a name that nobody else uses; what has it is gone with our server."""
        return f"{self.context.prefix}-{kind}-{next(self.context.numbers)}"

    # -- leaving ---------------------------------------------------------------------------------------

    def hang_up(self) -> None:
        """Drop the client's connections, and show what went over them to the passive rules."""
        with ExitStack() as every:
            every.callback(self._links.clear)
            every.callback(self._servers.clear)
            every.callback(self._finish)
            every.push(self._serving.pop_all())
            with suppress(Refused, ShimLost):
                self._target.shim.do("reset")

    def _finish(self) -> None:
        self._hear_all()
        for link in self._links:
            link.finish()

    def _hear_all(self) -> None:
        for served in self._servers:
            served.hear(self._listen)

    drop = leave = hang_up


class JudgedConnection:
    """A connection that the client has opened, called `on` by its shim; empty where it is not."""

    def __init__(
        self,
        client: Client,
        link: Link,
        on: str,
        refused: Refused | None,
        voice: Voice,
        server: driver.Connection,
    ) -> None:
        self.client, self.link, self.on, self.refused = client, link, on, refused
        self.server = server
        """Our server's own side of it."""
        self.events: list[Event] = []
        """What the client has told so far of what happened, oldest first."""
        self._voice = voice
        if on:
            link.lives = self.lives

    @property
    def opened(self) -> Open:
        """The client's open. Raises ControlFailed where none has come."""
        self.link.hear()
        if self.link.partner is None:
            raise ControlFailed("connect", "no open")
        return self.link.partner

    def session(self) -> JudgedSession:
        """Have the client open a session."""
        on = str(self.client.told("open", on=self.on)["on"])
        return self._session(on)

    def tries_session(self) -> JudgedSession | Refused:
        """Have the client open a session that it may not get."""
        told: dict[str, Any] = {}
        refused = self.client.attempted("open", into=told, on=self.on)
        return refused or self._session(str(told["on"]))

    def _session(self, on: str) -> JudgedSession:
        return JudgedSession(self, on, self.came(Begin).channel)

    def close(self, on: str = "") -> None:
        """Have the client close the connection, a session or a link of it, and wait for the answer."""
        self.client.told("close", on=on or self.on)

    def closes(self, on: str = "") -> Refused | None:
        """Have the client close it, though it may get no answer, and say why it gave up."""
        return self.client.attempted("close", on=on or self.on)

    def came(self, *kinds: type[Composite]) -> Received:
        """Leave behind what the client has sent up to one of these, which must come. Raises ControlFailed."""
        seen = self.link.taken(*kinds)
        if not isinstance(seen, Received):
            raise ControlFailed(f"being asked for {kinds[0].type_name}", signature(seen))
        return seen

    # -- what our server does --------------------------------------------------------------------------

    def says(self, *said: Said, channel: int = 0) -> None:
        """Have our server say something that it knows nothing of: performatives, frames, octets."""
        self.does(lambda: octets_said(channel, said))

    def does(self, act: Callable[[], bytes | None]) -> None:
        """Have something done in our server's own time; it is the client's turn to notice."""
        self._voice.does(lambda: act() or b"")

    def server_closes(self, condition: str = "", text: str = "") -> None:
        """Have our server close the connection, and wait for the client's close as it would."""
        error = Error(condition, text or None) if condition else None
        self.does(lambda: self.server.say(Close(error)))

    def stock(self, address: str, *messages: bytes) -> None:
        """Have messages stand ready at an address, by their octets (harness.amqp1_0.client.endpoints)."""
        peer = self.server.peer

        def act() -> None:
            node = peer.nodes.named(address)
            assert node is not None
            for octets in messages:
                peer.nodes.octets += len(octets)
                peer.nodes.keep(node, Stored(0, octets))

        self.does(act)

    # -- letting it live -------------------------------------------------------------------------------

    def lives(self, seconds: float, count: int | None = None) -> bool:
        """Let the client live for so long, or until so many events more have come; False if it cannot."""
        counted = {} if count is None else {"count": count}
        told: dict[str, Any] = {}
        refused = self.client.attempted("wait", into=told, on=self.on, **{"for": seconds}, **counted)
        for each in told.get("events", ()):
            plain = {name: value for name, value in each.items() if name not in ("event", "on")}
            self.events.append(Event(str(each["event"]), str(each.get("on", "")), plain))
        return refused is None

    def wait(self, seconds: float, count: int | None = None) -> list[Event]:
        """Let the client live, and give what it tells meanwhile."""
        before = len(self.events)
        self.lives(seconds, count)
        return self.events[before:]

    def tells(self, event: str, count: int = 1, on: str = "") -> list[Event]:
        """Give the events of a kind, waiting for so many of them; fewer where no more come."""
        until = self.link.now() + self.client.context.patience.answer
        while True:
            self.link.hear()
            found = [each for each in self.events if each.event == event and on in ("", each.on)]
            before, told = self.link.now(), len(self.events)
            over = self.link.ended is not None or before >= until
            if len(found) >= count or over or not self.lives(LIVES, 1):
                return [each for each in self.events if each.event == event and on in ("", each.on)]
            if len(self.events) == told and self.link.now() - before < LIVES / 2:
                # It is over for who comes back at once and has nothing to tell.
                return found

    def tells_end(self, level: str, condition: str, *refusals: object) -> None:
        """Judge that the client has told what ended by which condition, by an event or as a refusal."""
        found = {(each.level, str(each.code)) for each in refusals if isinstance(each, Refused)}
        if (level, condition) not in found:
            closed = (each.told for each in self.tells("closed"))
            found |= {(str(each.get("level")), str(each.get("condition") or "")) for each in closed}
        told = ", ".join(sorted(" ".join(each).strip() for each in found)) or "nothing"
        self.client.judge(f"{level} {condition} is told", f"{told} is told", (level, condition) in found)

    def hear_out(self) -> None:
        """Leave behind what the client has sent up to now."""
        while not isinstance(self.link.heard_next(), Silence | Closed):
            pass

    def sent(self, *kinds: type[Composite]) -> list[Any]:
        """Give all performatives of these kinds that the client has sent so far, looked at or not."""
        self.link.hear()
        return [each for each in self.link.performatives() if isinstance(each, kinds)]

    # -- judging ---------------------------------------------------------------------------------------

    def expect(self, *outcomes: Outcome | type[Composite]) -> Any:
        """Judge what the client sends next, and give its performative; it is let live for that. Raises Unmet.

        Empty frames, flows and dispositions are passed over where they are not asked for.
        """
        return self.hold(self.link.next_but, outcomes)

    def hold(
        self,
        next_: Callable[[tuple[type[Any], ...], float], Observation],
        outcomes: Sequence[Outcome | type[Composite]],
    ) -> Any:
        """Judge what `next_` gives, which is told what to pass over and how long to wait."""
        legal, patience = self.link.legal(*outcomes), self.client.context.patience
        slow = any(each.waits_for_end for each in legal)
        asked = tuple(kind for each in legal for kind in each.about)
        passed = tuple(kind for kind in AT_ANY_TIME if kind not in asked)
        began = self.link.now()
        seen = self.link.hold(
            next_(passed, patience.close if slow else patience.answer), legal, began, acknowledge=False
        )
        return seen.performative if isinstance(seen, Received) else seen

    def expect_ending(self, *outcomes: Outcome) -> Any:
        """Judge how the client ends something because of an error, now or before. Raises Unmet."""
        return self.hold(lambda _, patience: self._ending(patience), outcomes)

    def _ending(self, patience: float) -> Observation:
        """Give the first ending that has an error, else a close or an end of the client, or of its stream."""
        until = self.link.now() + patience
        while True:
            said = self.sent(*ENDINGS)
            if wrong := [each for each in said if each.carried("error") is not None]:
                return Received(0, wrong[0])
            seen = self.link.next(EVERYWHERE, max(until - self.link.now(), 0.0))
            if isinstance(seen, Silence | Closed | Unreadable):
                ended = [each for each in said if not isinstance(each, Detach)]
                return Received(0, ended[0]) if ended else seen

    def sends_no(self, *kinds: type[Any], within: float | None = None) -> None:
        """Judge that nothing of these kinds comes for a while; what else comes stays to be expected."""
        until = self.link.now() + (self.client.context.patience.quiet if within is None else within)
        kept: list[Observation] = []
        found: Observation | None = None
        while found is None and (left := until - self.link.now()) >= 0:
            seen = self.link.next(EVERYWHERE, left)
            if isinstance(seen, Silence | Closed):
                break
            kept.append(seen)
            found = seen if isinstance(getattr(seen, "performative", seen), kinds) else None
        self.link.put_back(EVERYWHERE, kept)
        names = " or ".join(getattr(kind, "type_name", kind.__name__) for kind in kinds)
        self.client.judge(f"no {names}", signature(found) if found else "", found is None)

    def stays_quiet(self) -> None:
        """Judge that the client sends nothing for a while, and keeps its connection. Raises Unmet."""
        seen = self.link.next_but(AT_ANY_TIME, self.client.context.patience.quiet)
        self.client.judge("nothing is sent", signature(seen), isinstance(seen, Silence))

    def works_on(self) -> None:
        """Judge that the client can still use the connection, by another session. Raises Unmet."""
        told: dict[str, Any] = {}
        refused = self.client.attempted("open", into=told, on=self.on)
        self.client.judge("the connection can be used", refused.told if refused else "", refused is None)
