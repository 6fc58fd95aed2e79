"""The suite's own image, built on a base that was made here: it judges without network and without rights."""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import docker
import pytest
from docker.errors import ImageNotFound

from harness.targets.docker.tests.required import without

IMAGE = f"amqp-conformance:{version('amqp-conformance')}"
WITHIN = 300  # seconds


@dataclass(frozen=True, slots=True)
class Certified:
    """What the image came to: its `status`, what it `said`, and the files it left, by name."""

    status: int
    said: str
    files: dict[str, bytes]


@pytest.fixture(scope="module")
def settings(engine: docker.DockerClient) -> dict[str, Any]:
    """What the image says of itself."""
    try:
        told: dict[str, Any] = engine.images.get(IMAGE).attrs["Config"]
    except ImageNotFound:
        without(f"no image {IMAGE}; ci/build-suite-image makes one")
    return told


@pytest.fixture(scope="module")
def certified(engine: docker.DockerClient, settings: dict[str, Any]) -> Certified:
    assert settings["Entrypoint"] == ["amqp-conformance"]
    way = ["certify", "--target", "embedded", "--level", "should", "--output", "run"]
    container = engine.containers.create(IMAGE, way, network_mode="none")
    try:
        container.start()
        status = container.wait(timeout=WITHIN)["StatusCode"]
        said = container.logs().decode()
        packed = b"".join(container.get_archive("/judging/run")[0])
    finally:
        container.remove(force=True, v=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        files = {each.name: archive.extractfile(each) for each in archive if each.isfile()}
        return Certified(status, said, {name: file.read() for name, file in files.items() if file})


def test_it_certifies_the_embedded_peer(certified: Certified) -> None:
    assert certified.status == 0, certified.said
    assert "certified as server at level should" in certified.said


def test_it_leaves_evidence_and_a_site(certified: Certified) -> None:
    assert json.loads(certified.files["run/run.json"])["target"] == "embedded"
    assert b'"event":"footer"' in certified.files["run/events.jsonl"].splitlines()[-1]
    assert "run/site/index.html" in certified.files, sorted(certified.files)[:20]


def test_it_is_run_by_somebody_without_rights(engine: docker.DockerClient, settings: dict[str, Any]) -> None:
    assert settings["User"] == "conformance"
    way = ["-c", "import os; print(os.getuid(), os.access('/opt/amqp-conformance', os.W_OK))"]
    said = engine.containers.run(IMAGE, way, entrypoint="python3", network_mode="none", remove=True)
    assert said.decode().split() == ["1000", "False"]
