"""Whole runs on containers, as a user starts them: exit status, what is kept, and that nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import docker
import pytest

from conformance.evidence.stream import State, verify
from conformance.tests.commands import Command, command_line, environment
from harness.targets.docker.custody import OWNER, RUN
from harness.targets.docker.tests.containers import image_of

RULE = "0-9-1/queue.declare.passive.passive"


@pytest.fixture(scope="module")
def image(engine: docker.DockerClient) -> str:
    return image_of(engine, "bookworm")


def owned_by(engine: docker.DockerClient, pid: int) -> list[str]:
    """Give the containers that a process has started, whatever their state."""
    found = engine.api.containers(all=True, filters={"label": RUN})
    return [each["Id"] for each in found if each["Labels"][OWNER].split("/")[3] == str(pid)]


def test_without_an_engine_the_run_ends_with_a_sentence(
    amqp_conformance: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    for workers in ("0", "2"):
        done = amqp_conformance(
            "run", RULE, "--target", "docker:rabbitmq:4", "--output", workers, "--parallel", workers
        )
        assert done.returncode == 3
        assert "none answers at unix:///nowhere/docker.sock" in " ".join(done.stdout.split())
        assert "Traceback" not in done.stdout + done.stderr
        assert verify(tmp_path / workers).state is State.PARTIAL


def test_a_run_with_workers_judges_a_container_and_keeps_its_log(
    amqp_conformance: Command, image: str, tmp_path: Path
) -> None:
    goal = f"docker:{image}"
    done = amqp_conformance(
        "run", "0-9-1/queue.declare*", "--target", goal, "--parallel", "2", "--output", "run"
    )
    assert "12 of" in done.stdout
    assert "not-run" not in done.stdout
    assert b"Starting RabbitMQ" in (tmp_path / "run" / "broker.log").read_bytes()
    assert verify(tmp_path / "run").state is State.OK
    assert image in (tmp_path / "run" / "run.json").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_container(
    number: signal.Signals, engine: docker.DockerClient, image: str, tmp_path: Path
) -> None:
    run = subprocess.Popen(
        command_line("run", "--target", f"docker:{image}", "--parallel", "0", "--output", "run"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    started = tmp_path / "run" / "run.json"  # written when the broker serves
    deadline = time.monotonic() + 150
    while not started.exists() and run.poll() is None and time.monotonic() < deadline:
        os.sched_yield()
    assert len(owned_by(engine, run.pid)) == 1
    run.send_signal(number)
    run.wait(60)
    while owned_by(engine, run.pid) and time.monotonic() < deadline:
        os.sched_yield()
    assert not owned_by(engine, run.pid)
