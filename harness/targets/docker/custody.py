"""Custody of containers: none that the suite starts may outlive it, however the suite ends.

Each container carries two labels: RUN, which is its own, and OWNER, the process that started it. Three things
remove it: `ContainerCustody.close`; a guard, which is this module run as a program that waits on a pipe until
its owner is gone (Ctrl-C, kill -9); and the next `sweep`, for when the guard was killed as well.
"""

import os
import secrets
import socket
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError

from harness.targets.custody import PROC, born
from harness.targets.docker.engine import connect, engine_is_meant, speaking
from harness.targets.target import TargetError

RUN, OWNER = "amqp-conformance.run", "amqp-conformance.owner"
ANSWER = 30.0  # seconds for one answer of the engine
LATE = 5.0
"""Seconds in which an engine may still carry out the request of an owner that is gone."""
RETURN = 30.0
"""Seconds that a guard waits for an engine that is gone to come back."""
FINDING = ("DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "DOCKER_CONFIG")
"""Settings by which a client finds the engine."""


class ContainerCustody:
    """The labels of one container, and the guard that watches over it."""

    def __init__(self, client: docker.DockerClient) -> None:
        sweep(client)
        self._client = client
        self.run = secrets.token_hex(6)
        self.labels = {RUN: self.run, OWNER: owner()}
        # A session of its own, so that Ctrl-C reaches the owner alone.
        self._guard = subprocess.Popen(
            [sys.executable, "-m", "harness.targets.docker.custody", self.run],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=_environment(),
            start_new_session=True,
        )

    def check(self) -> None:
        """Raise TargetError unless the guard is there."""
        if (status := self._guard.poll()) is not None:
            raise TargetError(f"the guard that removes the container ended by itself, with status {status}")

    def close(self) -> None:
        """Remove the container with its volumes, and dismiss the guard.

        Raises TargetError where the engine does not do it; then the guard goes on trying for a while.
        """
        try:
            clear(self._client, self.run)
        except TargetError:
            if self._guard.stdin:
                self._guard.stdin.close()
            raise
        self._guard.kill()
        self._guard.communicate()


def _environment() -> dict[str, str]:
    """Keep what is needed to find the engine, and the modules where this process has found them."""
    # By name: who goes through all of it meets what another thread takes out of it meanwhile.
    kept = {name: os.environ[name] for name in (*FINDING, "HOME", "PATH") if name in os.environ}
    return kept | {"PYTHONPATH": os.pathsep.join(str(Path(path).absolute()) for path in sys.path)}


@dataclass(slots=True)
class Swept:
    """Containers by name: those removed, those whose run is alive, and those whose owner is out of sight."""

    removed: list[str] = field(default_factory=list)
    alive: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)


def clean_up() -> list[str]:
    """Sweep the engine; return a sentence for each container removed. Without an engine there is none.

    Raises TargetError where there is an engine that does not answer.
    """
    if not engine_is_meant():
        return []
    with closing(connect(ANSWER)) as client:
        return [f"container {name}" for name in sweep(client).removed]


def owner() -> str:
    """Name this process for others to look for: host, boot, process namespace, number, time of birth."""
    return "/".join((*_place(), str(os.getpid()), born(os.getpid())))


def _place() -> tuple[str, str, str]:
    boot = PROC / "sys/kernel/random/boot_id"
    namespace = PROC / "self/ns/pid"
    return (
        socket.gethostname(),
        boot.read_text(encoding="ascii").strip() if boot.exists() else "",
        os.readlink(namespace) if namespace.exists() else "",  # noqa: PTH115 - it points nowhere
    )


def gone(named: str) -> bool | None:
    """Say whether the `owner` of that name has ended; None where that cannot be seen from here."""
    host, boot, namespace, pid, started = (*named.split("/"), "", "", "", "", "")[:5]
    here = _place()
    if not pid.isdecimal() or host != here[0]:
        return None
    if boot != here[1]:
        return True  # the machine has been started anew since
    if namespace != here[2]:
        return None
    return born(int(pid)) != started if PROC.exists() else not _running(int(pid))


def _running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def sweep(client: docker.DockerClient) -> Swept:
    """Remove the containers whose owner is gone, with their volumes. Raises TargetError."""
    swept = Swept()
    for found in _found(client, RUN):
        labels = found["Labels"]
        name = f"{found['Names'][0].lstrip('/')} ({found['Image']})"
        over = gone(labels.get(OWNER, ""))
        if over:
            clear(client, labels[RUN])
        (swept.elsewhere if over is None else swept.removed if over else swept.alive).append(name)
    return swept


def clear(client: docker.DockerClient, run: str) -> int:
    """Remove the containers labelled with `run`, with their volumes; return how many. Raises TargetError."""
    removed: set[str] = set()
    deadline = time.monotonic() + ANSWER
    while found := _found(client, f"{RUN}={run}"):
        for each in found:
            removed.add(each["Id"])
            _remove(client, each["Id"])
        if time.monotonic() > deadline:
            raise TargetError(f"the engine does not remove container {found[0]['Id'][:12]}")
    return len(removed)


def _found(client: docker.DockerClient, label: str) -> list[dict[str, Any]]:
    with speaking("the containers could not be listed"):
        found: list[dict[str, Any]] = client.api.containers(all=True, filters={"label": label})
    return found


def _remove(client: docker.DockerClient, identity: str) -> None:
    # Another sweep or guard may be at it: then it is gone (404) or being removed (409), and looked for again.
    with speaking(f"container {identity[:12]} could not be removed"):
        try:
            client.api.remove_container(identity, v=True, force=True)
        except APIError as error:
            if error.response is None or error.response.status_code not in (404, 409):
                raise
            time.sleep(0.05)


def guard(run: str) -> None:
    """Wait until the owner is gone, then clear `run`; what it had asked for may appear a moment later."""
    sys.stdin.read()
    late = time.monotonic() + LATE
    until = late + RETURN
    while time.monotonic() < until:
        try:
            if clear(connect(ANSWER), run) or time.monotonic() > late:
                return
        except TargetError:
            pass  # the engine is gone as well: nobody is left to tell, and the next sweep finds the container
        time.sleep(0.2)


if __name__ == "__main__":
    guard(sys.argv[1])
