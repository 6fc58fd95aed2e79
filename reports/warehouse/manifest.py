"""What a warehouse consists of at one moment: a version, and the files that hold its rows. Knows no Spark.

A batch is what was written at once; each of its tables stands in a folder of its own, and never changes.
Whatever no manifest names is not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SCHEMA = 1
FOLDER = "manifests"
SUFFIX = ".json"


class WarehouseError(Exception):
    """A warehouse cannot be read or written; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one table in one batch: `files` in `folder`, both relative to the warehouse."""

    folder: str
    files: tuple[str, ...]
    rows: int


Batch = Mapping[str, Part]
"""Its parts by table; a table without rows has none."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A version of the warehouse; 0 is the one before the first commit."""

    version: int = 0
    batches: tuple[Batch, ...] = ()

    def parts(self, table: str) -> list[Part]:
        return [batch[table] for batch in self.batches if table in batch]

    def folders(self) -> set[str]:
        return {part.folder for batch in self.batches for part in batch.values()}

    def next(self, without: Iterable[Batch], added: Iterable[Batch]) -> Manifest:
        """Make the following version: this one's batches, some left out, and `added` ones that hold rows."""
        left_out = list(without)
        kept = [batch for batch in self.batches if batch not in left_out]
        return Manifest(self.version + 1, (*kept, *(batch for batch in added if batch)))


def rows(batch: Batch) -> int:
    return sum(part.rows for part in batch.values())


def name_of(version: int) -> str:
    """Name the file of a version."""
    return f"{FOLDER}/{version:012}{SUFFIX}"


def versions(names: Iterable[str]) -> list[int]:
    """Find the versions whose files are among `names` of the folder, oldest first."""
    stems = [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]
    return sorted(int(stem) for stem in stems if stem.isascii() and stem.isdigit())


def encode(manifest: Manifest) -> bytes:
    """Write `manifest` as it stands in its file."""
    batches = [
        {table: {"folder": p.folder, "files": p.files, "rows": p.rows} for table, p in sorted(batch.items())}
        for batch in manifest.batches
    ]
    whole = {"schema": SCHEMA, "version": manifest.version, "batches": batches}
    return json.dumps(whole, indent=1).encode("ascii") + b"\n"


def decode(content: bytes, name: str) -> Manifest:
    """Read the manifest in a file called `name`. Raises WarehouseError if it is none, or a later suite's."""
    try:
        data = json.loads(content)
        if data["schema"] != SCHEMA:
            raise WarehouseError(f"{name}: its schema is {data['schema']!r}, and this suite reads {SCHEMA}")
        return Manifest(int(data["version"]), tuple(_batch(each) for each in data["batches"]))
    except (ValueError, TypeError, KeyError, AttributeError) as failure:
        raise WarehouseError(f"{name}: not the manifest of a warehouse ({failure!r})") from None


def _batch(data: Mapping[str, Mapping[str, Any]]) -> Batch:
    return {
        table: Part(str(each["folder"]), tuple(map(str, each["files"])), int(each["rows"]))
        for table, each in data.items()
    }


FAN = 8
"""So many batches of one size become one of the next."""
FINAL = 4_000_000
"""A batch with so many rows is left as it is: its files are large enough, and writing them anew is long."""


def to_merge(batches: Sequence[Batch]) -> tuple[Batch, ...]:
    """Choose the batches to make into one: the smallest size of which there are enough, or none.

    Of a size are batches between one power of FAN and the next, so that a row is written again only when
    its batch grows FAN times as large: the files stay few, and their writing stays in proportion.
    """
    sizes: dict[int, list[Batch]] = {}
    for batch in batches:
        if rows(batch) < FINAL:
            sizes.setdefault(_size(rows(batch)), []).append(batch)
    full = [same for _, same in sorted(sizes.items()) if len(same) >= FAN]
    return tuple(full[0]) if full else ()


def _size(count: int) -> int:
    size = 0
    while count >= FAN:
        count //= FAN
        size += 1
    return size
