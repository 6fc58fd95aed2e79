"""The suite as somebody installs it: its wheel, and commands that know nothing of this repository."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.targets.brokers_required import REQUIRED

ROOT = Path(__file__).parents[2]


def must_have(module: str) -> None:
    """Skip where something of `[dev]` is not installed, unless no test may be lost."""
    if importlib.util.find_spec(module) is None:
        lose(f"{module} is not installed here")


def lose(why: str) -> None:
    (pytest.fail if os.environ.get(REQUIRED) else pytest.skip)(why)


def wheel(folder: Path) -> Path:
    """Build the wheel, which needs nothing from outside."""
    must_have("hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [built] = folder.glob("*.whl")
    return built


def outside(programs: Path) -> dict[str, str]:
    """Give an environment in which only what is installed is found: `programs`, and those of the system."""
    dropped = ("PYTEST_", "PYTHON", "VIRTUAL_ENV", "AMQP_", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return kept | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}


def run(command: list[str], folder: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, as somebody there would."""
    return subprocess.run(
        command, cwd=folder, env=outside(programs), capture_output=True, text=True, check=False
    )
