"""What a scenario is given besides a way to talk: names, patience, notes and the journal."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import count

from harness.play.expect import SILENCE, Barrier, Blocked, ControlFailed, OverBudget, Stop, Unmet
from harness.play.leniency import Leniency
from harness.play.watching import Watching
from harness.wire.journal import Breached, Declared, Event, Given, Journal, Kept, Noted, Seen
from harness.wire.transcript import Transcript
from harness.wire.transport import Queueing

LONGEST = 200
"""Characters of what a facility gives that are kept; a log is longer."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, in seconds. No wait is longer than needed: only silence costs the whole time.

    It is counted from the last octet that moved, so it measures a pause and not how long something takes.

    - `answer`: for what is due at once.
    - `close`: for ends that peers delay on purpose (three seconds and more after a failed log-in).
    - `quiet`: for "nothing more comes", where nothing else shows it.
    - `budget`: for one scenario in all, counted in waiting and in real time.
    - `leave`: for closing connections and removing entities afterwards, in real time.
    - `beside`: added for controls (see `due`) while others are served at the same time: an answer may have to
      wait until what those declare is on the disk. Nothing is judged by when a control is answered; what is
      judged is, where silence came for an answer, tried again with as much (see `beside_others`).
    """

    answer: float = 3.0
    close: float = 7.0
    quiet: float = 0.3
    budget: float = 45.0
    leave: float = 10.0
    beside: float = 0.0

    @property
    def due(self) -> float:
        """Seconds to wait for the answer to a control."""
        return self.answer + self.beside

    @property
    def beside_others(self) -> Patience:
        """Patience that has for all answers what controls have."""
        return replace(self, answer=self.due, close=self.close + self.beside, beside=0.0)

    @classmethod
    def calibrated(cls, round_trip: float, *, alone: bool = True) -> Patience:
        """Make patience for a target of this round trip in seconds, judged `alone` or beside others."""
        return cls(
            beside=0.0 if alone else 7.0,
            answer=max(3.0, 100 * round_trip),
            close=max(7.0, 100 * round_trip),
            quiet=max(0.3, 20 * round_trip),
            budget=max(45.0, 2000 * round_trip),
            leave=max(10.0, 400 * round_trip),
        )


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on time.monotonic() beyond which nobody waits; `says` is the message of OverBudget."""

    at: float = math.inf
    says: str = "the time is up"

    @classmethod
    def after(cls, seconds: float, says: str) -> Deadline:
        return cls(time.monotonic() + seconds, says)

    @property
    def left(self) -> float:
        """Seconds left; zero when it has passed."""
        return max(self.at - time.monotonic(), 0.0)

    def check(self) -> None:
        if not self.left:
            raise OverBudget(self.says)


class Restart(Enum):
    """What a scenario yields where the target is to be restarted."""

    RESTART = "restart"


RESTART = Restart.RESTART


