"""What tests of the harness share."""

from pathlib import Path

import pytest

from harness.targets.brokers_required import pytest_runtest_setup
from harness.targets.docker.tests.required import engine

__all__ = ["engine", "pytest_runtest_setup"]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place of its own for each test's target directories."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path
