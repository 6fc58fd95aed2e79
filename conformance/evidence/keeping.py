"""Keeps the events of a run as they happen: in memory, and in a file where somebody will read them later."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path

from conformance.evidence.folder import stream_of
from conformance.evidence.kinds import AnyEvent, CappedOctets, Line, TestStarted, encode
from harness.wire.journal import Event, Octets, Opened

FRAME_CAP = 4096
"""Octets kept of one frame."""
CONNECTION_CAP = 1024 * 1024
"""Octets kept of one connection; of later frames only length and hash."""


def wall_clock(started: float) -> Callable[[], float]:
    """Give a clock for `EventWriter`: seconds since `started` (seconds since the epoch), never going back."""
    offset = time.time() - started - time.monotonic()
    return lambda: time.monotonic() + offset


class Evidence(ABC):
    """A Journal for the events of one worker, each with its test; `clock` in seconds, safe for threads."""

    def __init__(self, worker: str = "main", clock: Callable[[], float] = lambda: 0.0) -> None:
        self._worker = worker
        self._clock = clock
        self._lock = threading.Lock()
        self._seq = 0
        self._wall = 0.0
        self._test: str | None = None
        self._started: set[str] = set()

    def write(self, event: AnyEvent) -> None:
        """Keep `event`. Raises OSError when the disk refuses."""
        with self._lock:
            # Merging relies on each worker's lines being in order of time.
            self._wall = max(self._wall, self._clock())
            self._seq += 1
            test = getattr(event, "test", self._test)
            self._keep(Line(self._wall, self._worker, self._seq, test, event))

    @contextmanager
    def test(self, test: str, rule: str, anew: bool = False) -> Iterator[None]:
        """Stamp what is written inside with `test`, at first that it started.

        It may be entered again, to go on, or to begin `anew`: then it starts once more.
        """
        before, self._test = self._test, test
        try:
            if anew or test not in self._started:
                self._started.add(test)
                self.write(TestStarted(test, rule))
            yield
        finally:
            self._test = before

    @abstractmethod
    def _keep(self, line: Line) -> None: ...


class Memory(Evidence):
    """Evidence in memory alone, in `lines`: for judging that nobody will audit."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Line] = []

    @property
    def exchange(self) -> list[Event]:
        """What the harness has reported."""
        return [line.event for line in self.lines if isinstance(line.event, Event)]

    def _keep(self, line: Line) -> None:
        self.lines.append(line)


class EventWriter(Evidence):
    """Writes one worker's events to its file, and `beside`. Raises FileExistsError."""

    def __init__(
        self, run_dir: Path, worker: str, clock: Callable[[], float], beside: list[Line] | None = None
    ) -> None:
        super().__init__(worker, clock)
        self.path = run_dir / stream_of(worker)
        self._beside = beside
        self._kept: defaultdict[str, int] = defaultdict(int)
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)

    def close(self) -> None:
        """Close the file; every line is on its way to the disk already."""
        os.close(self._file)

    def __enter__(self) -> EventWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _keep(self, line: Line) -> None:
        line = self._capped(line)
        text = encode(line)
        while text:
            text = text[os.write(self._file, text) :]
        if self._beside is not None:
            self._beside.append(line)

    def _capped(self, line: Line) -> Line:
        event = line.event
        if isinstance(event, Opened):
            self._kept[event.connection] = 0
        if not isinstance(event, Octets) or isinstance(event, CappedOctets):
            return line
        left = min(FRAME_CAP, CONNECTION_CAP - self._kept[event.connection])
        kept = event.octets[:left]
        self._kept[event.connection] += len(kept)
        if len(kept) == len(event.octets):
            return line
        values = {each.name: getattr(event, each.name) for each in fields(event)} | {"octets": kept}
        whole = hashlib.sha256(event.octets).hexdigest()
        return replace(line, event=CappedOctets(**values, length=len(event.octets), sha256=whole))
