"""Clients by name: how the shim of each is started, and who can be named."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.dialect import of
from harness.shims.contract import Kind, Refused, Shim, ShimLost
from harness.targets.client.described import ClientDescription, clients
from harness.targets.target import TargetError

OWN, ALL = "own", "all"
OVER = ("closed", "lost", "cancelled")
"""Events behind which nothing comes any more from what they are about."""
Start = Callable[[], tuple[Shim, Callable[[], None]]]
"""Starts a shim; gives it, and what ends it. Raises ShimLost."""


class InThisProcess:
    """Our own client in this process; what it falls over becomes an answer, as in a program of its own."""

    def __init__(self, shim: Shim) -> None:
        self._shim = shim

    def do(self, command: str, within: float = 0.0, **arguments: Any) -> Mapping[str, Any]:
        del within  # it runs by our own clock
        try:
            return self._shim.do(command, **arguments)
        except Refused:
            raise
        except Exception as failure:
            raise Refused(Kind.INTERNAL, str(failure), type(failure).__name__) from failure

    def end(self) -> None:
        with suppress(Refused):
            self.do("reset")


class Patient:
    """A shim that is given as many seconds as `patience` says, where it says any."""

    def __init__(self, shim: Shim, patience: Callable[[], float]) -> None:
        self._shim, self._patience = shim, patience

    def do(self, command: str, **arguments: Any) -> Mapping[str, Any]:
        patience = {"within": each} if (each := self._patience()) else {}
        return self._shim.do(command, **arguments, **patience)


def next_message(shim: Shim, source: str, within: float) -> Mapping[str, Any] | None:
    """Wait up to `within` seconds for a message from a `source`, a channel or link; other events are not it.

    None where none has come, or where the source is over. Raises Refused.
    """
    connection, until = source.partition("/")[0], time.monotonic() + within
    while True:
        left = max(until - time.monotonic(), 0.0)
        events = shim.do("wait", on=connection, **{"for": left}, count=1)["events"]
        messages: list[Mapping[str, Any]] = [each["message"] for each in events if each["event"] == "message"]
        over = any(each["event"] in OVER and f"{source}/".startswith(f"{each['on']}/") for each in events)
        if messages or over or not events or not left:
            return messages[0] if messages else None


def libraries(protocol: str) -> frozenset[str]:
    """Name all libraries that are described for a protocol, whether they can start here or not."""
    return frozenset(
        name for name, each in clients().items() if protocol in each.protocols and not name.startswith(OWN)
    )


def chosen(names: Sequence[str], protocol: str) -> dict[str, ClientDescription | None]:
    """Give the clients that are meant, None for our own; `all` are the libraries that can start here.

    Raises TargetError for one that is not there, cannot start, or speaks another protocol.
    """
    known = clients()
    speaking = {name: each for name, each in known.items() if protocol in each.protocols}
    found: dict[str, ClientDescription | None] = {}
    for name in names:
        if name == ALL:
            found |= {each: known[each] for each in sorted(libraries(protocol)) if not known[each].missing()}
        elif name == OWN:
            found[name] = None
        elif name not in known:
            raise TargetError(f"there is no client {name!r}; described are {', '.join((OWN, *known))}")
        elif name not in speaking:
            raise TargetError(f"{name} does not speak {protocol}")
        elif why := known[name].missing():
            raise TargetError(f"{name} cannot start here: {why}")
        else:
            found[name] = known[name]
    return found


def starter(described: ClientDescription | None, protocol: str, log: Path) -> Start:
    """Give what starts the shim of a client; what it writes to stderr is added to `log`."""

    def own() -> tuple[Shim, Callable[[], None]]:
        shim = InThisProcess(of(protocol, "shims.own").Own())
        return shim, shim.end

    def program() -> tuple[Shim, Callable[[], None]]:
        assert described is not None
        try:
            with log.open("ab") as file:
                started = described.program(file)
        except TargetError as failure:
            raise ShimLost(str(failure)) from None
        return started, started.end

    return own if described is None else program
