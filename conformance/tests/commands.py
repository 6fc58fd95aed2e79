"""The command line as its user runs it, for tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def command_line(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "conformance.commands.cli", *map(str, arguments)]


def environment() -> dict[str, str]:
    # The suite must not depend on settings meant for the tests that run it.
    dropped = ("PYTEST_", "AMQP_PASSWORD", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return kept | {"COLUMNS": "100"}
