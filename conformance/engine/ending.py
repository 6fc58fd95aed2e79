"""Why a run ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, auto


class Cause(IntEnum):
    """What ends a run before its own end, the gravest last."""

    WORKER_DIED = auto()
    BUDGET = auto()
    INTERRUPTED = auto()
    BROKEN = auto()
    """The suite itself broke."""
    LOST = auto()
    """The target is gone, or was never reached."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a run ends, a sentence for each cause; a run without any is complete."""

    causes: Mapping[Cause, str] = field(default_factory=dict)

    def also(self, cause: Cause, why: str) -> Ending:
        """Give the ending with one more cause; of several of one kind the first is told."""
        return Ending({cause: why, **self.causes})

    def but(self, more: str) -> Ending:
        """Give the ending with `more` to say of what has cut the run short."""
        cause = max(self._cuts)
        return Ending({**self.causes, cause: f"{self.causes[cause]}, {more}"})

    @property
    def _cuts(self) -> set[Cause]:
        return self.causes.keys() - {Cause.LOST}

    @property
    def lost(self) -> str | None:
        """Why the target is gone; None while it is there."""
        return self.causes.get(Cause.LOST)

    @property
    def cut(self) -> str | None:
        """Why the run was cut short, by its gravest cause; None where nothing but the target ended it."""
        return self.causes[max(self._cuts)] if self._cuts else None

    @property
    def complete(self) -> bool:
        """Whether the run came to its own end."""
        return not self.causes
