"""Which clients are meant by their names, and which event of a client is a message."""

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.interop.play.shims import chosen, libraries, next_message
from harness.targets.client.described import clients

OUTCOME = {"event": "outcome", "on": "c0/1/s", "tag": "1", "outcome": "accepted"}
MESSAGE = {"event": "message", "on": "c0/1/r", "tag": "2", "message": {"token": "m0"}}
ANOTHER = {"event": "closed", "on": "c0/11", "level": "session", "text": "bye"}
CLOSED = {"event": "closed", "on": "c0/1", "level": "session", "text": "bye"}


@pytest.mark.parametrize("protocol", ["0-9-1", "1-0"])
def test_all_are_the_libraries_that_can_start_and_not_our_own(protocol: str) -> None:
    known = clients()
    assert set(chosen(["all"], protocol)) == {
        name for name in libraries(protocol) if not known[name].missing()
    }
    own = {name for name, each in known.items() if protocol in each.protocols} - libraries(protocol)
    assert {known[name].product for name in own} == {"amqp-conformance"}


class Telling:
    """A shim that tells these events, one each time it is asked, and none behind them."""

    def __init__(self, *events: Mapping[str, Any]) -> None:
        self._events = list(events)

    def do(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        assert (command, arguments["on"], arguments["count"]) == ("wait", "c0", 1)
        told, self._events = self._events[:1], self._events[1:]
        return {"events": told}

    def end(self) -> None: ...


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ((MESSAGE,), {"token": "m0"}),
        ((OUTCOME, MESSAGE), {"token": "m0"}),
        ((ANOTHER, MESSAGE), {"token": "m0"}),
        ((OUTCOME, CLOSED, MESSAGE), None),
        ((), None),
    ],
    ids=["alone", "behind an outcome", "behind the end of another", "never: it has ended", "never"],
)
def test_a_message_is_waited_for_behind_what_else_is_told(
    events: tuple[Mapping[str, Any], ...], message: Mapping[str, Any] | None
) -> None:
    assert next_message(Telling(*events), "c0/1/r", 60.0) == message
