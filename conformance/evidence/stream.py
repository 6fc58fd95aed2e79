"""The evidence of a run: one stream of events, written as it goes, merged, sealed and read back.

Each worker appends to its own `events-WORKER.jsonl`, a line per write, so that a process killed at any
moment loses at most its last line. At the end they become `events.jsonl`, closed by a footer with the
number of events and the SHA-256 of all that stands before it. A stream without its footer, or with one
that says so, is partial. The hash shows damage and careless edits; it is no signature.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from types import TracebackType

from conformance.evidence.folder import RUN_FILE, RunInfo, changed_files, read_run, seal, write_run
from conformance.evidence.kinds import (
    AnyEvent,
    CappedOctets,
    EvidenceError,
    Interrupted,
    Judged,
    Line,
    RunEnded,
    RunEvent,
    RunStarted,
    TargetRestarted,
    TestStarted,
    decode,
    encode,
)
from conformance.evidence.results import RuleResult, rule_results
from harness.wire.journal import Octets, Opened

__all__ = [
    "AnyEvent",
    "CappedOctets",
    "EventWriter",
    "EvidenceError",
    "Interrupted",
    "Judged",
    "Line",
    "RuleResult",
    "RunEnded",
    "RunEvent",
    "RunInfo",
    "RunStarted",
    "State",
    "TargetRestarted",
    "TestStarted",
    "Verification",
    "load",
    "merge",
    "read",
    "read_run",
    "rule_results",
    "seal",
    "verify",
    "wall_clock",
    "write_run",
]

STREAM = "events.jsonl"
FRAME_CAP = 4096
"""Octets kept of one frame."""
CONNECTION_CAP = 1024 * 1024
"""Octets kept of one connection; of later frames only length and hash."""


def wall_clock(started: float) -> Callable[[], float]:
    """A clock for `EventWriter`: seconds since `started` (seconds since the epoch), never going back."""
    offset = time.time() - started - time.monotonic()
    return lambda: time.monotonic() + offset


class EventWriter:
    """Writes one worker's events to its file in `run_dir`; a `harness.wire.journal.Journal`.

    `worker` is "main" or xdist's name for it, `clock` gives seconds since the run began (see
    `wall_clock`). Usable from several threads. Raises FileExistsError when the worker has a file already:
    a run folder holds one run.
    """

    def __init__(self, run_dir: Path, worker: str, clock: Callable[[], float]) -> None:
        self.path = run_dir / f"events-{worker}.jsonl"
        self._worker = worker
        self._clock = clock
        self._lock = threading.Lock()
        self._seq = 0
        self._wall = 0.0
        self._test: str | None = None
        self._started: set[str] = set()
        self._kept: defaultdict[str, int] = defaultdict(int)
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)

    def write(self, event: AnyEvent) -> None:
        """Append `event` as one line. Raises OSError when the disk refuses."""
        with self._lock:
            # Merging relies on each worker's lines being in order of time.
            self._wall = max(self._wall, self._clock())
            self._seq += 1
            self._put(encode(Line(self._wall, self._worker, self._seq, self._test, self._capped(event))))

    @contextmanager
    def test(self, test: str, rule: str) -> Iterator[None]:
        """Stamp what is written inside with `test`; the first time also write that it started.

        May be entered again for the same test (one that a restart interrupts), and nested.
        """
        before, self._test = self._test, test
        try:
            if test not in self._started:
                self._started.add(test)
                self.write(TestStarted(test, rule))
            yield
        finally:
            self._test = before

    def close(self) -> None:
        """Close the file; every line is on its way to the disk already."""
        os.close(self._file)

    def __enter__(self) -> EventWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _put(self, text: bytes) -> None:
        while text:
            text = text[os.write(self._file, text) :]

    def _capped(self, event: AnyEvent) -> AnyEvent:
        if isinstance(event, Opened):
            self._kept[event.connection] = 0
        if not isinstance(event, Octets) or isinstance(event, CappedOctets):
            return event
        left = min(FRAME_CAP, CONNECTION_CAP - self._kept[event.connection])
        kept = event.octets[:left]
        self._kept[event.connection] += len(kept)
        if len(kept) == len(event.octets):
            return event
        values = {each.name: getattr(event, each.name) for each in fields(event)} | {"octets": kept}
        return CappedOctets(
            **values, length=len(event.octets), sha256=hashlib.sha256(event.octets).hexdigest()
        )


def merge(run_dir: Path, partial: bool = False) -> Path:
    """Make the workers' files in `run_dir` into `events.jsonl` and remove them; gives its path.

    `partial` marks a run that was cut short; a torn line marks it as well. Done twice, the second time
    changes nothing. Raises EvidenceError when there is nothing to merge or a line is damaged.
    """
    stream, workers = run_dir / STREAM, _worker_files(run_dir)
    if not stream.exists():  # it appears whole, by a rename; what is left beside it is already in it
        _require(workers, run_dir)
        torn = any(_is_torn(path) for path in workers)
        found = heapq.merge(*map(_texts, workers), key=lambda each: _order(each[0]))
        _write_whole(stream, found, partial or torn)
    for path in workers:
        path.unlink()
    return stream


def read(run_dir: Path, kind: str = "") -> tuple[Line, ...]:
    """All events of the run in `run_dir` in order of time, footer apart; with `kind` only those.

    A run that crashed before it was merged is read from its workers' files; a torn last line is left
    out. Whether the run is complete, `verify` says. Raises EvidenceError for a damaged line.
    """
    stream = run_dir / STREAM
    if stream.exists():
        return tuple(_lines(stream, kind))
    workers = _worker_files(run_dir)
    _require(workers, run_dir)
    return tuple(heapq.merge(*(_lines(worker, kind) for worker in workers), key=_order))


class State(StrEnum):
    """What can be said of a run folder."""

    OK = "ok"
    PARTIAL = "partial"
    TAMPERED = "tampered"


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a run folder is whole, with one sentence why."""

    state: State
    sentence: str


