"""The folder of a run: its files, and `run.json`, which says what the run was made of without its events."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from conformance.evidence.kinds import SCHEMA, EvidenceError, readers
from spec.rules import Role

RUNS = Path("runs")
"""Where runs are put by default."""
RUN_FILE = "run.json"
STREAM = "events.jsonl"
STREAMS = "events*.jsonl"
"""What it and those of workers are called."""


def stream_of(worker: str) -> str:
    """Give the file in which a worker's events stand until they are merged."""
    return f"events-{worker}.jsonl"


@dataclass(frozen=True, slots=True)
class Source:
    """The evidence of a run: `files` by name, on a disk or in memory; sentences call it `name`."""

    name: str
    files: Mapping[str, Path | bytes]

    @classmethod
    def of(cls, found: Path | Source) -> Source:
        """Give the files of a folder that are evidence, in order of name; a source is given back as it is."""
        if isinstance(found, Source):
            return found
        streams = sorted(path for path in found.glob(STREAMS) if path.is_file())
        paths = [*streams, *(path for path in (found / RUN_FILE,) if path.is_file())]
        return cls(str(found), {path.name: path for path in paths})

    @property
    def workers(self) -> list[str]:
        """The names of the files that workers have written each for itself."""
        return sorted(name for name in self.files if name.startswith("events-"))

    def open(self, name: str) -> BinaryIO:
        """Open the file `name`. Raises OSError when it cannot be read, as when there is none."""
        file = self.files.get(name)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        return io.BytesIO(file) if isinstance(file, bytes) else file.open("rb")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """A run's description.

    `started` is UTC in ISO 8601, `target` without its password and judged in its `role`, `documents`
    mappings with title, revision and sha256. `files` are name and SHA-256 of the folder's other files once it
    is sealed; `capture` says which connections its capture holds: all, those of findings, none.
    `unspoken` are protocols and documents that were left out, each with the sentence why; `label` tells a
    build from others of its version, such as its commit and branch.
    """

    run: str
    started: str
    suite: str
    target: str
    role: Role = Role.SERVER
    product: str = ""
    version: str = ""
    banner: Mapping[str, Any] = field(default_factory=dict)
    documents: tuple[Mapping[str, Any], ...] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    level: str = "must"
    fail_on: str = "fail"
    profile: str = "document"
    label: str = ""
    unspoken: Mapping[str, str] = field(default_factory=dict)
    capture: str = "all"
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    schema: int = SCHEMA


_READERS = readers(RunInfo)


def write_run(run_dir: Path, info: RunInfo) -> None:
    """Write `info` as run.json into `run_dir`, replacing the one that is there at once."""
    unfinished = run_dir / f"{RUN_FILE}.unfinished"
    unfinished.write_text(json.dumps(asdict(info), indent=2) + "\n", encoding="ascii")
    unfinished.replace(run_dir / RUN_FILE)


def read_run(run: Path | Source) -> RunInfo:
    """Read run.json of `run`. Raises EvidenceError naming the file and what is wrong."""
    source = Source.of(run)
    path = f"{source.name}/{RUN_FILE}"
    try:
        with source.open(RUN_FILE) as file:
            data = json.load(file)
        if data["schema"] != SCHEMA:
            raise ValueError(f"its schema is {data['schema']!r}, and this suite reads {SCHEMA}")
        if superfluous := data.keys() - _READERS.keys():
            raise ValueError(f"superfluous: {', '.join(sorted(superfluous))}")
        return RunInfo(**{name: read(data[name]) for name, read in _READERS.items() if name in data})
    except OSError as failure:
        raise EvidenceError(f"{path}: cannot be read ({failure.strerror})") from None
    except KeyError:
        raise EvidenceError(f"{path}: it names no schema, and this suite reads {SCHEMA}") from None
    except (ValueError, TypeError, AttributeError, RecursionError) as failure:
        raise EvidenceError(f"{path}: not the description of a run ({failure})") from None


def newest(place: Path = RUNS) -> Path:
    """Give the run in `place` that began last, one of several targets too. Raises EvidenceError for none."""
    found: list[tuple[datetime, Path]] = []
    for file in (*place.glob(f"*/{RUN_FILE}"), *place.glob(f"*/*/{RUN_FILE}")):
        with suppress(EvidenceError, ValueError):  # what is no run is not the newest one
            found.append((datetime.fromisoformat(read_run(file.parent).started), file.parent))
    if not found:
        raise EvidenceError(f"there is no run in {place}/ here, so none is the latest: name its folder")
    return max(found)[1]


def seal(run_dir: Path) -> None:
    """List every other file of the folder with its SHA-256 in run.json; the last thing a run does."""
    others = (path for path in run_dir.rglob("*") if path.is_file() and path != run_dir / RUN_FILE)
    files = {path.relative_to(run_dir).as_posix(): _sha256(path) for path in sorted(others)}
    write_run(run_dir, replace(read_run(run_dir), files=files))


def relist(run_dir: Path, written: Iterable[Path]) -> None:
    """Bring the hashes of files `written` anew in a sealed folder up to date; one never sealed stays so."""
    info = read_run(run_dir)
    if not info.files:
        return
    inside = [path for path in written if path.is_relative_to(run_dir)]
    files = {path.relative_to(run_dir).as_posix(): _sha256(path) for path in inside}
    write_run(run_dir, replace(info, files=dict(sorted({**info.files, **files}.items()))))


def changed_files(run_dir: Path) -> list[str]:
    """Give the files that are not as run.json lists them, missing ones too. Raises EvidenceError."""
    if not (run_dir / RUN_FILE).exists():
        return []
    return [name for name, listed in read_run(run_dir).files.items() if _differs(run_dir, name, listed)]


def _differs(run_dir: Path, name: str, listed: str) -> bool:
    try:
        path = (run_dir / name).resolve()
    except ValueError:  # no file can have that name
        return True
    inside = path.is_relative_to(run_dir.resolve())  # a list may not send us elsewhere
    return not inside or not path.is_file() or _sha256(path) != listed


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
