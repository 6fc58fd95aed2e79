"""How much evidence a run may keep."""

from __future__ import annotations

from dataclasses import dataclass

ROOM = 200_000
"""Events a run may keep; one of all rules of all documents keeps about 110 000 with an honest target."""


LEAST = 30_000
"""Events that one of many processes may keep: chance may give it most of what makes many."""


@dataclass
class Room:
    """How many events may still be kept; the judges of one process share it."""

    left: int = ROOM

    @classmethod
    def among(cls, processes: int) -> Room:
        return cls(max(ROOM // processes, LEAST))
