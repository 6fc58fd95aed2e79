"""Real brokers for end-to-end tests, and the command line as its user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.brokers_required import pytest_runtest_setup
from harness.process import process_target
from harness.target import Target
from harness.tests.containers import engine

__all__ = ["engine", "pytest_runtest_setup"]

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def command_line(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "conformance.cli", *map(str, arguments)]


def environment() -> dict[str, str]:
    # The suite must not depend on settings meant for the tests that run it.
    dropped = ("PYTEST_", "AMQP_PASSWORD", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return kept | {"COLUMNS": "100"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes minutes begins first: the others are done beside it."""
    items.sort(key=lambda item: item.get_closest_marker("minutes") is None)


@pytest.fixture
def amqp_conformance(tmp_path: Path) -> Command:
    """Run a command of ours in an empty directory; gives status, stdout and stderr."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command_line(*arguments),
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=600,  # as long as a run may take
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[Target]:
    """One RabbitMQ of its own, shared by the tests of a worker."""
    with process_target("rabbitmq") as started:
        yield started
