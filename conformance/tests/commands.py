"""The command line as its user runs it, for tests."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

Command = Callable[..., "subprocess.CompletedProcess[str]"]

FORKED = multiprocessing.get_context("forkserver")
"""Makes processes that have loaded what the command line needs already: that is most of a short run."""
FORKED.set_forkserver_preload(
    [
        "xdist.plugin",
        "allure_pytest.plugin",
        "_pytest.junitxml",
        "conformance.commands.run",
        "conformance.engine.plugin",
        "conformance.tests.loaded",
    ]
)
DUMP = 5.0
"""Seconds for what hangs to say where its threads stand."""
_ALONE = Lock()
"""Held to start a process and to note its end: both look at all that were started, and know of no threads."""


class Ended(subprocess.CompletedProcess[str]):
    """A command that has ended; it used `most` KiB of memory, its modules included."""

    most = 0


def command_line(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "conformance.commands.cli", *map(str, arguments)]


def environment() -> dict[str, str]:
    # The suite must not depend on settings meant for the tests that run it.
    dropped = ("PYTEST_", "AMQP_PASSWORD", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return kept | {"COLUMNS": "100"}


def command(
    *arguments: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 600,
    module: str = "conformance.commands.cli",
) -> Ended:
    """Run the `main` of `module` in a process of its own; gives status, stdout, stderr, and what it used.

    It may take `timeout` seconds, as long as a run may; then it is killed, and TimeoutExpired raised, which
    notes where its threads stood. Several threads may do so at once.
    """
    words = ["amqp-conformance", *map(str, arguments)]
    with TemporaryDirectory() as folder:
        told = tuple(Path(folder, name) for name in ("stdout", "stderr", "most", "stood"))
        for path in told:
            path.touch()
        place = str(cwd or Path.cwd())
        process = FORKED.Process(target=play, args=(module, words, place, dict(env or os.environ), told))
        with _ALONE:
            process.start()
        hangs = not wait([process.sentinel], timeout)
        if hangs:
            assert process.pid
            with suppress(ProcessLookupError):  # it has ended just now
                os.kill(process.pid, signal.SIGUSR1)
            wait([process.sentinel], DUMP)
            process.kill()
            wait([process.sentinel])
        with _ALONE:
            process.join()
        if hangs:
            output, error, _, stood = (each.read_text(encoding="utf-8", errors="replace") for each in told)
            failure = subprocess.TimeoutExpired(words, timeout, output, error)
            failure.add_note(f"It said {output + error!r}, and stood here:\n{stood}")
            raise failure
        assert process.exitcode is not None
        stdout, stderr, most, _ = (each.read_text(encoding="utf-8") for each in told)
    ended = Ended(words, process.exitcode, stdout, stderr)
    ended.most = int(most or 0)  # who is killed does not say it
    return ended


def play(module: str, words: list[str], cwd: str, env: dict[str, str], told: tuple[Path, ...]) -> None:
    """Become the command: its words, its directory, its environment, its standard output and error.

    At its end it says how much memory it has used, and where its threads stand whenever it is asked.
    """
    *outputs, most, stood = told
    faulthandler.register(signal.SIGUSR1, stood.open("w"), all_threads=True)
    for number, path in enumerate(outputs, 1):
        with path.open("wb") as file:
            os.dup2(file.fileno(), number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = words
    try:
        import_module(module).main()
    finally:
        most.write_text(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}")
