"""One connection to a target, whatever its protocol: transcript, journal, bounded receiving, expectations.

A protocol's client says how its stream is cut into units, what can be observed in them, and how outcomes are
written; nothing here knows a frame. Nothing is sent that was not asked for.
"""

import math
from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from harness.play.context import Context
from harness.play.expect import ControlFailed, Late, NotRun, Outcome, OverBudget, StillComing, Stop, Unmet
from harness.play.sights import Closed as Closed
from harness.play.sights import Silence as Silence
from harness.play.sights import Unreadable as Unreadable
from harness.wire.annotation import Annotator
from harness.wire.journal import RECEIVED, SENT, Direction, Ended, Expected, Grade, Kept, Octets, Opened
from harness.wire.reader import Reader
from harness.wire.transcript import Passage, Transcript
from harness.wire.transport import End, HalfClosing, Locatable, Transport, queues

MOST_UNITS = 10_000
"""Frames a peer may send in one scenario; an honest one sends less than a thousand."""
MOST_OCTETS = 32 << 20
"""Octets a peer may send in one scenario; an honest one sends less than 12 MB."""
PIECE = 1 << 16
"""Octets that are sent at once; between two such pieces the scenario may be over."""
LEAVING = 0.05
"""Seconds between two looks at what of ours is still on its way; kernels acknowledge a little later."""
PART = 8
"""So great a part of a silence may be our own lateness: what was due would have come in the rest."""
SLICE = 0.25
"""Seconds of listening after which our own timer is looked at: so much late is late where time decides."""

ACKNOWLEDGED = 0.5
"""Seconds after which our kernel has acknowledged what it received, even if we write nothing."""
EVERYWHERE = 0
"""The place of what concerns the whole connection."""

Unit = TypeVar("Unit")
Sight = TypeVar("Sight")


