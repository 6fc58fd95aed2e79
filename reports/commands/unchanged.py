"""What a site was made of, in one line: where that is the same, it need not be made again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from reports.warehouse.asked import Asked

if TYPE_CHECKING:
    from reports.warehouse.warehouse import Snapshot

PACKAGES = ("conformance", "harness", "reports", "scenarios", "spec")
"""A site says what their code, templates and documents make of the evidence."""


def state_of(snapshot: Snapshot, asked: Asked, beside: Iterable[Path | None]) -> str:
    """Tell a warehouse as it is, what is `asked` of it, the files `beside` and this suite from any others."""
    tables = {name: (table.metadata().id, table.version()) for name, table in snapshot.tables.items()}
    told = {
        "tables": tables,
        "asked": asdict(asked),
        "beside": [_digest(path) for path in beside],
        "suite": [each for name in PACKAGES for each in _files(name)],
    }
    return hashlib.sha256(json.dumps(told, default=str, sort_keys=True).encode()).hexdigest()


def _digest(path: Path | None) -> str:
    """Tell a file by what it says, and what comes with the suite (`@NAME`) by its name."""
    if path is None or not path.is_file():
        return str(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _files(package: str) -> Iterable[tuple[str, int, int]]:
    """List the files of a package with their sizes and when they were written: reading them takes longer."""
    found = find_spec(package)
    for place in (found.submodule_search_locations or ()) if found else ():
        for path in sorted(Path(place).rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                about = path.stat()
                yield str(path), about.st_size, about.st_mtime_ns
