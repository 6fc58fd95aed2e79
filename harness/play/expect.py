"""Expectations: every legal outcome named, which is preferred, and what came, as data.

Protocol-neutral: an observation is anything the protocol's client yields; an outcome says whether it
matches. What becomes of a mismatch (fail, warn, info) depends on the rule's level and is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.wire.journal import Grade

SILENCE = "silence"
"""The signature of nothing that came, whatever the protocol."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A legal outcome: what it `says` and `matches`; those that `waits_for_end` marks may take seconds."""

    says: str
    matches: Callable[[Any], bool]
    grade: Grade = Grade.PREFERRED
    reading: str = ""
    waits_for_end: bool = False
    about: tuple[type, ...] = ()
    """Classes of what it looks at, where a protocol passes over others that may come at any time."""

    def __or__(self, other: Outcome) -> Outcome:
        """Make an outcome that is met by either of the two, each as good as the other."""
        return Outcome(
            f"{self.says} or {other.says}",
            lambda seen: self.matches(seen) or other.matches(seen),
            self.grade,
            self.reading or other.reading,
            self.waits_for_end or other.waits_for_end,
            (*self.about, *other.about),
        )

    def under(self, reading: str) -> Outcome:
        """Make it legal only by `reading`, not what the rule prefers: it counts as `warn`."""
        return replace(self, grade=Grade.TOLERATED, reading=reading)

    def recorded(self, reading: str = "") -> Outcome:
        """Make it one of several equal outcomes, none of which the document prefers: it counts as `info`."""
        return replace(self, grade=Grade.RECORDED, reading=reading)


class Stop(Exception):
    """Ends a scenario with a finding; subclasses say which."""


class Unmet(Stop):
    """None of the legal outcomes came, but `actual`.

    `lost` says that a reset may have destroyed a frame, `ended` that the target ended the stream instead: on
    a busy machine that may be one of its timers, to which we, or it, came late.
    """

    def __init__(
        self, expected: tuple[str, ...], actual: str, lost: bool = False, ended: bool = False
    ) -> None:
        super().__init__(f"expected {' or else '.join(expected)}, but came {actual}")
        self.expected = expected
        self.actual = actual
        self.lost = lost
        self.ended = ended


class ControlFailed(Stop):
    """A control failed: the same octets without the fault must work, or the rule cannot be judged at all."""

    def __init__(self, what: str, actual: str, lost: bool = False) -> None:
        super().__init__(f"{what} was answered by {actual}")
        self.what = what
        self.actual = actual
        self.lost = lost


class Inapplicable(Stop):
    """A probe has shown that the target lacks the feature the rule is about."""


class NotRun(Stop):
    """The scenario cannot be played on this target; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Barrier:
    """A step of a connection's opening that a target does not take: `what` came instead of its answer.

    `steps` are the control that fails there and those after it; `rule` is the identity of the broken rule.
    `actual` is the signature of what came, `due` are the answers to these steps in words. `behind` are
    beginnings of signatures that may come in place of a missing answer: answers to what was sent together
    with the step.
    """

    steps: tuple[str, ...]
    rule: str
    what: str
    actual: str = ""
    due: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Barrier:
        """Make it from plain values, in which tuples may have become lists."""
        changed: dict[str, Any] = {name: tuple(told[name]) for name in ("steps", "due", "behind")}
        return cls(**{**told, **changed})

    def explains(self, failure: Exception) -> bool:
        """Say whether an expectation missed the same as the probe had missed."""
        if not isinstance(failure, Unmet) or not self.actual:
            return False
        same = failure.actual == self.actual or failure.actual.startswith(self.behind or "\0")
        return same and failure.expected[0].startswith(self.due)


class Blocked(NotRun):
    """The scenario met the barrier that the probe had met: nothing behind it can be reached."""

    def __init__(self, rule: str, what: str) -> None:
        super().__init__(f"blocked by {rule}: {what}")
        self.rule = rule


class Inconclusive(Stop):
    """What was seen decides nothing; the message says why."""


class Late(Inconclusive):
    """Time decided, and this machine was late itself: whether the target was cannot be told."""


class OverBudget(Stop):
    """The scenario outlived its budget."""


class StillComing(OverBudget):
    """The scenario outlived its budget while octets were moving: slow is not silent, nothing is decided."""