class Link(ABC, Generic[Unit, Sight]):
    """One connection to the target, seen unit by unit.

    Slow is not silent: patience counts from the last octet that moved, in either direction. Of what comes,
    only what the peer sends to be known alive (heartbeats) does not count. While a unit or message is
    unfinished, the wait is at least that for an answer; at the end of the budget StillComing is raised.

    `over` is true once the closing handshake has been done: nothing more can be asked on it. From a peer that
    talks without end no more than `MOST_UNITS` and `MOST_OCTETS` are taken; then OverBudget is raised. Octets
    are kept with credentials blanked, and explained, by the protocol's `annotator`.
    """

    annotator: ClassVar[Annotator[Any]]

    def __init__(
        self, transport: Transport, context: Context, name: str, protocol: str, reader: Reader[Unit]
    ) -> None:
        self.transport = transport
        self.context = context
        self.name = name
        self.protocol = protocol
        self.transcript: list[Passage[Unit]] = []
        self.ended: End | None = None
        self.over = False
        self._deaf = False
        self._heard_at: float | None = None
        self._moved_at = self._partial_at = -math.inf
        self._looked_at = -math.inf
        self._left = 0
        self._queueing = transport if queues(transport) else None
        if self._queueing is not None:
            context.queues.append(self._queueing)
        self._finished = False
        self._kept = 0
        self._unkept = context.keeps is Kept.NOTHING
        self._inboxes: dict[int, deque[Sight | Unreadable]] = defaultdict(deque)
        self._reader = reader
        context.write(Opened(self.now(), name, transport.endpoint, protocol))

    def now(self) -> float:
        """Give the seconds on this connection's clock."""
        return self.transport.now()

    # -- what the protocol says ------------------------------------------------------------------------

    @abstractmethod
    def _dispatch(self, unit: Unit) -> None:
        """Put what can be observed in a unit into its inbox."""

    @abstractmethod
    def _answered(self, kind: type[Any]) -> Outcome:
        """Give the outcome that a scenario means by a class: a unit of that kind comes."""

    @abstractmethod
    def signature(self, seen: Sight | Closed | Silence | Unreadable) -> str:
        """Name what was observed, in words that are the same in every run."""

    @abstractmethod
    def _only_lives(self, unit: Unit) -> bool:
        """Say whether a unit tells no more than that the peer is alive."""

    def received(self) -> Iterator[Unit]:
        """Yield all that the peer has said."""
        return (each.unit for each in self.transcript if each.direction is RECEIVED)

    def _unfinished(self, channel: int) -> bool:  # noqa: ARG002 - protocols with messages look at it
        return self._unfinished_unit

    @property
    def _unfinished_unit(self) -> bool:
        return bool(self._reader.pending) and not self._reader.broken

    def acknowledge_close(self, seen: Sight | Closed | Silence | Unreadable) -> None:
        """Answer a close that was expected, where the protocol's client does that by itself."""

    @abstractmethod
    def _place(self, seen: Sight | Closed | Silence | Unreadable) -> int:
        """Give the number, on this connection, of the unit an observation came with, else of the last one."""

    @abstractmethod
    def _finished_transcript(self) -> Transcript:
        """Give all that went over a finished connection, as the passive rules are to see it."""

    # -- sending ---------------------------------------------------------------------------------------

    def _keep(self, direction: Direction, octets: bytes, unit: Unit | None = None) -> None:
        self._kept += 1
        if self._unkept:
            return
        # Both ways: a peer that echoes must not bring the password into the evidence.
        kept, says = self.annotator.kept(octets, unit, self.context.keeps is Kept.EXPLAINED)
        self.context.write(Octets(self.now(), self.name, direction, kept, says))

    def _went(self, unit: Unit) -> None:
        self.transcript.append(Passage(self.now(), SENT, unit, self._kept))

    def _push(self, octets: bytes) -> None:
        self._heard_at = None
        for start in range(0, len(octets), PIECE):
            if start:
                self._check_time()
            began = self.now()
            # A peer that no longer reads costs one time-out, not one for every frame.
            self._deaf = self._deaf or not self.transport.send(octets[start : start + PIECE])
            # What was not taken at once was moving, and so was the piece before this one.
            if not self._deaf and (start or self.now() - began > LEAVING):
                self._moved_at = self.now()

    def shut(self) -> None:
        """End our stream and go on reading: a half-close. Raises NotRun where the transport has none."""
        if not isinstance(self.transport, HalfClosing):
            raise NotRun(f"no half-close is possible over {self.transport.endpoint}")
        self.transport.shut()
        self._deaf = True

    def met_reset(self, patience: float) -> bool:
        """Say whether the ended peer resets what we send within `patience` seconds. Raises NotRun."""
        if not isinstance(self.transport, HalfClosing):
            raise NotRun(f"a reset after the end cannot be seen over {self.transport.endpoint}")
        began = self.now()
        met = self.ended is End.RST or self.transport.met_reset(began + patience)
        self.context.spend(self.now() - began)
        return met

    # -- receiving -------------------------------------------------------------------------------------

    def next(self, channel: int, patience: float) -> Sight | Closed | Silence | Unreadable:
        """Take the next on `channel` or for all, or Silence after `patience` seconds. Raises OverBudget."""
        began = self.now()
        while True:
            if (seen := self._take(channel)) is not None:
                return seen
            if self.ended is not None:
                return Closed(self.ended)
            if not self._awaits(channel, began, patience):
                return Silence(self.now() - began)

    def _take(self, channel: int) -> Sight | Unreadable | None:
        for inbox in (self._inboxes[channel], self._inboxes[EVERYWHERE]):
            if inbox:
                return inbox.popleft()
        return None

    def listen(self, seconds: float) -> list[Passage[Unit]]:
        """Receive for so many seconds or up to the peer's end; what is returned stays to be expected."""
        began, mark = self.now(), len(self.transcript)
        self.context.timed = True
        while self.ended is None and (left := began + seconds - self.now()) >= 0:
            # In slices: they show whether this machine was late meanwhile.
            if not self._wait(self.now() + min(SLICE, left)) and left <= SLICE:
                break
        self.context.spend(self.now() - began)
        return [each for each in self.transcript[mark:] if each.direction is RECEIVED]

    def put_back(self, channel: int, seen: Sequence[Any]) -> None:
        """Return observations that were taken out of turn, oldest first."""
        self._inboxes[channel].extendleft(reversed(seen))

    def _awaits(self, channel: int, began: float, patience: float) -> bool:
        """Take what comes; False after so much silence since `began`, paid for. Raises OverBudget."""
        needed = max(patience, self.context.patience.answer) if self._unfinished(channel) else patience
        if self._wait(max(began, self._moved_at, self._partial_at) + needed):
            if not self.context.affords(self.now() - began):
                raise self._over("the scenario's budget is spent")
            return True
        self.context.spend(self.now() - began)
        return False

    def _wait(self, deadline: float) -> bool:
        """Take what comes; False if `deadline` (on its clock) has passed and we looked. Raises OverBudget."""
        self._check_time()
        if (now := self.now()) > deadline and self._looked_at > deadline:
            return False
        self._looked_at = now
        until = min(max(deadline, now), now + self.context.deadline.left)
        self._left = max(self._left, self._outgoing())
        if self._left:
            until = min(until, now + LEAVING)
        came = self._pump(until)
        before, self._left = self._left, self._outgoing()
        if self._left < before:
            self._moved_at = self.now()
        return came or until < deadline

    def _outgoing(self) -> int:
        """Count the octets on their way on all links: an answer may wait for those of another link."""
        return sum(each.outgoing() for each in self.context.queues)

    def _check_time(self) -> None:
        """Raise OverBudget when the scenario's time is up, StillComing where octets were moving."""
        if not self.context.deadline.left:
            raise self._over(self.context.deadline.says)

    def _over(self, says: str) -> OverBudget:
        moving = self.now() - max(self._moved_at, self._partial_at) < self.context.patience.answer
        return StillComing(f"{says}, and octets were still coming or going") if moving else OverBudget(says)

    def _pump(self, deadline: float) -> bool:
        if self.context.octets > MOST_OCTETS or self.context.units > MOST_UNITS:
            raise OverBudget(
                f"the peer talks without end: more than {MOST_UNITS} frames or {MOST_OCTETS >> 20} MiB"
            )
        octets = self.transport.receive(deadline)
        if octets is None:
            self.context.late = max(self.context.late, self.now() - deadline)
            return False
        if isinstance(octets, End):
            self._rest()
            self.ended = octets
            self._kept += 1
            self.context.write(Ended(self.now(), self.name, "target", octets.value))
            return True
        self._heard_at = self.now()
        self.context.octets += len(octets)
        for raw, unit in self._reader.feed(octets):
            self.context.units += 1
            if not self._only_lives(unit):
                self._moved_at = self.now()
            self._keep(RECEIVED, raw, unit)
            self.transcript.append(Passage(self.now(), RECEIVED, unit, self._kept))
            self._dispatch(unit)
        # What part of a unit was worth shows when the rest has come.
        self._partial_at = self.now() if self._unfinished_unit else -math.inf
        return True

    def _rest(self) -> None:
        if not self._reader.broken and (rest := self._reader.rest()):
            self._keep(RECEIVED, rest)
            self._unreadable("the connection ended within a frame")

    def _unreadable(self, why: str, channel: int = EVERYWHERE) -> None:
        self._inboxes[channel].append(Unreadable(why))

    # -- expecting -------------------------------------------------------------------------------------

    def expect(
        self, channel: int, *outcomes: Outcome | type[Any], acknowledge: bool = True
    ) -> Sight | Closed | Silence | Unreadable:
        """Take the next observation on `channel` and hold it against the legal outcomes.

        The first outcome is the preferred one; any further one is legal by the reading it names. Raises Unmet
        when none of them matches. Then `acknowledge_close` is called with what was expected, unless
        `acknowledge` is false: the caller can do that later.
        """
        legal = self.legal(*outcomes)
        patience = self.context.patience
        slow = any(outcome.waits_for_end for outcome in legal)
        began = self.now()
        seen = self.next(channel, patience.close if slow else patience.answer)
        return self.hold(seen, legal, began, acknowledge)

    def legal(self, *outcomes: Outcome | type[Any]) -> list[Outcome]:
        """Replace classes among these by the outcomes they stand for."""
        return [each if isinstance(each, Outcome) else self._answered(each) for each in outcomes]

    def hold(
        self,
        seen: Sight | Closed | Silence | Unreadable,
        legal: Sequence[Outcome],
        began: float,
        acknowledge: bool = True,
    ) -> Sight | Closed | Silence | Unreadable:
        """Hold what was seen, waited for since `began`, against the legal outcomes. Raises Unmet, or Late."""
        for outcome in legal:
            if outcome.matches(seen):
                self._in_time(outcome.grade is not Grade.TOLERATED, seen)
                self.decided(legal, seen, outcome.grade, outcome.reading, began)
                if acknowledge:
                    self.acknowledge_close(seen)
                return seen
        self._in_time(False, seen)
        self.decided(legal, seen, Grade.UNMET, "", began)
        raise Unmet(
            tuple(outcome.says for outcome in legal),
            self.signature(seen),
            lost=self.may_have_lost(seen),
            ended=isinstance(seen, Closed),
        )

    def _in_time(self, holds: bool, seen: object = None) -> None:
        """Raise Late where something does not hold and time decides, but this machine itself was late.

        Where silence decides, and no time was measured, that is by more than a part of what was waited.
        """
        if holds or not (self.context.timed or isinstance(seen, Silence)):
            return
        bears = 0.0 if self.context.timed or not isinstance(seen, Silence) else seen.waited / PART
        if self.context.late > max(SLICE, bears):
            raise self._late()

    def _late(self) -> Late:
        return Late(f"this machine was late itself, by {self.context.late:.2f} s")

    def failed(self, what: str, seen: Sight | Closed | Silence | Unreadable) -> Stop:
        """Give the Stop for a control that was answered by something else, or not: Late where we were so."""
        stop = self.context.failed(what, self.signature(seen), lost=seen == Closed(End.RST))
        if not (isinstance(stop, ControlFailed) and isinstance(seen, Silence)):
            return stop
        return self._late() if self.context.late > max(SLICE, seen.waited / PART) else stop

    def may_have_lost(self, seen: Sight | Closed | Silence | Unreadable) -> bool:
        """Say whether this is a reset that may have destroyed something the peer had said before."""
        if seen != Closed(End.RST):
            return False
        # What has arrived can be read behind a reset. Over loopback all that was written has arrived, unless
        # the peer's kernel held it back for want of an acknowledgement; whatever we write acknowledges.
        unacknowledged = self._heard_at is not None and self.now() - self._heard_at < ACKNOWLEDGED
        return unacknowledged or not (isinstance(self.transport, Locatable) and self.transport.local)

    def decided(
        self,
        legal: Sequence[Outcome],
        seen: Sight | Closed | Silence | Unreadable,
        grade: Grade,
        reading: str,
        began: float,
    ) -> None:
        """Write to the journal what an expectation came to."""
        outcomes = tuple(outcome.says for outcome in legal)
        now = self.now()
        # What decided may have come in one read with frames behind it.
        place = self._place(seen)
        self.context.write(
            Expected(now, self.name, outcomes, self.signature(seen), grade, reading, place, now - began)
        )

    def judged(
        self,
        expected: str,
        otherwise: str,
        holds: bool,
        reading: str = "",
        allowed: Grade = Grade.TOLERATED,
    ) -> None:
        """Keep a judgement on what came. Raises Unmet when it does not hold, unless a `reading` allows it."""
        self._in_time(holds)
        grade = Grade.PREFERRED if holds else allowed if reading else Grade.UNMET
        actual, under = (expected, "") if holds else (otherwise, reading)
        self.context.write(
            Expected(self.now(), self.name, (expected,), actual, grade, under, self._kept, 0.0)
        )
        if grade is Grade.UNMET:
            raise Unmet((expected,), otherwise)

    # -- ending ----------------------------------------------------------------------------------------

    def finish(self, reset: bool = False) -> None:
        """Close our side of the socket, and show what went over the wire to the passive rules."""
        if self._finished:
            return
        self._finished = True
        finished = self._finished_transcript()
        if self.ended is None:
            self.context.write(Ended(self.now(), self.name, "harness", "rst" if reset else "fin"))
        if self._queueing is not None:
            self.context.queues.remove(self._queueing)
        self.transport.close(reset)
        self.context.watch(self.name, self.now(), finished)
