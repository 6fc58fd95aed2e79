"""One connection of a client of 1.0 under test, heard frame by frame where our server takes it."""

from collections.abc import Callable, Iterator
from typing import Any

from harness.amqp1_0.client import link
from harness.amqp1_0.client.leniency import Wrong
from harness.amqp1_0.client.outcomes import (
    EmptyFrame,
    HeaderReceived,
    Observation,
    Received,
    Sight,
)
from harness.amqp1_0.client.transcript import LIMIT, performative_of
from harness.amqp1_0.wire.composites import Composite
from harness.amqp1_0.wire.frames import AMQP, SASL, Frame, FrameReader, Unit
from harness.amqp1_0.wire.performatives import Begin, Close, Disposition, Flow, Open
from harness.play.context import Context
from harness.play.link import EVERYWHERE, Closed, Silence, Unreadable
from harness.targets.client.tap import Heard
from harness.wire.journal import Direction
from harness.wire.units import DecodeError, Header

SLICE = 0.1
"""Seconds for which a client is let live at once."""
AT_ANY_TIME: tuple[type[Any], ...] = (EmptyFrame, Flow, Disposition)
"""What a client may send whenever it likes."""


class Link(link.Link):
    """A connection as our server sees it: what it receives is the client's, and what it sends the server's.

    All that the client says is observed in one order, on whatever channel; nothing is said here. `partner` is
    the client's open, `heard_close` whether its close has come; `said` is what the server has said, each with
    its channel. `lives` lets the client live for so many seconds, False where it cannot: blocking ones do
    nothing else.
    """

    def __init__(self, heard: Heard, context: Context, name: str, protocol: str) -> None:
        super().__init__(heard, context, name, protocol)
        heard.said = self._server_said
        self.lives: Callable[[float], bool] | None = None
        self.said: list[tuple[int, Composite]] = []
        self._heard_from = heard
        self._theirs = FrameReader(limit=LIMIT)

    def _server_said(self, octets: bytes) -> None:
        for raw, unit in self._theirs.feed(octets):
            self._keep(Direction.SENT, raw, unit)
            self._went(unit)
            if isinstance(unit, Frame) and (said := performative_of(unit)) is not None:
                self.said.append((unit.channel, said))

    def _pump(self, deadline: float) -> bool:
        try:
            return super()._pump(deadline)
        finally:
            self._heard_from.at = None

    # -- what comes ------------------------------------------------------------------------------------

    def next(self, channel: int, patience: float) -> Observation:
        """Take what comes next within `patience` seconds, while the client is let live."""
        began = self.now()
        seen = super().next(channel, 0.0)
        while isinstance(seen, Silence) and self.lives is not None:
            if (left := patience - (self.now() - began)) <= 0:
                return Silence(self.now() - began)
            before = self.now()
            lived = self.lives(min(SLICE, left))
            # One that is over, or tells of something at once, must not be asked again and again.
            rest = 0.0 if lived and self.now() - before >= SLICE / 2 else min(SLICE, left)
            seen = super().next(channel, rest if lived else left)
            if not lived:
                return seen
        return seen if not isinstance(seen, Silence) else super().next(channel, patience)

    def next_but(self, passed: tuple[type[Any], ...], patience: float) -> Observation:
        """Take what comes next within `patience` seconds but for these kinds."""
        until = self.now() + patience
        while True:
            seen = self.next(EVERYWHERE, max(until - self.now(), 0.0))
            if not isinstance(_kept(seen), passed):
                return seen

    def hear(self) -> None:
        """Take in what has come already; it stays to be looked at."""
        while self.ended is None and self._pump(self.now()):
            pass

    def waiting(self, *kinds: type[Any]) -> int:
        """Count what has come already of these kinds, and was not looked at."""
        self.hear()
        return sum(isinstance(_kept(each), kinds) for each in self._inboxes[EVERYWHERE])

    def performatives(self) -> Iterator[Composite]:
        """Yield all that the client has said as far as it was taken in, in its order."""
        for unit in self.received():
            if (said := performative_of(unit)) is not None:
                yield said

    def heard_next(self) -> Observation:
        """Take what has come already, without letting the client live."""
        return super().next(EVERYWHERE, 0.0)

    def taken(self, *kinds: type[Any]) -> Observation:
        """Take what comes up to one of these kinds, which what was asked of the client must bring."""
        while True:
            seen = self.next(EVERYWHERE, self.context.patience.answer)
            if isinstance(seen, Closed | Silence | Unreadable) or isinstance(_kept(seen), kinds):
                return seen

    def _take(self, channel: int) -> Sight | Unreadable | None:  # noqa: ARG002 - there is one order
        inbox = self._inboxes[EVERYWHERE]
        return inbox.popleft() if inbox else None

    def _dispatch(self, unit: Unit) -> None:
        if isinstance(unit, Header):
            self._inboxes[EVERYWHERE].append(HeaderReceived(unit, self._kept))
        elif isinstance(unit, Frame):
            self._dispatch_frame(unit)
        else:
            self._unreadable("a malformed frame" if unit.delimited else "no frame")

    def _dispatch_frame(self, frame: Frame) -> None:
        try:
            performative, payload = frame.read()
        except DecodeError:
            self._unreadable("a frame that cannot be decoded")
            return
        if performative is None:
            known = frame.type in (AMQP, SASL)
            self._inboxes[EVERYWHERE].append(
                EmptyFrame(frame.channel, self._kept) if known else Unreadable("a frame of another type")
            )
            return
        session = None if isinstance(performative, Open | Close) or frame.type == SASL else frame.channel
        came = Received(frame.channel, performative, payload, session, self._kept)
        self._inboxes[EVERYWHERE].append(came)
        if isinstance(performative, Open):
            self.partner = self.partner or performative
        self.heard_close |= isinstance(performative, Close)
        if session is not None:
            if isinstance(performative, Begin):
                self.told[session].clear()
            self.told[session].append(came)

    def _broke(self, wrong: Wrong | None) -> bool:  # noqa: ARG002 - of a client nothing is read leniently
        return False

    def finish(self, reset: bool = False) -> None:
        """Hear what is left, and show what went over the wire to the passive rules."""
        self.hear()
        super().finish(reset)


def _kept(seen: Observation) -> object:
    """Give what an observation is about: its performative, where it has one."""
    return seen.performative if isinstance(seen, Received) else seen