@dataclass
class Context:
    """One scenario's surroundings.

    - `prefix` makes names on the target unique to run, worker and test; `label` names connections, unique in
      the run.
    - `profile` is "document" or "vendor". `watching` holds the passive rules of the protocol.
    - `tidy` is false where the target ends with the run, so that nothing need be removed from it.
    - `facility` runs one of the target's facilities and returns what it made; `facilities` names those there
      are.
    - `deadline` ends all waiting; it may be put off up to `latest`, the deadline of the run.
    - `keeps` says how much is kept of what goes over the wire.
    - `units` and `octets` count what has been received on all connections.
    - `timed` says that time has been measured and may decide; `late` is by how many seconds this machine was
      late at worst.
    - `barrier` is where the probe got no further; `breaches` are the faults that were read all the same.
    - `astray` is the rule broken by something that came elsewhere than it was due; `unplaced` says that it is
      not certain where that was.
    - `queues` are the transports of open connections that know what of ours is still on its way.
    """

    journal: Journal
    prefix: str
    label: str = "probe"
    patience: Patience = field(default_factory=Patience)
    profile: str = "document"
    watching: Watching = field(default_factory=Watching)
    facilities: frozenset[str] = frozenset()
    facility: Callable[[str], dict[str, str]] = lambda _: {}
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    tidy: bool = True
    declared: list[tuple[str, str]] = field(default_factory=list)
    spent: float = 0.0
    deadline: Deadline = field(default_factory=Deadline)
    latest: Deadline = field(default_factory=Deadline)
    keeps: Kept = Kept.EXPLAINED
    units: int = 0
    octets: int = 0
    timed: bool = False
    late: float = 0.0
    barrier: Barrier | None = None
    breaches: list[Breached] = field(default_factory=list)
    astray: str = ""
    unplaced: bool = False
    queues: list[Queueing] = field(default_factory=list)

    def write(self, event: Event) -> None:
        self.journal.write(event)

    def watch(self, connection: str, at: float, transcript: Transcript) -> None:
        """Show a finished connection to the passive rules, and keep what they saw."""
        if seen := self.watching.look(transcript):
            occasions = {rule: tally.occasions for rule, tally in seen}
            broken = {rule: tuple(tally.broken) for rule, tally in seen if tally.broken}
            self.write(Seen(at, connection, occasions, broken))

    def name(self, kind: str, connection: str, at: float, pattern: str = "{}") -> str:
        """Make a name that nobody else uses, kept in the journal; {} in `pattern` is its unique part."""
        name = pattern.format(f"{self.prefix}-{next(self.numbers)}")
        self.remember(kind, name, connection, at)
        return name

    def remember(self, kind: str, name: str, connection: str, at: float) -> None:
        """Keep a name that is to be removed from the target when the scenario ends."""
        self.write(Declared(at, connection, kind, name))
        self.declared.append((kind, name))

    def note(self, text: str, connection: str = "", at: float = 0.0) -> None:
        """Keep a fact that no expectation covers."""
        self.write(Noted(at, connection, text))

    def breach(self, leniency: Leniency, what: str, connection: str, at: float) -> None:
        """Keep that the peer broke a rule and was read all the same; once for each connection."""
        told = f"{what}; {leniency.read_as}"
        if not any((each.connection, each.what) == (connection, told) for each in self.breaches):
            self.breaches.append(Breached(at, connection, leniency.rule, told))
            self.write(self.breaches[-1])

    def due(self, step: str, patience: float) -> float:
        """Give the seconds to wait for a step of the opening: few where the probe already waited in vain."""
        return self.patience.quiet if self.barrier and step in self.barrier.steps else patience

    def failed(self, what: str, actual: str, lost: bool = False) -> Stop:
        """Make the Stop for a failed control: Blocked where the probe got no further, else ControlFailed."""
        if self.barrier is not None and what in self.barrier.steps:
            return Blocked(self.barrier.rule, f"{what} was answered by {actual}")
        return ControlFailed(what, actual, lost)

    def blocking(self, failure: Exception) -> str:
        """Name the rule whose breach made a scenario fail, at a barrier or by something astray; or ""."""
        if self.barrier is not None and self.barrier.explains(failure):
            return self.barrier.rule
        if isinstance(failure, Unmet | ControlFailed):
            return self.astray if self.unplaced or failure.actual == SILENCE else ""
        return self.astray if isinstance(failure, OverBudget) else ""

    def spend(self, seconds: float) -> None:
        """Account for seconds spent waiting. Raises OverBudget when the scenario has used up its budget."""
        self.spent += seconds
        if self.spent > self.patience.budget:
            raise OverBudget(f"the scenario waited more than its budget of {self.patience.budget:g} s")

    def affords(self, seconds: float) -> bool:
        """Say whether the budget allows for so many seconds more."""
        return self.spent + seconds <= self.patience.budget

    def use(self, facility: str, meanwhile: AbstractContextManager[None] | None = None) -> dict[str, str]:
        """Use a facility of the target; its time is added to the deadline, for nothing is judged by that.

        `meanwhile` is what is done while the target is at it.
        """
        began = time.monotonic()
        try:
            with meanwhile or nullcontext():
                given = self.facility(facility)
            self.write(Given(facility, {name: told for name, told in given.items() if _is_told(name, told)}))
            return given
        finally:
            put_off = replace(self.deadline, at=self.deadline.at + time.monotonic() - began)
            self.deadline = min(put_off, self.latest, key=lambda each: each.at)

    def renew(self, deadline: Deadline) -> None:
        """Start time and counts of what was received anew, for what comes after the scenario."""
        self.deadline = deadline
        self.spent = 0.0
        self.units = self.octets = 0


def _is_told(name: str, value: str) -> bool:
    return name != "password" and len(value) <= LONGEST
