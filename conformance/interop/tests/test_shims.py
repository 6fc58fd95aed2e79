"""Which clients are meant by their names."""

import pytest

from conformance.interop.play.shims import chosen, libraries
from harness.targets.client.described import clients


@pytest.mark.parametrize("protocol", ["0-9-1", "1-0"])
def test_all_are_the_libraries_that_can_start_and_not_our_own(protocol: str) -> None:
    known = clients()
    assert set(chosen(["all"], protocol)) == {
        name for name in libraries(protocol) if not known[name].missing()
    }
    own = {name for name, each in known.items() if protocol in each.protocols} - libraries(protocol)
    assert {known[name].product for name in own} == {"amqp-conformance"}
