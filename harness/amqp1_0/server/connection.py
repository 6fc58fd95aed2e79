"""A connection of a client under test: what the client sends and tells on it, and our server's side of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness.amqp1_0.broken.deviations import Said, octets_said
from harness.amqp1_0.client.outcomes import ENDINGS, Observation, Received, signature
from harness.amqp1_0.peer import driver
from harness.amqp1_0.peer.entities import Message as Stored
from harness.amqp1_0.server.link import AT_ANY_TIME, Link
from harness.amqp1_0.server.voice import Voice
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.performatives import Close, Detach, Error, Open
from harness.play.expect import ControlFailed, Outcome
from harness.play.link import EVERYWHERE, Closed, Silence, Unreadable
from harness.play.opened import Event, Opened
from harness.play.telling import Telling
from harness.shims.contract import Refused

LIVES = 0.2
"""Seconds that a client is let live at once, where something is waited for."""


class Connection(Opened[Link]):
    """A connection of the client, and `server`, our server's own side of it."""

    def __init__(
        self,
        client: Telling[Link],
        link: Link,
        on: str,
        refused: Refused | None,
        voice: Voice,
        server: driver.Connection,
    ) -> None:
        super().__init__(client, link, on, refused)
        self.server = server
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
            # What a client tells of the end of its stream it may tell behind it: it is asked once more.
            last = self.link.ended is not None or self.link.now() >= until
            found = [each for each in self.events if each.event == event and on in ("", each.on)]
            before, told = self.link.now(), len(self.events)
            if len(found) >= count or not self.lives(LIVES, 1) or last:
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
