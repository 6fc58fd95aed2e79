"""Lets `pytest --pyargs conformance.suite --target …` know the options of a run.

The one thing of ours that every pytest session loads: pytest takes options from the conftest of a folder that
is named by its path, and here the path stands for the name. Sessions that do not name the suite stay as they
are.
"""

from pathlib import Path

import pytest

SUITE = "conformance.suite"


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Put the suite's folder in the place of its name while pytest looks for conftests."""
    known = early_config.known_args_namespace
    if known.pyargs:
        known.file_or_dir = [
            str(Path(__file__).parent) if f"{each}.".startswith((f"{SUITE}.", f"{SUITE}::")) else each
            for each in known.file_or_dir
        ]