def verify(run_dir: Path) -> Verification:
    """Check the run in `run_dir`: footer, hash, every line, and the files `run.json` lists with a hash.

    Never raises for what stands in the folder: a folder that holds no evidence is partial.
    """
    try:
        changed = changed_files(run_dir)
    except (EvidenceError, OSError) as failure:
        return _unreadable(run_dir, failure)
    verification, _ = load(run_dir)
    if changed and verification.state is not State.TAMPERED:
        return Verification(State.TAMPERED, f"Not as {RUN_FILE} lists it: {', '.join(changed)}.")
    return verification


def load(run_dir: Path) -> tuple[Verification, tuple[Line, ...]]:
    """The events in `run_dir` and whether they are whole, read once; other files are not looked at.

    Of a stream that is not as the run wrote it no events are given. Never raises for what stands there.
    """
    stream = run_dir / STREAM
    try:
        if stream.exists():
            return _load_stream(stream)
        lines = read(run_dir)
    except (EvidenceError, OSError) as failure:
        return _unreadable(run_dir, failure), ()
    told = f"The run was never completed: {len(lines)} events in its workers' files."
    return Verification(State.PARTIAL, told), lines


def _unreadable(run_dir: Path, failure: Exception) -> Verification:
    nothing = not (run_dir / STREAM).exists() and not _worker_files(run_dir)
    return Verification(State.PARTIAL if nothing else State.TAMPERED, f"{failure}.")


def _load_stream(stream: Path) -> tuple[Verification, tuple[Line, ...]]:
    content = stream.read_bytes()
    *before, last = content.splitlines(keepends=True) or [b""]
    if any(_footer(text) is not None for text in before):
        told = f"{STREAM} was changed after the run: it goes on after its footer."
        return Verification(State.TAMPERED, told), ()
    footer = _footer(last)
    if footer is None or not last.endswith(b"\n"):
        told = f"{STREAM} has no footer: the end of the run is missing."
        return Verification(State.PARTIAL, told), tuple(_lines(stream))
    start = len(content) - len(last)
    if footer.get("sha256") != hashlib.sha256(content[:start]).hexdigest():
        told = f"{STREAM} was changed after the run: its hash is not the footer's."
        return Verification(State.TAMPERED, told), ()
    lines = tuple(_lines(stream))
    if (footer.get("events"), footer.get("counts")) != (len(lines), _counts(lines)):
        told = f"The footer of {STREAM} was changed: its counts are not those of the events."
        return Verification(State.TAMPERED, told), ()
    if footer.get("partial") is not False:
        told = f"The run was cut short; the {len(lines)} events up to then are whole."
        return Verification(State.PARTIAL, told), lines
    return Verification(State.OK, f"{len(lines)} events, as the run wrote them."), lines


def _worker_files(run_dir: Path) -> list[Path]:
    return sorted(run_dir.glob("events-*.jsonl"))


def _require(workers: list[Path], run_dir: Path) -> None:
    if not workers:
        raise EvidenceError(f"{run_dir}: no events here, neither {STREAM} nor a worker's file")


def _order(line: Line) -> tuple[float, str, int]:
    return line.wall, line.worker, line.seq


def _is_torn(path: Path) -> bool:
    content = path.read_bytes()
    return bool(content) and not content.endswith(b"\n")


def _lines(path: Path, kind: str = "") -> Iterator[Line]:
    """The events in the file at `path` (of one `kind`), without the footer and without a torn last line."""
    return (line for line, _ in _texts(path, kind))


def _texts(path: Path, kind: str = "") -> Iterator[tuple[Line, bytes]]:
    """As `_lines`, each with the octets it stands in."""
    begins = f'{{"event":"{kind}"'.encode() if kind else b""
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            if not text.endswith(b"\n") or _footer(text) is not None:
                return
            if not text.startswith(begins):
                continue
            try:
                yield decode(text), text
            except EvidenceError as failure:
                raise EvidenceError(f"{path}:{number}: {failure}") from None


def _footer(text: bytes) -> dict[str, object] | None:
    if not text.startswith(b'{"event":"footer"'):
        return None
    try:
        data: dict[str, object] = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data


def _counts(lines: Iterable[Line]) -> dict[str, int]:
    return dict(sorted(Counter(line.kind for line in lines).items()))


def _write_whole(stream: Path, lines: Iterable[tuple[Line, bytes]], partial: bool) -> None:
    """Write `lines` and the footer beside `stream`, then give it its name: it is there whole or not."""
    unfinished = stream.with_suffix(".unfinished")
    digest, counts = hashlib.sha256(), Counter[str]()
    with unfinished.open("wb") as file:
        for line, text in lines:
            digest.update(text)
            counts[line.kind] += 1
            file.write(text)
        footer = {
            "event": "footer",
            "events": counts.total(),
            "sha256": digest.hexdigest(),
            "partial": partial,
            "counts": dict(sorted(counts.items())),
        }
        file.write(json.dumps(footer, separators=(",", ":")).encode("ascii") + b"\n")
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(stream)
