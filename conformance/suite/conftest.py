"""Makes `pytest conformance/suite --target …` a run."""

from collections.abc import Callable

import pytest

from conformance.engine import plugin
from conformance.engine.cases import Case
from conformance.evidence.kinds import Judged


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of a run."""
    plugin.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Begin the run."""
    plugin.configure(config)


@pytest.fixture
def verdict(request: pytest.FixtureRequest) -> Callable[[Case], Judged]:
    """Says what a case comes to in the run under way."""
    return request.config.stash[plugin.VERDICT]


@pytest.fixture
def show(request: pytest.FixtureRequest) -> Callable[[Judged], None]:
    """Shows a verdict the way pytest can."""
    return lambda judged: plugin.show(
        judged, request.config.stash[plugin.FOLDER], request.node.user_properties
    )
