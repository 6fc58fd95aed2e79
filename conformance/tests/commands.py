"""The command line as its user runs it, for tests."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

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
) -> subprocess.CompletedProcess[str]:
    """Run the `main` of `module` in a process of its own; gives status, stdout and stderr.

    It may take `timeout` seconds, as long as a run may; then it is killed, and TimeoutExpired raised.
    """
    words = ["amqp-conformance", *map(str, arguments)]
    with TemporaryDirectory() as folder:
        told = Path(folder, "stdout"), Path(folder, "stderr")
        place = str(cwd or Path.cwd())
        process = FORKED.Process(target=play, args=(module, words, place, dict(env or os.environ), told))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(words, timeout)
        stdout, stderr = (each.read_text(encoding="utf-8") for each in told)
    return subprocess.CompletedProcess(words, process.exitcode, stdout, stderr)


def play(module: str, words: list[str], cwd: str, env: dict[str, str], told: tuple[Path, Path]) -> None:
    """Become the command: its words, its directory, its environment, its standard output and error."""
    for number, path in enumerate(told, 1):
        with path.open("wb") as file:
            os.dup2(file.fileno(), number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = words
    import_module(module).main()
