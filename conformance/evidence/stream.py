"""The evidence of a run as one stream of events: merged from the workers' files, and read back.

Each worker appends to its own `events-WORKER.jsonl`, a line per write, so that a process killed at any
moment loses at most its last line. At the end they become `events.jsonl`, closed by a footer with the
number of events and the SHA-256 of all that stands before it. A stream without its footer, or with one
that says so, is partial. The hash shows damage and careless edits; it is no signature.
"""

import hashlib
import heapq
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from conformance.evidence.folder import RUN_FILE, STREAM, Source, changed_files, stream_of
from conformance.evidence.kinds import EvidenceError, Line, decode


def order(line: Line) -> tuple[float, str, int]:
    """Say where `line` stands in a merged stream: by time, then by worker."""
    return line.wall, line.worker, line.seq


def merge(run_dir: Path, partial: bool = False, lines: Sequence[Line] | None = None) -> Path:
    """Make the workers' files in `run_dir` into `events.jsonl` and remove them; gives its path.

    `lines` is what stands in them, in `order`, where somebody knows that already: no more is taken over.
    `partial` marks a run that was cut short; a torn line marks it as well. Done twice, the second time
    changes nothing. Raises EvidenceError when there is nothing to merge or a line is damaged.
    """
    stream, source = run_dir / STREAM, Source.of(run_dir)
    if not stream.exists():  # it appears whole, by a rename; what is left beside it is already in it
        if lines is None:
            lines = read(source)
        torn = any(_is_torn(run_dir / name) for name in source.workers)
        _write_whole(stream, _texts(source, lines), lines, partial or torn)
    for name in source.workers:
        (run_dir / name).unlink()
    return stream


def read(run: Path | Source, kind: str = "", but: str = "", on: str = "") -> tuple[Line, ...]:
    """Give all events of `run` in order of time, footer apart; with `kind` or `on` a connection only those.

    A run that crashed before it was merged is read from its workers' files (those of the worker `but` left
    out); a torn last line is left out. Whether the run is complete, `verify` says. Raises EvidenceError for
    a damaged line.
    """
    source = Source.of(run)
    if STREAM in source.files:
        return tuple(_read(source, STREAM, kind, on))
    if not source.workers:
        raise EvidenceError(f"{source.name}: no events here, neither {STREAM} nor a worker's file")
    some = [name for name in source.workers if not on or name == _stream_with(on)]
    others = [name for name in some if name != stream_of(but)]
    return tuple(heapq.merge(*(_read(source, name, kind, on) for name in others), key=order))


def decoded(texts: Iterable[bytes], name: str, kind: str = "", on: str = "") -> Iterator[Line]:
    """Give the events (of a `kind`, `on` a connection) up to footer or torn line. Raises EvidenceError."""
    begins = f'{{"event":"{kind}"'.encode() if kind else b""
    has = f'"connection":{json.dumps(on)}'.encode() if on else b""
    for number, text in enumerate(texts, 1):
        if not text.endswith(b"\n") or _footer(text) is not None:
            return
        if text.startswith(begins) and has in text:
            try:
                yield decode(text)
            except EvidenceError as failure:
                raise EvidenceError(f"{name}:{number}: {failure}") from None


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
    """Check footer, hash, every line, and the files that `run.json` lists; without evidence it is partial."""
    return verified(run_dir)[0]


def verified(run_dir: Path) -> tuple[Verification, tuple[Line, ...]]:
    """Give what `verify` gives, with the events as `load` gives them."""
    try:
        changed = changed_files(run_dir)
    except (EvidenceError, OSError) as failure:
        return _unreadable(run_dir, failure), ()
    verification, lines = load(run_dir)
    if changed and verification.state is not State.TAMPERED:
        return Verification(State.TAMPERED, f"Not as {RUN_FILE} lists it: {', '.join(changed)}."), ()
    return verification, lines


def load(run: Path | Source) -> tuple[Verification, tuple[Line, ...]]:
    """Give the events of `run`, none if it was changed, and whether they are whole. Never raises."""
    try:
        source = Source.of(run)
        if STREAM in source.files:
            return _load_stream(source)
        lines = read(source)
    except (EvidenceError, OSError) as failure:
        return _unreadable(run, failure), ()
    told = f"The run was never completed: {len(lines)} events in its workers' files."
    return Verification(State.PARTIAL, told), lines


def _unreadable(run: Path | Source, failure: Exception) -> Verification:
    source = Source.of(run)
    nothing = STREAM not in source.files and not source.workers
    return Verification(State.PARTIAL if nothing else State.TAMPERED, f"{failure}.")


def _load_stream(source: Source) -> tuple[Verification, tuple[Line, ...]]:
    with source.open(STREAM) as file:
        content = file.read()
    *before, last = content.splitlines(keepends=True) or [b""]
    if any(_footer(text) is not None for text in before):
        told = f"{STREAM} was changed after the run: it goes on after its footer."
        return Verification(State.TAMPERED, told), ()
    events = decoded(io.BytesIO(content), f"{source.name}/{STREAM}")
    footer = _footer(last)
    if footer is None or not last.endswith(b"\n"):
        told = f"{STREAM} has no footer: the end of the run is missing."
        return Verification(State.PARTIAL, told), tuple(events)
    if footer.get("sha256") != hashlib.sha256(content[: len(content) - len(last)]).hexdigest():
        told = f"{STREAM} was changed after the run: its hash is not the footer's."
        return Verification(State.TAMPERED, told), ()
    lines = tuple(events)
    if (footer.get("events"), footer.get("counts")) != (len(lines), _counts(lines)):
        told = f"The footer of {STREAM} was changed: its counts are not those of the events."
        return Verification(State.TAMPERED, told), ()
    if footer.get("partial") is not False:
        told = f"The run was cut short; the {len(lines)} events up to then are whole."
        return Verification(State.PARTIAL, told), lines
    return Verification(State.OK, f"{len(lines)} events, as the run wrote them."), lines


def _read(source: Source, name: str, kind: str, on: str) -> Iterator[Line]:
    with source.open(name) as file:
        yield from decoded(file, f"{source.name}/{name}", kind, on)


def _texts(source: Source, lines: Iterable[Line]) -> Iterator[bytes]:
    """Give the lines as they stand in the workers' files: each file has its own in order already."""
    with ExitStack() as stack:
        files = {name: stack.enter_context(source.open(name)) for name in source.workers}
        for line in lines:
            if (name := stream_of(line.worker)) not in files:
                raise EvidenceError(f"{source.name}: {line.worker} has no file of its own")
            yield files[name].readline()


def _stream_with(connection: str) -> str:
    """Name the file in which a connection stands: the worker that was told of it comes first in its name."""
    return stream_of(connection.partition(".")[0])


def _is_torn(path: Path) -> bool:
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"


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


def _write_whole(stream: Path, texts: Iterable[bytes], lines: Sequence[Line], partial: bool) -> None:
    """Write `texts`, which `lines` stand in, and the footer beside `stream`, then give it its name."""
    unfinished = stream.with_suffix(".unfinished")
    digest = hashlib.sha256()
    with unfinished.open("wb") as file:
        for text in texts:
            digest.update(text)
            file.write(text)
        footer = {
            "event": "footer",
            "events": len(lines),
            "sha256": digest.hexdigest(),
            "partial": partial,
            "counts": _counts(lines),
        }
        file.write(json.dumps(footer, separators=(",", ":")).encode("ascii") + b"\n")
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(stream)
