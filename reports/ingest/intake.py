"""Run folders as they are handed in: their evidence, in portions that fit into memory. Knows no Spark."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from conformance.evidence.folder import RUN_FILE
from conformance.evidence.kinds import EvidenceError
from conformance.evidence.printable import printable
from conformance.interop.folder import SUMMARY
from reports.ingest.sealing import ROWS, Seal, sealed
from reports.model.rows import digest, evidence_files

RUN_OCTETS = 128 * 1024 * 1024
"""More evidence than this is not that of a run: the longest so far has a thirteenth of it."""
PORTION_OCTETS = 96 * 1024 * 1024
PORTION_RUNS = 512


@dataclass(frozen=True, slots=True)
class Folder:
    """A run folder and its evidence.

    `run` is the identity its description claims, empty when that cannot be read; `digest` tells its
    evidence from any other. With a `reason` it cannot be taken in, and `files` is empty; so it is where a
    `seal` tells of rows that are made already. It may be `called` otherwise than the folder at `path`.
    """

    path: Path
    run: str = ""
    digest: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    reason: str = ""
    seal: Seal | None = None
    called: str = ""

    @property
    def name(self) -> str:
        """What the folder is called in the tables: its last name."""
        return self.called or printable(self.path.absolute().name)

    @property
    def octets(self) -> int:
        """The size of what is read of it: its evidence, or rows that are made of it already."""
        if self.seal:
            return sum((self.path / ROWS / name).stat().st_size for name in self.seal.hashes)
        return sum(map(len, self.files.values()))


def portions(folders: Iterable[Folder]) -> Iterator[list[Folder]]:
    """Give the `folders`, each read when its turn comes, as many at a time as fit into memory."""
    portion: list[Folder] = []
    held = 0
    for folder in folders:
        if portion and (held + folder.octets > PORTION_OCTETS or len(portion) == PORTION_RUNS):
            yield portion
            portion, held = [], 0
        portion.append(folder)
        held += folder.octets
    if portion:
        yield portion


def read(path: Path, called: str = "") -> Folder:
    """Read the run folder at `path`. What is wrong with it becomes its reason: one sentence that names it."""
    bare = Folder(path, called=called)
    if seal := sealed(path):
        return replace(bare, run=seal.run, digest=seal.digest, seal=seal)
    try:
        files = _contents(path, bare.name)
    except EvidenceError as failure:
        return replace(bare, reason=told(bare.name, str(failure).replace(str(path), bare.name)))
    except OSError as failure:  # of the folder itself: it may not be listed, or its name is too long
        return replace(bare, reason=f"{bare.name}: cannot be read ({failure.strerror})")
    claimed = _claimed(files.get(RUN_FILE) or files.get(SUMMARY, b""))
    return replace(bare, run=claimed, digest=digest(files), files=files)


def told(name: str, reason: str) -> str:
    """Write `reason` as one line that begins with the folder's name."""
    line = printable(reason)
    return line if line.startswith(name) else f"{name}: {line}"


def _contents(path: Path, name: str) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    left = RUN_OCTETS
    for file in evidence_files(path):
        if not file.name.isascii():  # a worker is called main or gw0
            raise EvidenceError(f"{name}: {file.name} is not the file of a worker")
        try:
            with file.open("rb") as opened:
                files[file.name] = opened.read(left + 1)
        except OSError as failure:
            raise EvidenceError(f"{name}/{file.name}: cannot be read ({failure.strerror})") from None
        left -= len(files[file.name])
        if left < 0:
            raise EvidenceError(too_large(name))
    return files


def too_large(name: str) -> str:
    """Say of a folder that it holds more than a run does."""
    return f"{name}: its evidence is larger than {RUN_OCTETS // 1024**2} MiB"


def _claimed(description: bytes) -> str:
    """Read the identity that a description claims, for want of a better when it is broken."""
    try:
        data = json.loads(description)
    except (ValueError, RecursionError):
        return ""
    run = data.get("run") if isinstance(data, dict) else None
    return printable(run) if isinstance(run, str) else ""


def groups(folders: Iterable[Folder], octets: int) -> Iterator[list[Folder]]:
    """Split `folders` in their order into groups of about so many `octets`: what one task works on."""
    group: list[Folder] = []
    held = 0
    for folder in folders:
        group.append(folder)
        held += folder.octets
        if held >= octets:
            yield group
            group, held = [], 0
    if group:
        yield group
