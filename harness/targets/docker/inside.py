"""What is done inside a container: a command is run, and files get there."""

import io
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from threading import Thread

from docker import APIClient

from harness.targets.described import said
from harness.targets.docker.engine import speaking
from harness.targets.target import TargetError


def execute(engine: APIClient, container: str, command: Sequence[str], within: float) -> str:
    """Return what a command prints inside. Raises TargetError if it fails or takes over `within` seconds."""
    shown = command[0].rpartition("/")[2]
    deadline = time.monotonic() + within

    def output() -> bytes:
        written = b""
        for piece in engine.exec_start(identity, stream=True):
            written += piece
            if time.monotonic() > deadline:
                break
        return written

    with speaking(f"{shown} could not be run in the container"):
        identity = engine.exec_create(container, list(command))["Id"]
        try:
            printed = _within(within, output).decode(errors="replace")
            status = engine.exec_inspect(identity)["ExitCode"]
        except TimeoutError:
            status = None
    if status is None:
        raise TargetError(f"{shown} did not end within {within:g} s.")
    if status != 0:
        raise TargetError(f"{shown} ended with status {status}: {said(printed)}")
    return printed


def _within(seconds: float, work: Callable[[], bytes]) -> bytes:
    """Return what `work` returns. Raises TimeoutError if it takes longer than so many seconds.

    The engine's client waits for a silent stream without end. Work that is given up ends with the container.
    """
    done: Future[bytes] = Future()

    def settle() -> None:
        try:
            done.set_result(work())
        except Exception as error:
            done.set_exception(error)

    Thread(target=settle, daemon=True).start()
    return done.result(seconds)


def archive(files: Mapping[str, str]) -> bytes:
    """Pack the files as a tape archive, each readable by whatever user the broker runs as."""
    written = io.BytesIO()
    with closing(tarfile.open(fileobj=written, mode="w")) as tape:
        for path, text in files.items():
            content = text.encode()
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size, entry.mode, entry.mtime = len(content), 0o644, int(time.time())
            tape.addfile(entry, io.BytesIO(content))
    return written.getvalue()
