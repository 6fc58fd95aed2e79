"""Makes `pytest conformance/suite --target …` a run."""

from collections.abc import Callable

import pytest

from conformance import plugin
from conformance.events import Judged
from conformance.run import Run


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of a run."""
    plugin.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Begin the run."""
    plugin.configure(config)


@pytest.fixture
def run(request: pytest.FixtureRequest) -> Run:
    """The run under way."""
    return request.config.stash[plugin.RUN]


@pytest.fixture
def show(record_property: Callable[[str, object], None]) -> Callable[[Judged], None]:
    """Shows a verdict the way pytest can."""
    return lambda judged: plugin.show(judged, record_property)
