"""Custody of processes: nothing that the suite starts may outlive it, however the suite ends.

Each target lives in a temporary directory, and all its processes carry that directory in their environment;
that is how they are known, to whichever process of the suite looks. Three things end them: `Custody.close`;
a guard, which is this file run as a program of its own that waits on a pipe until its owner is gone (Ctrl-C,
kill -9); and the next `sweep`, for when the guard was killed as well. All of it reads /proc: Linux only.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PREFIX = "amqp-conformance"
DIRECTORY, PROGRAM = "AMQP_CONFORMANCE_DIRECTORY", "AMQP_CONFORMANCE_PROGRAM"
PROC = Path("/proc")
ENDED, STOPPED = frozenset("ZX"), frozenset("ZXTt")
"""The kernel's letters for a thread that has come to its end, or does not go on."""
LINGERING = 5.0
"""Seconds that the kernel has to take a killed process apart."""


class Custody:
    """A fresh directory, named after its owner, and the guard that watches over it."""

    def __init__(self) -> None:
        sweep()
        prefix = f"{PREFIX}-{os.getpid()}-{born(os.getpid())}-"
        self.directory = Path(tempfile.mkdtemp(prefix=prefix)).resolve()
        # A session of its own, so that Ctrl-C reaches the owner alone. The pipe is closed on exec in every
        # other child, so it ends with the owner, and not before a child just forked carries the mark.
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(self.directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,
        )

    def close(self) -> None:
        """End whatever still carries the mark, remove the directory, and dismiss the guard."""
        clear(self.directory)
        self._guard.kill()
        self._guard.communicate()


def born(pid: int) -> str:
    """Give the time process `pid` started, in clock ticks since boot; empty if there is no such process."""
    try:
        stat = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    after_name = stat.rpartition(")")[2].split()  # the name in parentheses may hold anything
    return after_name[19]


def marks(directory: Path, program: str) -> dict[str, str]:
    """Make what the environment of a process started in `directory` must hold."""
    return {DIRECTORY: str(directory), PROGRAM: program}


def bearers(directory: Path, program: str | None = None) -> list[int]:
    """Find the living processes that carry the marks of `directory`, of one program or of all."""
    wanted = {f"{DIRECTORY}={directory}".encode()}
    if program is not None:
        wanted.add(f"{PROGRAM}={program}".encode())
    found = []
    for entry in PROC.glob("[0-9]*"):
        # A process may end while it is looked at, or belong to somebody else. A zombie's is empty.
        with contextlib.suppress(OSError):
            if wanted <= set((entry / "environ").read_bytes().split(b"\0")):
                found.append(int(entry.name))
    return found


def end(directory: Path, program: str | None, number: signal.Signals, patience: float) -> None:
    """Send the signal to the bearers of these marks, and SIGKILL to those alive after `patience` seconds.

    Returns when they are gone with their files and ports, or after `LINGERING` where the kernel keeps a
    killed one.
    """
    deadline = time.monotonic() + patience
    told: set[int] = set()
    while pids := bearers(directory, program):
        late = time.monotonic() > deadline
        for pid in pids if late else set(pids) - told:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if late else number)
        told.update(pids)
        time.sleep(0.005)
    # What dies loses its marks first, its files and ports last.
    deadline = time.monotonic() + LINGERING
    while any(map(_dying, told)) and time.monotonic() < deadline:
        time.sleep(0.005)


def signal_all(directory: Path, program: str, number: signal.Signals) -> None:
    """Send a signal that need not end anybody (SIGSTOP, SIGCONT) to every bearer of these marks."""
    for pid in bearers(directory, program):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def stop_all(directory: Path, program: str) -> bool:
    """Stop every bearer of these marks; whether none of their threads goes on, `LINGERING` later at most."""
    signal_all(directory, program, signal.SIGSTOP)
    deadline = time.monotonic() + LINGERING
    # One that runs on another core goes on for a moment.
    while any(not STOPPED.issuperset(_states(pid)) for pid in bearers(directory, program)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def _dying(pid: int) -> bool:
    """Say whether a thread of it has not come to its end; a zombie holds nothing any more."""
    return not ENDED.issuperset(_states(pid))


def _states(pid: int) -> Iterator[str]:
    """Yield the state of each of its threads, in the kernel's letters."""
    try:
        threads = list((PROC / str(pid) / "task").iterdir())
    except OSError:
        return
    for thread in threads:
        with contextlib.suppress(OSError):  # it has ended since it was listed
            yield (thread / "stat").read_text().rpartition(")")[2].split()[0]


def clear(directory: Path) -> None:
    """Kill every process that carries the mark of `directory`, then remove it."""
    end(directory, None, signal.SIGKILL, 1.0)
    if directory.exists():
        shutil.rmtree(directory)


def sweep() -> list[str]:
    """Clear the directories whose owner is gone: left by a suite that was killed together with its guard.

    Returns a sentence for each.
    """
    swept = []
    for directory in Path(tempfile.gettempdir()).resolve().glob(f"{PREFIX}-*-*-*"):
        owner, started = directory.name.removeprefix(f"{PREFIX}-").split("-")[:2]
        if not owner.isdecimal() or born(int(owner)) == started:
            continue
        # Two sweeps, or a sweep and a guard, may meet here; whoever comes second finds nothing.
        with contextlib.suppress(FileNotFoundError):
            if directory.lstat().st_uid == os.getuid() and not directory.is_symlink():
                clear(directory)
                swept.append(f"{directory} and its processes")
    return swept


if __name__ == "__main__":
    sys.stdin.read()
    clear(Path(sys.argv[1]))
