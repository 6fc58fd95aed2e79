"""Where a warehouse is: a folder of this machine, or a place that an object store keeps. Knows no table.

A place travels to the executors, with what they need to reach it; so it is plain text, and nothing here
imports Delta Lake, which must not have been imported by a process that is forked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

STORES = ("AWS_", "AZURE_", "GOOGLE_")
"""How the variables of the environment begin that say how an object store is reached."""

ASTRAY = "[]^|%\\"
"""What a path of this machine may not hold: Delta Lake makes another of it, or gives up."""


class WarehouseError(Exception):
    """A warehouse cannot be read or written; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Place:
    """A warehouse at `path`, and the `options` by which Delta Lake reaches it."""

    path: str
    local: bool
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def of(self, table: str) -> str:
        """Say where a table of it stands."""
        return f"{self.path}/{table}"


def place_at(path: str) -> Place:
    """Find the place that `path` means: a path of this machine, or a URI that Delta Lake knows.

    What an object store wants to know is taken from the environment. Raises WarehouseError for a path in
    which Delta Lake would lose its way, and where there is no Delta Lake.
    """
    if find_spec("deltalake") is None:
        raise WarehouseError(f"{path}: Delta Lake is not installed: install amqp-conformance[spark]")
    parts = urlsplit(path)
    if len(parts.scheme) > 1 and parts.scheme != "file":  # a single letter is a drive
        told = {name: value for name, value in os.environ.items() if name.startswith(STORES)}
        return Place(path.rstrip("/"), False, told)
    folder = str(Path(unquote(parts.path) if parts.scheme == "file" else path).absolute())
    if found := sorted(set(ASTRAY) & set(folder)):
        raise WarehouseError(f"{path}: Delta Lake finds no path with {' '.join(found)} in it")
    return Place(folder, True)
