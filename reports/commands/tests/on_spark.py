"""Commands on the Spark that all tests of a process share."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from reports.commands import commands
from reports.commands.cli import main


@pytest.fixture
def here(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run a command in this process and on its Spark: to start another one takes longer than all its work."""
    monkeypatch.setattr(commands, "session", lambda master, conf, brief: nullcontext(spark))

    def run(*arguments: str | Path) -> Result:
        return CliRunner().invoke(main, [*map(str, arguments)])

    return run
