"""Real brokers for end-to-end tests, and the command line as its user runs it.

`pytest conformance/suite` loads this too, where what only our own tests need may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.tests.commands import Command, Ended, command, environment
from harness.targets.brokers_required import pytest_runtest_setup
from harness.targets.docker.tests.required import engine
from harness.targets.process import process_target
from harness.targets.target import Target

__all__ = ["engine", "pytest_runtest_setup"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes minutes: the others are done beside it."""
    items.sort(key=lambda item: item.get_closest_marker("minutes") is None)


@pytest.fixture
def amqp_conformance(tmp_path: Path) -> Command:
    """Run a command of ours in an empty directory; gives status, stdout and stderr."""

    def run(*arguments: str | Path, timeout: float = 600) -> Ended:
        now = environment()  # that of the call: a test may change it
        return command(*arguments, cwd=tmp_path, env=now, timeout=timeout)

    return run


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[Target]:
    """One RabbitMQ of its own, shared by the tests of a worker."""
    with process_target("rabbitmq") as started:
        yield started
