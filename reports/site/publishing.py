"""A site is written beside the old one and takes its place when it is whole: a killed render changes nothing.

Only a directory that carries our mark, or an empty one, is ever replaced. Files that say what they said keep
the time at which they were written, so that who copies the site elsewhere copies what has changed.
"""

import fcntl
import filecmp
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MARK = ".amqp-conformance-site"
"""The file by which a directory is known as a site of ours."""
SAYS = "A site of amqp-conformance: rendering replaces all of it."


class SiteError(Exception):
    """The site cannot be written there; the message is one sentence."""


def is_of(output: Path, state: str) -> bool:
    """Say whether `output` is a site that was made of this `state`, whatever that is to its maker."""
    try:
        return (output / MARK).read_text("ascii").splitlines()[1:] == [state]
    except (OSError, ValueError):
        return False


@contextmanager
def fresh(output: Path, state: str = "") -> Iterator[Path]:
    """Make a directory that becomes `output` when the block ends well, and vanishes when it does not.

    It bears the `state` that it is made of, if any. Raises SiteError when `output` is something else than a
    site of ours, or cannot be written, or when another process is at it.
    """
    goal = output.resolve()
    scratch = goal.with_name(f".{goal.name}.unfinished")
    old = goal.with_name(f".{goal.name}.replaced")
    try:
        goal.parent.mkdir(parents=True, exist_ok=True)
        lock = _claim(scratch, output)
    except OSError as failure:
        raise SiteError(f"{output}: cannot be written ({failure.strerror})") from None
    try:
        _restore(goal, old)
        _require_ours(goal, output)
        _empty(scratch)
        (scratch / MARK).write_text(f"{SAYS}\n{state}\n" if state else f"{SAYS}\n", "ascii")
        yield scratch
        _as_before(scratch, goal)
        shutil.rmtree(old, ignore_errors=True)  # of a render that was killed right after its last rename
        if goal.exists():
            goal.rename(old)
        scratch.rename(goal)
    except OSError as failure:
        raise SiteError(f"{output}: cannot be written ({failure.strerror}: {failure.filename})") from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        if goal.exists():
            shutil.rmtree(old, ignore_errors=True)
        os.close(lock)


def _claim(scratch: Path, output: Path) -> int:
    """Lock the scratch directory; the system lets go of the lock when its holder is killed."""
    scratch.mkdir(exist_ok=True)
    lock = os.open(scratch, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise SiteError(f"{output}: another process is rendering it") from None
    return lock


def _restore(goal: Path, old: Path) -> None:
    """Undo a replacement that was cut short between its two renames."""
    if old.exists() and not goal.exists():
        old.rename(goal)


def _require_ours(goal: Path, output: Path) -> None:
    if not goal.exists():
        return
    if not goal.is_dir():
        raise SiteError(f"{output}: is not a directory")
    if not (goal / MARK).is_file() and any(goal.iterdir()):
        raise SiteError(f"{output}: holds something else than a site of ours, and is not replaced")


def _as_before(scratch: Path, goal: Path) -> None:
    """Give each file that is as the one of before the time of that one."""
    for path in scratch.rglob("*") if goal.exists() else ():
        old = goal / path.relative_to(scratch)
        if path.is_file() and old.is_file() and filecmp.cmp(path, old, shallow=False):
            about = old.stat()
            os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            with suppress(FileNotFoundError):
                path.unlink()
