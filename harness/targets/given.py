"""Descriptions of targets that users bring: files named by `--targets`, or by AMQP_CONFORMANCE_TARGETS.

The environment is the list (paths as in PATH), so that every process that a run starts, its workers among
them, knows the same targets. `harness.targets.description.bundled` adds these to what comes with the suite.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.targets.target import TargetError

FILES = "AMQP_CONFORMANCE_TARGETS"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""What the name of a target may be made of: it becomes that of folders and containers."""


@contextmanager
def also(files: Iterable[Path]) -> Iterator[None]:
    """Add these files to the descriptions of targets that are given already, while it lasts."""
    before = os.environ.get(FILES)
    given = [before or "", *(str(file.absolute()) for file in files)]
    os.environ[FILES] = os.pathsep.join(filter(None, given))
    try:
        yield
    finally:
        if before is None:
            del os.environ[FILES]
        else:
            os.environ[FILES] = before


def given(taken: Collection[str] = ()) -> dict[str, str]:
    """Give the texts of the given files by the names of their targets: the file's name without .toml.

    Raises TargetError for a file that cannot be read, a name that cannot be one, and one that is `taken`, by
    what comes with the suite or by another file.
    """
    files = dict.fromkeys(Path(each) for each in os.environ.get(FILES, "").split(os.pathsep) if each)
    texts: dict[str, str] = {}
    for file in files:
        name = file.name.removesuffix(".toml")
        if not NAME.fullmatch(name):
            raise TargetError(
                f"{file}: a target gets the name of its file, which may hold letters, digits and . _ - only"
            )
        if name in taken or name in texts:
            raise TargetError(f"{file}: there is another target called {name!r}; rename the file")
        try:
            texts[name] = file.read_text(encoding="utf-8")
        except OSError as failure:
            raise TargetError(f"{file}: cannot be read ({failure.strerror})") from None
        except UnicodeDecodeError:
            raise TargetError(f"{file}: is not UTF-8") from None
    return texts
