"""One connection of a client under test, heard frame by frame where our server takes it."""

import math
from collections.abc import Callable

from harness.amqp0_9_1.client import link
from harness.amqp0_9_1.client.outcomes import Closed, Observation, Received, Silence, Unreadable
from harness.amqp0_9_1.client.transcript import LIMIT
from harness.amqp0_9_1.wire.compiled import Method
from harness.amqp0_9_1.wire.frames import Frame, FrameReader
from harness.play.context import Context
from harness.play.leniency import Leniency
from harness.play.link import EVERYWHERE
from harness.targets.client.tap import Heard
from harness.wire.journal import Direction
from harness.wire.transcript import Passage
from harness.wire.units import Garbage

SLICE = 0.1
"""Seconds for which a client is let live at once."""


class Link(link.Link):
    """A connection as our server sees it: what it receives is the client's, and what it sends the server's.

    All that the client says on any channel is observed in one order. Nothing is said here.
    """

    def __init__(self, heard: Heard, context: Context, name: str, protocol: str) -> None:
        super().__init__(heard, context, name, protocol)
        heard.said = self._server_said
        self.lives: Callable[[float], bool] | None = None
        """Lets the client live for so many seconds, False where it cannot: blocking ones do nothing else."""
        self.ended_at = math.inf
        """When the client ended the connection."""
        self.spoken: list[float] = []
        """When the server said something, be it a single octet."""
        self._heard_from = heard
        self._theirs = FrameReader(limit=LIMIT)

    def _server_said(self, octets: bytes) -> None:
        self.spoken.append(self.now())
        for raw, unit in self._theirs.feed(octets):
            self._keep(Direction.SENT, raw, unit)
            self.transcript.append(Passage(self.now(), Direction.SENT, unit, self._kept))

    def _pump(self, deadline: float) -> bool:
        try:
            return super()._pump(deadline)
        finally:
            if self.ended is not None:
                self.ended_at = min(self.ended_at, self.now())
            self._heard_from.at = None

    def next(self, channel: int, patience: float) -> Observation:
        """Take what comes next within `patience` seconds, while the client is let live."""
        began = self.now()
        # As a point in time: what is left of a span may be less than moves a clock.
        until = began + patience
        seen = super().next(channel, 0.0)
        while isinstance(seen, Silence) and self.lives is not None:
            if (left := until - self.now()) <= 0:
                return Silence(self.now() - began)
            before = self.now()
            lived = self.lives(min(SLICE, left))
            # One that is over, or tells of something at once, must not be asked again and again.
            rest = 0.0 if lived and self.now() - before >= SLICE / 2 else min(SLICE, left)
            seen = super().next(channel, rest if lived else left)
            if not lived:
                return seen
        return seen if not isinstance(seen, Silence) else super().next(channel, patience)

    def heard_next(self) -> Observation:
        """Take what has come already, without letting the client live."""
        while self.ended is None and self._pump(self.now()):
            pass  # else heartbeats, which are not observed, would hide what came behind them
        return super().next(EVERYWHERE, 0.0)

    def over_and_heard(self) -> bool:
        """Say whether the client has ended the connection."""
        return self.ended is not None

    def taken(self, kind: type[Method]) -> Observation:
        """Take what comes up to a method of this kind, which what was asked of the client must bring."""
        while True:
            seen = self.next(EVERYWHERE, self.context.patience.answer)
            if isinstance(seen, Closed | Silence | Unreadable):
                return seen
            if isinstance(seen, Received) and isinstance(seen.method, kind):
                return seen

    # The server answers; what is wrong with what a client sends is for the watches to tell.

    def acknowledge_close(self, seen: Observation) -> None: ...

    def _take_step(self, on: int, method: Method) -> None:
        self._arrive(Received(on, method, frame=self._kept), on)

    def _belongs(self, on: int, method: Method) -> tuple[int, bool]:  # noqa: ARG002 - it comes where it comes
        return on, False

    def _arrive(self, came: Received, on: int, doubtful: bool = False) -> None:  # noqa: ARG002
        self._inboxes[EVERYWHERE].append(came)

    def _unreadable(self, why: str, channel: int = EVERYWHERE) -> None:  # noqa: ARG002
        super()._unreadable(why)

    def _passes_over(self, garbage: Garbage) -> bool:  # noqa: ARG002
        return False

    def _read_leniently(self, frame: Frame) -> bool:  # noqa: ARG002
        return False

    def _breach(self, fault: Leniency, what: str) -> None: ...

    def finish(self, reset: bool = False) -> None:
        """Hear what is left, and show what went over the wire to the passive rules."""
        while self.ended is None and self._pump(self.now()):
            pass
        super().finish(reset)
