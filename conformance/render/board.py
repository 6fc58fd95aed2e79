"""How far runs are, on standard error: a bar for each target on a terminal, elsewhere a line each 10 s."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from conformance.evidence.printable import printable

EVERY = 10.0
"""Seconds from one line about a target to the next, where there is no terminal."""


class Bars:
    """A bar per target."""

    def __init__(self, progress: Progress, names: Sequence[str]) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {
            name: progress.add_task(printable(name), total=None, last="starting") for name in names
        }

    def begin(self, name: str, total: int) -> None:
        self._progress.update(self._tasks[name], total=total, last="")

    def move(self, name: str, verdict: str, rule: str) -> None:
        self._progress.update(self._tasks[name], advance=1, last=printable(f"{verdict:12} {rule}"))

    def end(self, name: str, sentence: str) -> None:
        self._progress.update(self._tasks[name], last=printable(sentence))
        self._progress.stop_task(self._tasks[name])

    def say(self, sentence: str) -> None:
        self._progress.console.print(Text(sentence, style="yellow"))


class Lines:
    """A line about a target each ten seconds while cases are judged, or what `doing` says, and at its end."""

    def __init__(
        self, console: Console, names: Sequence[str], clock: Callable[[], float], doing: str = "cases judged"
    ) -> None:
        self._console, self._clock, self._began, self._doing = console, clock, clock(), doing
        self._lock = threading.Lock()
        self._totals = dict.fromkeys(names, 0)
        self._done = dict.fromkeys(names, 0)
        self._told = dict.fromkeys(names, self._began)

    def begin(self, name: str, total: int) -> None:
        self._totals[name] = total

    def move(self, name: str, verdict: str, rule: str) -> None:  # noqa: ARG002 - a line is not about one rule
        """Count, and say so when it is time."""
        self._done[name] += 1
        now = self._clock()
        if now - self._told[name] >= EVERY:
            self._told[name] = now
            after = f"after {now - self._began:.0f} s"
            self.say(f"{name}: {self._done[name]} of {self._totals[name]} {self._doing} {after}")

    def end(self, name: str, sentence: str) -> None:
        self.say(f"{name}: {sentence}")

    def say(self, sentence: str) -> None:
        with self._lock:
            self._console.print(Text(printable(sentence)), soft_wrap=True)


Board = Bars | Lines
"""Is told of every target by its name, from several threads."""


@contextmanager
def board(
    names: Sequence[str],
    console: Console | None = None,
    clock: Callable[[], float] = time.monotonic,
    doing: str = "cases judged",
) -> Iterator[Board]:
    """Show the progress of the targets of these `names` while the block runs; nothing is left of bars.

    `console` is standard error without one; `clock` gives seconds; `doing` says what is counted.
    """
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield Lines(console, names, clock, doing)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}", markup=False),
    )
    with Progress(*columns, console=console, expand=True, transient=True) as progress:
        yield Bars(progress, names)
