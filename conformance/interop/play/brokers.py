"""Brokers by the targets that the suite knows, started once for all clients."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from conformance.interop.play.protocol import BrokerEnded, Login, Wire
from harness.dialect import of
from harness.targets.embedded import ServedTarget
from harness.targets.named import target
from harness.targets.target import Target, TargetError
from harness.wire.transport import Unreachable
from spec.rules import Role

LARGE = "large-messages"
AT_ONCE = 3
"""How many large messages may be on their way through a broker: it has to keep them."""
IN_MEMORY = ("embedded", "embedded:tcp")
"""Our own peers, which are served over TCP here: clients need a port."""


class Broker:
    """A broker that runs: where, as whom it is used, and how it comes up again when it has ended."""

    def __init__(self, place: tuple[str, int], login: Login, revive: Callable[[], None]) -> None:
        self.place, self.login = place, login
        self._revive = revive
        self._lock = threading.Lock()
        self.ends = 0
        self.large = threading.BoundedSemaphore(AT_ONCE)

    def up_again(self, ends: int) -> None:
        """Start it again, unless another lane has since it had ended `ends` times. Raises TargetError."""
        with self._lock:
            if self.ends == ends:
                self._revive()
                self.ends += 1


@dataclass(frozen=True, slots=True)
class Running:
    """A broker that runs: what it says it is, and how addresses are had there."""

    name: str
    product: str
    version: str
    broker: Broker
    address: Callable[[str], str]


def checked(named: str, protocol: str) -> Target:
    """Give a target that clients can connect to. Raises TargetError, before anything is started."""
    goal = ServedTarget(policy=_bearing(protocol)) if named in IN_MEMORY else target(named)
    if goal.role is not Role.SERVER:
        raise TargetError(f"{named} is a client; clients are named by --client")
    if goal.tls:
        raise TargetError(f"{named} is reached by TLS, and nobody sees what passes there")
    if goal.protocols is not None and protocol not in goal.protocols:
        raise TargetError(f"{named} does not speak {protocol}")
    return goal


@contextmanager
def running(goal: Target, wire: Wire) -> Iterator[Running]:
    """Start a broker while the block runs. Raises TargetError."""
    goal.calm()
    with goal:
        endpoint = goal.endpoint()
        login = Login(endpoint.user, endpoint.password, endpoint.virtual_host, endpoint.mechanism)
        broker = Broker(_place(goal, wire.name), login, lambda: _revive(goal))
        _open_up(goal)
        try:
            own = wire.own(broker.place, login)
        except BrokerEnded as failure:
            raise TargetError(f"{goal.name}: {failure}") from None
        own.close()
        yield Running(goal.name, own.product, own.version, broker, _addresses(goal, wire.name))


def _place(goal: Target, protocol: str) -> tuple[str, int]:
    """Find out where it listens: what knows its own port tells it by a connection."""
    try:
        transport = goal.connect(protocol)
    except Unreachable as failure:
        raise TargetError(str(failure)) from None
    transport.close()
    host, _, port = transport.endpoint.rpartition(":")
    return host.strip("[]"), int(port)


def _bearing(protocol: str) -> object:
    """Give the policy of a peer of ours that bears what most clients do; None where it has only one."""
    return of(protocol, "server.client").LENIENT if protocol == "0-9-1" else None


def _revive(goal: Target) -> None:
    if "restart" not in goal.facilities:
        raise TargetError(f"{goal.name} has ended, and cannot be started again")
    goal.use("restart")
    _open_up(goal)


def _open_up(goal: Target) -> None:
    """Have it take large messages, where its description has set a limit for rules about limits."""
    if LARGE in goal.facilities:
        goal.use(LARGE)


def _addresses(goal: Target, protocol: str) -> Callable[[str], str]:
    if protocol == "0-9-1" or "address" not in goal.facilities:
        return lambda name: name
    one = threading.Lock()  # lanes ask at once

    def address(name: str) -> str:
        del name  # the description has names of its own
        with one:
            return str(goal.use("address")["address"])

    return address
