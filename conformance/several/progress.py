"""How far several runs are: one line per target, redrawn on a terminal, printed by tenths elsewhere."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from conformance.evidence.printable import printable

PARTS = 10
"""Lines that a run prints at most while it judges, where there is no terminal."""


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
        self._progress.update(self._tasks[name], last=sentence)
        self._progress.stop_task(self._tasks[name])

    def say(self, sentence: str) -> None:
        self._progress.console.print(Text(sentence, style="yellow"))


class Lines:
    """A line where a target is there, at every tenth, and at the end."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._totals: dict[str, int] = {}
        self._done: dict[str, int] = {}

    def begin(self, name: str, total: int) -> None:
        self._totals[name], self._done[name] = total, 0
        self._print(name, f"judging {total} cases")

    def move(self, name: str, verdict: str, rule: str) -> None:  # noqa: ARG002 - a line is not about one rule
        """Count, and say so at every tenth."""
        total, before = self._totals[name], self._done[name]
        self._done[name] = done = before + 1
        if done * PARTS // total > before * PARTS // total:
            self._print(name, f"{done} of {total} cases judged")

    def end(self, name: str, sentence: str) -> None:
        self._print(name, sentence)

    def say(self, sentence: str) -> None:
        with self._lock:
            self._console.print(Text(sentence), soft_wrap=True)

    def _print(self, name: str, sentence: str) -> None:
        self.say(f"{printable(name)}: {sentence}")


Board = Bars | Lines
"""Is told of every target by its name, from several threads."""


@contextmanager
def board(console: Console, names: Sequence[str]) -> Iterator[Board]:
    """Show the progress of the targets of these `names` while the block runs."""
    if not console.is_terminal:
        yield Lines(console)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}", markup=False),
    )
    with Progress(*columns, console=console, expand=True) as progress:
        yield Bars(progress, names)
