"""The marker `broker(NAME)`: a test that needs a real broker is skipped, or fails, where it is missing.

`broker("client:NAME")` is about a client library.

A conftest switches it on with `from harness.targets.brokers_required import pytest_runtest_setup`. A run that
must not lose tests silently sets AMQP_CONFORMANCE_REQUIRE_BROKERS: then a missing broker is a failure.
"""

import os

import pytest

from harness.targets.named import known_targets

REQUIRED = "AMQP_CONFORMANCE_REQUIRE_BROKERS"


def absence(name: str) -> str:
    """Say why the broker `name` cannot start here; empty if it can. Raises LookupError for an unknown one."""
    for known in known_targets():
        if known.name in (f"process:{name}", name):
            return "" if known.starts_here else f"{known.name} cannot start here: {known.why}"
    raise LookupError(f"The marker broker({name!r}) names no described target.")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip `item`, or fail it where brokers are required, if a broker that it is marked with is missing."""
    for marker in item.iter_markers("broker"):
        for name in marker.args:
            reason = absence(name)
            if reason and os.environ.get(REQUIRED):
                pytest.fail(f"{reason} ({REQUIRED} is set)", pytrace=False)
            if reason:
                pytest.skip(reason)
