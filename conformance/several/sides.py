"""Several targets that were judged at once, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from conformance.gate.gate import Exit, gravest

if TYPE_CHECKING:
    from conformance.render.report import Report


@dataclass(frozen=True, slots=True)
class Side:
    """What became of one target; no `report` where nothing can be read, `why` is what broke the run."""

    name: str
    folder: Path
    status: Exit
    report: Report | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Sides:
    """All of them; their folders stand in `place`."""

    place: Path
    sides: tuple[Side, ...]

    @property
    def status(self) -> Exit:
        """3 if one could not be judged, else 1 if one misses its gate, else 2 if nothing fits one, else 0."""
        return gravest(each.status for each in self.sides)

    @property
    def folders(self) -> list[Path]:
        """The folders of the runs that can be read, in the order of the targets."""
        return [each.folder for each in self.sides if each.report is not None]


ENDINGS: list[Callable[[Sides, Console], None]] = []
"""What is done with the folders when all have ended; `reports` adds its matrix here."""
