"""What something costs: seconds, memory and octets read, of this process and all that it started."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

EVERY = 0.05
"""Seconds between two looks at the memory in use."""
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Cost:
    """What a stage took: seconds by the clock and of processors, the most memory at once, and octets read.

    All our processes count together. Memory is in octets; what they say to each other counts as read as
    well. Seconds of processors tell what it costs on a machine that others use too. `notes` is what else
    there is to tell.
    """

    seconds: float = 0.0
    processors: float = 0.0
    memory: int = 0
    read: int = 0
    notes: dict[str, float] = field(default_factory=dict)

    def add(self, later: Cost) -> None:
        self.seconds += later.seconds
        self.processors += later.processors
        self.read += later.read
        self.memory = max(self.memory, later.memory)


@contextmanager
def cost() -> Iterator[Cost]:
    """Measure what is done inside."""
    before = _used()
    taken, latest, over = Cost(memory=_memory()), dict(before), threading.Event()

    def look() -> None:
        taken.memory = max(taken.memory, _memory())
        latest.update(_used())  # a process that has ended stays as it was last seen

    def watch() -> None:
        while not over.wait(EVERY):
            look()

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    began = time.perf_counter()
    try:
        yield taken
    finally:
        taken.seconds = time.perf_counter() - began
        over.set()
        watching.join()
        look()
        grown = [latest[each] - before.get(each, Counter()) for each in latest]
        taken.read = sum(each["read"] for each in grown)
        taken.processors = sum(each["ticks"] for each in grown) / TICKS_PER_SECOND


def _family() -> Iterator[Path]:
    """Find the folders in /proc of this process and all that came from it."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        stat = _told(folder / "stat")
        if stat:
            children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(folder.name))
    waiting = [os.getpid()]
    while waiting:
        process = waiting.pop()
        waiting += children.get(process, [])
        yield Path(f"/proc/{process}")


def _memory() -> int:
    """Add up the resident memory of all our processes, in octets; what they share counts for each."""
    return sum(int(told.split()[1]) * PAGE for each in _family() if (told := _told(each / "statm")))


def _used() -> dict[str, Counter[str]]:
    """Read by process the octets that it has read and the ticks of processors that it has used so far."""
    found = {}
    for each in _family():
        stat, io = _told(each / "stat"), _told(each / "io")
        if stat and io:
            ticks = sum(int(tick) for tick in stat.rpartition(")")[2].split()[11:13])
            found[each.name] = Counter(read=int(io.split()[1]), ticks=ticks)
    return found


def _told(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # the process has ended since it was listed
        return ""
