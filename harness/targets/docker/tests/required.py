"""The engine that tests of containers need, or skip without."""

from __future__ import annotations

import os
from collections.abc import Iterator

import docker
import pytest

from harness.targets.brokers_required import REQUIRED
from harness.targets.docker.engine import connect
from harness.targets.target import TargetError


def without(what: str) -> None:
    """Skip for want of `what`, or fail where nothing may be wanting."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{what} ({REQUIRED} is set)", pytrace=False)
    pytest.skip(what)


def an_engine() -> docker.DockerClient:
    """Connect to the engine that the tests use."""
    try:
        return connect(20)
    except TargetError as failure:
        without(str(failure))
        raise


@pytest.fixture(scope="module")
def engine() -> Iterator[docker.DockerClient]:
    """Give that engine to the tests of a module; a conftest makes it known to them."""
    client = an_engine()
    yield client
    client.close()
